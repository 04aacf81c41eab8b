"""Who talks where: a thread, the verified person who wrote, and what the shop knows them as."""

from dataclasses import dataclass
from typing import Literal, Self


@dataclass(frozen=True, slots=True)
class ThreadRef:
    """One Slack thread. A message that starts a thread is its own root."""

    team: str
    """The workspace in which the app is installed, `T…`."""
    channel: str
    """`C…`, `G…` or `D…`."""
    ts: str
    """The root message's timestamp, Slack's id of the thread."""

    @property
    def key(self) -> str:
        """The thread as one string; the unit of order and of one-at-a-time."""
        return f"{self.team}/{self.channel}/{self.ts}"

    @classmethod
    def of(cls, key: str) -> Self:
        """The thread of this key."""
        return cls(*key.split("/"))

    @property
    def is_direct(self) -> bool:
        """True in a direct message with the app: only the customer reads it."""
        return self.channel.startswith("D")


@dataclass(frozen=True, slots=True)
class ShopCustomer:
    """A capability: whoever holds it may read this customer's orders. Made from a verified identity only."""

    id: str
    name: str
    email: str


MemberType = Literal["member", "guest", "stranger"]
"""A full member of the home workspace, a guest of it, or somebody from another organisation."""


@dataclass(frozen=True, slots=True)
class Customer:
    """The verified author of one message. Rights follow the author, never the thread's opener."""

    team: str
    """The author's own workspace, which differs from the thread's in Slack Connect."""
    user: str
    """`U…` or `W…`."""
    name: str
    """What Slack shows for them; for people to read, never to decide by."""
    locale: str
    """The profile's locale, as `en-US`."""
    member_type: MemberType
    shop: ShopCustomer | None = None
    """None: no order data for this person."""
    shop_silent: bool = False
    """True: the shop did not say whether it knows this person."""
