"""Text formats and cuts."""

import re
import time
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.slack.mrkdwn import MESSAGE_BYTES, best_cut, escape, from_slack, last_cut, seam, size, to_mrkdwn
from tests.patience import patience

PIECES = st.sampled_from(
    [
        "Some words here. ", "one", " ", "\n", "\n\n", "- item one\n", "```py\n", "```\n", "~~~\n", "code = [1, 2]\n",
        "| a | b |\n", "[the page](https://help.example.com/a) ", "https://help.example.com/a/very/long/path ",
        "**bold words** ", "`code span` ", ":tada: ", "👩‍👧 ", "🇩🇪", "e\u0301", "長い文章です。", "नमस्ते ", "x" * 120,
        "\t",
    ]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=80).map("".join)


def split_markdown(text: str, *, limit: int) -> tuple[str, ...]:
    """The text in parts of at most so many bytes, as the stream writer cuts a long answer."""
    parts: list[str] = []
    while size(text) > limit:
        end = best_cut(text, limit=limit)
        closing, opening = seam(text[:end])
        parts.append(text[:end] + closing)
        text = opening + text[end:]
    return (*parts, text)


def without_fences(text: str) -> str:
    return re.sub(r"[`~]{3}(?:py)?|\s", "", text)


@given(TEXTS, st.integers(200, 600))
def test_parts_fit_and_hold_every_word_once(text: str, limit: int) -> None:
    parts = split_markdown(text, limit=limit)
    assert all(size(part) <= limit for part in parts)
    assert without_fences("".join(parts)) == without_fences(text)


@given(TEXTS.filter(lambda text: "```" not in text and "~~~" not in text), st.integers(200, 600))
def test_parts_of_a_text_without_code_are_the_text(text: str, limit: int) -> None:
    assert "".join(split_markdown(text, limit=limit)) == text


@given(TEXTS, st.integers(200, 600))
def test_every_part_closes_the_code_it_opens_save_the_last(text: str, limit: int) -> None:
    for part in split_markdown(text, limit=limit)[:-1]:
        assert seam(part) == ("", "")


@given(TEXTS, st.integers(200, 600))
def test_no_part_begins_within_a_character(text: str, limit: int) -> None:
    parts = split_markdown(text, limit=limit)
    for before, after in pairwise(parts):
        if before and after:
            assert unicodedata.category(after[0]) not in ("Mn", "Me")
            assert "\u200d" not in (before[-1], after[0])


@given(TEXTS, st.integers(200, 600), st.integers(0, 600))
def test_a_cut_never_lies_before_what_is_out_already(text: str, limit: int, floor: int) -> None:
    floor = min(floor, len(text))
    assert floor <= best_cut(text, limit=limit, floor=floor) <= len(text)
    assert floor <= last_cut(text, floor=floor) <= len(text)


@pytest.mark.parametrize(
    "kept",
    [
        "[the returns page](https://help.example.com/returns)",
        "https://help.example.com/returns/and/more",
        "`return_days = 30 of them`",
        "**bold words that belong together**",
        ":white_check_mark:",
        "| Item | Price |",
        "👩‍👩‍👧‍👦",
    ],
)
def test_what_belongs_together_stays_together(kept: str) -> None:
    for filler in range(150, 200):
        text = "w" * filler + "\n" + kept + "\n" + "w" * 150
        assert any(kept in part for part in split_markdown(text, limit=200)), filler


def test_a_text_is_cut_between_paragraphs_before_lines_and_lines_before_sentences() -> None:
    paragraphs = "First. " + "Words here. " * 8 + "\n\nSecond line.\nThird line. More words.\n\n" + "x " * 200
    assert split_markdown(paragraphs, limit=200)[0].endswith("More words.\n\n")
    lines = "word " * 20 + "end.\nNext line. And so " + "on " * 80
    assert split_markdown(lines, limit=200)[0].endswith("end.\n")
    sentences = "word " * 20 + "end. Next " + "on " * 80
    assert split_markdown(sentences, limit=200)[0].endswith("end. ")


