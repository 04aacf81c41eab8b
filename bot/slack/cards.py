"""The messages with buttons: pure functions from simple values to blocks.

What people wrote arrives here as it is; it is escaped and capped here. Customers' cards speak through
`Sentences`, staff's are English. Button values name the case or the answer and nothing that must be kept secret
or believed: whoever handles the press looks up how things stand.

Customers   answer_footer no_answer escalated claimed taken_over handed_back resolved reopened
Staff       case_card claimed_card closed_card thread_opener taken_from take_over_prompt lost_race unread moved_on
            drafts refreshing
plainer     the same blocks with old kinds only
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from bot.sentences import Language, Sentences
from bot.slack.mrkdwn import escape

Block = dict[str, Any]

SOURCES_SHOWN = 4
"""More links than this under an answer help nobody."""
PRIORITIES = {"high": ":red_circle: High", "medium": ":large_orange_circle: Medium", "low": ":white_circle: Low"}
"""How a priority is shown: a color and its name."""


@dataclass(frozen=True, slots=True)
class Card:
    """One message."""

    text: str
    """mrkdwn for notifications, screen readers and wherever blocks are not shown."""
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """A page that an answer rests on."""

    title: str
    url: str
    """Empty for a page without an address, which is named but not linked."""
    updated: str = ""
    """When it was last changed, for people to read; may be empty."""


# Customers


def answer_footer(
    sentences: Sentences,
    language: Language,
    *,
    ref: str,
    sources: Sequence[Source] = (),
    offer_person: bool = True,
) -> Card:
    """What stands under an answer: its sources, "Helpful" or not, and the way to a person. `ref` names the answer."""
    blocks: list[Block] = []
    if sources:
        blocks.append(_context(_source_line(sentences, language, sources)))
    blocks.append(
        {
            "type": "context_actions",
            "elements": [
                {
                    "type": "feedback_buttons",
                    "action_id": "fb",
                    "positive_button": {"text": _plain(sentences.say(language, "helpful")), "value": f"{ref}/up"},
                    "negative_button": {
                        "text": _plain(sentences.say(language, "not_helpful")),
                        "value": f"{ref}/down",
                    },
                }
            ],
        }
    )
    if offer_person:
        blocks.append(_actions(_button("esc.customer", sentences.say(language, "talk_to_person"), ref)))
    return Card(sentences.say(language, "talk_to_person"), tuple(blocks))


def no_answer(sentences: Sentences, language: Language, *, ref: str) -> Card:
    """The honest "I don't know": the text is the answer, the blocks under it offer a person."""
    accept = _button("esc.accept", sentences.say(language, "accept_person"), ref, style="primary")
    decline = _button("esc.decline", sentences.say(language, "decline_person"), ref)
    return Card(sentences.say(language, "no_answer"), (_actions(accept, decline),))


def escalated(sentences: Sentences, language: Language, *, case: str) -> Card:
    """A person has been called."""
    words = sentences.say(language, "escalated")
    label = sentences.say(language, "case_label")
    return Card(
        f"{words} ({label} {escape(case)})",
        (
            _section(f":wave: {words}\n*{label} {escape(case)}*"),
            _actions(_button("esc.cancel", sentences.say(language, "keep_assistant"), case)),
        ),
    )


def claimed(sentences: Sentences, language: Language, *, case: str, staff: str) -> Card:
    """A person has taken the case; `staff` is their name."""
    words = sentences.say(language, "claimed", staff=_name(staff), case=escape(case))
    return _announcement(":bust_in_silhouette:", words)


def taken_over(sentences: Sentences, language: Language, *, case: str, staff: str, before: str) -> Card:
    """`staff` has taken the case from `before`; both are names."""
    words = sentences.say(language, "taken_over", staff=_name(staff), before=_name(before), case=escape(case))
    return _announcement(":bust_in_silhouette:", words)


def handed_back(sentences: Sentences, language: Language, *, case: str) -> Card:
    """The assistant answers again."""
    return _announcement(":robot_face:", sentences.say(language, "handed_back", case=escape(case)))


def reopened(sentences: Sentences, language: Language, *, case: str) -> Card:
    """The customer said that it is not solved."""
    return _announcement(":arrows_counterclockwise:", sentences.say(language, "reopened", case=escape(case)))


def resolved(sentences: Sentences, language: Language, *, case: str, staff: str) -> Card:
    """The case is closed by the person of that name: a score from 1 to 5, or "Not solved"."""
    words = sentences.say(language, "resolved", staff=_name(staff), case=escape(case))
    faces = {"1": "1 :disappointed:", "5": "5 :star-struck:"}
    scores = [
        _button(
            f"csat.{score}",
            faces.get(score, score),
            f"{case}/{score}",
            label=sentences.say(language, "rating_label", score=score),
        )
        for score in "12345"
    ]
    not_solved = _button("case.reopen", sentences.say(language, "not_solved"), case, style="danger")
    return Card(words, (_section(words), _actions(*scores, not_solved)))


# Staff


def case_card(
    *,
    case: str,
    title: str,
    customer: str,
    customer_note: str,
    priority: str,
    why: str,
    since: float,
    summary: str,
    facts: str = "",
    permalink: str = "",
) -> Card:
    """A case that nobody has claimed yet, for the agent channel.

    `customer` is their Slack user id, `customer_note` what is verified about them (their workspace, their shop
    account), `summary` what the assistant wrote: it stands in a plain text field of its own, labeled as such, and
    can therefore imitate no other part of the card. `since` counts seconds since 1970.
    """
    return Card(
        f"{escape(case)}: {_one_line(why, 200)} ({priority} priority). Customer: <@{customer}>",
        (
            _header(f"{case} · {title}"),
            _fields(
                ("Customer", _customer(customer, customer_note)),
                ("Priority", PRIORITIES.get(priority, escape(priority))),
                ("Why", _one_line(why, 300)),
                ("Waiting", _moment(since, "since {time}")),
            ),
            *_summary(summary),
            _actions(
                _button("case.claim", "Claim", case, style="primary"),
                _button("case.handback", "Hand back to assistant", case),
                block_id="case",
            ),
            *_small_print(facts, permalink),
        ),
    )


def claimed_card(
    *,
    case: str,
    title: str,
    customer: str,
    customer_note: str,
    priority: str,
    why: str,
    summary: str,
    staff: str,
    staff_name: str,
    at: float,
    facts: str = "",
    permalink: str = "",
) -> Card:
    """The same card once `staff` (a Slack user id) has claimed the case; it takes the first one's place."""
    return Card(
        f"{escape(case)} is claimed by <@{staff}>",
        (
            _header(f"{case} · {title}"),
            _section(f":large_green_circle: *Claimed by <@{staff}>* {_moment(at, '{time}')}"),
            _fields(
                ("Customer", _customer(customer, customer_note)),
                ("Priority", PRIORITIES.get(priority, escape(priority))),
                ("Why", _one_line(why, 300)),
            ),
            *_summary(summary),
            _actions(
                _button("case.resolve", "Resolve", case, style="primary"),
                _button("case.draft", "Draft replies", case),
                _take_over("Take over", case, staff_name),
                _button("case.handback", "Hand back to assistant", case),
                block_id="case",
            ),
            *_small_print(facts, permalink),
        ),
    )


