"""What customers and staff read about an action: pure functions from its row to messages.

offered       the preview with its buttons
shown_as      the preview after somebody has decided, without what has become useless
ended         the message that says what came of it
approval      the card on which staff decide
stuck         what staff read if nobody knows what came of it

A preview is data: what it says is put into words here, in the customer's language. Words of the shop are shown
literally.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from bot.language.sentences import Sentences, language_for
from bot.shops.port import Money
from bot.slack.blocks import LINK, Block, Card, actions, button, context, fields, header, moment, one_line, section
from bot.slack.mrkdwn import escape, mention
from bot.store.actions import Action
from bot.store.cases import Case

YES, NO, AGAIN = "act.yes", "act.no", "act.again"
APPROVE, CHANGE, REFUSE, TAKE = "appr.yes", "appr.change", "appr.no", "appr.take"
WAS_DONE, WAS_NOT, UNDO = "act.was_done", "act.was_not", "act.undo"

NOTE_LIMIT = 500
"""The most characters of a note to the customer."""
LINES_SHOWN = 8
"""Articles that a preview lists. The others are counted."""
DANGEROUS = frozenset({"cancel_order", "cancel_lines"})
"""The kinds whose button is red, since they cannot be undone."""
REFUSED_BECAUSE = frozenset({"wrong_status", "changed", "not_available", "too_much"})
"""The shop's refusals that have a sentence of their own."""
WITHDRAWN_BECAUSE = frozenset({"changed", "with_people", "newer", "identity_changed", "no_longer_allowed"})

TICK = ":white_check_mark:"

LIMITS = {
    "one_currency": "more than one currency",
    "currency_limit": "no limit is set for this currency",
    "staff_always": "staff approve every change",
    "staff_above": "more money than goes without approval",
    "second_person_above": "so much money that two people approve it",
    "never_above": "more money than is ever offered",
    "undo_needs_staff": "a colleague approves every undo",
}
"""The limits of bot/actions/policy.py, in words for the person who decides."""

Say = Callable[..., str]


def offered(sentences: Sentences, action: Action, *, turn: str) -> Card:
    """The preview, with Yes, No, and the way to a person."""
    say = _say(sentences, action)
    title = _title(say, action)
    buttons = actions(
        button(YES, say(f"action_yes_{action.kind}"), action.button, style=_style(action)),
        button(NO, say("action_no"), action.button),
        *([button("esc.customer", say("talk_to_person"), turn)] if turn else []),
        block_id="act",
    )
    ends = say("action_offer_ends", time=moment(action.due or action.offered_at, "{time}"))
    intro = []
    if action.is_of_staff:
        is_other = action.asked > 0
        intro = [say("action_colleague_offers", money=_money(action)) if is_other else say("action_colleague_prepared")]
    return Card(
        " ".join((*intro, title, ends)),
        (
            section("\n".join((*intro, f"*{title}*", *_lines(say, action)))),
            *_details(say, action),
            buttons,
            context(ends),
        ),
    )


def replaced(sentences: Sentences, action: Action) -> Card:
    """A preview that stands further below by now."""
    say = _say(sentences, action)
    title, line = _title(say, action), say("action_withdrawn_newer")
    return Card(f"{title} {line}", (section(f"*{title}*\n{line}"),))


def shown_as(sentences: Sentences, action: Action, *, opening: float | None = None) -> Card:
    """The preview in one line, as things stand now. `opening` is when the desk opens that has to approve it."""
    say = _say(sentences, action)
    title = _title(say, action)
    line = _standing(say, action, opening)
    blocks: list[Block] = [section(f"*{title}*\n{line}")]
    if action.state == "approving":
        blocks.append(actions(button(NO, say("action_withdraw"), action.button), block_id="act"))
    return Card(f"{title} {line}", tuple(blocks))


def ended(sentences: Sentences, action: Action, *, turn: str, lines: Sequence[str] = (), said: str = "") -> Card:
    """What came of it, as a message of its own.

    `lines` are the titles of what went through, if not everything did. `said` is what the member of staff who refused
    it says to the customer.
    """
    say = _say(sentences, action)
    match action.state:
        case "done" if action.reason == "found_by_staff":
            words, calls, again = f"{TICK} {say('action_found_done', what=_done(say, action))}", False, False
        case "done":
            words, calls, again = f"{TICK} {say('action_done', what=_done(say, action))}", False, False
        case "partly" if action.settled:
            words, calls, again = say(f"action_{action.reason}"), action.reason == "rest_not_done", False
        case "failed" if action.reason == "found_by_staff":
            words, calls, again = say("action_found_not_done"), True, False
        case "partly":
            words, calls, again = say("action_partly", lines=", ".join(map(escape, lines))), False, False
        case "stuck":
            words, calls, again = say("action_stuck"), False, False
        case "failed":
            words, calls, again = say("action_failed"), True, True
        case "rejected" if said:
            words, calls, again = say("action_rejected_note", note=one_line(said, NOTE_LIMIT)), True, False
        case "refused" if action.reason in REFUSED_BECAUSE:
            words, calls, again = say(f"action_refused_{action.reason}"), True, False
        case _:
            words, calls, again = _standing(say, action, None), True, False
    buttons = [
        *([button(AGAIN, say("action_again"), action.button)] if again else []),
        *([button("esc.customer", say("talk_to_person"), turn)] if calls and turn else []),
    ]
    return Card(words, (section(words), *([actions(*buttons, block_id="act")] if buttons else [])))


