"""Dialogs. A button opens one if the case's state still fits, and the submission is an interaction of its own."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from bot.cases.buttons import BUTTONS
from bot.cases.cases import Cases
from bot.cases.saved_replies import fill_in, unfilled
from bot.cases.sent_replies import sent_reply
from bot.cases.step import UnknownCase
from bot.cases.tags import tags_to_show
from bot.conversation import ThreadRef
from bot.desk_file.model import DeskFile
from bot.slack.api.chat import Chat
from bot.slack.api.errors import SlackRefused
from bot.slack.api.views import Views
from bot.slack.blocks import Block
from bot.slack.mrkdwn import from_slack
from bot.store import drafts
from bot.store.cases import Case
from bot.views import dialogs

TOO_LATE = "That took too long, so Slack didn't open the dialog. Please press the button again."
NO_DESK = "There's no other desk to transfer it to: DESK_CHANNELS names none."
NOTHING_TO_MERGE = "The customer has no other open case to merge this one into."
NO_TAGS = "There are no tags to choose from: the desk file lists none."
NO_REPLIES = "There are no saved replies: the desk file lists none."
NO_SUCH_REPLY = "The desk file no longer has this reply. Close this, and choose another one."
NOT_SENT = "The customer does not see this reply, so there is nothing to change."
NO_SUCH_DRAFT = "Frontdesk can't find this draft. Nothing was done."
NO_SUCH_CASE = "Frontdesk can't find this case. Nothing was done."
CHOOSE_REPLY = "choose.saved"
"""The dialog whose submission opens the one with the saved reply."""


@dataclass(frozen=True, slots=True)
class About:
    """What a dialog is about, and the place where it was opened. Messages about its outcome are posted there."""

    case: str
    thread: ThreadRef
    ts: str
    """The Slack timestamp of the message with the button."""

    @property
    def in_thread(self) -> str | None:
        """The thread of the message. None if it is in the channel itself."""
        return self.thread.ts if self.ts != self.thread.ts else None

    def __str__(self) -> str:
        return json.dumps([self.case, self.thread.channel, self.thread.ts, self.ts])

    @classmethod
    def of(cls, text: str, *, team: str) -> "About":
        """Parse the result of `str`. Raises ValueError if the text has another form."""
        match json.loads(text):
            case [str(case), str(channel), str(thread_ts), str(ts)]:
                return cls(case, ThreadRef(team, channel, thread_ts), ts)
        raise ValueError("the dialog is not one of ours")


@dataclass(frozen=True, slots=True)
class Dialogs:
    """Opens the dialogs about cases."""

    chat: Chat
    views: Views
    cases: Cases

    async def open(self, action: str, about: About, *, user: str, trigger_id: str) -> None:
        """Open the button's dialog, or tell the user why it does not open. `trigger_id` is valid for three seconds."""
        case = await self.admit(action, about, user=user)
        if case is None:
            return
        dialog = await DIALOGS[BUTTONS[action].dialog](self.cases, case, str(about))
        if isinstance(dialog, str):
            await self.tell(about, user, dialog)
        else:
            await self.show(about, dialog, user=user, trigger_id=trigger_id)

    async def reply(self, about: About, *, user: str, name: str) -> Block | str | None:
        """The dialog in which the user edits the saved reply of this name, or a sentence that says why there is none.

        None if the case has moved on, which the user is told.
        """
        case = await self.admit(CHOOSE_REPLY, about, user=user)
        if case is None:
            return None
        found = (each for each in self.cases.messages.desk_file().saved_replies if each.name == name)
        if (reply := next(found, None)) is None:
            return NO_SUCH_REPLY
        async with self.cases.stepping.database.reading() as tx:
            text = await fill_in(tx, reply, case, person=case.speaker(user) or "")
        return dialogs.saved_reply(case, text=text, unfilled=unfilled(text), about=str(about))

    async def admit(self, action: str, about: About, *, user: str) -> Case | None:
        """The case, if the button still works in its state and for the user. Otherwise the user is told why not."""
        button, channel = BUTTONS[action], about.thread.channel
        try:
            case = await self.cases.find(about.case.partition("/")[0])
        except UnknownCase:
            await self.tell(about, user, NO_SUCH_CASE)
            return None
        is_helper = button.helps and case.speaker(user) is not None
        is_theirs = case.is_with(user) or is_helper or not button.speaks
        if button.is_useless(case) or not is_theirs or self.cases.desk(case) != channel:
            thread_ts = about.in_thread
            await self.cases.status.tell_staff(case, user, action, channel=channel, thread_ts=thread_ts)
            return None
        return case

    async def show(self, about: About, dialog: Block, *, user: str, trigger_id: str) -> str:
        """Open a dialog. Returns its id; empty if Slack did not open it, which the user is told."""
        try:
            return await self.views.open(trigger_id, dialog)
        except SlackRefused as refusal:
            if told := why_not_opened(refusal):
                await self.tell(about, user, told)
        return ""

    async def tell(self, about: About, user: str, words: str) -> None:
        """Tell only the user, where the button is."""
        await self.chat.post_ephemeral(about.thread.channel, user, text=words, thread_ts=about.in_thread)