def closed_card(
    *,
    case: str,
    title: str,
    customer: str,
    outcome: str,
    by: str | None,
    at: float,
    customer_note: str = "",
    summary: str = "",
    permalink: str = "",
) -> Card:
    """The card of a case that needs nobody any more. `outcome` says how it ended, as "Resolved" or "Handed back", and
    `by` (a Slack user id) who ended it."""
    whose = f" by <@{by}>" if by else ""
    return Card(
        f"{escape(case)}: {_one_line(outcome, 100)}{whose}",
        (
            _header(f"{case} · {title}"),
            _section(f":white_check_mark: *{_one_line(outcome, 100)}*{whose} {_moment(at, '{date_short} {time}')}"),
            _fields(("Customer", _customer(customer, customer_note))),
            *_summary(summary),
            *_small_print("", permalink),
        ),
    )


def thread_opener(*, case: str, messages: int) -> Card:
    """The first reply under a case's card: whose words reach the customer."""
    words = (
        "Messages that the *claimer* writes in this thread go to the customer (marked :outbox_tray: once delivered). "
        "Everyone else's are internal, and so is anything that starts with `//`."
    )
    follows = f"The last {messages} messages follow." if messages > 1 else "The customer's message follows."
    return Card(
        f"{escape(case)}: what the claimer writes here goes to the customer; `//` starts an internal note.",
        (_section(words), _context(f"{follows} Card numbers and passwords are hidden.")),
    )


def taken_from(*, case: str, staff: str, before: str) -> Card:
    """For the case's thread: who goes on with it, and in whose place; both are Slack user ids and are called by it."""
    words = (
        f"<@{staff}> has taken {escape(case)} over from <@{before}>. "
        f"<@{before}>, the customer does not read any more what you write here."
    )
    return Card(words, ())


