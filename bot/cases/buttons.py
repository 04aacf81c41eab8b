"""The table of buttons: everything that people can press, choose from a menu or submit, and the rules for each.

Authorisation, lanes, dialogs, retries, the removal of stale buttons and docs/reference/buttons.md read it.
bot/turns/interactions binds a button's id to the code that it runs. An id that is not in the table does nothing.

Each step of a case renders its card again. Other messages keep their buttons until a step makes these useless. The
transaction of that step updates the messages.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bot.cases.case import State
from bot.slack.blocks import Block, context
from bot.store import outbox
from bot.store.cases import Case, card_key
from bot.store.database import Transaction
from bot.store.outbox import Outgoing, lane_of_thread, lane_under
from bot.store.persons import REQUEST
from bot.views.article_cards import REASONS
from bot.views.score_cards import REASONS as WENT_WRONG

Who = Literal["customer", "staff", "author", "anyone"]
"""Who may press a button: a customer for their own case, staff in a team channel, the author of a message (or staff for
them) in the message's menu, and anyone for themselves."""
Lane = Literal["thread", "own", "at_once"]
"""How an interaction is queued: it waits for its turn in its thread, it has a lane of its own because it takes long, or
it is answered at once and not stored."""

_CLOSED_DESK: tuple[State, ...] = ("out_of_hours",)
_UNCLAIMED: tuple[State, ...] = ("waiting", *_CLOSED_DESK)
_CLAIMED: tuple[State, ...] = ("human",)
_OPEN: tuple[State, ...] = (*_UNCLAIMED, *_CLAIMED)
_ENDED: tuple[State, ...] = ("resolved", "closed")


def _never(_case: Case, _user: str) -> bool:
    return False


def _speaks(case: Case, user: str) -> bool:
    return case.speaker(user) is not None


def _became(*states: State) -> Callable[[Case, str], bool]:
    return lambda case, _: case.state in states


def _is_with_customer(case: Case, _user: str) -> bool:
    return case.state == "human" and case.reply_due is None


def _is_awake(case: Case, _user: str) -> bool:
    return case.state == "human" and case.snoozed_until is None


def _is_asleep(case: Case, _user: str) -> bool:
    return case.state == "human" and case.snoozed_until is not None


def _keeps_helping(case: Case, _user: str = "") -> bool:
    return case.keeps_helping


@dataclass(frozen=True, slots=True)
class Button:
    """One thing to press: a button, an entry of a menu, the submission of a dialog, or a shortcut."""

    id: str
    """The `action_id` or `callback_id` in Slack; an entry of a menu has the menu's, a full stop, and its own name."""
    who: Who
    does: str
    """What it does, in a sentence for the documents."""
    states: tuple[State, ...] = ()
    """The states of the case in which the button works. An empty tuple allows every state."""
    lane: Lane = "thread"
    dialog: str = ""
    """The id of the dialog that it opens."""
    anywhere: bool = False
    """Staff can press it in any team channel. Other staff buttons work only at the desk that has the case."""
    speaks: bool = False
    """It speaks for the case. If another person has the case, the staff member who pressed it sees who that is."""
    calls: bool = False
    """It calls a person, which interrupts a running answer."""
    helps: bool = False
    """People who help with the case can press it too, although it speaks for the case."""
    is_done: Callable[[Case, str], bool] = _never
    """Whether the case is already as this user wanted it. A retried interaction can find that an earlier attempt did
    its work."""
    is_used: Callable[[Case], bool] = lambda _: False
    """Whether the button was used up, although the state of the case still fits."""

    @property
    def action_id(self) -> str:
        """The id without the entry of a menu."""
        return ".".join(self.id.split(".")[:2])

    def is_useless(self, case: Case) -> bool:
        """Whether it does nothing in the present state of the case."""
        return self.is_used(case) or (bool(self.states) and case.state not in self.states)


