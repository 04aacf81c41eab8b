"""The messages with buttons for staff in a team channel, as pure functions that build blocks from simple values.

Button values only name the case and are not trusted: the code that handles the interaction looks up the present state.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from bot.slack.blocks import (
    Block,
    Card,
    actions,
    alert,
    button,
    capped,
    context,
    fields,
    header,
    moment,
    one_line,
    overflow,
    plain,
    section,
)
from bot.slack.mrkdwn import escape

PRIORITIES = {"high": ":red_circle: High", "medium": ":large_orange_circle: Medium", "low": ":white_circle: Low"}
"""Priority -> how it is shown, with a color and its name."""


OUTCOMES = {
    "solved": "Solved",
    "elsewhere": "Answered elsewhere",
    "spam": "Not a question, or spam",
    "assistant_could_have": "The assistant could have answered",
    "other": "Other",
}
"""Outcome of a case -> its words in dialogs and on cards."""
CAUSES = {
    "delivery": "Delivery",
    "returns": "Returns",
    "payment": "Payment",
    "product": "Product",
    "account": "Account",
    "other": "Something else",
}
"""Cause of a case -> its words in dialogs and on cards."""
PAGES = "pages"
"""The id of the block that names the pages that drafts rest on."""
MORE = {
    "priority": "Set priority…",
    "transfer": "Transfer…",
    "merge": "Merge into…",
    "why": "Why this answer?",
    "spam": "Mark as spam…",
}
"""The menu of an open case's card: the entry's name in the button id, such as `case.more.priority` -> its text. Slack
shows at most five entries."""


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
    opens: float | None = None,
    facts: str = "",
    permalink: str = "",
) -> Card:
    """The card of a case that no one has claimed yet. While the desk is closed, it says when the desk `opens`.

    `customer` is the customer's Slack user id. `customer_note` is verified information about them (their workspace,
    their shop account). `summary` is what the assistant wrote. It is in a labelled plain text field of its own, so it
    can imitate no other part of the card. `since` and `opens` are seconds since 1970.
    """
    return Card(
        f"{escape(case)}: {one_line(why, 200)} ({priority} priority). Customer: <@{customer}>",
        (
            header(f"{case} · {title}"),
            fields(
                ("Customer", _customer(customer, customer_note)),
                ("Priority", PRIORITIES.get(priority, escape(priority))),
                ("Why", one_line(why, 300)),
                ("Waiting", moment(since, "since {date_short} {time}")),
                ("Desk opens", moment(opens, "{date_short} {time}") if opens else ""),
            ),
            *_summary(summary),
            actions(
                button("case.claim", "Claim", case, style="primary"),
                button("case.handback", "Hand back to assistant", case),
                _more(case),
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
    due: float | None = None,
    helpers: Sequence[str] = (),
    facts: str = "",
    permalink: str = "",
) -> Card:
    """The card of a case that `staff` (a Slack user id) has claimed. It replaces the card of the waiting case.

    `due` is when the first reply is due, in seconds since 1970.
    """
    reply = f" · first reply due {moment(due, '{time}')}" if due else ""
    return Card(
        f"{escape(case)} is claimed by <@{staff}>",
        (
            header(f"{case} · {title}"),
            section(f":large_green_circle: *Claimed by <@{staff}>* {moment(at, '{time}')}{reply}"),
            fields(
                ("Customer", _customer(customer, customer_note)),
                ("Priority", PRIORITIES.get(priority, escape(priority))),
                ("Why", one_line(why, 300)),
                ("Helping", ", ".join(f"<@{helper}>" for helper in helpers)),
            ),
            *_summary(summary),
            actions(
                button("case.resolve", "Resolve", case, style="primary"),
                button("case.draft", "Draft replies", case),
                _take_over("Take over", case, staff_name),
                button("case.handback", "Hand back to assistant", case),
                _more(case),
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
    cause: str = "",
    customer_note: str = "",
    summary: str = "",
    facts: str = "",
    permalink: str = "",
    teaches: bool = False,
) -> Card:
    """The card of a case that has ended.

    `outcome` says how it ended, such as "Solved", `cause` what it was about, and `by` (a Slack user id) who ended it.
    `teaches` adds the button that suggests an article.
    """
    whose = f" by <@{by}>" if by else ""
    return Card(
        f"{escape(case)}: {one_line(outcome, 100)}{whose}",
        (
            header(f"{case} · {title}"),
            section(f":white_check_mark: *{one_line(outcome, 100)}*{whose} {moment(at, '{date_short} {time}')}"),
            fields(("Customer", _customer(customer, customer_note)), ("Cause", escape(cause))),
            *_summary(summary),
            *((actions(button("kb.suggest", "Suggest an article", case), block_id="case"),) if teaches else ()),
            *_small_print(facts, permalink),
        ),
    )


def transferred_card(
    *, case: str, title: str, customer: str, to: str, by: str, at: float, link: str = "", permalink: str = ""
) -> Card:
    """The card of a case that another desk has. `to` is that desk's channel, `link` the address of the card there."""
    there = f" · <{link}|its card there>" if link else ""
    return Card(
        f"{escape(case)} was transferred to <#{to}> by <@{by}>",
        (
            header(f"{case} · {title}"),
            section(f":arrow_right: *Transferred to* <#{to}> by <@{by}> {moment(at, '{date_short} {time}')}{there}"),
            fields(("Customer", _customer(customer, ""))),
            *_small_print("", permalink),
        ),
    )


