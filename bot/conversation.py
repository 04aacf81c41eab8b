"""Who talks where: a thread, the verified author, and the shop's customer that the author is."""

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
        """The thread as one string. Within a thread, rows are worked on in order and one at a time."""
        return f"{self.team}/{self.channel}/{self.ts}"

    @classmethod
    def of(cls, key: str) -> Self:
        """Return the thread with this key."""
        return cls(*key.split("/"))

    @property
    def is_direct(self) -> bool:
        """True in a direct message with the app: only the customer reads it."""
        return self.channel.startswith("D")


@dataclass(frozen=True, slots=True)
class ShopCustomer:
    """A capability: the holder may read this customer's orders. It is made from a verified identity only."""

    id: str
    name: str
    email: str


MemberType = Literal["member", "guest", "stranger"]
"""A full member of the home workspace, a guest there, or a person from another organisation."""


@dataclass(frozen=True, slots=True)
class Customer:
    """The verified author of one message. Rights follow the author, not the person who started the thread."""

    team: str
    """The author's own workspace, which differs from the thread's in Slack Connect."""
    user: str
    """`U…` or `W…`."""
    name: str
    """The name that Slack shows. It is for people to read, and nothing is decided by it."""
    locale: str
    """The profile's locale, such as `en-US`."""
    member_type: MemberType
    shop: ShopCustomer | None = None
    """The shop's customer. If None, there is no order data for this person."""
    country: str = ""
    """The code of the country that the author seems to be in, such as `DE`. Empty if it is not known."""
    zone: str = ""
    """The time zone of the profile, such as `Europe/Berlin`. Empty if Slack does not say."""
    shop_silent: bool = False
    """True if the shop did not say whether it knows this person."""
