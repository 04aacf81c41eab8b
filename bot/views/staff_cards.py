"""The messages with buttons for staff in a team channel, as pure functions that build blocks from a case.

Button values only name the case and are not trusted: the code that handles the interaction looks up the present state.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.conversation import MemberType
from bot.desk_file.model import OTHER_CAUSE, DeskFile
from bot.slack.blocks import (
    LINK,
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
from bot.store.cases import Case, ref_of
from bot.store.erasure import GONE_COPY, NO_TITLE
from bot.store.outages import Toll
from bot.views.score_cards import on_card

PRIORITIES = {"high": ":red_circle: High", "medium": ":large_orange_circle: Medium", "low": ":white_circle: Low"}
"""Priority -> how it is shown, with a color and its name."""

WHY = {
    "asked_for_person": "asked for a person",
    "upset": "is upset",
    "no_answer": "no answer in the help pages",
    "billing": "a dispute about money",
    "security": "account security",
    "legal": "a legal matter",
    "sensitive": "mentions law, fraud or theft",
    "crisis": "suicide risk: their own or someone else's",
    "harm": "someone is hurt or in danger",
    "threat": "is being threatened or followed",
    "fraud": "someone else is using their account, money or name",
    "change": "wants a change that the assistant can't make",
    "procedure": "a procedure leads to a person",
    "technical": "the assistant couldn't answer",
    "model_down": "the assistant couldn't answer, because no model did",
    "declined": "the model refused to answer",
    "technical_part": "the assistant couldn't answer everything",
    "shop_down": "the shop's systems didn't answer",
    "pages_down": "the help pages couldn't be searched",
    "budget": "a spending limit was reached",
    "called_by_staff": "a colleague escalated it",
    "topic": "a topic that always goes to a person",
    "not_solved": "says that an earlier case isn't solved",
    "other": "the assistant asked for help",
}
"""Reason -> what the card says."""

OUTCOMES = {
    "solved": "Solved",
    "elsewhere": "Answered elsewhere",
    "spam": "Spam",
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
CALLS_DUTY = frozenset({"crisis", "harm", "threat"})
"""The reasons for which the duty contact is called at once."""
SEPARATOR = " · "
"""What stands between a case's number and its title."""
PAGES = "pages"
"""The id of the block that names the pages that drafts rest on."""
SUMMARY = "summary"
"""The id of the block that holds a case's summary."""
MORE = {
    "priority": "Set priority…",
    "transfer": "Transfer…",
    "merge": "Merge into…",
    "why": "Why this answer?",
    "spam": "Mark as spam…",
}
"""The menu of an open case's card: the entry's name in the button id, such as `case.more.priority` -> its text. Slack
shows at most five entries."""
MEMBER_NOTES: dict[MemberType, str] = {"member": "", "guest": "guest", "stranger": "from another organisation"}
"""Member type -> what cards say about the customer."""


def outcomes_of(desk: DeskFile) -> Mapping[str, str]:
    """The ways in which a case can end at this desk: the built-in ones, and those of the desk file."""
    return {**OUTCOMES, **desk.cases.outcomes}


def outcomes_to_choose(desk: DeskFile) -> Mapping[str, str]:
    """The ways in which a person can resolve a case. Spam has its own entry in the card's menu."""
    return {outcome: words for outcome, words in outcomes_of(desk).items() if outcome != "spam"}


def causes_of(desk: DeskFile) -> Mapping[str, str]:
    """What a case can be about at this desk: what the desk file says, or else the built-in causes."""
    own = desk.cases.causes
    return {**own, OTHER_CAUSE: own.get(OTHER_CAUSE, CAUSES[OTHER_CAUSE])} if own else CAUSES


def case_card(
    case: Case,
    *,
    by: str = "",
    desk: DeskFile | None = None,
    prepares: bool = False,
) -> Card:
    """The card of a case in its present state.

    `prepares` is whether staff can prepare a change of an order here. `by` is the Slack id of the user who ended the
    case. `desk` has the words for its own causes, outcomes and tags.
    """
    desk = desk or DeskFile()
    match case.state:
        case "waiting" | "out_of_hours":
            return _waiting_card(case, desk)
        case "human":
            return _claimed_card(case, desk, prepares=prepares)
        case "merged":
            return _merged_card(case, by)
        case _:
            return _ended_card(case, by, desk)


