"""The app's Home tab, as pure functions that build views from simple values: one for customers and one for staff."""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.language.sentences import LANGUAGES, Language, Sentences
from bot.slack.blocks import Block, actions, button, capped, context, header, moment, one_line, plain, section
from bot.slack.mrkdwn import escape
from bot.store.persons import REQUEST
from bot.views.staff_cards import PRIORITIES

MAX_SHOWN_CASES = 20
"""The most cases in a list. A tab has at most a hundred blocks, and no one reads more."""
LANGUAGE_NAMES: dict[Language, str] = {
    "en": "English",
    "id": "Bahasa Indonesia",
    "de": "Deutsch",
    "es": "Español",
    "fr": "Français",
}
AS_IN_SLACK = "slack"
"""The choice to use the language that is set in Slack."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One case in a list."""

    ref: str
    title: str
    state: str
    since: float
    """When the case began to wait, was claimed or ended, depending on its state, in seconds since 1970."""
    staff: str = ""
    """The owner: their name for customers, their Slack id for staff."""
    customer: str = ""
    priority: str = ""
    link: str = ""
    """The address of the thread for customers, and of the card for staff."""
    late: bool = False
    """Whether the case has waited longer than its target."""


def for_customer(
    sentences: Sentences, language: Language, *, open_cases: Sequence[Entry], past: Sequence[Entry], chosen: str
) -> Block:
    """The tab for a customer: their cases, the language, and the button to erase their data.

    `chosen` is the language that they chose, or empty.
    """

    def say(key: str, **values: str) -> str:
        return sentences.say(language, key, **values)

    blocks = [section(say("greeting")), header(say("home_open"))]
    blocks += [_of_customer(sentences, language, entry) for entry in open_cases[:MAX_SHOWN_CASES]]
    if not open_cases:
        blocks.append(context(say("home_none")))
    if past:
        blocks.append(header(say("home_past")))
        blocks += [_of_customer(sentences, language, entry) for entry in past[:MAX_SHOWN_CASES]]
    as_in_slack = _option(say("home_language_slack"), AS_IN_SLACK)
    options = [as_in_slack, *(_option(LANGUAGE_NAMES[each], each) for each in LANGUAGES)]
    menu = {
        "type": "static_select",
        "action_id": "home.language",
        "options": options,
        "initial_option": next((option for option in options if option["value"] == chosen), as_in_slack),
    }
    blocks += [{"type": "divider"}, {**section(say("home_language")), "accessory": menu}]
    confirm = {
        "title": plain(capped(say("erase_title"), 100)),
        "text": plain(capped(say("erase_confirm"), 300)),
        "confirm": plain(capped(say("erase_yes"), 30)),
        "deny": plain(capped(say("erase_no"), 30)),
        "style": "danger",
    }
    erase = {**button(REQUEST, say("erase_button"), "all", style="danger"), "confirm": confirm}
    blocks += [{"type": "divider"}, {**section(say("erase_about")), "accessory": erase}]
    return {"type": "home", "blocks": blocks}


def for_staff(
    *,
    waiting: Sequence[Entry],
    mine: Sequence[Entry],
    others: Sequence[Entry],
    figures: str,
    knowledge: str,
    paused: Sequence[str],
    at: float,
) -> Block:
    """The tab for staff: the queue, the metrics and the knowledge base.

    `figures` (the metrics) and `knowledge` are mrkdwn. `paused` are the channels in which the assistant is silent. `at`
    is the present time.
    """
    late = sum(entry.late for entry in waiting)
    counts = f"{len(waiting)} waiting · {late} late · {len(mine)} with you · {len(others)} with colleagues"
    blocks = [
        header("Cases"),
        context(f"{counts} · as of {moment(at, '{time}')}"),
        actions(button("home.refresh", "Refresh", "staff")),
    ]
    for title, entries in (("Waiting", waiting), ("With you", mine), ("With colleagues", others)):
        if entries:
            blocks += [section(f"*{title}*"), *(_of_staff(entry) for entry in entries[:MAX_SHOWN_CASES])]
            if len(entries) > MAX_SHOWN_CASES:
                blocks.append(context(f"and {len(entries) - MAX_SHOWN_CASES} more: `/frontdesk cases`"))
    if not (waiting or mine or others):
        blocks.append(section("No open cases."))
    blocks += [header("Metrics"), section(figures), header("Knowledge base"), section(knowledge)]
    if paused:
        blocks.append(context("The assistant is paused in " + ", ".join(f"<#{channel}>" for channel in paused)))
    return {"type": "home", "blocks": blocks}


def _of_customer(sentences: Sentences, language: Language, entry: Entry) -> Block:
    key = {"waiting": "home_waiting", "out_of_hours": "home_waiting", "human": "home_human", "resolved": "home_solved"}
    stands = sentences.say(language, key.get(entry.state, "home_ended"), staff=one_line(entry.staff, 80))
    when = moment(entry.since, "{date_short} {time}")
    return _linked(f"*{entry.ref}* · {one_line(entry.title, 150)}\n{stands} · {when}", entry)


def _of_staff(entry: Entry) -> Block:
    late = " · :alarm_clock: late" if entry.late else ""
    who = f" · <@{entry.staff}>" if entry.staff else ""
    priority = PRIORITIES.get(entry.priority, escape(entry.priority))
    since = moment(entry.since, "since {date_short} {time}")
    about = f"{priority} · {one_line(entry.customer, 80)}{who} · {since}{late}"
    return _linked(f"*{entry.ref}* · {one_line(entry.title, 150)}\n{about}", entry)


def _linked(words: str, entry: Entry) -> Block:
    block = section(words)
    if not entry.link:
        return block
    opener = {**button("home.open", "→", entry.ref, label=entry.ref), "url": entry.link}
    return {**block, "accessory": opener}


def _option(text: str, value: str) -> Block:
    return {"text": plain(text), "value": value}