def merged_card(
    *,
    case: str,
    title: str,
    customer: str,
    into: str,
    by: str | None,
    at: float,
    link: str,
    facts: str = "",
    permalink: str = "",
) -> Card:
    """The card of a case that was merged into another one. `link` is the address of the other one's card."""
    whose = f" by <@{by}>" if by else ""
    return Card(
        f"{escape(case)} was merged into {escape(into)}{whose}",
        (
            header(f"{case} · {title}"),
            section(f":link: *Merged into* <{link}|{escape(into)}>{whose} {moment(at, '{date_short} {time}')}"),
            fields(("Customer", _customer(customer, ""))),
            *_small_print(facts, permalink),
        ),
    )


def thread_opener(*, case: str, messages: int, is_whole: bool) -> Card:
    """The first reply under a case's card. It says whose words reach the customer, and what of the conversation
    follows."""
    words = (
        "Messages that the *claimer* writes in this thread go to the customer (marked :outbox_tray: once delivered). "
        "Everyone else's are internal, and so is anything that starts with `//`."
    )
    follows = f"The last {messages} messages follow" if messages > 1 else "The customer's message follows"
    follows += "." if is_whole else ", and the whole conversation as a file."
    return Card(
        f"{escape(case)}: what the claimer writes here goes to the customer; `//` starts an internal note.",
        (section(words), context(f"{follows} Card numbers and passwords are hidden.")),
    )


def taken_from(*, case: str, staff: str, before: str) -> Card:
    """For the case's thread: `staff` took the case over from `before`. Both are Slack user ids and are mentioned."""
    words = (
        f"<@{staff}> took over {escape(case)} from <@{before}>. "
        f"<@{before}>, your messages here no longer reach the customer."
    )
    return Card(words, ())


def helps(*, case: str, staff: str, owner: str) -> Card:
    """For the case's thread: `staff` helps `owner`. Both are Slack user ids and are mentioned."""
    words = (
        f"<@{staff}> is helping <@{owner}> with {escape(case)}. "
        "What they write here stays internal until they press *Send to the customer*."
    )
    return Card(words, ())


def owner_left(*, case: str, staff: str, staff_name: str) -> Card:
    """For the case's thread: the customer writes to an owner who is no longer staff."""
    words = (
        f":warning: The customer has written, but <@{staff}>, who is on {escape(case)}, is no longer on the team. "
        "Someone else has to take it over."
    )
    return Card(words, (section(words), actions(_take_over("Take it over", case, staff_name, style="primary"))))


def came_from(*, case: str, channel: str, staff: str, link: str) -> Card:
    """For the case's thread at a desk: which other desk had the case, and who transferred it."""
    words = f"<@{staff}> transferred {escape(case)} here from <#{channel}>. <{link}|What the team wrote there>"
    return Card(words, ())


def is_back(*, case: str, link: str) -> Card:
    """For the channel of a desk that had the case before: the case is back."""
    return Card(f":arrow_left: {escape(case)} is back here, waiting to be claimed: <{link}|its card>.", ())


def took_in(*, case: str, staff: str) -> str:
    """The line above the transcript of a merged case, in the thread of the case that it was merged into."""
    return (
        f":link: <@{staff}> merged {escape(case)} into this case. What the customer writes in its thread appears "
        "here from now on, and they get your answers in this case's thread. Said before:"
    )


def elsewhere(*, case: str, channel: str, link: str, files: str = "") -> Card:
    """For a person who writes or presses a button where the case was before. `files` names the files they shared."""
    words = f"{escape(case)} is in <#{channel}> now: <{link}|its card>. What you write here stays internal."
    words += _kept_inside(files)
    return Card(words, (section(words),))


def helper_prompt(*, case: str, ts: str) -> Card:
    """For a helper who writes in the case's thread. `ts` is the timestamp of their message."""
    words = f"You're helping with {escape(case)}. Should the customer get your message?"
    return Card(
        words,
        (
            section(words),
            actions(
                button("relay.send", "Send to the customer", f"{case}/{ts}", style="primary"),
                button("relay.note", "Keep as internal note", f"{case}/{ts}"),
            ),
        ),
    )