def _waiting_card(case: Case, desk: DeskFile) -> Card:
    """The card of a case that no one has claimed yet. While the desk is closed, it says when the desk opens."""
    opens = case.due if case.state == "out_of_hours" else None
    return _card(
        case,
        f"{case.ref}: {one_line(_why(case), 200)} ({case.priority} priority). Customer: <@{case.customer}>",
        fields(
            *_about(case, desk),
            ("Waiting", moment(case.since, "since {date_short_pretty} {time}")),
            ("Desk opens", moment(opens, "{date_short_pretty} {time}") if opens else ""),
        ),
        *_summary(case.summary),
        actions(
            button("case.claim", "Claim", case.ref, style="primary"),
            _assign(case),
            *_tags(case, desk),
            _customer(case),
            button("case.handback", "Hand back to assistant", case.ref),
            _more(case),
            block_id="case",
        ),
    )


def _claimed_card(case: Case, desk: DeskFile, *, prepares: bool) -> Card:
    claimed = f"*Claimed by <@{case.owner or ''}>* {moment(case.claimed_at or 0.0, '{time}')} · {stage(case)}"
    return _card(
        case,
        f"{case.ref} is claimed by <@{case.owner or ''}>",
        section(f":large_green_circle: {claimed}"),
        fields(*_about(case, desk), ("Helping", ", ".join(f"<@{helper.person}>" for helper in case.helpers))),
        *_summary(case.summary),
        actions(
            button("case.resolve", "Resolve", case.ref, style="primary"),
            button("case.draft", "Draft replies", case.ref),
            *([button("case.saved", "Saved reply…", case.ref)] if desk.saved_replies else []),
            *([button("case.prepare", "Prepare a change…", case.ref)] if prepares else []),
            _take_over("Take over", case),
            button("case.handback", "Hand back to assistant", case.ref),
            _more(case),
            block_id="case",
        ),
        actions(*_work(case, desk), block_id="work"),
    )


def stage(case: Case) -> str:
    """Whose turn it is in a case that a person has, and until when."""
    if case.snoozed_until is not None:
        return f":zzz: snoozed until {moment(case.snoozed_until, '{date_short_pretty} {time}')}"
    if case.reply_due is None:
        return "waiting for customer"
    reply = "first reply" if case.replied_at is None else "reply"
    if case.reply_missed:
        return f":alarm_clock: {reply} was due {moment(case.reply_due, '{date_short_pretty} {time}')}"
    return f"{reply} due {moment(case.reply_due, '{time}')}"


def _ended_card(case: Case, by: str, desk: DeskFile) -> Card:
    """The card of a case that has ended. If a person replied in it, it has the button that suggests an article."""
    outcome = (
        "Back with the assistant"
        if case.state == "bot"
        else _words(case.outcome, outcomes_of(desk)) or OUTCOMES["solved"]
    )
    suggest = [actions(button("kb.suggest", "Suggest an article", case.ref), block_id="case")]
    return _card(
        case,
        f"{case.ref}: {outcome}{_by(by)}",
        section(f":white_check_mark: *{outcome}*{_by(by)} {_ended_at(case)}"),
        fields(
            ("Customer", f"<@{case.customer}>"),
            ("Cause", _words(case.cause, {**CAUSES, **causes_of(desk)})),
            ("Tags", _labels(case, desk)),
        ),
        *(suggest if case.replied_at is not None else ()),
    )


def _words(chosen: str, words: Mapping[str, str]) -> str:
    """The words for what was chosen. One that the desk file no longer has is shown by its id."""
    return words.get(chosen) or chosen.replace("_", " ").capitalize()


def _merged_card(case: Case, by: str) -> Card:
    """The card of a case that was merged into another one. It links to the other one's card."""
    into = ref_of(case.merged_into or 0)
    return _card(
        case,
        f"{case.ref} was merged into {into}{_by(by)}",
        section(f":link: *Merged into* <{LINK}|{into}>{_by(by)} {_ended_at(case)}"),
        fields(("Customer", f"<@{case.customer}>")),
    )