def test_a_numbered_item_keeps_its_number() -> None:
    text = "word " * 24 + "\n1. " + "item " * 40
    assert not split_markdown(text, limit=200)[0].rstrip().endswith("1.")


def test_code_goes_on_as_code_of_the_same_language() -> None:
    text = "Do this:\n```python\n" + "".join(f"line_{number} = {number}\n" for number in range(30)) + "```\nDone."
    first, *rest = split_markdown(text, limit=200)
    assert first.endswith("\n```")
    assert all(part.startswith("```python\n") for part in rest)
    assert rest[-1].endswith("```\nDone.")


@pytest.mark.parametrize("hostile", ["[", "<a", "**", "`", "|", "a.", "```\n", "\n", ":a", "👩‍👧"])
def test_no_text_makes_splitting_slow(hostile: str) -> None:
    text = (hostile * 40_000)[:40_000]
    began = time.process_time()
    split_markdown(text, limit=MESSAGE_BYTES)
    to_mrkdwn(text[:3_000])
    assert time.process_time() - began < patience(2)


def test_escaped_text_is_shown_as_it_is() -> None:
    assert escape("<!here> & <@U1>") == "&lt;!here&gt; &amp; &lt;@U1&gt;"


def test_what_a_person_wrote_is_read_as_plain_text() -> None:
    table = [
        ("<@UBOT> where is it?", "where is it?"),
        ("hey <@UBOT|frontdesk>, where is it?", "hey where is it?"),
        ("where is it <@UBOT>", "where is it"),
        ("ask <@U2> or <@U3|Agent A> in <#C1|general> or <#C2>", "ask @U2 or @Agent A in #general or #C2"),
        ("<!here> <!channel> <!subteam^S1|@support> <!subteam^S2>", "@here @channel @support @S2"),
        ("<!date^1795200123^{time}|14:02>", "14:02"),
        ("see <https://a.example/x|the page>", "see the page (https://a.example/x)"),
        ("see <https://a.example/x> and <http://b.example|b.example>", "see https://a.example/x and http://b.example"),
        ("<mailto:me@a.example|me@a.example> <tel:+123|+123>", "me@a.example +123"),
        ("5 &lt; 6 &amp;&amp; 7 &gt; 2 &amp;lt;", "5 < 6 && 7 > 2 &lt;"),
        ("&lt;@UBOT&gt; is text", "<@UBOT> is text"),
        ("line one\nline two", "line one\nline two"),
    ]
    misses = [(written, got) for written, read in table if (got := from_slack(written, bot_user="UBOT")) != read]
    assert misses == []


@given(st.text("<>@!#|&;ampltgU1 \n", max_size=40))
def test_reading_never_fails(written: str) -> None:
    from_slack(written, bot_user="U1")


def test_markdown_becomes_mrkdwn() -> None:
    table = [
        ("**bold** *it* _it_ ~~no~~ `a < b`", "*bold* _it_ _it_ ~no~ `a &lt; b`"),
        ("# Title **x**", "*Title x*"),
        ("- one\n  - two\n1. three", "• one\n  • two\n1. three"),
        ("[page](https://a.example/x?a=1&b=2)", "<https://a.example/x?a=1&amp;b=2|page>"),
        ("<https://a.example>", "<https://a.example>"),
        ("a < b & <!here>", "a &lt; b &amp; &lt;!here&gt;"),
        ("```py\na < b\n```\nafter", "```\na &lt; b\n```\nafter"),
        ("```\nopen", "```\nopen\n```"),
        ("2 * 3 * 4 and snake_case", "2 * 3 * 4 and snake_case"),
        ("> quoted", "&gt; quoted"),
    ]
    misses = [(markdown, got) for markdown, mrkdwn in table if (got := to_mrkdwn(markdown)) != mrkdwn]
    assert misses == []
