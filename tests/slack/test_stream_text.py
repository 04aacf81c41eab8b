"""What an answer's messages show of its text: where they end, what goes next, and that no word is lost or doubled."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.slack.api.transport import Chunk
from bot.slack.stream_text import CARD_BYTES, Part, ProgressCard, StreamMessage, StreamText, TaskStatus

LIMIT, SECONDS = 60, 240.0


def written(text: str, *, shown_to: int = 0, is_closed: bool = False) -> StreamText:
    """A text of which a message already shows the beginning."""
    return StreamText(LIMIT, SECONDS, text=text, shown_to=shown_to, is_closed=is_closed)


def card(number: int, details: str = "", status: TaskStatus = "in_progress") -> ProgressCard:
    return ProgressCard(f"card{number}", "Looks", status, details)


def words_of(chunks: Sequence[Chunk]) -> list[str]:
    return [chunk["text"] if chunk["type"] == "markdown_text" else chunk["id"] for chunk in chunks]


def test_a_short_text_goes_on_in_its_message() -> None:
    text = written("Your parcel is on its w")
    assert text.reach(text.next_message("1.0", 0.0), age=0.0) == (len(text.text), False)


def test_a_message_near_its_limit_ends_a_call_only_at_the_end_of_a_word_until_the_text_is_complete() -> None:
    text = written("word " * 10 + "unfin")
    message = text.next_message("1.0", 0.0)
    assert text.reach(message, age=0.0) == (50, False)
    text.is_closed = True
    assert text.reach(message, age=0.0) == (55, False)


def test_a_message_that_is_full_ends_at_the_best_place_that_fits() -> None:
    text = written("A first sentence of this. " * 4)
    assert text.reach(text.next_message("1.0", 0.0), age=0.0) == (52, True)


@pytest.mark.parametrize(("age", "must_end"), [(SECONDS - 1, False), (SECONDS, True)])
def test_a_message_that_is_old_ends_at_the_end_of_a_word(age: float, must_end: bool) -> None:
    text = written("Your parcel is on its w")
    assert text.reach(text.next_message("1.0", 0.0), age=age) == (22, must_end)


def test_cards_count_towards_the_limit_of_a_message() -> None:
    text = StreamText(4 * CARD_BYTES, SECONDS, text="word " * 100)
    message = text.next_message("1.0", 0.0)
    assert text.reach(message, age=0.0) == (500, False)
    text.change(card(1))
    assert text.reach(message, age=0.0)[1] is False
    text.change(card(2))
    to, must_end = text.reach(message, age=0.0)
    assert must_end
    assert to < 500


def test_cards_are_between_the_words_that_came_before_and_after_them() -> None:
    text = written("")
    text.add("Before. ")
    text.change(card(1))
    text.add("After.")
    chunks, cards = text.chunks(len(text.text))
    assert words_of(chunks) == ["Before. ", "card1", "After."]
    text.accept(text.next_message("1.0", 0.0), len(text.text), cards)
    assert text.chunks(len(text.text)) == ([], [])


def test_a_change_of_a_card_that_has_not_left_is_replaced_and_its_details_are_joined() -> None:
    text = written("")
    text.change(card(1, "one, "))
    text.change(card(1, "two", status="complete"))
    assert text.chunks(0)[1] == [card(1, "one, two", status="complete")]
    text.change(card(1, "three"))
    assert len(text.chunks(0)[1]) == 2, "a change that is in a call is not replaced"


def test_after_a_refusal_no_card_goes() -> None:
    text = written("Words")
    text.change(card(1))
    text.refuse_cards()
    assert not text.takes_cards
    assert words_of(text.chunks(5)[0]) == ["Words"]


def test_words_that_were_in_a_call_stay_when_the_others_are_dropped() -> None:
    text = written("Sent. Not sent.")
    text.sent_to = 6
    text.drop_unsent()
    assert text.text == "Sent. "


def test_a_fence_is_closed_at_the_end_of_a_message_and_opened_again_in_the_next() -> None:
    text = written("Run:\n```sh\n" + "echo a line\n" * 8 + "```\n")
    first = text.rest()
    assert first.text.endswith("\n```")
    text.shown_to, text.prefix = first.to, first.opening
    assert text.next_message("2.0", 0.0).prefix == "```sh\n"
    assert text.rest().text.startswith("```sh\necho a line")


@pytest.mark.parametrize(
    ("shown", "sure", "well"),
    [
        ("A sentence.", True, True),
        ("A sentence.", False, False),
        ("half a sen", True, False),
        ("```\ncode\n", True, False),
        ("  ", True, True),
    ],
)
def test_a_message_is_left_as_it_is_only_where_it_is_known_to_end_well(shown: str, sure: bool, well: bool) -> None:
    text = written(shown + "and more", shown_to=len(shown))
    assert text.ends_well(StreamMessage("1.0", 0.0, 0, sure=sure)) is well


def test_a_message_is_replaced_whole_up_to_a_place_where_it_can_end() -> None:
    text = written("Shown. Not shown yet, and a wo", shown_to=7)
    message = StreamMessage("1.0", 0.0, 0, sure=False)
    assert text.replacement(message).text == "Shown. Not shown yet, and a "
    text.is_closed = True
    assert text.replacement(message).text == text.text


def test_the_text_of_a_message_that_is_gone_is_shown_again() -> None:
    text = written("One. Two.")
    message = text.next_message("1.0", 0.0)
    text.accept(message, 9, [])
    assert not text.has_more
    text.forget(message)
    assert text.rest().text == "One. Two."


def test_a_card_weighs_its_title_and_its_details_twice_and_shows_details_only_where_it_has_some() -> None:
    plain, detailed = card(1), card(2, "é")
    assert (plain.weight, detailed.weight) == (CARD_BYTES + 5, CARD_BYTES + 5 + 4)
    shown = {"type": "task_update", "id": "card1", "title": "Looks", "status": "in_progress"}
    assert (plain.chunk, detailed.chunk) == (shown, {**shown, "id": "card2", "details": "é"})


def test_a_message_begins_open_certain_and_where_the_shown_text_ends() -> None:
    text = written("One. Two.", shown_to=5)
    text.prefix = "```\n"
    assert text.next_message("1.0", 3.0) == StreamMessage(
        "1.0", 3.0, 5, "```\n", cards=0, open=True, sure=True, full=False, shown=""
    )
    assert not text.next_message("1.0", 3.0, is_open=False).open
    fresh = StreamText(LIMIT, SECONDS)
    assert (fresh.is_closed, fresh.takes_cards, fresh.shown_to, fresh.sent_to) == (False, True, 0, 0)
    assert (fresh.is_empty, fresh.has_more, text.is_empty, text.has_more) == (True, False, False, True)


@pytest.mark.parametrize(("length", "must_end"), [(60, False), (61, True)])
def test_a_message_must_end_only_beyond_its_bytes_of_which_cards_shown_and_waiting_take_theirs(
    length: int, must_end: bool
) -> None:
    assert written("w" * length).reach(StreamMessage("1.0", 0.0, 0), age=0.0)[1] is must_end
    text = StreamText(LIMIT + 2 * card(1).weight, SECONDS, text="w" * length)
    text.change(card(1))
    shown = StreamMessage("1.0", 0.0, 0, cards=card(1).weight)
    assert text.reach(shown, age=0.0)[1] is must_end


def test_a_message_that_cards_fill_still_takes_half_its_bytes_of_words() -> None:
    text = written("w" * 100)
    text.change(card(1))
    assert text.reach(StreamMessage("1.0", 0.0, 0), age=0.0) == (29, True)


@pytest.mark.parametrize(
    ("words", "age", "to"),
    [("word " * 9 + "end", 0.0, 48), ("word " * 9 + "ends", 0.0, 45), ("a wo", 192.0, 4), ("a wo", 193.0, 2)],
)
def test_near_a_limit_of_bytes_or_seconds_a_call_ends_at_a_word(words: str, age: float, to: int) -> None:
    assert written(words).reach(StreamMessage("1.0", 0.0, 0), age=age) == (to, False)


def test_positions_count_from_the_text_also_where_a_message_reopens_a_fence() -> None:
    text = written("0123456789" + "word " * 20, shown_to=15)
    message = StreamMessage("1.0", 0.0, 10, "```\n")
    assert text.reach(message, age=0.0) == (62, True)
    assert text.seam_at(message, 15) == ("\n```", "```\n")
    assert text.replacement(message) == Part("```\n" + "word " * 10 + "wo", "\n```", 62, "```\n", is_last=False)


def test_a_message_shows_what_was_accepted_and_is_done_when_it_is_completed() -> None:
    text = written("One. Two. Three.")
    message = text.next_message("1.0", 0.0)
    message.sure = False
    text.change(card(1))
    text.change(card(2))
    text.accept(message, 9, text.chunks(len(text.text))[1][:1])
    assert (text.shown_to, message.cards) == (9, card(1).weight)
    assert [each.id for each in text.chunks(len(text.text))[1]] == ["card2"]
    text.complete(message, "!", "```\n")
    assert (message.open, message.sure, message.shown, text.prefix) == (False, True, "One. Two.!", "```\n")
    text.forget(message)
    assert (text.shown_to, text.prefix) == (0, "")


@pytest.mark.parametrize("mark", [".", "!", "?", "…", ":", "。", "！", "？", " ", "\n"])
def test_a_message_can_end_after_every_mark_that_ends_a_sentence(mark: str) -> None:
    text = written(f"Word{mark}", shown_to=5)
    assert text.ends_well(StreamMessage("1.0", 0.0, 0))


def test_parts_say_where_they_end_and_whether_anything_comes_after_them() -> None:
    whole = written("Shown. Two wo", shown_to=7)
    assert whole.draft() == Part("Two ", "", 11, "", is_last=True)
    assert whole.rest() == Part("Two wo", "", 13, "", is_last=True)
    assert Part(" \n", "```", 2, "", is_last=True).text == ""
    longer = written("word " * 20)
    assert longer.draft() == longer.rest() == Part("word " * 11, "", 55, "", is_last=False)
    fence = written("```\ncode")
    assert fence.rest() == Part("```\ncode", "", 8, "", is_last=True)


def test_words_before_and_after_go_around_the_text_of_a_call() -> None:
    text = written("One. Two.", shown_to=5)
    assert words_of(text.chunks(9, "```\n", after="\n```")[0]) == ["```\nTwo.\n```"]
    text.change(card(1))
    assert [words_of(text.chunks(to)[0]) for to in (8, 9)] == [["Two"], ["Two.", "card1"]]


@given(st.text(alphabet="ab .`~\n|é€", max_size=300))
def test_the_messages_of_a_complete_text_hold_each_character_once(words: str) -> None:
    text, shown = written(words, is_closed=True), ""
    while text.shown_to < len(words):
        part = text.rest()
        assert part.to > text.shown_to
        shown += part.words.removeprefix(text.prefix)
        text.shown_to, text.prefix = part.to, part.opening
    assert shown == words