def transferred_card(case: Case, *, to: str, by: str, link: str = "") -> Card:
    """The card at the desk that had the case before. `to` is the other desk's channel, `link` the card's address there.

    `by` is the Slack id of the user who transferred it.
    """
    at = moment(case.waiting_since or 0.0, "{date_short_pretty} {time}")
    there = f" · <{link}|its card there>" if link else ""
    return Card(
        f"{case.ref} was transferred to <#{to}> by <@{by}>",
        (
            header(f"{case.ref}{SEPARATOR}{case.title}"),
            section(f":arrow_right: *Transferred to* <#{to}> by <@{by}> {at}{there}"),
            fields(("Customer", f"<@{case.customer}>")),
            *_small_print(_customer_thread(case)),
        ),
    )


def without_matter(stored: Any) -> Any:
    """The JSON of stored cards with a neutral title, and without what the summary says."""
    match stored:
        case {"type": "header", "text": {"text": str(text)}}:
            return header(f"{text.partition(SEPARATOR)[0]}{SEPARATOR}{NO_TITLE}")
        case {"block_id": block} if block == SUMMARY:
            return {**stored, "text": plain(GONE_COPY, emoji=False)}
        case dict():
            return {name: without_matter(each) for name, each in stored.items()}
        case list():
            return [without_matter(each) for each in stored]
        case _:
            return stored


def thread_opener(case: Case, *, messages: int, is_whole: bool) -> Card:
    """The first reply under a case's card. It says whose words reach the customer, and what of the conversation
    follows."""
    words = (
        "Messages that the *claimer* writes in this thread go to the customer (marked :outbox_tray: once delivered). "
        "Everyone else's are internal, and so is anything that starts with `//`."
    )
    follows = f"The last {messages} messages follow" if messages > 1 else "The customer's message follows"
    follows += "." if is_whole else ", and the whole conversation as a file."
    return Card(
        f"{case.ref}: what the claimer writes here goes to the customer; `//` starts an internal note.",
        (section(words), context(f"{follows} Card numbers and passwords are hidden.")),
    )


def taken_over(case: Case, before: Case, _by: str) -> Card:
    """For the case's thread: the owner took the case over from the owner of `before`. Both are mentioned."""
    words = (
        f"<@{case.owner or ''}> took over {case.ref} from <@{before.owner or ''}>. "
        f"<@{before.owner or ''}>, your messages here no longer reach the customer."
    )
    return Card(words, ())


def assigned(case: Case, before: Case, *, by: str, note: str) -> Card:
    """For the case's thread: the user `by` gave the case to its owner, who is mentioned, as is the owner of `before`.

    `note` is what they wrote about it. Without `by`, nobody chose the owner.
    """
    words = f"<@{by}> assigned {case.ref} to <@{case.owner or ''}>."
    if not by:
        words = f"<@{case.owner or ''}>, it's your turn: {case.ref} is yours."
    if before.owner and before.owner != by:
        words += f" <@{before.owner}>, your messages here no longer reach the customer."
    return Card(words + _noted(note), ())


def assigned_to_you(case: Case, *, by: str, note: str) -> Card:
    """For the direct messages with the person who gets a case, with a link to the card. `by` is as in `assigned`."""
    words = f"<@{by}> assigned {case.ref} to you" if by else f"It's your turn: {case.ref} is yours"
    return Card(f"{words}: <{LINK}|its card>.{_noted(note)}", ())


def replied(case: Case, head: str, words: str, *, edits: str) -> Card:
    """For the case's thread: what somebody sent the customer from a dialog. `head` says who, and both are mrkdwn.

    `edits` is the name of the dialog in the value of the button that changes it. Empty: it was taken back.
    """
    text = f"{head}\n{words}"
    edit = [actions(button("relay.edit", "Edit…", f"{case.ref}/{edits}"))] if edits else []
    return Card(text, (section(text), *edit))


def unassigned(case: Case, before: Case, by: str) -> Card:
    """For the case's thread: the case is back in the queue. Its owner before is mentioned, if somebody else did it.

    Without `by`, the owner was away while the customer waited.
    """
    words = f"<@{by}> put {case.ref} back into the queue."
    if not by:
        words = f"The customer waits, and <@{before.owner or ''}> is away: {case.ref} is back in the queue."
    if before.owner != by:
        words += f" <@{before.owner or ''}>, your messages here no longer reach the customer."
    return Card(words, ())


