"""What of a conversation the model gets to read."""

from hypothesis import given
from hypothesis import strategies as st

from bot.agent.history import OLD_RESULT_LIMIT, fit, repair
from bot.agent.messages import (
    AgentMessage,
    CustomerMessage,
    Message,
    StaffMessage,
    SystemNote,
    ToolCall,
    ToolResult,
)
from tests.agent.desk import assert_paired

IDS = st.sampled_from(["c1", "c2", "c3"])
CALLS = st.lists(IDS.map(lambda id_: ToolCall(id_, "lookup_order", "{}")), max_size=3).map(tuple)
TEXTS = st.sampled_from(["", "yes", "text " * 100])
MESSAGES: st.SearchStrategy[list[Message]] = st.lists(
    st.one_of(
        TEXTS.map(CustomerMessage),
        TEXTS.map(StaffMessage),
        TEXTS.map(SystemNote),
        st.builds(AgentMessage, TEXTS, CALLS),
        st.builds(ToolResult, IDS, st.just("lookup_order"), TEXTS),
    ),
    max_size=12,
)


def asks(*ids: str, text: str = "") -> AgentMessage:
    """An agent's round of calls."""
    return AgentMessage(text, tuple(ToolCall(id_, "lookup_order", "{}") for id_ in ids))


def result(id_: str, content: str = "found") -> ToolResult:
    """The answer to one of them."""
    return ToolResult(id_, "lookup_order", content)


@given(MESSAGES)
def test_any_history_is_repaired_so_that_each_call_has_one_result(messages: list[Message]) -> None:
    sound = repair(messages)
    assert_paired(sound)
    assert repair(sound) == sound


@given(MESSAGES)
def test_repair_loses_nothing_that_anybody_said(messages: list[Message]) -> None:
    def said(all_messages: list[Message]) -> list[str]:
        texts = [message.text for message in all_messages if not isinstance(message, ToolResult)]
        return [text for text in texts if text.strip()]

    assert said(repair(messages)) == said(messages)


@given(MESSAGES, st.integers(0, 2_000))
def test_a_window_of_any_size_is_sound_and_keeps_the_latest_question(messages: list[Message], characters: int) -> None:
    question = CustomerMessage("And now?", ts="latest")
    window = fit([*messages, question], characters=characters)
    assert_paired(window)
    assert window[-1] == question


@given(MESSAGES)
def test_a_sound_history_that_fits_stays_as_it_is(messages: list[Message]) -> None:
    sound = repair(messages)
    assert fit(sound, characters=100_000) == tuple(sound)


def test_a_call_without_a_result_gets_one_that_says_so() -> None:
    sound = repair([CustomerMessage("Where?"), asks("c1", "c2"), result("c2"), CustomerMessage("Hello?")])
    assert [type(message) for message in sound] == [
        CustomerMessage,
        AgentMessage,
        ToolResult,
        ToolResult,
        CustomerMessage,
    ]
    lost, found = sound[2:4]
    assert isinstance(lost, ToolResult)
    assert (lost.call_id, lost.ok) == ("c1", False)
    assert found == result("c2")


def test_results_without_a_call_go_and_late_ones_move_behind_their_call() -> None:
    late: list[Message] = [result("c9"), asks("c1"), CustomerMessage("Hello?"), result("c1"), result("c1", "again")]
    assert repair(late) == [asks("c1"), result("c1"), CustomerMessage("Hello?")]


def test_the_same_id_in_two_rounds_is_two_calls() -> None:
    rounds: list[Message] = [asks("c1"), result("c1", "first"), asks("c1"), result("c1", "second")]
    assert repair(rounds) == rounds


def test_a_result_belongs_to_the_round_before_it() -> None:
    sound = repair([asks("c1"), asks("c1"), result("c1")])
    assert sound[2:] == [asks("c1"), result("c1")]
    assert isinstance(sound[1], ToolResult)
    assert not sound[1].ok


def test_the_oldest_result_shrinks_first() -> None:
    rounds: list[Message] = [asks("c1"), result("c1", "x" * 1_000), asks("c2"), result("c2", "y" * 1_000)]
    window = fit([CustomerMessage("One?"), *rounds, AgentMessage("One."), CustomerMessage("Two?")], characters=1_600)
    sizes = [len(message.content) for message in window if isinstance(message, ToolResult)]
    assert sizes == [OLD_RESULT_LIMIT, 1_000]


def test_older_results_shrink_before_anything_is_left_out() -> None:
    old: list[Message] = [CustomerMessage("One?"), asks("c1"), result("c1", "x" * 3_000), AgentMessage("One.")]
    now: list[Message] = [CustomerMessage("Two?"), asks("c2"), result("c2", "y" * 1_000)]
    window = fit([*old, *now], characters=2_000)
    assert len(window) == 7
    shrunk, fresh = window[2], window[6]
    assert isinstance(shrunk, ToolResult)
    assert len(shrunk.content) == OLD_RESULT_LIMIT
    assert shrunk.content.endswith("[shortened]")
    assert fresh == result("c2", "y" * 1_000)


def test_the_oldest_messages_go_next_up_to_where_a_person_speaks_and_a_note_says_so() -> None:
    turns: list[Message] = [CustomerMessage("Question " * 20), AgentMessage("Answer " * 20)]
    window = fit([*turns, *turns, *turns, CustomerMessage("Last?")], characters=700)
    assert window[0] == SystemNote("Earlier messages of this conversation are left out here.")
    assert [type(message) for message in window[1:]] == [CustomerMessage, AgentMessage] * 2 + [CustomerMessage]


def test_a_round_that_is_too_large_by_itself_shares_the_room() -> None:
    large: list[Message] = [
        CustomerMessage("All of it?"),
        asks("c1", "c2"),
        result("c1", "x" * 4_000),
        result("c2", "y" * 4_000),
    ]
    window = fit(large, characters=3_000)
    sizes = [len(message.content) for message in window if isinstance(message, ToolResult)]
    assert sum(sizes) <= 3_000
    assert min(sizes) > OLD_RESULT_LIMIT


def test_notes_on_what_came_before_stay_when_the_oldest_messages_go() -> None:
    note = SystemNote("Summary: a refund was promised for ORD-1.")
    talk: list[Message] = [
        message for _ in range(6) for message in (CustomerMessage("q" * 300), AgentMessage("a" * 300))
    ]
    fitted = fit([note, *talk, CustomerMessage("And now?")], characters=2_000)
    assert fitted[0] == note
    assert isinstance(fitted[1], SystemNote)
    assert isinstance(fitted[2], CustomerMessage)