def why_not_opened(refusal: SlackRefused) -> str:
    """The message for the user when Slack did not open a dialog.

    Empty if the dialog is already open because Slack delivered the interaction twice. Raises the refusal if it has
    another cause.
    """
    match refusal.error:
        case "exchanged_trigger_id":
            return ""
        case "expired_trigger_id":
            return TOO_LATE
    raise refusal


async def _hand_back(_: Cases, case: Case, about: str) -> Block:
    return dialogs.hand_back(case, about=about)


async def _resolve(cases: Cases, case: Case, about: str) -> Block:
    desk = cases.messages.desk_file()
    return dialogs.resolve(case, about=about, desk=desk, tags=await _tags_to_show(cases, case, desk))


async def _tags(cases: Cases, case: Case, about: str) -> Block | str:
    desk = cases.messages.desk_file()
    if not desk.cases.tags:
        return NO_TAGS
    return dialogs.tags(case, about=about, desk=desk, tags=await _tags_to_show(cases, case, desk))


async def _tags_to_show(cases: Cases, case: Case, desk: DeskFile) -> tuple[str, ...]:
    async with cases.stepping.database.reading() as tx:
        return await tags_to_show(tx, case, desk)


async def _priority(_: Cases, case: Case, about: str) -> Block:
    return dialogs.priority(case, about=about)


async def _spam(_: Cases, case: Case, about: str) -> Block:
    return dialogs.spam(case, about=about)


async def _transfer(cases: Cases, case: Case, about: str) -> Block | str:
    desks = cases.other_desks(case)
    return dialogs.transfer(case, desks=desks, about=about) if desks else NO_DESK


async def _later(_: Cases, case: Case, about: str) -> Block:
    return dialogs.later(case, about=about)


async def _assign(_: Cases, case: Case, about: str) -> Block:
    return dialogs.assign(case, about=about)


async def _merge(cases: Cases, case: Case, about: str) -> Block | str:
    others = await cases.mergeable(case)
    return dialogs.merge(case, others=others, about=about) if others else NOTHING_TO_MERGE


async def _which_reply(cases: Cases, case: Case, about: str) -> Block | str:
    names = [reply.name for reply in cases.messages.desk_file().saved_replies]
    return dialogs.which_reply(case, names=names, about=about) if names else NO_REPLIES


async def _edit_sent(cases: Cases, case: Case, about: str) -> Block | str:
    name = About.of(about, team=case.thread.team).case.partition("/")[2]
    async with cases.stepping.database.reading() as tx:
        sent = await sent_reply(tx, cases.messages, case, name)
    return dialogs.edit_sent(case, text=sent.words, about=about) if sent else NOT_SENT


async def _edit_draft(cases: Cases, case: Case, about: str) -> Block | str:
    asked, number = numbers_of(About.of(about, team=case.thread.team).case)
    async with cases.stepping.database.transaction() as tx:
        texts = await drafts.find(tx, case.id, asked)
    if not 1 <= number <= len(texts):
        return NO_SUCH_DRAFT
    return dialogs.edit_draft(case, text=from_slack(texts[number - 1], bot_user=""), about=about)


def numbers_of(value: str) -> tuple[int, int]:
    """The interaction and the number of a draft in a button's value, such as `FD-1042/7/2`. Zeros if it names none."""
    numbers = value.split("/")[1:]
    if len(numbers) != 2 or not all(each.isascii() and each.isdigit() and len(each) <= 12 for each in numbers):
        return 0, 0
    return int(numbers[0]), int(numbers[1])


DIALOGS: Mapping[str, Callable[[Cases, Case, str], Awaitable[Block | str]]] = {
    "submit.resolve": _resolve,
    "submit.handback": _hand_back,
    "submit.priority": _priority,
    "submit.spam": _spam,
    "submit.transfer": _transfer,
    "submit.later": _later,
    "submit.assign": _assign,
    "submit.tags": _tags,
    "submit.merge": _merge,
    CHOOSE_REPLY: _which_reply,
    "submit.draft": _edit_draft,
    "submit.edit": _edit_sent,
}
"""Dialog id -> the function that builds the dialog about a case, or returns a sentence that says why there is none."""