def joined(case: Case, _before: Case, by: str) -> Card:
    """For the case's thread: the user `by` helps the owner. Both are mentioned."""
    words = (
        f"<@{by}> is helping <@{case.owner or ''}> with {case.ref}. "
        "What they write here stays internal until they press *Send to the customer*."
    )
    return Card(words, ())


def reopened(case: Case, _before: Case, _by: str) -> Card:
    """For the case's thread: the customer says that it is not solved. The last owner is mentioned."""
    return _open_again(case, "says it isn't solved")


def wrote_again(case: Case, _before: Case, _by: str) -> Card:
    """For the case's thread: the customer wrote after the case was resolved. The last owner is mentioned."""
    return _open_again(case, "wrote again")


def taken_back(case: Case, _before: Case, _by: str) -> Card:
    """For the case's thread: the customer no longer needs a person."""
    words = "The customer wrote that they no longer need a person, so the case is closed."
    return Card(words, (context(words),))


def model_back(case: Case, _before: Case, _by: str) -> Card:
    """For the case's thread: a model answers again, so the assistant answers the question."""
    words = "The assistant works again. It answers this question now, so the case is closed."
    return Card(words, (context(words),))


def models_away(faults: Sequence[str]) -> Card:
    """For staff: no model answers. `faults` says why, in words for operators."""
    words = (
        f":warning: The assistant can't answer: {'; '.join(faults) or 'no model answers'}. New questions go to you. "
        "When it works again, it answers those that no one has claimed."
    )
    return Card(words, ())


def models_back(toll: Toll, *, minutes: float) -> Card:
    """For staff: a model answers again, after so many minutes."""
    words = (
        f":white_check_mark: The assistant works again, after {_minutes(minutes)}. Questions that had to wait: "
        f"{toll.held}, answered: {toll.answered}."
    )
    if toll.cases:
        words += f" Cases opened: {toll.cases}, taken back because no one had claimed them: {toll.taken_back}."
    return Card(words, ())


def says_solved(case: Case) -> Card:
    """For the case's thread: the customer says that no person is needed any more."""
    words = "The customer says it is solved. If you agree, resolve the case."
    resolve = button("case.resolve", "Customer says it is solved", case.ref, style="primary")
    return Card(words, (context(words), actions(resolve)))


def owner_left(case: Case) -> Card:
    """For the case's thread: the customer writes to an owner who is no longer staff."""
    words = (
        f":warning: The customer has written, but <@{case.owner or ''}>, who is on {case.ref}, "
        "is no longer on the team. Someone else has to take it over."
    )
    return Card(words, (section(words), actions(_take_over("Take it over", case, style="primary"))))


def came_from(case: Case, *, channel: str, by: str) -> Card:
    """For the case's thread at a desk: which other desk had the case, and who transferred it. It links to the card
    there."""
    return Card(f"<@{by}> transferred {case.ref} here from <#{channel}>. <{LINK}|What the team wrote there>", ())


def is_back(case: Case) -> Card:
    """For the channel of a desk that had the case before: the case is back. It links to the card."""
    return Card(f":arrow_left: {case.ref} is back here, waiting to be claimed: <{LINK}|its card>.", ())


def took_in(case: Case, *, by: str) -> str:
    """The line above the transcript of a merged case, in the thread of the case that it was merged into."""
    return (
        f":link: <@{by}> merged {case.ref} into this case. What the customer writes in its thread appears "
        "here from now on, and they get your answers in this case's thread. Said before:"
    )


def elsewhere(case: Case, *, channel: str, link: str = LINK, files: str = "") -> Card:
    """For a person who writes or presses a button where the case was before.

    `channel` and `link` are where its card is. `files` names the files that the person shared.
    """
    words = f"{case.ref} is in <#{channel}> now: <{link}|its card>. What you write here stays internal."
    words += _kept_inside(files)
    return Card(words, (section(words),))


def helper_prompt(case: Case, *, ts: str) -> Card:
    """For a helper who writes in the case's thread. `ts` is the timestamp of their message."""
    words = f"You're helping with {case.ref}. Should the customer get your message?"
    return _prompt(words, case, ts, button("relay.send", "Send to the customer", f"{case.ref}/{ts}", style="primary"))