_TABLE = (
    # What customers press, under answers and about their case.
    Button("esc.customer", "customer", "Opens a case.", calls=True),
    Button("esc.accept", "customer", "Opens the case that the assistant offered.", calls=True),
    Button("esc.decline", "anyone", "Declines the offered case. Only the person who asked.", lane="at_once"),
    Button("esc.cancel", "customer", "Ends the case. The assistant is back.", _UNCLAIMED, is_done=_became("bot")),
    Button(
        "esc.undo", "customer", "Opens a case again after a change of mind.", ("bot",), is_done=_became(*_UNCLAIMED)
    ),
    Button(
        "esc.urgent", "customer", "Makes the case urgent.", _CLOSED_DESK,
        is_done=_became(*_CLOSED_DESK), is_used=lambda case: case.step > 0,
    ),
    Button("esc.wait", "customer", "Waits until the desk opens.", _CLOSED_DESK, is_done=_became(*_CLOSED_DESK)),
    Button(
        "esc.keep", "customer", "Gets answers from the assistant until a person claims the case.", _UNCLAIMED,
        is_done=_keeps_helping, is_used=_keeps_helping,
    ),
    Button(
        "case.reopen", "customer", "Reopens the case. After a week it opens another.", _ENDED,
        is_done=_became(*_UNCLAIMED),
    ),
    # What customers press about a change of their order.
    Button("act.yes", "customer", "Says yes to a change. Only the customer it was shown to.", lane="own"),
    Button("act.no", "customer", "Says no to a change, or takes the yes back before it is sent.", lane="own"),
    Button("act.again", "customer", "Shows a change again that could not be sent.", lane="own"),
    # What anyone presses.
    Button("case.escalate", "author", "Opens a case for a message."),
    Button("fb", "anyone", "Rates an answer.", lane="at_once"),
    Button("fb.positive", "anyone", "Rates an answer as helpful.", lane="at_once"),
    Button("fb.negative", "anyone", "Rates an answer as not helpful.", lane="at_once"),
    Button("fb.wrong", "anyone", "Says that an answer was wrong.", lane="at_once"),
    Button("fb.off_topic", "anyone", "Says that an answer was about something else.", lane="at_once"),
    Button("fb.too_long", "anyone", "Says that an answer was too long.", lane="at_once"),
    *(
        Button(f"csat.{score}", "anyone", f"Rates the case {score} of 5. Only its customer.", lane="at_once")
        for score in range(1, 6)
    ),
    *(
        Button(f"csat.{reason}", "anyone", f"Says about a low score: {words}. Only the customer.", lane="at_once")
        for reason, words in WENT_WRONG.items()
    ),
    Button("csat.words", "anyone", "Asks what went wrong. Only the customer.", (), "at_once", "submit.csat"),
    Button("submit.csat", "anyone", "Says in words what went wrong. Only the customer.", lane="at_once"),
    Button("home.refresh", "anyone", "Refreshes the Home tab.", lane="at_once"),
    Button("home.open", "anyone", "Opens the link to a case.", lane="at_once"),
    Button("home.language", "anyone", "Chooses the language.", lane="at_once"),
    Button(REQUEST, "anyone", "Erases everything that is stored about the person."),
    # What staff press on a card and below it.
    Button("case.claim", "staff", "Claims the case.", _UNCLAIMED, speaks=True, is_done=Case.is_with),
    Button("case.snooze", "staff", "Delays the next SLA step.", ("waiting",), is_done=_became(*_UNCLAIMED)),
    Button("case.takeover", "staff", "Takes the case over from a colleague.", _CLAIMED, is_done=Case.is_with),
    Button("case.await", "staff", "Says that the customer is to answer.", _CLAIMED, is_done=_is_with_customer),
    Button("case.wake", "staff", "Ends the snooze of the case.", _CLAIMED, is_done=_is_awake),
    Button("case.unassign", "staff", "Puts the case back into the queue.", _CLAIMED, is_done=_became(*_UNCLAIMED)),
    Button("case.join", "staff", "Helps the colleague who has the case.", _CLAIMED, is_done=_speaks),
    Button("case.draft", "staff", "Asks the model for draft replies.", _CLAIMED, lane="own", speaks=True),
    Button("case.customer", "staff", "Shows who the customer is.", lane="own"),
    Button("case.more.why", "staff", "Shows why the assistant answered as it did."),
    Button("draft.send", "staff", "Sends a draft to the customer.", _CLAIMED, speaks=True),
    Button("relay.claim_send", "staff", "Claims the case and sends.", _OPEN, speaks=True, is_done=Case.is_with),
    Button("relay.send", "staff", "Sends a message to the customer.", _CLAIMED, speaks=True, is_done=_speaks),
    Button("relay.join_send", "staff", "Helps with the case and sends a message.", _CLAIMED, is_done=_speaks),
    Button("relay.note", "staff", "Keeps a message as an internal note.", anywhere=True),
    # What staff press below a desk's queue.
    Button("queue.next", "staff", "Claims the most urgent case that waits.", lane="own", anywhere=True,
           is_done=Case.is_with),
    Button("queue.filter", "staff", "Shows a list of the desk's cases.", lane="at_once", anywhere=True),
    Button("metrics.cases", "staff", "Shows the cases behind a metric.", lane="at_once", anywhere=True),
    Button("queue.choose", "staff", "Asks which cases to change.", (), "at_once", "choose.cases", anywhere=True),
    Button("choose.cases", "staff", "Shows what changes.", (), "at_once", "submit.cases", anywhere=True),
    Button("submit.cases", "staff", "Changes several cases, one by one.", anywhere=True),
    Button("queue.search", "staff", "Asks what to search for.", (), "at_once", "submit.search", anywhere=True),
    Button("submit.search", "staff", "Shows the cases that are found.", lane="at_once", anywhere=True),
    Button("search.next", "staff", "Shows the next cases that are found.", lane="at_once", anywhere=True),
    Button("search.previous", "staff", "Shows the cases found before.", lane="at_once", anywhere=True),
    Button("home.view", "anyone", "Chooses which cases the Home tab shows. Only staff.", lane="at_once"),
    Button("home.tag", "anyone", "Chooses the tag of the cases that the Home tab shows. Only staff.", lane="at_once"),
    # Dialogs about a case: the buttons that open them, and what they submit.
    Button("case.resolve", "staff", "Asks how the case ended.", _CLAIMED, "at_once", "submit.resolve"),
    Button("case.handback", "staff", "Asks for a note to the assistant.", _OPEN, "at_once", "submit.handback"),
    Button("case.more.priority", "staff", "Asks for the priority.", _OPEN, "at_once", "submit.priority"),
    Button("case.more.spam", "staff", "Asks whether the case is spam.", _OPEN, "at_once", "submit.spam"),
    Button("case.more.transfer", "staff", "Asks for the desk.", _OPEN, "at_once", "submit.transfer"),
    Button("case.more.merge", "staff", "Asks for the other case.", _OPEN, "at_once", "submit.merge"),
    Button("case.later", "staff", "Asks until when the case is snoozed.", _CLAIMED, "at_once", "submit.later"),
    Button("case.assign", "staff", "Asks who gets the case.", _OPEN, "at_once", "submit.assign"),
    Button("case.tags", "staff", "Asks for the tags.", _OPEN, "at_once", "submit.tags"),
    Button("case.prepare", "staff", "Asks which change to prepare.", _CLAIMED, "at_once", "choose.change", speaks=True),
    Button("case.saved", "staff", "Asks which saved reply to send.", _CLAIMED, "at_once", "choose.saved", speaks=True,
           helps=True),
    Button("draft.edit", "staff", "Opens a draft for changes.", _CLAIMED, "at_once", "submit.draft", speaks=True),
    Button("submit.resolve", "staff", "Resolves the case.", _CLAIMED, is_done=_became("resolved")),
    Button("submit.handback", "staff", "Hands the case back to the assistant.", _OPEN, is_done=_became("bot")),
    Button("submit.priority", "staff", "Sets the priority.", _OPEN),
    Button("submit.spam", "staff", "Closes the case as spam.", _OPEN, is_done=_became("closed")),
    Button("submit.transfer", "staff", "Transfers the case to another desk.", _OPEN, is_done=_became(*_UNCLAIMED)),
    Button("submit.merge", "staff", "Merges the case into another one.", _OPEN, is_done=_became("merged")),
    Button("submit.later", "staff", "Snoozes the case until a time.", _CLAIMED, is_done=_is_asleep),
    Button("submit.tags", "staff", "Sets the tags of the case.", _OPEN),
    Button("submit.assign", "staff", "Assigns the case to a colleague.", _OPEN, is_done=_became("human")),
    Button("choose.change", "staff", "Asks for the rest of it.", _CLAIMED, "at_once", "submit.change", speaks=True),
    Button("submit.change", "staff", "Prepares the change for the customer.", _CLAIMED, speaks=True),
    Button("choose.saved", "staff", "Shows the reply.", _CLAIMED, "at_once", "submit.saved", speaks=True, helps=True),
    Button("submit.saved", "staff", "Sends the reply to the customer.", _CLAIMED, speaks=True, helps=True),
    Button("relay.edit", "staff", "Opens a reply that was sent for changes.", (), "at_once", "submit.edit"),
    Button("submit.edit", "staff", "Changes the reply that was sent. Only the person who sent it."),
    Button("submit.draft", "staff", "Sends the changed draft to the customer.", _CLAIMED, speaks=True),
    # What staff press about a change of an order. These name the action, not a case.
    Button("appr.yes", "staff", "Approves a change that the customer confirmed.", lane="own", anywhere=True),
    Button("appr.change", "staff", "Asks for another amount.", (), "at_once", "submit.amount", anywhere=True),
    Button("appr.no", "staff", "Asks why it is refused.", (), "at_once", "submit.refusal", anywhere=True),
    Button("appr.take", "staff", "Takes the matter over as a case instead.", lane="own", anywhere=True),
    Button("submit.amount", "staff", "Offers the customer the other amount.", anywhere=True),
    Button("submit.refusal", "staff", "Refuses a change. The customer reads why.", anywhere=True),
    Button("act.was_done", "staff", "Says that a change went through.", lane="own", anywhere=True),
    Button("act.was_not", "staff", "Says that it did not go through.", lane="own", anywhere=True),
    Button("act.undo", "staff", "Prepares to undo what went through.", lane="own", anywhere=True),
    # What staff press about the knowledge base.
    Button("kb.suggest", "staff", "Suggests an article.", (*_ENDED, "merged", "bot"), lane="own", anywhere=True),
    Button("kb.new", "staff", "Adds the suggestion as a new article.", anywhere=True),
    Button("kb.update", "staff", "Replaces the article that comes close to the suggestion.", anywhere=True),
    *(
        Button(f"kb.discard.{reason}", "staff", f"Discards the suggestion: {words}.", anywhere=True)
        for reason, words in REASONS.items()
    ),
    Button("kb.edit", "staff", "Opens the suggestion for changes.", (), "at_once", "submit.article", anywhere=True),
    Button("kb.add", "staff", "Opens a message as an article.", (), "at_once", "submit.article", anywhere=True),
    Button("submit.article", "staff", "Adds the article.", anywhere=True),
    Button("fix.done", "staff", "Says that a thing of the list is fixed. Only staff of its desk.", lane="at_once",
           anywhere=True),
    Button("fix.write", "staff", "Suggests an article from a case of the list.", lane="at_once", anywhere=True),
    Button("fix.page", "anyone", "Opens the link to a page.", lane="at_once"),
    Button("kb.progress", "staff", "Shows how far a refresh is.", lane="at_once", anywhere=True),
)  # fmt: skip
BUTTONS: Mapping[str, Button] = {button.id: button for button in _TABLE}
"""Every button by its id."""
SUBMISSIONS = frozenset(button.dialog for button in _TABLE if button.dialog and button.who == "staff")
"""The ids of the dialogs that buttons of staff open."""
_AT_DESK = frozenset(button.id for button in _TABLE if button.who == "staff" and not button.anywhere)


