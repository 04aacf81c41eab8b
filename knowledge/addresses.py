"""Which addresses of the network a web source may lead to.

A name on the list of hosts says nothing of where it leads: whoever holds the name may point it at the desk's own
machine or network, and may do so after it was looked at. So the address is judged where the connection is made.
"""

import ipaddress
import socket
from collections.abc import Sequence

import aiohttp
from aiohttp.connector import AddrInfoType

_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")
"""IPv6 addresses that stand for an IPv4 address (RFC 6052)."""


class PrivateAddress(OSError):
    """A connection that was not made. Its words are the same for each address, so that of several one is raised."""

    def __init__(self) -> None:
        super().__init__("leads to a private address")


def is_private(address: str) -> bool:
    """Whether an IP address is not one of the public internet: loopback, link-local, RFC 1918, CGNAT, ULA and so on.

    Addresses that stand for others are judged by those. Raises ValueError when it is none.
    """
    given = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(given, ipaddress.IPv6Address):
        inner = given.ipv4_mapped or given.sixtofour or (given.teredo or (None, None))[1]
        if given in _TRANSLATED:
            inner = ipaddress.IPv4Address(int(given) & 0xFFFFFFFF)
        if inner is not None:
            return not _is_public(inner)
    return not _is_public(given)


def is_private_host(host: str) -> bool:
    """Whether a host as it stands in an address is, without asking anybody, private: `localhost` or an IP address."""
    try:
        return is_private(host.strip("[]"))
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def open_connector(*, may_be_private: bool) -> aiohttp.TCPConnector:
    """Makes connections to public addresses alone, and to private ones where they are allowed.

    Raises PrivateAddress, or a ClientConnectorError with it, instead of a connection to another one.
    """
    return aiohttp.TCPConnector(socket_factory=_any_socket if may_be_private else _public_socket)


def any_private(found: Sequence[tuple[object, ...]]) -> bool:
    """Whether one of the addresses that a name was resolved to is private."""
    return any(is_private(str(sockaddr[0])) for *_, sockaddr in found if isinstance(sockaddr, tuple))


def _is_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address) and address.is_site_local:
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def _public_socket(info: AddrInfoType) -> socket.socket:
    if is_private(str(info[4][0])):
        raise PrivateAddress
    return _any_socket(info)


def _any_socket(info: AddrInfoType) -> socket.socket:
    family, kind, protocol, _, _ = info
    return socket.socket(family, kind, protocol)
