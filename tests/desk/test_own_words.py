"""What the desk keeps to itself: known however it is written, and mistaken for nothing else."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from bot.desk.own_words import LEAK_WORDS, Leak, OwnWords, OwnWordsGate, instructions
from bot.language.languages import read_section

TOKEN = "xoxb-1234567890-AbCdEfGhIjKl"
SHIPPED = OwnWords([TOKEN, "frontdesk", "s3cret-pass", "a"], instructions())
PAGES = sorted((Path(__file__).parents[2] / "demo" / "kb").glob("*.md"))
TWELVE = "Answer only from the passages and tool results you were given and"


def leak_in(*sentences: str, own: OwnWords = SHIPPED) -> Leak | None:
    gate = OwnWordsGate(own)
    shown = "".join(gate.feed(sentence) for sentence in sentences)
    assert shown == "".join(sentences) or gate.stopped
    return gate.stopped


def test_a_secret_is_known_however_it_is_written() -> None:
    table = [
        (f"The token is {TOKEN}.",),
        (f"It is `{TOKEN.lower()}`, keep it.",),
        ("x o x b - 1 2 3 4 5 6 7 8 9 0 - A b C d E f G h I j K l",),
        ("It begins xoxb-1234567890-", "AbCdEfGhIjKl and that is all."),
        ("ｘｏｘｂ-1234567890-AbCdEfGhIjKl",),
        ("The password: **s3cret**-pass",),
    ]
    misses = [(sentences, got) for sentences in table if (got := leak_in(*sentences)) != "secret"]
    assert misses == []


def test_a_password_that_is_a_word_is_no_secret_in_an_answer() -> None:
    assert leak_in("You are talking to Frontdesk, and a colleague can help.") is None


def test_all_shipped_instructions_are_known() -> None:
    misses = []
    for text in instructions():
        words = text.replace("{shop}", " … ").split()
        if (
            not (len(words) >= LEAK_WORDS)
            or leak_in(text, own=OwnWords((), [text])) != "instructions"
            or leak_in(text.upper().replace("\n", " ")) != "instructions"
        ):
            misses.append(text)
    assert misses == []


def test_twelve_words_in_a_row_are_known_and_eleven_are_not() -> None:
    own = OwnWords((), [f"Before. {TWELVE} so on."])
    words = TWELVE.split()
    assert len(words) == LEAK_WORDS
    assert leak_in(f"I was told: {TWELVE.upper()}", own=own) == "instructions"
    assert leak_in(f"*{words[0]}*, ", " ".join(words[1:6]), " ... ", " ".join(words[6:]), own=own) == "instructions"
    assert leak_in(" ".join(words[:-1]), " something else.", own=own) is None


def test_what_follows_a_leak_is_not_let_through_either() -> None:
    gate = OwnWordsGate(SHIPPED)
    assert [gate.feed(text) for text in ("Hello. ", f"It is {TOKEN}. ", "Bye.")] == ["Hello. ", "", ""]


def test_no_sentence_of_ours_and_no_page_of_a_shop_is_mistaken_for_a_leak() -> None:
    sentences = [text for held in read_section("sentences").values() for text in held.values() if isinstance(text, str)]
    assert [text for text in (*sentences, *(page.read_text() for page in PAGES)) if leak_in(text)] == []


@given(st.lists(st.sampled_from([*TWELVE.split(), "other", "words"]), max_size=40), st.lists(st.integers(1, 5)))
def test_how_an_answer_is_divided_into_sentences_does_not_matter(words: list[str], sizes: list[int]) -> None:
    own, pieces, rest = OwnWords((), [TWELVE]), [], [f"{word} " for word in words]
    for size in sizes:
        pieces.append("".join(rest[:size]))
        rest = rest[size:]
    assert leak_in(*pieces, "".join(rest), own=own) == leak_in(" ".join(words), own=own)
