"""What the customer sees while something is looked up."""

from dataclasses import dataclass, field

from bot.agent.events import ToolFinished, ToolStarted
from bot.language.languages import languages
from bot.language.sentences import load_sentences
from bot.turns.answers.progress import MAX_NAMED, ProgressLines

ORDER = "Looking up the order"


@dataclass
class Cards:
    """What was shown, in order."""

    shown: list[tuple[str, str, str]] = field(default_factory=list)

    def task(self, task_id: str, *, title: str, status: str) -> None:
        """As StreamWriter.task."""
        self.shown.append((task_id, title, status))


def lines_in(language: str = "en") -> tuple[ProgressLines, Cards]:
    cards = Cards()
    return ProgressLines(cards, load_sentences().task_titles(language)), cards


def begins(call: str, subject: str = "", tool: str = "lookup_order") -> ToolStarted:
    return ToolStarted(call, tool, ORDER, subject)


def ends(call: str, tool: str = "lookup_order", *, broke: bool = False) -> ToolFinished:
    return ToolFinished(call, tool, ORDER, ok=not broke, private=True, broke=broke)


def test_a_line_names_what_is_looked_up_in_each_language() -> None:
    for language in languages():
        lines, cards = lines_in(language)
        for tool, subject in (("lookup_order", "ORD-12345"), ("check_shipping", "1Z999AA10123456784")):
            lines.started(begins(tool, subject, tool))
            lines.finished(ends(tool, tool))
            _, title, status = cards.shown[-1]
            assert subject in title
            assert "{" not in title
            assert status == "complete"


def test_a_list_that_is_looked_up_at_once_is_one_line() -> None:
    lines, cards = lines_in()
    for call, subject in (("a", "ORD-1"), ("b", "ORD-2"), ("c", "ORD-3")):
        lines.started(begins(call, subject))
    for call in "acb":
        lines.finished(ends(call))
    assert cards.shown[-2:] == [
        ("a", "Looking up ORD-1, ORD-2, ORD-3", "in_progress"),
        ("a", "Looking up ORD-1, ORD-2, ORD-3", "complete"),
    ]


def test_a_long_list_is_cut() -> None:
    lines, cards = lines_in()
    for number in range(MAX_NAMED + 2):
        lines.started(begins(f"{number}", f"ORD-{number}"))
    assert cards.shown[-1][1] == "Looking up ORD-0, ORD-1, ORD-2, ORD-3, …"


def test_a_line_is_an_error_if_one_of_its_lookups_could_not_be_made() -> None:
    lines, cards = lines_in()
    lines.started(begins("a", "ORD-1"))
    lines.started(begins("b", "ORD-2"))
    lines.finished(ends("a", broke=True))
    lines.finished(ends("b"))
    assert cards.shown[-1] == ("a", "Looking up ORD-1, ORD-2", "error")


def test_what_is_looked_up_later_has_a_line_of_its_own() -> None:
    lines, cards = lines_in()
    for call, subject in (("a", "ORD-1"), ("b", "ORD-2")):
        lines.started(begins(call, subject))
        lines.finished(ends(call))
    assert [title for _, title, status in cards.shown if status == "complete"] == [
        "Looking up ORD-1",
        "Looking up ORD-2",
    ]


def test_a_call_that_names_nothing_has_the_title_of_its_tool() -> None:
    lines, cards = lines_in()
    lines.started(begins("a"))
    lines.started(begins("s", tool="search_knowledge"))
    lines.finished(ends("never begun"))
    assert [title for _, title, _ in cards.shown] == [ORDER, "Searching the help pages"]
