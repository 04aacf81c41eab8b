"""What was retrieved for earlier messages: it stays, is shown once, and goes at borders only."""

from hypothesis import given
from hypothesis import strategies as st

from bot.agent.history import fit
from bot.agent.messages import AgentMessage, CustomerMessage, Message, ToolCall, ToolResult, to_json
from bot.agent.passages import fit_passages, with_passages

ROOM = 2_000


def passage(title: str, body: str, *, number: int = 1) -> str:
    return f'<passage number="{number}" title="{title}">\n{body}\n</passage>'


RETURNS, PAYMENT = passage("Returns", "You have 30 days."), passage("Payment", "By card.", number=2)


def asked(text: str, *passages: str) -> CustomerMessage:
    return CustomerMessage(text, "U1", passages="\n\n".join(("Passages.", *passages)) if passages else "")


def test_a_passage_that_an_earlier_message_has_is_only_named() -> None:
    history: list[Message] = [
        asked("How long?", RETURNS),
        AgentMessage("30 days."),
        asked("And payment?", RETURNS, PAYMENT),
    ]
    first, _, second = fit_passages(history, characters=ROOM)
    assert first == history[0]
    named = '<passage number="1" title="Returns" shown="above"/>'
    assert second == asked("And payment?", named, PAYMENT)


def test_a_passage_that_is_a_part_of_an_earlier_one_of_its_page_is_only_named() -> None:
    steps, short = "Print the label and hand the parcel in. " * 3, "Hand it in."
    whole = passage("Returns › How", f"You have 30 days.\n\nSteps\n{steps}\n{short}")
    parts = [passage("Returns › Steps", steps), passage("Returns › Short", short), passage("Fees › Steps", steps[1:])]
    *_, second = fit_passages([asked("How long?", whole), AgentMessage("30."), asked("How?", *parts)], characters=ROOM)
    named = '<passage number="1" title="Returns › Steps" shown="above"/>'
    assert second == asked("How?", named, *parts[1:])


def test_a_search_names_what_a_message_has_and_no_message_refers_to_a_search() -> None:
    """Results are shortened when room is short, and a message must not point to what is gone."""
    search = AgentMessage("", (ToolCall("c1", "search_knowledge", "{}"),))
    found = ToolResult("c1", "search_knowledge", f"{RETURNS}\n\n{PAYMENT}")
    *_, result, last = fit_passages(
        [asked("How long?", RETURNS), search, found, asked("And?", PAYMENT)], characters=ROOM
    )
    assert isinstance(result, ToolResult)
    assert "30 days" not in result.content
    assert "By card." in result.content
    assert last == asked("And?", PAYMENT)


def test_earlier_passages_go_together_when_the_next_ones_do_not_fit_beside_them() -> None:
    long = [passage(f"Page {number}", f"{number} " * 300) for number in range(4)]
    history = [asked(str(number), each) for number, each in enumerate(long)]
    shown = ["passage" in str(to_json(message)) for message in fit_passages(history, characters=ROOM)]
    assert shown == [False, False, False, True]
    again = fit_passages([*history, asked("4", RETURNS)], characters=ROOM)
    assert again[:4] == fit_passages(history, characters=ROOM)


def test_what_was_dropped_at_a_border_is_shown_in_full_behind_it() -> None:
    history = [asked("1", RETURNS), asked("2", passage("Long", "x" * ROOM)), asked("3", RETURNS)]
    assert "30 days" in str(fit_passages(history, characters=ROOM)[-1])


def test_passages_for_no_ones_message_come_last() -> None:
    assert with_passages([AgentMessage("Hello")], RETURNS) == [
        AgentMessage("Hello"),
        CustomerMessage("", passages=RETURNS),
    ]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 900)), min_size=2, max_size=14))
def test_between_two_borders_a_conversation_only_grows_at_its_end(pages: list[tuple[int, int]]) -> None:
    history: list[Message] = []
    borders = 0
    before: tuple[Message, ...] = ()
    for page, size in pages:
        history += [asked("Question", passage(f"Page {page}", f"{page}" * size)), AgentMessage("Answer.")]
        now = fit(history, characters=ROOM)
        borders += now[: len(before)] != before
        before = now
        assert "Page" in str(now[-2])
    assert borders <= sum(size for _, size in pages) // (ROOM // 2)