def approval(action: Action, *, said: str, facts: Mapping[str, str]) -> Card:
    """The card on which staff decide. `facts` are names and values about customer and order."""
    title = staff_title(action)
    rules = [rule for rule in action.rules.get("rules", ()) if rule["id"] not in LIMITS]
    table = fields(
        ("Customer", " · ".join(filter(None, (mention(action.customer), facts.get("customer", ""))))),
        ("Order", escape(facts.get("order", ""))),
        ("Why asked", " · ".join(_limits_reached(action) or [action.rules.get("why", "")])),
        ("Rules", ", ".join(f"{_in_words(rule['id'])} {'✓' if rule['held'] else '✗'}" for rule in rules)),
    )
    articles = "\n".join(_article(line) for line in action.preview.get("lines", ())[:LINES_SHOWN])
    quoted = [section("*In the customer's words*\n" + f"> {one_line(said, 300)}")] if said else []
    address = _addresses(action, "Old address", "New address")
    asks_again = "It is sent at once and cannot be taken back."
    confirm = {
        "title": {"type": "plain_text", "text": "Approve this?"},
        "text": {"type": "plain_text", "text": f"{title[:200]}. {asks_again}"},
        "confirm": {"type": "plain_text", "text": "Approve"},
        "deny": {"type": "plain_text", "text": "Not yet"},
    }
    buttons = actions(
        {**button(APPROVE, "Approve", action.button, style="primary"), "confirm": confirm},
        *([button(CHANGE, "Change amount…", action.button)] if is_amount_changeable(action) else []),
        button(REFUSE, "Refuse…", action.button, style="danger"),
        button(TAKE, "Take over", action.button),
        block_id="appr",
    )
    confirmed = moment(action.confirmed_at or action.offered_at, "{time}")
    by = f" · prepared by {mention(action.prepared_by)}" if action.prepared_by else ""
    ends = moment(action.due or action.offered_at, "{time}")
    return Card(
        f"Approve? {title}",
        (
            header(f"Approve? {title}"),
            table,
            *([section(articles)] if articles else []),
            *([fields(*address)] if address else []),
            *quoted,
            buttons,
            context(f"Confirmed {confirmed} · ends {ends}{by}"),
        ),
    )


def is_amount_changeable(action: Action) -> bool:
    """Whether staff can offer less money. The money of other kinds follows from the articles."""
    return action.kind == "refund" and action.money < 0


def one_more_needed(by: Sequence[str]) -> str:
    """What is said when the first of two people has agreed."""
    return f"Approved by {', '.join(map(mention, by))}. One more person has to approve it."


def _limits_reached(action: Action) -> list[str]:
    return [LIMITS[rule["id"]] for rule in action.rules.get("rules", ()) if rule["id"] in LIMITS and not rule["held"]]


def _in_words(id_: str) -> str:
    return escape(id_.replace("_", " "))


def decided(action: Action, *, by: Sequence[str] = ()) -> Card:
    """The card of `approval` in one line, when nobody has to decide any more."""
    who = ", ".join(map(mention, by))
    said = {
        "offered": f"{who} offers {_money(action)} instead, and the customer is asked again",
        "rejected": f"Refused by {who}",
        "expired": "Nobody decided in time",
        "declined": "Taken back by the customer",
        "withdrawn": "Withdrawn: " + action.reason.replace("_", " "),
    }.get(action.state, f"Approved by {who}" if who else "Approved")
    line = f"{escape(staff_title(action))} · {said}"
    return Card(line, (context(line),))


def moved(action: Action, case: Case) -> Card:
    """The card of `approval` in one line, when it stands in the thread of a case by now. It links to the case."""
    line = f"{escape(staff_title(action))} · asked in the thread of <{LINK}|{case.ref}>"
    return Card(line, (context(line),))


def stuck(action: Action, *, can_undo: bool = False) -> Card:
    """What staff have to find out. `can_undo` is whether they can have undone what went through."""
    title = escape(staff_title(action))
    words = f"*Please look: {title}*\nThe shop did not say whether this went through. Its key is `{action.key}`" + (
        f", its reference {escape(action.reference)}." if action.reference else "."
    )
    if action.state == "partly":
        words = f"*Please look: {title}*\nOnly a part of it went through. Settle the rest, then press a button."
    buttons = actions(
        button(WAS_DONE, "It went through", action.button, style="primary"),
        button(WAS_NOT, "It did not", action.button),
        *([button(UNDO, "Undo what did", action.button)] if can_undo else []),
        block_id="act",
    )
    return Card(words, (section(words), buttons))


def standing(sentences: Sentences, action: Action) -> str:
    """How it stands, in one sentence for its customer."""
    return _standing(_say(sentences, action), action, None)