def take_over_prompt(*, case: str, ts: str) -> Card:
    """For somebody who writes in the thread of a case that nobody claimed; `ts` is their message."""
    words = f"{escape(case)} isn't claimed yet. What should I do with your message?"
    return Card(
        words,
        (
            _section(words),
            _actions(
                _button("relay.claim_send", "Claim and send", f"{case}/{ts}", style="primary"),
                _button("relay.note", "Keep as internal note", f"{case}/{ts}"),
            ),
        ),
    )


def lost_race(*, case: str, staff: str, staff_name: str) -> Card:
    """For somebody who pressed what speaks for a case that another person is on."""
    words = f"<@{staff}> has claimed {escape(case)}. Nothing you write in its thread reaches the customer."
    return Card(words, (_section(words), _actions(_take_over("Take it over", case, staff_name, style="danger"))))


def unread(*, case: str, staff: str, staff_name: str) -> Card:
    """For somebody who writes under a case that another person is on."""
    words = (
        f"The customer does not read what you write here: <@{staff}> is on {escape(case)}. "
        "To answer the customer yourself, take it over and write it again."
    )
    return Card(words, (_section(words), _actions(_take_over("Take it over", case, staff_name, style="danger"))))


def moved_on(*, case: str, state: str, staff: str | None, reader: str) -> Card:
    """For somebody (`reader`) who pressed a button that no longer fits; `state` is the case's, `staff` its owner."""
    before = f" <@{staff}> was on it." if staff else ""
    match state:
        case "human" if staff == reader:
            words = f"You have {escape(case)} already: what you write in its thread goes to the customer."
        case "human":
            words = f"{escape(case)} has moved on: <@{staff}> is on it now."
        case "waiting":
            words = f"{escape(case)} has moved on: nobody has it at the moment, and it waits to be claimed."
        case "resolved":
            words = f"{escape(case)} has moved on: it is solved.{before}"
        case _:
            words = f"{escape(case)} has moved on: the assistant has it again.{before}"
    return Card(words, (_section(words),))


@dataclass(frozen=True, slots=True)
class Choice:
    """Which of several drafts was sent, by whom."""

    number: int
    staff: str
    """A Slack user id."""
    at: float
    """Seconds since 1970."""
    failed: bool = False
    """True: Slack refused it, so the customer does not see it."""


def drafts(
    *,
    case: str,
    asked: int,
    texts: Sequence[tuple[str, str]],
    doubtful: Collection[int] = (),
    choice: Choice | None = None,
    others_read: bool = False,
) -> Card:
    """Replies to choose from, in the case's thread; once one is chosen it says so and has no buttons any more.

    `texts` are pairs of what a draft is like ("Short") and its words as mrkdwn, of together no more than one message
    takes; the words stand as quotations, and can therefore imitate no other part of the message. `asked` is the
    number of the press that brought them, `doubtful` are the numbers of those that claim a deed nothing shows.
    `others_read`: the customer is not alone in their thread.
    """
    blocks = [
        _section(f":pencil2: *Draft replies for {escape(case)}* · only the team sees these"),
        _context(
            "Written by the language model and checked by nobody: read before you send. "
            "To change one, copy it and write it in this thread yourself."
        ),
    ]
    if others_read:
        words = "Others read what you send: the customer asked in a channel. No look-up is used here."
        blocks.append(_context(f":busts_in_silhouette: {words}"))
    for number, (title, text) in enumerate(texts, start=1):
        quoted = "\n".join(f">{line}" for line in text.splitlines())
        blocks.append(_section(f"*{number} · {_one_line(title, 40)}*\n{quoted}"))
        if number in doubtful:
            blocks.append(
                _context(":warning: Says that something was done or will be. Make sure of it before you send.")
            )
        if choice is None:
            label = f"Send draft {number} to the customer"
            blocks.append(_actions(_button("draft.send", "Send this", f"{case}/{asked}/{number}", label=label)))
        elif choice.number == number:
            blocks.append(_context(_chosen(choice)))
    return Card(f"Draft replies for {escape(case)}, written by the language model: read before you send.", (*blocks,))


def refreshing(words: str, *, run: str) -> Card:
    """For who asked for a refresh of the knowledge base: mrkdwn that says how far it is, and the way to hear more."""
    return Card(words, (_section(words), _actions(_button("kb.progress", "Show progress", run))))


