"""Cutting: nothing lost, nothing too large, headings in front."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.chunking import FULL, LIMIT, Chunk, chunk, count_tokens
from knowledge.documents import Document, Markup, clean
from knowledge.embedding.table import TableEmbedder

WORDS = "The parcel leaves our warehouse on the day after you have placed the order. "


def document(text: str, *, title: str = "Help", markup: Markup = "markdown") -> Document:
    return Document(id="page.md", title=title, text=clean(text), markup=markup)


def headings(chunks: list[Chunk]) -> list[str]:
    return [part.heading for part in chunks]


def test_every_chunk_carries_the_path_of_its_headings() -> None:
    chunks = chunk(document(f"# Help\n\n{WORDS * 5}\n\n## Refunds\n\n{WORDS * 5}\n\n### By card\n\n{WORDS * 5}\n"))

    assert headings(chunks) == ["Help", "Help > Refunds", "Help > Refunds > By card"]
    assert [part.anchor for part in chunks] == ["help", "refunds", "by-card"]
    assert chunks[1].full_text.startswith("Help > Refunds\nThe parcel")


def test_small_neighbours_are_joined_and_keep_both_names() -> None:
    chunks = chunk(document("## Opening\n\nAt nine.\n\n## Closing\n\nAt five.\n"))

    assert headings(chunks) == ["Help > Opening · Closing"]
    assert chunks[0].text == "At nine.\n\n## Closing\n\nAt five."


def test_sections_of_different_parents_are_not_joined() -> None:
    short = "Twelve words are enough to be a chunk of their own, these."
    chunks = chunk(document(f"# A\n\n## One\n\n{short} Really.\n\n# B\n\n## Two\n\nShort too. {WORDS * 9}\n"))

    assert headings(chunks) == ["Help > A > One", "Help > B > Two"]


def test_a_long_section_becomes_parts_of_about_one_size() -> None:
    chunks = chunk(document("## Long\n\n" + "\n\n".join([WORDS * 3] * 20)))

    sizes = [count_tokens(part.text) for part in chunks]
    assert headings(chunks) == ["Help > Long"] * len(chunks)
    assert max(sizes) <= FULL
    assert min(sizes) > max(sizes) / 2


def test_a_table_stays_whole_and_a_huge_one_repeats_its_head() -> None:
    rows = [f"| country {number} | {number} days |" for number in range(20)]
    small = chunk(document("## Times\n\nSee:\n\n" + "\n".join(["| Where | When |", "| --- | --- |", *rows])))
    large = chunk(document("## Times\n\n" + "\n".join(["| Where | When |", "| --- | --- |", *rows * 20])))

    assert len(small) == 1
    assert len(large) > 1
    assert all(part.text.startswith("| Where | When |\n| --- | --- |\n| country") for part in large)


def test_code_stays_whole_and_its_comments_are_no_headings() -> None:
    code = "```sh\n# not a heading\n\nmake all\n```"

    chunks = chunk(document(f"## Building\n\n{WORDS * 12}\n\n{code}\n\n{WORDS * 12}\n"))

    assert set(headings(chunks)) == {"Help > Building"}
    assert any(code in part.text for part in chunks)


def test_underlined_headings_count_and_rules_and_lists_do_not() -> None:
    chunks = chunk(document(f"Shipping\n--------\n\n{WORDS * 6}\n\n- a point\n---\n\nTwo\nlines\n---\n{WORDS * 6}\n"))

    assert set(headings(chunks)) == {"Help > Shipping"}


def test_a_heading_with_nothing_below_it_is_kept_as_text() -> None:
    chunks = chunk(document("## We never close\n\n## Anything else\n\nWrite to us.\n"))

    assert "We never close" in chunks[0].text


def test_plain_text_has_no_headings() -> None:
    chunks = chunk(document("# 1 is the first\n\nand this follows", markup="plain"))

    assert headings(chunks) == ["Help"]
    assert chunks[0].text.startswith("# 1 is the first")


def test_a_line_that_ends_in_a_colon_stays_with_what_it_announces() -> None:
    parts = [WORDS * 3] * 7
    parts[3] = "You need these:"

    chunks = chunk(document("## Papers\n\n" + "\n\n".join(parts)))

    assert not any(part.text.endswith(":") for part in chunks)


@pytest.mark.parametrize("text", ["", " \n\n ", "\n"])
def test_nothing_gives_no_chunks(text: str) -> None:
    assert chunk(document(text)) == []
    assert chunk(document(text, markup="plain")) == []


@pytest.mark.parametrize(
    "sentence",
    [
        WORDS,
        "Bitte beachten Sie die Rücksendekostenübernahmeerklärung innerhalb der vierzehntägigen Widerrufsfrist. ",
        "返品は商品到着後14日以内にご連絡ください。返金は5営業日以内に行われます。",
        "환불은 상품 수령 후 14일 이내에 신청하세요. ",
        "Pengiriman dilakukan setiap hari kerja dan nomor resi dikirim melalui surel. ",
        "https://www.example.com/Business/In-detail/Boosting-cash-flow/?id=84121 ",
        "| a1 | b2 |\n| --- | --- |\n| 12 | 13 |\n\n",
    ],
)
def test_with_a_real_tokenizer_the_limit_is_its_own(sentence: str, embedder: TableEmbedder) -> None:
    chunks = chunk(document("## Section\n\n" + sentence * 120), count=embedder.count_tokens)

    assert max(embedder.count_tokens(part.full_text) for part in chunks) <= LIMIT


lines = st.one_of(
    st.text(max_size=60),
    st.sampled_from(
        ["", "# One", "## Two", "### Three", "#", "===", "---", "```", "~~~", "| a | b |", "| --- | --- |", "- x", "a:"]
    ),
    st.integers(1, 60).map(lambda times: WORDS * times),
    st.integers(1, 3_000).map(lambda times: "x" * times),
    st.integers(1, 900).map(lambda times: "語" * times),
)


@given(st.lists(lines, max_size=25).map("\n".join), st.sampled_from(["markdown", "plain"]), st.text(max_size=200))
def test_chunks_of_any_text_are_in_order_complete_and_small_enough(text: str, markup: Markup, title: str) -> None:
    page = document(text, title=title, markup=markup)

    chunks = chunk(page)

    position = 0
    left_out = ""
    for part in chunks:
        assert part.start >= position
        assert part.text == part.lead + page.text[part.start : part.end]
        assert part.text.strip()
        assert count_tokens(part.full_text) <= LIMIT
        left_out += page.text[position : part.start] + "\n"
        position = part.end
    left_out += page.text[position:]
    # Whatever is in no chunk is a heading, and headings travel in front.
    for line in filter(str.strip, left_out.split("\n")):
        assert markup == "markdown"
        assert re.match(r" {0,3}#{1,6}\s|[ ]{0,3}(=+|-+)[ \t]*$", line) or f"{line}\n" in page.text


@given(st.text(), st.text())
def test_two_texts_together_count_no_more_than_each_and_a_gap(one: str, other: str) -> None:
    assert count_tokens(f"{one}\n\n{other}") <= count_tokens(one) + count_tokens(other) + 2