def staff_standing(action: Action) -> str:
    """How it stands, in one sentence for staff."""
    reason = f" ({action.reason.replace('_', ' ')})" if action.reason else ""
    return f"{escape(staff_title(action))} is {action.state}{reason} by now."


def staff_title(action: Action) -> str:
    """What it is, for staff: `Refund ORD-12345, 129.98 EUR`."""
    money = _money(action)
    what = action.kind.replace("_", " ").capitalize()
    return " ".join(filter(None, (what, action.subject.partition("/")[2]))) + (f", {money}" if money else "")


def _say(sentences: Sentences, action: Action) -> Say:
    return partial(sentences.say, language_for(action.language))


def _style(action: Action) -> str:
    return "danger" if action.kind in DANGEROUS or action.preview.get("irreversible") else "primary"


def _title(say: Say, action: Action) -> str:
    return say(f"action_ask_{action.kind}", order=escape(action.subject.partition("/")[2]))


def _done(say: Say, action: Action) -> str:
    """What has been done, where the money goes, and by which number people find it."""
    parts = [say(f"action_done_{action.kind}", order=escape(action.subject.partition("/")[2]))]
    # Money of a return is paid when the articles have arrived, so nothing is said about it here.
    if action.money < 0 and action.kind != "return_items":
        parts.append(say("action_money_back", money=_money_to(say, action)))
    if action.reference and action.reference != action.subject.partition("/")[2]:
        parts.append(say("action_reference", reference=escape(action.reference)))
    return " ".join(parts)


def _standing(say: Say, action: Action, opening: float | None) -> str:
    """How it stands, in one sentence."""
    match action.state:
        case "offered":
            return say("action_withdrawn_newer")
        case "approving" if opening is not None:
            return say("action_approving_closed", opening=moment(opening, "{date_short_pretty} {time}"))
        case "approving":
            return say("action_approving", time=moment(action.confirmed_at or action.offered_at, "{time}"))
        case "ready" | "executing":
            return say("action_working")
        case "unknown":
            return say("action_unknown")
        case "done":
            return _done(say, action)
        case "withdrawn" if action.reason in WITHDRAWN_BECAUSE:
            return say(f"action_withdrawn_{action.reason}")
        case "expired" if action.confirmed_at is not None:
            return say("action_not_approved")
        case "failed" if action.reason == "found_by_staff":
            return say("action_found_not_done")
        case "partly" if action.settled:
            return say(f"action_{action.reason}")
        case "declined" | "rejected" | "failed" | "stuck":
            return say(f"action_{action.state}")
        case "partly":
            return say("action_stuck")
        case "refused":
            known = action.reason in REFUSED_BECAUSE
            return say(f"action_refused_{action.reason}" if known else "action_refused")
        case _:
            return say("action_expired")


def _lines(say: Say, action: Action) -> list[str]:
    lines = action.preview.get("lines", ())
    shown = [_article(line) for line in lines[:LINES_SHOWN]]
    left = len(lines) - LINES_SHOWN
    return shown if left <= 0 else [*shown, f"• {say('action_more_lines', count=str(left))}"]


def _article(line: Mapping[str, Any]) -> str:
    money = f" – {_read_money(line['money'])}" if line.get("money") else ""
    quantity = f" × {line['quantity']}" if line.get("quantity") else ""
    return f"• {escape(line['title'])}{quantity}{money}"


def _details(say: Say, action: Action) -> list[Block]:
    """Money, addresses and consequences, next to each other."""
    effect = say(f"action_effect_{action.kind}")
    if action.preview.get("irreversible"):
        effect = f"{effect} {say('action_final')}"
    money: list[tuple[str, str]] = []
    if action.money:
        money = [(say("action_you_get" if action.money < 0 else "action_you_pay"), _money_to(say, action))]
    fees = [
        (
            say("action_fee_deducted" if fee.get("deducted") else "action_fee"),
            f"{_read_money(fee['money'])} · {escape(fee['title'])}",
        )
        for fee in action.preview.get("fees", ())
    ]
    addresses = _addresses(action, say("action_old_address"), say("action_new_address"))
    return [fields(*addresses, *money, *fees, (say("action_what_changes"), effect))]


def _addresses(action: Action, old: str, new: str) -> list[tuple[str, str]]:
    before, after = action.preview.get("old_address"), action.preview.get("new_address")
    return [(name, _address(each)) for name, each in ((old, before), (new, after)) if each]


def _address(of: Mapping[str, str]) -> str:
    town = " ".join(filter(None, (of.get("postal_code", ""), of.get("city", ""))))
    lines = (of["name"], of["line1"], of.get("line2", ""), town, of.get("region", ""), of.get("country", ""))
    return "\n".join(escape(line) for line in lines if line)


def _money_to(say: Say, action: Action) -> str:
    method, when = action.preview.get("to", ""), action.preview.get("when", "")
    money = _money(action)
    if method:
        money = say("action_money_to", money=money, method=escape(method))
    return f"{money} ({escape(when)})" if when else money


def _money(action: Action) -> str:
    return str(Money(abs(action.money), action.currency)) if action.money else ""


def _read_money(stored: Mapping[str, Any]) -> str:
    return str(Money(int(stored["minor"]), str(stored["currency"])))
