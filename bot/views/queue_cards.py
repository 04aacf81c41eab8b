"""The queue of a desk as staff see it: the message that shows it, lists of cases, and alarms about several of them."""

from collections.abc import Iterator, Mapping, Sequence

from bot.slack.blocks import Block, Card, actions, alert, button, context, header, moment, one_line, plain, section
from bot.slack.mrkdwn import escape
from bot.store.cases import Case
from bot.views.staff_cards import WHY

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
    "claimed": "Claimed",
    "solved": "Solved today",
    "all": "All open",
}
"""The lists of cases that staff can choose -> their names."""
NEXT, FILTER = "queue.next", "queue.filter"
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
    late, waiting, claimed = sort_out(cases)
    counts = f"{len(late)} late · {len(waiting)} unassigned · {len(claimed)} claimed"
    blocks: list[Block] = [header("Queue"), context(counts)]
    left = MAX_LINES
    for title, listed in (("Late", late), ("Unassigned", waiting), ("Claimed", claimed)):
        if shown := listed[:left]:
            blocks += _group(title, shown, links)
            left -= len(shown)
    if not cases:
        blocks.append(section("No open cases."))
    if len(cases) > MAX_LINES:
        blocks.append(context(f"and {len(cases) - MAX_LINES} more: choose a list below"))
    claims = [button(NEXT, "Claim next", "next", style="primary")] if late or waiting else []
    blocks.append(actions(*claims, view_menu(FILTER, "Show a list…")))
    return Card(f"Queue: {counts}", tuple(blocks))


def sort_out(cases: Sequence[Case]) -> tuple[list[Case], list[Case], list[Case]]:
    """The open cases that are late, those that wait, and those that a person has, these by person."""
    late = [case for case in cases if case.is_late]
    waiting = [case for case in cases if case.waits and not case.is_late]
    claimed = [case for case in cases if case.state == "human"]
    return late, waiting, sorted(claimed, key=lambda case: case.owner_name or "")


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
    return f"{mark} *{ref}* {about}{who} · {moment(case.since, SINCE[case.state])}"


def overdue_together(
    cases: Sequence[tuple[Case, float]], *, links: Mapping[int, str], mention: str, claims: bool = True
) -> Card:
    """One alarm for several cases that no one has claimed, each with the minutes that it has waited.

    With `claims` it has the button to claim the next one. It names no customer and no matter: the queue message does,
    and what is stored here cannot be erased case by case.
    """
    said = f"{mention} {len(cases)} cases have waited too long.".strip()
    lines = [
        f"• {MARKS.get(case.priority, '')} {_ref(case, links)} · {WHY.get(case.reason, escape(case.reason))}"
        f" · {round(waited)} min"
        for case, waited in cases[:MAX_LINES]
    ]
    more = [f"and {len(cases) - MAX_LINES} more"] if len(cases) > MAX_LINES else []
    shown = section("\n".join([*lines, *more]))
    buttons = [actions(button(NEXT, "Claim next", "next", style="primary"))] if claims else []
    return Card(said, (alert(said), shown, *buttons))


def claimed_next(case: Case, link: str) -> str:
    """For the person who pressed *Claim next*: which case they have now."""
    return f"{case.ref} is yours: <{link}|open its card>. What you write in its thread goes to the customer."


def _ref(case: Case, links: Mapping[int, str]) -> str:
    return f"<{links[case.id]}|{case.ref}>" if case.id in links else case.ref


def _group(title: str, cases: Sequence[Case], links: Mapping[int, str]) -> Iterator[Block]:
    lines = [line(case, links.get(case.id, "")) for case in cases]
    for begin in range(0, len(lines), LINES_A_BLOCK):
        heading = [f"*{title}*"] if begin == 0 else []
        yield section("\n".join([*heading, *lines[begin : begin + LINES_A_BLOCK]]))
