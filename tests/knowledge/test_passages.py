"""What the model reads: joined, folded, within the budget, best first."""

from dataclasses import replace

from knowledge.search.catalog import Passage
from knowledge.search.passages import JOINED_WORDS, LEAST_WORDS, collect


def passage(number: int, text: str, *, document: int = 1, position: int = 0, heading: str = "Help > Part") -> Passage:
    return Passage(
        id=number,
        key=f"key-{number}",
        document=document,
        position=position,
        heading=heading,
        text=text,
        anchor=f"part-{position}",
        title="Help",
        source=f"page-{document}.md",
        url="https://help.example.com",
        category="",
        last_updated="",
        language="",
    )


def words(count: int, stem: str) -> str:
    return " ".join(f"{stem}{number}" for number in range(count))


def test_hits_come_in_the_order_of_their_scores_within_the_limit() -> None:
    ranked = [(passage(number, words(10, f"w{number}x"), document=number), 1 / number) for number in range(1, 9)]

    hits = collect(ranked, limit=3, words=400)

    assert [hit.source for hit in hits] == ["page-1.md", "page-2.md", "page-3.md"]
    assert hits[0].score == 1


def test_neighbours_are_joined_in_the_order_of_the_document() -> None:
    later = passage(2, "second part", position=1)
    earlier = passage(1, "first part", position=0)
    apart = passage(4, "fourth part", position=3)

    joined, single = collect([(later, 2.0), (earlier, 1.5), (apart, 1.0)], limit=5, words=400)

    assert joined.text == "first part\n\nsecond part"
    assert (joined.score, joined.chunk_id, joined.anchor) == (2.0, "key-2", "part-0")
    assert single.text == "fourth part"


def test_a_joined_part_below_another_heading_is_told_by_it() -> None:
    first = passage(1, "At nine.", position=0, heading="Help > Opening")
    second = passage(2, "At five.", position=1, heading="Help > Closing")

    (hit,) = collect([(first, 2.0), (second, 1.0)], limit=5, words=400)

    assert hit.text == "At nine.\n\nClosing\nAt five."


def test_a_hit_does_not_grow_beyond_what_is_read() -> None:
    parts = [passage(number, words(JOINED_WORDS // 2, f"w{number}x"), position=number) for number in range(3)]

    hits = collect([(part, 1.0) for part in parts], limit=5, words=5_000)

    assert [len(hit.text.split()) for hit in hits] == [JOINED_WORDS, JOINED_WORDS // 2]


def test_the_same_words_on_two_pages_are_read_once() -> None:
    text = words(40, "same")

    hits = collect([(passage(1, text), 2.0), (passage(2, text + " indeed", document=2), 1.0)], limit=5, words=400)

    assert [hit.chunk_id for hit in hits] == ["key-1"]


def test_the_budget_cuts_the_last_hit_or_leaves_it_out() -> None:
    first, second = passage(1, words(80, "a")), passage(2, words(80, "b"), document=2)

    cut = collect([(first, 2.0), (second, 1.0)], limit=5, words=80 + LEAST_WORDS)
    left_out = collect([(first, 2.0), (second, 1.0)], limit=5, words=80 + LEAST_WORDS - 1)

    assert [len(hit.text.split()) for hit in cut] == [80, LEAST_WORDS + 1]
    assert cut[1].text.endswith(f"b{LEAST_WORDS - 1} …")
    assert len(left_out) == 1


def test_short_texts_that_share_no_words_are_not_taken_for_the_same() -> None:
    one = passage(1, "Yes.")

    assert len(collect([(one, 2.0), (replace(one, id=2, document=2, text="No."), 1.0)], limit=5, words=10)) == 2