def take_over_prompt(case: Case, *, ts: str) -> Card:
    """For a person who writes in the thread of a case that no one has claimed. `ts` is their message's timestamp."""
    words = f"{case.ref} isn't claimed yet. What should I do with your message?"
    return _prompt(words, case, ts, button("relay.claim_send", "Claim and send", f"{case.ref}/{ts}", style="primary"))


def lost_race(case: Case) -> Card:
    """For a person who pressed a button that speaks for a case while another person has it."""
    words = f"<@{case.owner or ''}> has claimed {case.ref}. Nothing you write in its thread reaches the customer."
    return _with_take_over(words, case)


def held_prompt(case: Case, *, ts: str, words: str) -> Card:
    """For a person who has the case now, and wrote `words` at `ts` in its thread before."""
    asked = f"{case.ref} is yours. Send what you wrote?\n>{one_line(words, 200)}"
    return _prompt(asked, case, ts, button("relay.send", "Send to the customer", f"{case.ref}/{ts}", style="primary"))


def unread_files(case: Case, *, files: str, ts: str) -> Card:
    """For a person who shares files at `ts` under a case that another person has. `files` names them."""
    words = (
        f"<@{case.owner or ''}> is on {case.ref}. Should the customer get this from you? You then help with it. {files}"
    )
    send = button("relay.join_send", "Help and send", f"{case.ref}/{ts}", style="primary")
    return _prompt(words, case, ts, send)


def unread(case: Case) -> Card:
    """For a person who writes under a case that another person has."""
    words = (
        f"The customer doesn't see what you write here: <@{case.owner or ''}> is on {case.ref}. "
        "To answer them yourself, help as second person or take it over, then write it again."
    )
    return _with_take_over(words, case)


def over(case: Case, *, files: str = "") -> Card:
    """For a person who writes under a case that has ended. `files` names the files they shared."""
    how = "is back with the assistant" if case.state == "bot" else "is over"
    return Card(f"The customer doesn't see what you write here: {case.ref} {how}.{_kept_inside(files)}", ())


def unclaimed(case: Case, words: str, *, mention: str = "", snooze: str = "") -> Card:
    """For the case's thread: no one has claimed the case, and why that matters now.

    `mention` calls people. It is in the text too, because Slack notifies people named there. `snooze` is the value of
    the button that delays the next SLA step. If it is empty, there is no such button.
    """
    said = f"{mention} {words}".strip()
    buttons = [button("case.claim", "Claim", case.ref, style="primary")]
    if snooze:
        buttons.append(button("case.snooze", "Snooze 10 min", snooze))
    return Card(said, (alert(said), actions(*buttons)))


def reply_missed(case: Case, *, mention: str) -> Card:
    """For the case's thread: the reply to the customer is late. `mention` calls the person who has the case."""
    words = f"{mention} {case.ref}: the customer is waiting for your reply ({stage(case)})."
    return Card(words, (alert(words),))


def woken(case: Case) -> Card:
    """For the case's thread: the time until which the case was put aside is over."""
    return Card(f"<@{case.owner or ''}> {case.ref} is no longer snoozed.", ())


def no_answer(case: Case) -> Card:
    """For the case's thread: the customer has not answered for days."""
    return Card(f"<@{case.owner or ''}> the customer hasn't answered in {case.ref}. Ask again, or resolve it.", ())


def desk_opened(case: Case) -> Card:
    """For the case's thread: the desk has opened, and the case waits from now on."""
    return unclaimed(case, f"{case.ref} came in while the desk was closed. It's waiting now.")


def urgent(case: Case, *, mention: str) -> Card:
    """For the case's thread: the customer cannot wait for the desk to open. `mention` calls people."""
    return unclaimed(case, f"{case.ref}: the customer says it can't wait until the desk opens.", mention=mention)


def duty_call(case: Case, *, mention: str) -> Card:
    """For the case's thread: somebody is in danger. `mention` calls the duty contact."""
    words = f"{case.ref}: {_why(case)}. Please look at it now."
    if case.waits:
        return unclaimed(case, words, mention=mention)
    return Card(f"{mention} {words}", (alert(f"{mention} {words}"),))


def snoozed(case: Case, *, by: str) -> Card:
    """The alert after the user `by` delayed the next SLA step. It calls no one."""
    until = moment(case.due or 0.0, "{date_short_pretty} {time}")
    return unclaimed(case, f"{case.ref} is still waiting. Snoozed by <@{by}> until {until}.")


