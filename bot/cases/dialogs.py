"""Dialogs: a press opens one while the case is where the button thinks, and what is submitted is a press again."""

import json
from collections.abc import Callable
from dataclasses import dataclass

from bot.cases.case import State
from bot.cases.cases import Cases, UnknownCase
from bot.conversation import ThreadRef
from bot.slack import dialogs
from bot.slack.blocks import Block
from bot.slack.client import SlackClient, SlackRefused
from bot.store.cases import Case

TOO_LATE = "That took too long for Slack to open the dialog. Please press it again."
NO_SUCH_CASE = "Frontdesk knows no such case (any more): nothing was done."


@dataclass(frozen=True, slots=True)
class About:
    """What a dialog is about, and where it was opened: what becomes of it is told there."""

    case: str
    thread: ThreadRef
    ts: str
    """The message with the button."""

    def __str__(self) -> str:
        return json.dumps([self.case, self.thread.channel, self.thread.ts, self.ts])

    @classmethod
    def of(cls, text: str, *, team: str) -> "About":
        """Read it back. ValueError when it is not of that form."""
        match json.loads(text):
            case [str(case), str(channel), str(thread_ts), str(ts)]:
                return cls(case, ThreadRef(team, channel, thread_ts), ts)
        raise ValueError("the dialog is not one of ours")


@dataclass(frozen=True, slots=True)
class Dialogs:
    """Opens them; the parts are put together in `bot.app`."""

    slack: SlackClient
    cases: Cases

    async def open(self, action: str, about: About, *, user: str, trigger_id: str) -> None:
        """Open the button's dialog, or tell who pressed why not. `trigger_id` serves for three seconds."""
        states, build = OPENED_BY[action]
        in_thread = about.thread.ts if about.ts != about.thread.ts else None
        try:
            case = await self.cases.find(about.case)
            if case.state in states:
                await self.slack.open_view(trigger_id, build(case, str(about)))
            else:
                await self.cases.tell_moved_on(case, user, action, thread_ts=in_thread)
        except UnknownCase:
            await self.slack.whisper(about.thread.channel, user, text=NO_SUCH_CASE, thread_ts=in_thread)
        except SlackRefused as refusal:
            if refusal.error not in ("expired_trigger_id", "exchanged_trigger_id"):
                raise
            await self.slack.whisper(about.thread.channel, user, text=TOO_LATE, thread_ts=in_thread)


def _hand_back(case: Case, about: str) -> Block:
    return dialogs.hand_back(case=case.ref, about=about)


def _resolve(case: Case, about: str) -> Block:
    return dialogs.resolve(case=case.ref, about=about)


def _priority(case: Case, about: str) -> Block:
    return dialogs.priority(case=case.ref, present=case.priority, about=about)


def _spam(case: Case, about: str) -> Block:
    return dialogs.spam(case=case.ref, about=about)


OPENED_BY: dict[str, tuple[tuple[State, ...], Callable[[Case, str], Block]]] = {
    "case.handback": (("waiting", "human"), _hand_back),
    "case.resolve": (("human",), _resolve),
    "case.more.priority": (("waiting", "human"), _priority),
    "case.more.spam": (("waiting", "human"), _spam),
}
"""Button -> the states in which it opens its dialog, and the dialog."""
SUBMISSIONS = frozenset({"submit.resolve", "submit.handback", "submit.priority", "submit.spam"})
"""What comes of them, in the names of their callbacks."""