async def taken_away(
    tx: Transaction, before: Case, after: Case, *, agent_channel: str, used: Collection[str] = ()
) -> list[Outgoing]:
    """The updates that remove the buttons which the step has made useless. `used` are further buttons to remove."""
    useless = _useless(after) | frozenset(used)
    has_moved = before.desk != after.desk
    if useless == _useless(before) and not has_moved:
        return []
    thread, there = after.thread, useless | _AT_DESK if has_moved else useless
    theirs = await outbox.standing(tx, after.id, thread.channel, lane_of_thread(thread.ts))
    team_channel = before.stands_in(agent_channel)
    ours = await outbox.standing(tx, after.id, team_channel, lane_under(card_key(before)))
    ours.pop(card_key(before), None)
    is_claim = before.waits and after.state == "human"
    claimed = [context(f":white_check_mark: Claimed by <@{after.owner}>")] if is_claim else []
    return [
        *rewritten(after, thread.channel, theirs, lambda blocks: _without(blocks, useless)),
        *rewritten(after, team_channel, ours, lambda blocks: _without(blocks, there), instead=claimed),
    ]


def _useless(case: Case) -> frozenset[str]:
    return frozenset(button.id for button in _TABLE if button.is_useless(case))


def rewritten(
    case: Case,
    channel: str,
    standing: Mapping[str, Mapping[str, Any]],
    change: Callable[[Sequence[Block]], list[Block]],
    *,
    name: str = "buttons",
    instead: Sequence[Block] = (),
) -> Iterator[Outgoing]:
    """The updates of those messages about a case whose blocks `change` changes. `standing` is what they show now.

    `name` tells the updates of a step from those of another one, and `instead` are blocks for the end of each message.
    """
    for key, payload in standing.items():
        blocks = payload.get("blocks") or []
        left = change(blocks)
        if left != blocks:
            kept = {part: payload[part] for part in ("text", "link_to") if part in payload}
            shown = {**kept, "blocks": [*left, *instead]}
            yield Outgoing(f"{key}/{name}/{case.version}", "update", channel, shown, parent=key, case_id=case.id)


def _without(blocks: Sequence[Block], useless: frozenset[str]) -> list[Block]:
    left = []
    for block in blocks:
        if block["type"] != "actions":
            left.append(block)
        elif elements := [each for each in block["elements"] if each["action_id"] not in useless]:
            left.append({**block, "elements": elements})
    return left