def overdue(case: Case, *, waited: float, target: float, spoke: float | None, is_last: bool) -> str:
    """The sentence that says how long a case has waited.

    `waited` and `target` are minutes of open desk. `spoke` is when the customer wrote last.
    """
    last = f" The customer's last message: {moment(spoke, '{date_short_pretty} {time}')}." if spoke else ""
    end = (
        " The customer was told that no one has been free. No more reminders until someone claims it."
        if is_last
        else ""
    )
    return f"{case.ref} has waited *{_minutes(waited)}* (target {_minutes(target)}).{last}{end}"


def for_lead(words: str) -> Card:
    """For the direct messages with the lead. `words` are those of `overdue`. It links to the card."""
    return Card(f"{words} It's yours until someone presses *Claim* on <{LINK}|its card>.", ())


def withheld(*, is_secret: bool, turn: int) -> Card:
    """For staff: an answer was stopped because it revealed a secret or the instructions. `turn` is its turn's id."""
    if is_secret:
        what = "a secret from the settings, such as a token or a key. Find out how the model got it, and replace it"
    else:
        what = "the assistant's own instructions. The customer might be trying to get them"
    words = f":warning: I stopped an answer that contained {what}. The customer didn't see it (turn {turn})."
    return Card(f"{words} Any more of these today are only counted in the log.", ())


def moved_on(case: Case, *, reader: str) -> Card:
    """For a person (`reader`) whose button no longer fits: how the case is now."""
    if case.is_with(reader):
        words = f"You already have {case.ref}: what you write in its thread goes to the customer."
    elif case.speaker(reader) is not None:
        words = f"You're helping with {case.ref}: you're asked about each message you write in its thread."
    else:
        words = f"{case.ref} has moved on: {_now(case)}"
    return Card(words, (section(words),))


def _now(case: Case) -> str:
    before = f" <@{case.owner}> was on it." if case.owner else ""
    match case.state:
        case "human":
            return f"<@{case.owner}> is on it now."
        case "waiting":
            return "no one has it, and it's waiting to be claimed."
        case "out_of_hours":
            return "no one has it, and it's waiting for the desk to open."
        case "resolved":
            return f"it's solved.{before}"
        case "merged":
            return "it was merged into another case. Its card says which."
        case "closed":
            return f"it's closed.{before}"
        case _:
            return f"the assistant has it again.{before}"


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
    case: Case,
    *,
    asked: int,
    texts: Sequence[tuple[str, str]],
    doubtful: Collection[int] = (),
    choice: Choice | None = None,
    pages: str = "",
) -> Card:
    """Draft replies to choose from, in the case's thread. With a `choice` the message says so and has no buttons.

    `texts` are pairs of a draft's voice ("Short") and its words as mrkdwn. Together they must fit into one message. The
    words are quoted, so they can imitate no other part of the message. `asked` is the id of the interaction that asked
    for the drafts. `doubtful` are the numbers of drafts that claim an action without evidence. `pages` names, in
    mrkdwn, the pages that the drafts rest on.
    """
    blocks = [
        section(f":pencil2: *Draft replies for {case.ref}* · only the team sees these"),
        context(
            "The language model wrote these, and no one has checked them: read before you send. "
            "“Edit…” sends one with your changes."
        ),
    ]
    if not case.thread.is_direct:
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
            value = f"{case.ref}/{asked}/{number}"
            send = button("draft.send", "Send this", value, label=label)
            blocks.append(actions(send, button("draft.edit", "Edit…", value, label=f"Edit draft {number}")))
        elif choice.number == number:
            blocks.append(context(_chosen(choice)))
    if pages:
        blocks.append({**context(pages), "block_id": PAGES})
    return Card(f"Draft replies for {case.ref}, written by the language model: read before you send.", (*blocks,))


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


def _card(case: Case, text: str, *blocks: Block) -> Card:
    """The case's name, the blocks, its score, and in small print more facts and a link to the customer's thread."""
    follows = f"follows {ref_of(case.follows)}" if case.follows else ""
    facts = _small_print(follows, "reopened" if case.reopened else "", _customer_thread(case))
    return Card(text, (header(f"{case.ref}{SEPARATOR}{case.title}"), *blocks, *on_card(case.score), *facts))


