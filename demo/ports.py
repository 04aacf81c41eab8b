"""Ports of loopback."""

import random
import socket
from contextlib import suppress


def free_port() -> int:
    """A port that nobody listens on, below those that outgoing connections are given."""
    while True:
        port = random.randint(20_000, 32_000)  # noqa: S311
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
