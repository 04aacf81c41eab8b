"""Connectors that judge an address at the moment when they connect to it (addresses.py)."""

import socket

import aiohttp
from aiohttp.connector import AddrInfoType

from knowledge import addresses
from knowledge.addresses import PrivateAddress


def open_connector(*, may_be_private: bool) -> aiohttp.TCPConnector:
    """Return a connector for public addresses, and for private ones if they are allowed.

    It raises PrivateAddress, or a ClientConnectorError with that, instead of connecting to another address.
    """
    return aiohttp.TCPConnector(socket_factory=_any_socket if may_be_private else _public_socket)


def _public_socket(info: AddrInfoType) -> socket.socket:
    if addresses.is_private(str(info[4][0])):
        raise PrivateAddress
    return _any_socket(info)


def _any_socket(info: AddrInfoType) -> socket.socket:
    family, kind, protocol, _, _ = info
    return socket.socket(family, kind, protocol)
