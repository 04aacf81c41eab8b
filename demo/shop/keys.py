"""Idempotency keys: the first answer to a key is the answer to all later requests with it."""

import hashlib
from dataclasses import dataclass

from demo.shop.records import Json

KEYS_LIMIT = 10_000
"""Keys that are kept. Beyond this number the oldest is forgotten."""


@dataclass(slots=True)
class Kept:
    """A key, the request that it came with, and the answer once there is one."""

    fingerprint: str
    status: int = 0
    answer: Json | None = None


class Keys:
    """The keys of a shop."""

    def __init__(self) -> None:
        self._kept: dict[str, Kept] = {}

    def find(self, key: str) -> Kept | None:
        """What is known of this key."""
        return self._kept.get(key)

    def begin(self, key: str, body: bytes) -> Kept:
        """Note that a request with this key is being worked on."""
        kept = self._kept[key] = Kept(fingerprint(body))
        if len(self._kept) > KEYS_LIMIT:
            del self._kept[next(iter(self._kept))]
        return kept


def fingerprint(body: bytes) -> str:
    """What a body is compared by."""
    return hashlib.sha256(body).hexdigest()