def _chosen(choice: Choice) -> str:
    who = f"<@{choice.staff}> {_moment(choice.at, '{time}')}"
    return f":warning: *Not delivered*, chosen by {who}" if choice.failed else f":white_check_mark: *Sent* by {who}"


def plainer(blocks: Sequence[Mapping[str, Any]]) -> list[Block]:
    """The blocks without the kinds that only newer workspaces know."""
    return [_plainer(block) for block in blocks]


def _plainer(block: Mapping[str, Any]) -> Block:
    if block["type"] == "alert":
        return {"type": "section", "text": block["text"]}
    if block["type"] != "context_actions":
        return dict(block)
    elements: list[Block] = []
    for element in block["elements"]:
        if element["type"] == "feedback_buttons":
            # One action_id for both would not be unique in its block; the handler takes fb and fb.*.
            elements += [
                {"type": "button", "action_id": f"{element['action_id']}.{name}", **element[f"{name}_button"]}
                for name in ("positive", "negative")
            ]
    return {"type": "actions", "elements": elements}


def _source_line(sentences: Sentences, language: Language, sources: Sequence[Source]) -> str:
    links = " · ".join(_source(source) for source in sources[:SOURCES_SHOWN])
    updated = max((source.updated for source in sources[:SOURCES_SHOWN]), default="")
    note = f"  ·  {sentences.say(language, 'updated', date=escape(updated))}" if updated else ""
    return f":books: {links}{note}"


def _source(source: Source) -> str:
    title = _one_line(source.title, 80).replace("|", "¦")
    url = escape(source.url)
    return f"<{url}|{title}>" if source.url.startswith("https://") and "|" not in url else title


def _announcement(emoji: str, words: str) -> Card:
    return Card(words, (_section(f"{emoji} {words}"),))


def _customer(customer: str, note: str) -> str:
    return f"<@{customer}>" + (f" · {_one_line(note, 200)}" if note else "")


def _summary(summary: str) -> tuple[Block, ...]:
    if not summary.strip():
        return ()
    return (
        _context("Summary, written by the assistant"),
        {"type": "section", "text": _plain(_capped(summary, 1_500), emoji=False)},
    )


def _small_print(facts: str, permalink: str) -> tuple[Block, ...]:
    thread = f"<{escape(permalink)}|customer thread>" if permalink else ""
    line = " · ".join(part for part in (_one_line(facts, 1_000), thread) if part)
    return (_context(line),) if line else ()


def _moment(seconds: float, form: str) -> str:
    """A time that Slack shows in the reader's own zone."""
    clock = datetime.fromtimestamp(seconds, UTC).strftime("%H:%M")
    words = form.replace("{time}", clock).replace("{date_short} ", "")
    return f"<!date^{int(seconds)}^{form}|{words} UTC>"


def _name(name: str) -> str:
    return _one_line(name, 80)


def _one_line(text: str, limit: int) -> str:
    return escape(_capped(" ".join(text.split()), limit))


def _capped(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"


def _plain(text: str, *, emoji: bool = True) -> Block:
    return {"type": "plain_text", "text": text, "emoji": emoji}


def _header(text: str) -> Block:
    return {"type": "header", "text": _plain(_capped(" ".join(text.split()), 150), emoji=False)}


def _section(text: str) -> Block:
    return {"type": "section", "text": {"type": "mrkdwn", "text": _capped(text, 3_000)}}


def _fields(*fields: tuple[str, str]) -> Block:
    return {
        "type": "section",
        "fields": [{"type": "mrkdwn", "text": f"*{name}*\n{value}"} for name, value in fields if value],
    }


def _context(text: str) -> Block:
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": text}]}


def _actions(*elements: Block, block_id: str = "") -> Block:
    block: Block = {"type": "actions", "elements": list(elements)}
    return {**block, "block_id": block_id} if block_id else block


def _take_over(text: str, case: str, staff_name: str, *, style: str = "") -> Block:
    """The button by which somebody goes on in the place of the person of that name, once they have said yes."""
    confirm = {
        "title": _plain(f"Take over {case}?"),
        "text": _plain(f"{_capped(staff_name, 100)} will be told, and the customer reads you from then on."),
        "confirm": _plain("Take over"),
        "deny": _plain("Cancel"),
    }
    return {**_button("case.takeover", text, case, style=style), "confirm": confirm}


def _button(action_id: str, text: str, value: str, *, style: str = "", label: str = "") -> Block:
    button: Block = {"type": "button", "action_id": action_id, "text": _plain(_capped(text, 75)), "value": value}
    if style:
        button["style"] = style
    if label:
        button["accessibility_label"] = label
    return button
