"""Which network addresses a web source may lead to.

A name on the list of hosts does not say where it leads. Its owner can point it at the desk's own machine or network,
even after a check. So the address is judged when the connection is made (connectors.py).
"""

import ipaddress
from collections.abc import Sequence

_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")
"""IPv6 addresses that represent an IPv4 address (RFC 6052)."""


class PrivateAddress(OSError):
    """A connection that was refused. The message is the same for each address, so that one error represents several."""

    def __init__(self) -> None:
        super().__init__("leads to a private address")


def is_private(address: str) -> bool:
    """Whether an IP address is outside the public internet: loopback, link-local, RFC 1918, CGNAT, ULA and so on.

    An address that represents another one is judged by that one. Raises ValueError if the text is no IP address.
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
    """Whether a host from an address is private: `localhost` or a private IP address. It resolves no name."""
    try:
        return is_private(host.strip("[]"))
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def any_private(found: Sequence[tuple[object, ...]]) -> bool:
    """Whether one of the addresses that a name resolves to is private."""
    return any(is_private(str(sockaddr[0])) for *_, sockaddr in found if isinstance(sockaddr, tuple))


def _is_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address) and address.is_site_local:
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved
