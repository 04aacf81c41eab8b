"""The queue of a desk as staff see it: the message that shows it, lists of cases, and alarms about several of them."""

from collections.abc import Iterator, Mapping, Sequence

from bot.slack.blocks import Block, Card, actions, alert, button, context, header, moment, one_line, plain, section
from bot.slack.mrkdwn import escape
from bot.store.cases import Case
from bot.views.staff_cards import WHY, stage

MAX_LINES = 20
"""The most cases that the queue message shows."""
LINES_A_BLOCK = 10
"""A block has at most 3,000 characters; a line has at most 300."""
MARKS = {"high": ":red_circle:", "medium": ":large_orange_circle:", "low": ":white_circle:"}
"""Priority -> its color."""
VIEWS = {
    "mine": "With me",
    "unassigned": "Unassigned",
    "late": "Late",
    "customer": "Waiting for customer",
    "snoozed": "Snoozed",
    "claimed": "Claimed",
    "solved": "Solved today",
    "all": "All open",
}
"""The lists of cases that staff can choose -> their names."""
NEXT, FILTER, SEARCH, CHOOSE = "queue.next", "queue.filter", "queue.search", "queue.choose"
SINCE = {
    "waiting": "asked {ago}",
    "out_of_hours": "asked {ago}, desk closed",
    "human": "claimed {ago}",
    "resolved": "solved {ago}",
    "closed": "closed {ago}",
    "merged": "merged into another case {ago}",
    "bot": "back with the assistant {ago}",
}
"""State of a case -> what happened, and how long ago, in a list."""


def placeholder() -> Card:
    """The queue message until its cases are filled in. It holds nothing about customers, so it can be stored."""
    return Card("The queue of this desk", (header("Queue"), context("The cases will be here in a moment.")))


def queue_message(cases: Sequence[Case], *, links: Mapping[int, str]) -> Card:
    """The queue message for the open cases of a desk, the most urgent first. `links` are their cards' addresses."""
    late, waiting, customer, claimed = sort_out(cases)
    counts = f"{len(late)} late · {len(waiting)} unassigned · {len(customer)} waiting for customer"
    counts += f" · {len(claimed)} claimed"
    blocks: list[Block] = [header("Queue"), context(counts)]
    left = MAX_LINES
    people = [(f"<@{owner}> ({len(theirs)})", theirs) for owner, theirs in by_person(claimed)]
    for title, listed in (("Late", late), ("Unassigned", waiting), ("Waiting for customer", customer), *people):
        if shown := listed[:left]:
            blocks += _group(title, shown, links)
            left -= len(shown)
    if not cases:
        blocks.append(section("No open cases."))
    if len(cases) > MAX_LINES:
        blocks.append(context(f"and {len(cases) - MAX_LINES} more: choose a list below"))
    claims = [button(NEXT, "Claim next", "next", style="primary")] if late or waiting else []
    blocks.append(actions(*claims, view_menu(FILTER, "Show a list…"), button(SEARCH, "Search…", "search")))
    return Card(f"Queue: {counts}", tuple(blocks))


def sort_out(cases: Sequence[Case]) -> tuple[list[Case], list[Case], list[Case], list[Case]]:
    """The open cases that are late, those that wait, those whose customer is to answer, and others that people have."""
    late = [case for case in cases if case.is_late]
    waiting = [case for case in cases if case.waits and not case.is_late]
    customer = [case for case in cases if case.waits_for_customer]
    others = [case for case in cases if case.state == "human" and not (case.is_late or case.waits_for_customer)]
    return late, waiting, customer, others


def by_person(cases: Sequence[Case]) -> list[tuple[str, list[Case]]]:
    """The claimed cases of each person, by the people's names."""
    people = {case.owner or "": case.owner_name or "" for case in cases}
    return [
        (owner, [case for case in cases if (case.owner or "") == owner])
        for owner in sorted(people, key=lambda owner: (people[owner], owner))
    ]


def view_menu(action_id: str, words: str, *, chosen: str = "") -> Block:
    """A menu of the lists that staff can choose."""
    options = {view: {"text": plain(name), "value": view} for view, name in VIEWS.items()}
    menu: Block = {
        "type": "static_select",
        "action_id": action_id,
        "placeholder": plain(words),
        "options": list(options.values()),
    }
    return {**menu, "initial_option": options[chosen]} if chosen else menu


def line(case: Case, link: str) -> str:
    """A case as one line: its priority, number, matter, customer, and how long it has been so."""
    ref = f"<{link}|{case.ref}>" if link else case.ref
    mark = ":alarm_clock:" if case.is_late else MARKS.get(case.priority, "")
    who = f" · <@{case.owner}>" if case.owner and case.state == "human" else ""
    about = f"{one_line(case.title, 100)} · {one_line(case.customer_name, 60)}"
    turn = f" · {stage(case)}" if case.state == "human" else ""
    return f"{mark} *{ref}* {about}{who} · {moment(case.since, SINCE[case.state])}{turn}"


def listed(heading: str, lines: Sequence[str], *, more: Sequence[str], cases: Sequence[Case]) -> Card:
    """A list of cases for one person: a heading, a line for each, and what follows.

    `cases` are those that the person can change there. With an open one among them, it has the button for it.
    """
    blocks = [section("\n".join(lines[at : at + LINES_A_BLOCK])) for at in range(0, len(lines), LINES_A_BLOCK)]
    buttons = choose_buttons(cases)
    shown = (section(heading), *blocks, *map(context, more), *([actions(*buttons)] if buttons else []))
    return Card("\n".join([heading, *lines, *more]), shown)


def choose_buttons(cases: Sequence[Case]) -> list[Block]:
    """The button to choose some of the cases that are shown, and to change them. None if none is open."""
    ids = [str(case.id) for case in cases if case.is_open]
    return [button(CHOOSE, "Choose cases…", " ".join(ids))] if ids else []


def overdue_together(
    cases: Sequence[tuple[Case, float]], *, links: Mapping[int, str], mention: str, claims: bool = True
) -> Card:
    """One alarm for several cases that wait for a claim or a reply, each with the minutes that it has waited.

    With `claims` it has the button to claim the next one. It names no customer and no matter: the queue message does,
    and what is stored here cannot be erased case by case.
    """
    said = f"{mention} {len(cases)} cases have waited too long.".strip()
    lines = [
        f"• {MARKS.get(case.priority, '')} {_ref(case, links)} · {WHY.get(case.reason, escape(case.reason))}"
        f" · {round(waited)} min{_owner(case)}"
        for case, waited in cases[:MAX_LINES]
    ]
    more = [f"and {len(cases) - MAX_LINES} more"] if len(cases) > MAX_LINES else []
    shown = section("\n".join([*lines, *more]))
    buttons = [actions(button(NEXT, "Claim next", "next", style="primary"))] if claims else []
    return Card(said, (alert(said), shown, *buttons))


def claimed_next(case: Case, link: str) -> str:
    """For the person who pressed *Claim next*: which case they have now."""
    return f"{case.ref} is yours: <{link}|open its card>. What you write in its thread goes to the customer."


def _owner(case: Case) -> str:
    """The mention of the person whose reply is late. Empty for a case that no one has claimed."""
    return f" · reply of <@{case.owner}>" if case.state == "human" else ""


def _ref(case: Case, links: Mapping[int, str]) -> str:
    return f"<{links[case.id]}|{case.ref}>" if case.id in links else case.ref


def _group(title: str, cases: Sequence[Case], links: Mapping[int, str]) -> Iterator[Block]:
    lines = [line(case, links.get(case.id, "")) for case in cases]
    for begin in range(0, len(lines), LINES_A_BLOCK):
        heading = [f"*{title}*"] if begin == 0 else []
        yield section("\n".join([*heading, *lines[begin : begin + LINES_A_BLOCK]]))