def _about(case: Case, desk: DeskFile) -> tuple[tuple[str, str], ...]:
    """The fields of an open case."""
    note = MEMBER_NOTES.get(case.member_type, "")  # type: ignore[call-overload]  # the column holds nothing else
    return (
        ("Customer", f"<@{case.customer}>" + (f" · {note}" if note else "")),
        ("Priority", PRIORITIES.get(case.priority, escape(case.priority))),
        ("Why", one_line(_why(case), 300)),
        ("Tags", _labels(case, desk)),
    )


def _labels(case: Case, desk: DeskFile) -> str:
    return escape(", ".join(desk.cases.labels_of(case.tags)))


def _why(case: Case) -> str:
    return WHY.get(case.reason, case.reason)


def _by(user: str) -> str:
    return f" by <@{user}>" if user else ""


def _ended_at(case: Case) -> str:
    return moment(case.ended_at or 0.0, "{date_short_pretty} {time}")


def _summary(summary: str) -> tuple[Block, ...]:
    """What the assistant wrote, in a labelled plain text field of its own, so it can imitate no other part."""
    if not summary.strip():
        return ()
    return (
        context("Summary, written by the assistant"),
        {"type": "section", "text": plain(capped(summary, 1_500), emoji=False), "block_id": SUMMARY},
    )


def _small_print(*facts: str) -> tuple[Block, ...]:
    line = " · ".join(fact for fact in facts if fact)
    return (context(line),) if line else ()


def _customer_thread(case: Case) -> str:
    """A link to the customer's thread. Empty for direct messages, which only the customer can open."""
    return f"<{escape(case.link)}|customer thread>" if case.link and not case.thread.is_direct else ""


def _open_again(case: Case, what: str) -> Card:
    called = f"<@{case.last_owner}> " if case.last_owner else ""
    return Card(f"{called}{case.ref} is open again: {one_line(case.customer_name, 80)} {what}.", ())


def _prompt(words: str, case: Case, ts: str, send: Block) -> Card:
    """Ask what to do with the message at `ts`. `send` is the button that sends it to the customer."""
    note = button("relay.note", "Keep as internal note", f"{case.ref}/{ts}")
    return Card(words, (section(words), actions(send, note)))


def _noted(note: str) -> str:
    """A colleague's note as a quotation in mrkdwn. Empty without one."""
    return "".join(f"\n>{line}" for line in escape(note.strip()).splitlines())


def _kept_inside(files: str) -> str:
    return f" Not sent to the customer: {files}." if files else ""


def _more(case: Case) -> Block:
    """The menu of rare actions for a case."""
    return overflow("case.more", *((f"{name}/{case.ref}", text) for name, text in MORE.items()))


def _work(case: Case, desk: DeskFile) -> list[Block]:
    """The buttons of a claimed case that say whose turn it is."""
    customer = [] if case.reply_due is None else [button("case.await", "Waiting for customer", case.ref)]
    later = button("case.later", "Snooze…", case.ref)
    if case.snoozed_until is not None:
        later = button("case.wake", "End snooze", case.ref)
    unassign = button("case.unassign", "Back to the queue", case.ref)
    return [_customer(case), *customer, later, *_tags(case, desk), _assign(case), unassign]


def _tags(case: Case, desk: DeskFile) -> list[Block]:
    """The button for the case's tags. None at a desk that has no tags."""
    return [button("case.tags", "Tags…", case.ref)] if desk.cases.tags else []


def _customer(case: Case) -> Block:
    return button("case.customer", "Customer", case.ref)


def _assign(case: Case) -> Block:
    return button("case.assign", "Assign…", case.ref)


def _with_take_over(words: str, case: Case) -> Card:
    join = button("case.join", "Help as second person", case.ref)
    return Card(words, (section(words), actions(join, _take_over("Take it over", case, style="danger"))))


def _take_over(text: str, case: Case, *, style: str = "") -> Block:
    """The button to take the case over from its owner, after a confirmation."""
    told = f"{capped(case.owner_name or '', 100)} will be told, and your messages reach the customer from then on."
    confirm = {
        "title": plain(f"Take over {case.ref}?"),
        "text": plain(told),
        "confirm": plain("Take over"),
        "deny": plain("Cancel"),
    }
    return {**button("case.takeover", text, case.ref, style=style), "confirm": confirm}
