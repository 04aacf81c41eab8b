"""What the stand-in does with follow-ups, several questions at once, and requests for changes."""

import pytest

from demo.model.conversation import Call, Json, Reply, read_request
from demo.model.language import in_english
from demo.model.phrases import PHRASES
from demo.model.quoting import best_quote, read_passages
from demo.model.reply import decide
from demo.model.requests import read_requests
from demo.model.splitting import requests_in
from tests.demo.model.requests import LIST, ORDER, PERSON, SEARCH, request

PROCESSING: Json = {
    "order": "ORD-67890",
    "status": "processing",
    "placed": "22 Nov 2026",
    "total": "89.50 USD",
    "payment": "paid",
    "articles": [{"title": "Daypack", "quantity": 1}],
    "ships_to": "Portland",
    "parcels": [{"tracking_number": "1Z999AA10123456784", "carrier": "UPS"}],
}
LISTED = (
    "Your latest orders:\n- **ORD-67890** is being packed.\n- **ORD-24680** has been shipped.\n- **ORD-12345** came."
)


def said_before(*texts: str) -> list[Json]:
    """What customer and assistant said in turn, the customer first."""
    return [{"role": ("user", "assistant")[place % 2], "content": text} for place, text in enumerate(texts)]


def orders_meant(said: str, *before: str) -> list[tuple[str, ...]]:
    """The orders that each request of a message speaks of."""
    return [each.orders for each in read_requests(read_request(request(said, before=said_before(*before))))]


def ends(said: str, found: Json, *before: str) -> Reply:
    """The reply after the order was looked up and the pages held nothing."""
    body = request(said, passages="", before=said_before(*before))
    calls = decide(read_request(body)).calls
    rounds = [(call, found if call.name == ORDER else "Nothing fits.") for call in calls]
    return decide(read_request(request(said, rounds, passages="", before=said_before(*before))))


@pytest.mark.parametrize(
    ("said", "number"),
    [
        ("the first one", "ORD-67890"),
        ("and the second?", "ORD-24680"),
        ("die letzte", "ORD-12345"),
        ("el segundo", "ORD-24680"),
        ("la première", "ORD-67890"),
        ("yang pertama", "ORD-67890"),
    ],
)
def test_a_place_is_one_of_the_orders_that_were_listed_last(said: str, number: str) -> None:
    assert orders_meant(said, "Where are my orders?", LISTED) == [(number,)]


@pytest.mark.parametrize(
    "said",
    [
        "and how much did I pay?",
        "which carrier is it?",
        "when will it arrive?",
        "can you cancel it?",
        "Wann kommt es an?",
    ],
)
def test_a_follow_up_is_about_the_order_that_was_shown_last(said: str) -> None:
    assert orders_meant(said, "Where is ORD-24680?", "**ORD-24680** has been shipped.") == [("ORD-24680",)]


def test_when_several_orders_may_be_meant_it_asks_which() -> None:
    body = request("when will it arrive?", passages="", before=said_before("Where are my orders?", LISTED))
    told = decide(read_request(body))
    assert not told.calls
    assert told.text == PHRASES["en"].which_of.format(orders="ORD-67890 or ORD-24680 or ORD-12345")


@pytest.mark.parametrize(
    "said", ["How long does a refund take?", "Do you ship to Norway?", "How do I cancel an order?"]
)
def test_a_question_for_the_pages_is_not_about_the_order_shown_before(said: str) -> None:
    assert orders_meant(said, "Where is ORD-24680?", "**ORD-24680** has been shipped.") == [()]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("and how much did I pay?", "total"),
        ("which carrier is it?", "carried"),
        ("which address is it going to?", "ships_to"),
    ],
)
def test_one_thing_about_an_order_is_told_alone(said: str, expected: str) -> None:
    told = ends(said, PROCESSING, "Where is ORD-67890?", "**ORD-67890** is being packed.").text
    values = {"order": "ORD-67890", "number": "1Z999AA10123456784", "carrier": "UPS", "place": "Portland"}
    phrase = getattr(PHRASES["en"], expected).format(**values, total="89.50 USD", placed="22 Nov 2026")
    assert phrase in told
    assert "Daypack" not in told


@pytest.mark.parametrize(
    ("said", "number"),
    [
        ("where is order #12345", "12345"),
        ("order 67890 when does it ship", "67890"),
        ("Wo ist Bestellung Nr. 12345?", "12345"),
        ("12345", "12345"),
        ("ord12345 please", "ORD-12345"),
        ("ord 12345?", "ORD-12345"),
    ],
)
def test_an_order_number_may_be_written_in_any_way(said: str, number: str) -> None:
    assert orders_meant(said) == [(number,)]


@pytest.mark.parametrize("said", ["I paid 12345 for a tent", "in 2026 I bought a tent", "call me at 555-01234"])
def test_other_numbers_are_no_orders(said: str) -> None:
    assert orders_meant(said)[0] == ()


