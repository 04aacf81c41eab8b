"""What people write and press, what the model says to it, and what must then be read: known beforehand, to the letter.

Line         one message and what must come of it
Matter       a case that people take up: what they do with it, and what must then be read of it
decide       the model's next reply in a conversation, by what has been said and looked up so far
answer_to    the text that the customer must read, once
file_of      the file that staff must find with the message, once

A model that is asked the same again replies the same, but its calls bear new ids: who derives a key from a fresh reply
instead of the journaled one is found out.
"""

import itertools
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from bot.agent.wording import NOTE, PASSAGES
from bot.language.sentences import load_sentences

Json = Mapping[str, Any]
Kind = Literal["work", "aside", "escalate", "follow", "again", "reply"]
"""Two look-ups, a write and an answer · the same asked in a channel, so that the answer goes to the direct messages ·
the agent calls a person · a message to that person, with a file · a message after the person has solved it, which
opens the case again · what the person writes to the customer."""
RELAYED = ("follow", "again")
"""What customers write to a person; no model is asked."""
Course = Literal["unwanted", "returned", "solved", "not_solved", "written_again", "erased"]
"""How a case goes on once it is there: the customer does not want a person any more · the person hands it back · or
solves it · and the customer says that it is not solved · or writes again · or has everything erased."""
COURSES: tuple[Course, ...] = get_args(Course)
STEPS = ("claimed", "resolved", "reopened", "handed_back")
"""The sentences that tell a customer of a case's step."""

AGENTS = "C0AGENTS"
STAFF = ("U0AGENTA", "U0AGENTB")
ORDERS = {"U0CUSTOMERA": "ORD-12345", "U0CUSTOMERB": "ORD-54321"}
"""Customer -> an order of theirs in the shop."""
SENTENCES = 9
CANARY = "quokka"
"""Stands in every customer's message, and nowhere outside Slack, the database and the model's requests."""

_WORDS = load_sentences()
_SENTENCES = {
    step: re.compile(re.escape(_WORDS.say("en", step, staff="\0", case="\0")).replace("\0", ".+")) for step in STEPS
}
FAREWELL = _WORDS.say("en", "erased")
"""What somebody is told whose data is erased."""
_MARK = re.compile(r"\bm\d{5}\b")
_BLOCK = re.compile(rf"<({NOTE}|{PASSAGES})>.*?</\1>", re.DOTALL)
"""What the app puts before a person's words. A note about a case may quote the mark of an earlier message."""
_ids = itertools.count(1)


@dataclass(slots=True)
class Line:
    """One message of a customer or of staff."""

    mark: str
    """Its name, in its text and in the answer's."""
    kind: Kind
    user: str
    channel: str
    thread_ts: str = ""
    ts: str = ""
    acked_at: float | None = None
    """When the product first said 200 to it, on the monotonic clock."""
    read_at: float | None = None
    """When its answer could first be read, be it before anybody was told that the message is stored."""
    answered_at: float | None = None
    """When everything that must come of it could be read."""
    hit_at: float | None = None
    """When the product was first killed while this was acknowledged and not answered."""
    read_in: tuple[str, str] = ("", "")
    """Channel and thread of whom a reply is for."""
    is_gone: bool = False
    """It was deleted, or its customer is erased: nobody must read of it, and nothing of it is kept."""

    @property
    def event(self) -> str:
        """The name of what is to be acknowledged."""
        return f"{self.ts} deleted" if self.is_gone else self.ts

    @property
    def text(self) -> str:
        """What they write."""
        order = ORDERS.get(self.user, ORDERS["U0CUSTOMERA"])
        match self.kind:
            case "work":
                return f"Note {self.mark} {CANARY}: where is {order} now?"
            case "aside":
                return f"<@U0FRONTDESK> note {self.mark} {CANARY}: where is {order} now?"
            case "escalate":
                return f"Note {self.mark} {CANARY}: {order} came broken and I am upset."
            case "follow":
                return f"Note {self.mark} {CANARY}: one more word on {order}."
            case "again":
                return f"Note {self.mark} {CANARY}: {order} is broken again and this is not what I want."
            case "reply":
                return f"Note {self.mark} {CANARY}: there is a new one on its way to you."


@dataclass(slots=True)
class Matter:
    """A case that people take up."""

    opening: Line
    """The message over which it was opened."""
    course: Course
    ref: str = ""
    """FD-1042, once somebody has read it."""
    state: str = "waiting"
    """As what was acknowledged says."""
    owner: str = ""
    told: Counter[str] = field(default_factory=Counter)
    """Of STEPS -> how often the customer must have been told."""
    replies: list[Line] = field(default_factory=list)
    """What staff wrote to the customer."""
    steps: int = 0
    """How many things people have set about."""

    @property
    def is_erased(self) -> bool:
        return self.state == "closed"


def step_told(text: str) -> str:
    """Which of STEPS a message tells the customer of; empty for none."""
    return next((step for step, sentence in _SENTENCES.items() if sentence.search(text)), "")


def answer_to(mark: str) -> str:
    """Nine plain sentences that claim no action."""
    return " ".join(f"Sentence {number} on {mark} says where the parcel is." for number in range(1, SENTENCES + 1))


def file_of(mark: str) -> tuple[str, str]:
    """The file that a message to a person brings: its name and what is in it."""
    return f"{mark}.txt", f"What {mark} shows."


def pieces_of(text: str) -> list[str]:
    """The text in the pieces in which it is streamed."""
    words = re.findall(r"\S+\s*", text)
    return ["".join(words[at : at + 6]) for at in range(0, len(words), 6)]


@dataclass(frozen=True, slots=True)
class Reply:
    """One round of the model."""

    text: str = ""
    calls: Sequence[tuple[str, Json]] = ()

    def call_deltas(self) -> list[dict[str, Any]]:
        """The calls as Chat Completions streams them, under ids that nobody has seen before."""
        return [
            {
                "index": place,
                "id": f"call_{next(_ids)}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for place, (name, arguments) in enumerate(self.calls)
        ]


def decide(request: Json) -> Reply:
    """The reply to a Chat Completions request."""
    offered = {tool["function"]["name"] for tool in request.get("tools", ())}
    messages = request["messages"]
    last = max(place for place, message in enumerate(messages) if message["role"] == "user")
    said = _BLOCK.sub("", str(messages[last]["content"]))
    found = _MARK.search(said)
    if found is None:
        return Reply("Nothing is known of that.")
    mark = found[0]
    called = [
        call["function"]["name"] for message in messages[last:] for call in message.get("tool_calls") or () if call
    ]
    if "upset" in said and "escalate_to_human" in offered and "escalate_to_human" not in called:
        arguments = {"reason": "upset", "priority": "medium", "summary": f"Matter {mark}: it came broken."}
        return Reply(calls=[("escalate_to_human", arguments)])
    if "hand_over_to_orders" in offered and "lookup_order" not in offered:
        return Reply(calls=[("hand_over_to_orders", {"reason": "an order"})])
    if "lookup_order" in offered and "lookup_order" not in called:
        order = next(order for order in ORDERS.values() if order in said)
        return Reply(calls=[("lookup_order", {"order_id": order}), ("list_my_orders", {})])
    if "reserve_parcel" in offered and "reserve_parcel" not in called:
        return Reply(calls=[("reserve_parcel", {"mark": mark})])
    return Reply(answer_to(mark))