def take_over_prompt(*, case: str, ts: str) -> Card:
    """For a person who writes in the thread of a case that no one has claimed. `ts` is their message's timestamp."""
    words = f"{escape(case)} isn't claimed yet. What should I do with your message?"
    return Card(
        words,
        (
            section(words),
            actions(
                button("relay.claim_send", "Claim and send", f"{case}/{ts}", style="primary"),
                button("relay.note", "Keep as internal note", f"{case}/{ts}"),
            ),
        ),
    )


def lost_race(*, case: str, staff: str, staff_name: str) -> Card:
    """For a person who pressed a button that speaks for a case while another person has it."""
    words = f"<@{staff}> has claimed {escape(case)}. Nothing you write in its thread reaches the customer."
    return _with_take_over(words, case, staff_name)


def unread(*, case: str, staff: str, staff_name: str, files: str = "") -> Card:
    """For a person who writes under a case that another person has. `files` names the files they shared."""
    words = (
        f"The customer doesn't see what you write here: <@{staff}> is on {escape(case)}. "
        "To answer them yourself, help as second person or take it over, then write it again."
    )
    return _with_take_over(f"{words}{_kept_inside(files)}", case, staff_name)


def over(*, case: str, with_assistant: bool, files: str = "") -> Card:
    """For a person who writes under a case that has ended. `files` names the files they shared."""
    how = "is back with the assistant" if with_assistant else "is over"
    return Card(f"The customer doesn't see what you write here: {escape(case)} {how}.{_kept_inside(files)}", ())


def _kept_inside(files: str) -> str:
    return f" Not sent to the customer: {files}." if files else ""


def unclaimed(*, case: str, words: str, mention: str, snooze: str = "") -> Card:
    """For the case's thread: no one has claimed the case, and why that matters now.

    `mention` calls people. It is in the text too, because Slack notifies people named there. `snooze` is the value of
    the button that delays the next SLA step. If it is empty, there is no such button.
    """
    said = f"{mention} {words}".strip()
    buttons = [button("case.claim", "Claim", case, style="primary")]
    if snooze:
        buttons.append(button("case.snooze", "Snooze 10 min", snooze))
    return Card(said, (alert(said), actions(*buttons)))


def overdue(*, case: str, waited: float, target: float, spoke: float | None, is_last: bool) -> str:
    """The sentence that says how long a case has waited.

    `waited` and `target` are minutes of open desk. `spoke` is when the customer wrote last.
    """
    last = f" The customer's last message: {moment(spoke, '{date_short} {time}')}." if spoke else ""
    end = (
        " The customer was told that no one has been free. No more reminders until someone claims it."
        if is_last
        else ""
    )
    return f"{escape(case)} has waited *{_minutes(waited)}* (target {_minutes(target)}).{last}{end}"


def for_lead(*, words: str, link: str) -> Card:
    """For the direct messages with the lead. `words` are those of `overdue`. `link` is the address of the card."""
    return Card(f"{words} It's yours until someone presses *Claim* on <{link}|its card>.", ())


def withheld(*, is_secret: bool, turn: int) -> Card:
    """For staff: an answer was stopped because it revealed a secret or the instructions. `turn` is its turn's id."""
    if is_secret:
        what = "a secret from the settings, such as a token or a key. Find out how the model got it, and replace it"
    else:
        what = "the assistant's own instructions. The customer might be trying to get them"
    words = f":warning: I stopped an answer that contained {what}. The customer didn't see it (turn {turn})."
    return Card(f"{words} Any more of these today are only counted in the log.", ())


def moved_on(*, case: str, state: str, staff: str | None, reader: str, is_helper: bool = False) -> Card:
    """For a person (`reader`) whose button no longer fits. `state` is the case's state and `staff` its owner."""
    before = f" <@{staff}> was on it." if staff else ""
    match state:
        case "human" if is_helper:
            words = f"You're helping with {escape(case)}: you're asked about each message you write in its thread."
        case "human" if staff == reader:
            words = f"You already have {escape(case)}: what you write in its thread goes to the customer."
        case "human":
            words = f"{escape(case)} has moved on: <@{staff}> is on it now."
        case "waiting":
            words = f"{escape(case)} has moved on: no one has it, and it's waiting to be claimed."
        case "out_of_hours":
            words = f"{escape(case)} has moved on: no one has it, and it's waiting for the desk to open."
        case "resolved":
            words = f"{escape(case)} has moved on: it's solved.{before}"
        case "merged":
            words = f"{escape(case)} has moved on: it was merged into another case. Its card says which."
        case "closed":
            words = f"{escape(case)} has moved on: it's closed.{before}"
        case _:
            words = f"{escape(case)} has moved on: the assistant has it again.{before}"
    return Card(words, (section(words),))