def test_digits_alone_get_the_beginning_that_the_tool_names() -> None:
    body = request("where is order 12345?", passages="")
    body["tools"][0]["function"]["parameters"]["properties"]["order_number"] = {"description": "as ORD-10482"}
    assert decide(read_request(body)).calls[0] == Call(ORDER, {"order_number": "ORD-12345"})


@pytest.mark.parametrize("language", PHRASES)
def test_a_change_is_named_and_a_person_called_for_an_order_that_is_named(language: str) -> None:
    said = {
        "en": "Please cancel ORD-67890",
        "id": "tolong batalkan pesanan ORD-67890",
        "de": "Bitte stornieren Sie ORD-67890",
        "es": "Quiero cancelar mi pedido ORD-67890",
        "fr": "Je voudrais annuler ma commande ORD-67890",
    }[language]
    told = ends(said, PROCESSING)
    assert PHRASES[language].changes["cancel"].format(order="ORD-67890") in told.text
    assert [call.name for call in told.calls] == [PERSON]


def test_for_an_order_that_is_only_meant_a_person_is_offered() -> None:
    told = ends("can you cancel it?", PROCESSING, "Where is ORD-67890?", "**ORD-67890** is being packed.")
    assert not told.calls
    assert PHRASES["en"].changes["cancel"].format(order="ORD-67890") in told.text
    assert told.text.endswith(PHRASES["en"].person_offer)


def test_no_person_is_called_to_cancel_what_is_not_theirs_or_is_cancelled() -> None:
    assert not ends("Please cancel ORD-67890", {"found": False}).calls
    assert not ends("Please cancel ORD-67890", {**PROCESSING, "status": "cancelled"}).calls


def test_a_change_of_an_unnamed_order_lists_the_orders() -> None:
    calls = decide(read_request(request("I want to cancel my order", passages=""))).calls
    assert calls[0].name == LIST


@pytest.mark.parametrize(
    ("said", "parts"),
    [
        ("two things: 1) how do I wash a jacket 2) where is ORD-1001", 2),
        ("What's your policy on returns, gift cards and student discount?", 3),
        ("How do I return it, how long does the refund take, and do you ship to Norway?", 3),
        ("Where is ORD-1001? Also cancel ORD-1002 please", 2),
        ("Wo ist ORD-1001 und stornieren Sie bitte ORD-1002", 2),
        ("¿Dónde está ORD-1001 y cuánto tarda un reembolso?", 2),
        ("I have a tent, a stove and a mat. How do I return them?", 1),
    ],
)
def test_a_message_falls_into_its_requests_however_they_are_joined(said: str, parts: int) -> None:
    assert len(requests_in(said)) == parts


def test_each_question_for_the_pages_is_searched_for() -> None:
    calls = decide(read_request(request("do you have a showroom and how long is the warranty?", passages=""))).calls
    assert [call.name for call in calls] == [SEARCH, SEARCH]


@pytest.mark.parametrize(
    ("said", "chat"),
    [
        ("you're stupid", "insult"),
        ("Du bist echt doof", "insult"),
        ("who made you? lol", "maker"),
        ("¿quién te creó?", "maker"),
        ("how are you?", "mood"),
    ],
)
def test_talk_about_the_assistant_is_answered_by_one_question(said: str, chat: str) -> None:
    language = {"Du": "de", "¿q": "es"}.get(said[:2], "en")
    assert decide(read_request(request(said, passages=""))).text == PHRASES[language].chats[chat]  # type: ignore[index]


def test_an_insult_beside_a_question_is_passed_over() -> None:
    assert decide(read_request(request("you stupid bot, where is ORD-12345?", passages=""))).calls[0].name == ORDER


@pytest.mark.parametrize(
    ("word", "english"),
    [("discont", "discount"), ("warrenty", "warranty"), ("Lieferzeiten", "delivery"), ("devoluciones", "return")],
)
def test_other_forms_and_slips_of_the_pen_are_understood(word: str, english: str) -> None:
    assert english in in_english(word.lower())


@pytest.mark.parametrize("word", ["poles", "weather", "internet", "combien"])
def test_a_word_that_only_looks_alike_is_not(word: str) -> None:
    assert not in_english(word)


HOURS = """<passage number="1" title="Contact and opening hours">
In these hours a person of the support team joins within 15 minutes.

When people are there

| Day | Hours |
| --- | --- |
| Monday | 07:00 to 19:00 |
</passage>"""


def test_a_question_for_opening_hours_is_answered_with_times() -> None:
    quote = best_quote("what are the opening hours of your support team", read_passages([HOURS]))
    assert quote
    assert "07:00 to 19:00" in quote.text


def test_where_passages_are_uncertain_and_none_answers_it_says_what_the_desk_asks_for() -> None:
    passages = '<passage number="1" title="Sizes" uncertain="yes">\nBoots run small.\n</passage>'
    body = request("is the glue vegan?", passages=passages, instructions="If not, reply with NOT_SURE.")
    body["tools"] = [tool for tool in body["tools"] if tool["function"]["name"] != SEARCH]
    assert decide(read_request(body)).text == "NOT_SURE"
