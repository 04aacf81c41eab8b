"""The app's Home tab, as pure functions that build views from cases: one for customers and one for staff."""

from collections.abc import Mapping, Sequence

from bot.desk_file.model import DeskFile, Tag
from bot.language.languages import Language, read_section
from bot.language.sentences import Sentences
from bot.slack.blocks import Block, actions, button, capped, context, header, moment, one_line, plain, section
from bot.store.case_lists import Counts
from bot.store.cases import Case
from bot.store.erasure import NO_LONGER_KEPT, NO_TITLE
from bot.store.persons import REQUEST
from bot.views.announcements import greeting
from bot.views.queue_cards import VIEWS, line, view_menu

MAX_SHOWN_CASES = 20
"""The most cases in a list. A tab has at most a hundred blocks, and no one reads more."""
ALL_TAGS = "*"
"""The choice of cases with any tag or none. No tag has this name."""
AS_IN_SLACK = "slack"
"""The choice to use the language that is set in Slack."""


def for_customer(
    sentences: Sentences,
    language: Language,
    *,
    open_cases: Sequence[Case],
    past: Sequence[Case],
    chosen: str,
    desk: DeskFile,
) -> Block:
    """The tab for a customer: their cases, the language, and the button to erase their data.

    `chosen` is the language that they chose, or empty. `desk` has the assistant's name.
    """

    def say(key: str, **values: str) -> str:
        return sentences.say(language, key, **values)

    blocks = [section(greeting(sentences, language, desk)), header(say("home_open"))]
    blocks += [_of_customer(sentences, language, case) for case in open_cases[:MAX_SHOWN_CASES]]
    if not open_cases:
        blocks.append(context(say("home_none")))
    if past:
        blocks.append(header(say("home_past")))
        blocks += [_of_customer(sentences, language, case) for case in past[:MAX_SHOWN_CASES]]
    as_in_slack = _option(say("home_language_slack"), AS_IN_SLACK)
    options = [as_in_slack, *(_option(name, code) for code, name in read_section("name").items())]
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
    cases: Sequence[Case],
    *,
    view: str,
    tag: str,
    tags: Mapping[str, Tag],
    counts: Counts,
    links: Mapping[int, str],
    metrics: Sequence[Block],
    knowledge: str,
    paused: Sequence[str],
    at: float,
) -> Block:
    """The tab for staff: a list of cases, the metrics and the knowledge base.

    `cases` are those of the `view`, a key of VIEWS, the most urgent first, and `counts` counts all that are open.
    `tag` is the one that the list is narrowed to, or empty, and `tags` are those to choose from.
    `links` are the addresses of the cases' cards by the case's id. `knowledge` is mrkdwn.
    `paused` are the channels in which the assistant is silent. `at` is the present time.
    """
    numbers = (
        f"{counts.waiting} waiting · {counts.late} late · {counts.mine} with you"
        f" · {counts.claimed - counts.mine} with colleagues"
    )
    shown = cases[:MAX_SHOWN_CASES]
    blocks = [
        header("Cases"),
        context(f"{numbers} · as of {moment(at, '{time}')}"),
        actions(
            view_menu("home.view", "Show a list…", chosen=view),
            *([_tag_menu(tags, tag)] if tags else []),
            button("home.refresh", "Refresh", "staff"),
        ),
        *(_of_staff(case, links.get(case.id, "")) for case in shown),
    ]
    if len(cases) > MAX_SHOWN_CASES:
        narrowed = f" tag:{tag}" if tag else ""
        blocks.append(context(f"and {len(cases) - MAX_SHOWN_CASES} more: `/frontdesk cases {view}{narrowed}`"))
    if not cases:
        blocks.append(section(f"No cases ({VIEWS[view].lower()})."))
    blocks += [header("Metrics"), *metrics, header("Knowledge base"), section(knowledge)]
    if paused:
        blocks.append(context("The assistant is paused in " + ", ".join(f"<#{channel}>" for channel in paused)))
    return {"type": "home", "blocks": blocks, "private_metadata": f"{view}/{tag}"}


def shown_in(private_metadata: str) -> tuple[str, str]:
    """The view and the tag that a tab shows. Both can be empty, or names that there are not."""
    view, _, tag = private_metadata.partition("/")
    return view, tag


def _tag_menu(tags: Mapping[str, Tag], chosen: str) -> Block:
    options = {ALL_TAGS: _option("All tags", ALL_TAGS)}
    options |= {name: _option(tag.label, name) for name, tag in tags.items()}
    present = options[chosen or ALL_TAGS]
    return {
        "type": "static_select",
        "action_id": "home.tag",
        "placeholder": plain("Tag"),
        "options": [*options.values()],
        "initial_option": present,
    }


def _of_customer(sentences: Sentences, language: Language, case: Case) -> Block:
    key = {"waiting": "home_waiting", "out_of_hours": "home_waiting", "human": "home_human", "resolved": "home_solved"}
    status = sentences.say(language, key.get(case.state, "home_ended"), staff=one_line(case.owner_name or "", 80))
    when = moment(case.since, "{date_short_pretty} {time}")
    is_gone = case.title in (NO_TITLE, NO_LONGER_KEPT)
    title = sentences.say(language, "session_untitled") if is_gone else case.title
    return _linked(case, f"{status} · {when}", case.link, title=title)


def _of_staff(case: Case, link: str) -> Block:
    return _openable(case, line(case, ""), link)


def _linked(case: Case, about: str, link: str, *, title: str) -> Block:
    return _openable(case, f"*{case.ref}* · {one_line(title, 150)}\n{about}", link)


def _openable(case: Case, words: str, link: str) -> Block:
    block = section(words)
    if not link:
        return block
    opener = {**button("home.open", "→", case.ref, label=case.ref), "url": link}
    return {**block, "accessory": opener}


def _option(text: str, value: str) -> Block:
    return {"text": plain(text), "value": value}
