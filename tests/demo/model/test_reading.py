"""Language, intents, passages and embeddings: what the stand-in reads out of text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.language.languages import languages
from bot.language.sentences import load_sentences
from demo.model.conversation import disordered
from demo.model.embeddings import DIMENSIONS, embed
from demo.model.intents import offers_person, read_wants
from demo.model.language import language_of
from demo.model.phrases import PHRASES, dated
from demo.model.quoting import Passage, best_quote, read_passages, search_words


def test_the_language_is_told_by_its_common_words() -> None:
    table = [
        ("Where is my order?", "en"),
        ("Status pesanan saya nomor ORD-12345 udah sampe mana?", "id"),
        ("Wo bleibt mein Paket?", "de"),
        ("¿Dónde está mi pedido?", "es"),
        ("Où est ma commande ?", "fr"),
        ("status ORD-12345", "en"),
        ("こんにちは", "en"),
        ("", "en"),
    ]
    misses = [(text, got) for text, language in table if (got := language_of(text)) != language]
    assert misses == []


def test_spanish_marks_tell_the_language_of_a_message_whose_words_do_not() -> None:
    assert language_of("¿Reparan coches eléctricos?") == "es"


def test_a_message_that_does_not_tell_is_in_the_language_of_the_one_before() -> None:
    assert language_of("ORD-12345", ["Wo bleibt mein Paket?"]) == "de"


def test_numbers_are_told_apart() -> None:
    table = [
        ("ord-12345 and ORD-67890, ORD-12345", ("ORD-12345", "ORD-67890"), ()),
        ("order ORD 4711 please", ("ORD-4711",), ()),
        ("it is #10482", ("10482",), ()),
        ("I ordered it in 2026", (), ()),
        ("1z999aa10123456784", (), ("1Z999AA10123456784",)),
        ("call me at 4917612345678", (), ()),
        ("parcel 00340434161094042557", (), ("00340434161094042557",)),
        ("COVID-19 and FD-1042", (), ()),
    ]
    misses = []
    for text, orders, parcels in table:
        wants = read_wants(text)
        if (wants.orders, wants.parcels) != (orders, parcels):
            misses.append((text, wants))
    assert misses == []


def test_passages_are_read_from_tags_and_from_numbers_and_from_nothing_else() -> None:
    tagged = '<passage number="1" title="A > B" updated="2026-01-01">\nText.\n</passage>'
    assert read_passages([tagged, tagged]) == [Passage("A > B", "Text.")]
    assert read_passages(["[1] First\nOne.\n[2] Second\nTwo."]) == [
        Passage("First", "One.\n"),
        Passage("Second", "Two."),
    ]
    assert read_passages(["The help pages hold nothing close to this message."]) == []


def test_a_heading_that_lost_its_mark_is_not_quoted() -> None:
    page = Passage("Cards › Points expire", "Points expire\nThey do after 24 months, and a letter comes before.")
    quote = best_quote("When do points expire?", [page])
    assert quote is not None
    assert quote.text == "They do after 24 months, and a letter comes before."


def test_a_sentence_that_was_cut_on_its_way_is_not_quoted() -> None:
    whole = "Send it within 30 days."
    passage = Passage("Returns", f"{whole} Up to day 60 you can still return unused items for …")
    quote = best_quote("can I return unused items after day 60?", [passage])
    assert quote is not None
    assert quote.text == whole
    listed = Passage("Returns", "- Send it within 30 days.\n- Unused items can be returned for …")
    quote = best_quote("can I return unused items?", [listed])
    assert quote is not None
    assert "…" not in quote.text
    assert best_quote("can I return unused items?", [Passage("Returns", "Unused items can be returned for …")]) is None


def test_links_and_images_are_quoted_as_their_words() -> None:
    page = Passage("Help", "See [the form](https://example.com) for a refund. ![logo](https://example.com/x.png)")
    quote = best_quote("refund form", [page])
    assert quote is not None
    assert "https" not in quote.text
    assert "the form" in quote.text


def test_no_shared_word_is_no_quotation() -> None:
    assert best_quote("elephants", [Passage("Returns", "You have 30 days.")]) is None


@pytest.mark.parametrize(
    ("question", "is_known"),
    [
        ("¿Reparan coches eléctricos?", False),
        ("¿Cuánto cuesta reparar una tienda?", True),
        ("sambil nunggu, berapa ongkir ke Indonesia?", True),
    ],
)
def test_a_foreign_question_whose_words_are_mostly_unknown_names_nothing_that_shops_are_asked(
    question: str, is_known: bool
) -> None:
    quote = best_quote(question, [Passage("Repair and shipping", "A repair costs 29 EUR, and shipping 9 EUR.")])
    assert (quote is not None and quote.asked) is is_known


def test_a_clause_that_says_what_for_counts_less() -> None:
    showroom = Passage("Contact › Showroom", "There is one, at the workshop, open on Saturday.")
    quote = best_quote("is there a physical shop where I can try things on?", [showroom])
    assert quote is not None
    assert quote.fit > 0.6


def test_a_long_paragraph_is_quoted_in_part() -> None:
    page = Passage("Help", " ".join(f"Sentence {n} talks about rope." for n in range(60)) + " Then elephants come.")
    quote = best_quote("elephants", [page])
    assert quote is not None
    assert "Then elephants come." in quote.text
    assert len(quote.text) < 600


@given(
    st.lists(
        st.sampled_from(["# rope", "rope", "- rope", "-", "1. rope", "|", "| --- |", "| rope | 1 |", "", " ", "rope:"])
    )
)
def test_no_layout_makes_it_stumble(lines: list[str]) -> None:
    quote = best_quote("how to rope", [Passage("Rope › Knots", "\n".join(lines))])
    assert quote is None or 0 < quote.fit <= 1


def test_a_search_is_made_in_english_words() -> None:
    assert search_words("¿Cuánto tarda el envío a España?") == "shipping spain"
    assert search_words("How long are gift cards valid?") == "gift card valid"


def test_words_that_help_no_search_in_english_are_left_out() -> None:
    table = [
        ("How do I return an article?", "return"),
        ("Wie lange habe ich Zeit, etwas zurückzugeben?", "return"),
        ("Welche Öffnungszeiten haben Sie?", "opening hours"),
        ("Kann ich mit Klarna bezahlen?", "klarna pay"),
        ("Comment puis-je payer ?", "pay"),
        ("Où trouver l'adresse ?", "address"),
        ("Berapa ongkirnya?", "cost"),
        ("Verkaufen Sie Elefanten?", "verkaufen elefanten"),
        ("Haben Sie das Zelt Larch?", "tent larch"),
        ("Wie schwer ist das Zelt?", "heavy"),
        ("Sind die Zelte schwer entflammbar?", "tent"),
        ("Do my points run out?", "points expire"),
        ("Did you run out of tents?", "run out tent"),
    ]
    misses = [(question, got) for question, words in table if (got := search_words(question)) != words]
    assert misses == []


def test_of_a_table_only_the_rows_that_the_question_tells_apart_are_quoted() -> None:
    rows = "\n".join(f"| {place} | 3 days | {number}.00 USD |" for number, place in enumerate(["Canada", "Japan"]))
    page = Passage("Shipping", f"| To | Express time | Express costs |\n| --- | --- | --- |\n{rows}")
    quote = best_quote("What does express shipping to Japan cost?", [page])
    assert quote is not None
    assert quote.text == "- **Japan**: Express time: 3 days, Express costs: 1.00 USD"
    whole = best_quote("What does express shipping cost?", [page])
    assert whole is not None
    assert "Canada" in whole.text


def test_what_a_question_leans_on_counts_less_than_what_it_asks() -> None:
    pages = [Passage("Returns", "A return takes 30 days."), Passage("Costs", "The cost of a return is 4.90 USD.")]
    quote = best_quote("And the cost?", pages, before="How long do I have for a return?")
    assert quote is not None
    assert quote.title == "Costs"


def test_the_offer_of_a_person_is_known_by_its_words() -> None:
    table = [
        *((load_sentences().say(language, "no_answer"), True) for language in languages()),
        ("A person can take this over.", False),
        ("Which order is it?", False),
    ]
    misses = [answer for answer, offers in table if offers_person(answer) is not offers]
    assert misses == []
    assert not offers_person("")


def test_its_own_offer_is_one() -> None:
    misses = [phrases for phrases in PHRASES.values() if not offers_person(f"{phrases.unknown} {phrases.person_offer}")]
    assert misses == []


@pytest.mark.parametrize(
    ("language", "written"), [("de", "20. Nov. 2026"), ("id", "20 Nov 2026"), ("fr", "20 nov. 2026")]
)
def test_dates_are_written_as_the_language_does(language: str, written: str) -> None:
    assert dated("on 20 Nov 2026, 14:05 UTC", language) == f"on {written}, 14:05 UTC"


def test_every_language_has_every_state_and_month() -> None:
    english = PHRASES["en"]
    for phrases in PHRASES.values():
        assert phrases.order_states.keys() == english.order_states.keys()
        assert phrases.parcel_states.keys() == english.parcel_states.keys()
        assert len(phrases.months) == 12


def test_offers_end_in_a_question_that_nothing_else_ends_in() -> None:
    offers = {phrases.person_offer for phrases in PHRASES.values()}
    assert len(offers) == len(PHRASES)
    assert all(offer.endswith("?") for offer in offers)


def test_embeddings_have_length_one_and_tell_near_from_far() -> None:
    returns, returning, prices = embed("return an article"), embed("returning articles"), embed("prices in yen")
    assert len(returns) == DIMENSIONS
    assert sum(value * value for value in returns) == pytest.approx(1)
    assert embed("return an article") == returns
    assert _dot(returns, returning) > _dot(returns, prices)
    assert len(embed("")) == DIMENSIONS


def test_a_history_that_some_server_refuses_is_refused() -> None:
    hi = {"role": "user", "content": "hi"}
    table = [
        ([hi], ""),
        ([{"role": "system", "content": "You help."}, hi], ""),
        ([hi, {"role": "system", "content": "Answer now."}], "must be at the beginning"),
        ([{"role": "system"}, {"role": "developer"}, hi], "must be at the beginning"),
        ([hi, hi], "must alternate"),
        ([hi, {"role": "assistant", "content": "hello"}], "Expected last role"),
        (
            [{"role": "assistant", "tool_calls": [{"id": "a"}]}, {"role": "tool", "tool_call_id": "a"}, hi],
            "Unexpected role 'user' after role 'tool'",
        ),
        ([{"role": "assistant", "tool_calls": [{"id": "a"}]}, {"role": "tool", "tool_call_id": "a"}], ""),
        (
            [{"role": "assistant", "tool_calls": [{"id": "a"}]}, {"role": "user", "content": "hi"}],
            "Without a response: a",
        ),
        ([{"role": "assistant", "tool_calls": [{"id": "a"}]}], "Without a response: a"),
        ([{"role": "tool", "tool_call_id": "a"}], "must be a response to a preceding message"),
        (["text"], "not an object"),
    ]
    misses = []
    for messages, fault in table:
        found = disordered({"messages": messages})
        if fault not in found or bool(fault) != bool(found):
            misses.append((fault, found))
    assert misses == []


def _dot(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))