@dataclass(frozen=True, slots=True)
class Choice:
    """Which of several drafts was sent, and by whom."""

    number: int
    staff: str
    """The Slack id of the user who sent it."""
    at: float
    """When it was sent, in seconds since 1970."""
    edited: bool = False
    """Whether it was sent with other words than the draft's."""
    failed: bool = False
    """Whether Slack refused it. Then the customer does not see it."""


def drafts(
    *,
    case: str,
    asked: int,
    texts: Sequence[tuple[str, str]],
    doubtful: Collection[int] = (),
    choice: Choice | None = None,
    others_read: bool = False,
    pages: str = "",
) -> Card:
    """Draft replies to choose from, in the case's thread. With a `choice` the message says so and has no buttons.

    `texts` are pairs of a draft's voice ("Short") and its words as mrkdwn. Together they must fit into one message. The
    words are quoted, so they can imitate no other part of the message. `asked` is the id of the interaction that asked
    for the drafts. `doubtful` are the numbers of drafts that claim an action without evidence. `others_read` is set if
    other people read the customer's thread. `pages` names, in mrkdwn, the pages that the drafts rest on.
    """
    blocks = [
        section(f":pencil2: *Draft replies for {escape(case)}* · only the team sees these"),
        context(
            "The language model wrote these, and no one has checked them: read before you send. "
            "“Edit…” sends one with your changes."
        ),
    ]
    if others_read:
        words = "Other people can read what you send: the customer asked in a channel. These drafts use no lookups."
        blocks.append(context(f":busts_in_silhouette: {words}"))
    for number, (title, text) in enumerate(texts, start=1):
        quoted = "\n".join(f">{line}" for line in text.splitlines())
        blocks.append(section(f"*{number} · {one_line(title, 40)}*\n{quoted}"))
        if number in doubtful:
            blocks.append(
                context(
                    ":warning: Says that something was done or will be, or names a number, a date or a link that "
                    "appears nowhere here. Check it before you send."
                )
            )
        if choice is None:
            label = f"Send draft {number} to the customer"
            value = f"{case}/{asked}/{number}"
            send = button("draft.send", "Send this", value, label=label)
            blocks.append(actions(send, button("draft.edit", "Edit…", value, label=f"Edit draft {number}")))
        elif choice.number == number:
            blocks.append(context(_chosen(choice)))
    if pages:
        blocks.append({**context(pages), "block_id": PAGES})
    return Card(f"Draft replies for {escape(case)}, written by the language model: read before you send.", (*blocks,))


def refreshing(words: str, *, run: str) -> Card:
    """For the person who asked for a refresh of the knowledge base: its progress as mrkdwn, and a button to update
    it."""
    return Card(words, (section(words), actions(button("kb.progress", "Show progress", run))))


def _chosen(choice: Choice) -> str:
    who = f"<@{choice.staff}> {moment(choice.at, '{time}')}"
    sent = "Sent with changes" if choice.edited else "Sent"
    return f":warning: *Not delivered*, chosen by {who}" if choice.failed else f":white_check_mark: *{sent}* by {who}"


def _minutes(minutes: float) -> str:
    if minutes < 1:
        return f"{minutes * 60:.0f} s"
    return f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.0f} h"


def _customer(customer: str, note: str) -> str:
    return f"<@{customer}>" + (f" · {one_line(note, 200)}" if note else "")


def _summary(summary: str) -> tuple[Block, ...]:
    if not summary.strip():
        return ()
    return (
        context("Summary, written by the assistant"),
        {"type": "section", "text": plain(capped(summary, 1_500), emoji=False)},
    )


def _small_print(facts: str, permalink: str) -> tuple[Block, ...]:
    thread = f"<{escape(permalink)}|customer thread>" if permalink else ""
    line = " · ".join(part for part in (one_line(facts, 1_000), thread) if part)
    return (context(line),) if line else ()


def _more(case: str) -> Block:
    """The menu of rare actions for a case."""
    return overflow("case.more", *((f"{name}/{case}", text) for name, text in MORE.items()))


def _with_take_over(words: str, case: str, staff_name: str) -> Card:
    join = button("case.join", "Help as second person", case)
    return Card(words, (section(words), actions(join, _take_over("Take it over", case, staff_name, style="danger"))))


def _take_over(text: str, case: str, staff_name: str, *, style: str = "") -> Block:
    """The button to take the case over from the person of that name, after a confirmation."""
    confirm = {
        "title": plain(f"Take over {case}?"),
        "text": plain(f"{capped(staff_name, 100)} will be told, and your messages reach the customer from then on."),
        "confirm": plain("Take over"),
        "deny": plain("Cancel"),
    }
    return {**button("case.takeover", text, case, style=style), "confirm": confirm}
