"""What the stand-in does with a wish for a change, where tools prepare one."""

from typing import Any

import pytest

from demo.model.addresses import Address, read_address
from demo.model.asking import MISSING, SAID
from demo.model.conversation import Call, Json, Reply, object_in, read_request
from demo.model.intents import motive_of
from demo.model.phrases import PHRASES
from demo.model.reply import decide
from tests.demo.model.requests import LIST, ORDER, PERSON, TOOLS, note, request

OFFERED: Json = {"offer": "shown", "changed": False, "message": "The customer sees the details."}
REASONS = ["changed_mind", "mistake", "damaged", "other"]


def preparing(kind: str, **properties: Json) -> Json:
    """A tool that prepares a change."""
    schema = {"type": "object", "properties": {"order_id": {"type": "string"}, **properties}}
    function = {"name": f"prepare_{kind}", "description": "Prepare it.", "parameters": schema}
    return {"type": "function", "function": function}


_REASON: Json = {"type": "string", "enum": REASONS}
_LIST: Json = {"type": "array"}
CHANGES: list[Json] = [
    *TOOLS,
    preparing("cancel_order", reason=_REASON),
    preparing("refund", lines=_LIST, reason=_REASON),
    preparing("return_items", lines=_LIST, reason=_REASON),
    preparing("exchange_items", swaps=_LIST, reason=_REASON),
    preparing("change_order_address", address={"type": "object"}),
    {
        "type": "function",
        "function": {
            "name": "product_choices",
            "description": "List the variants.",
            "parameters": {"type": "object", "properties": {"order_id": {}, "line": {}}, "required": ["order_id"]},
        },
    },
]


def order(number: str, *titles: str, status: str = "processing") -> Json:
    """An order as the look-up tells it."""
    articles = [{"line": str(n), "title": title, "quantity": n} for n, title in enumerate(titles, start=1)]
    return {"order": number, "status": status, "articles": articles, "total": "89.50 USD", "placed": "22 Nov 2026"}


PACK = order("ORD-67890", "Daypack, slate")
SHOES = order("ORD-31415", "Talus hiking shoes, EU 39", "Merino hiking socks, 38-40", status="delivered")


def plays(said: str, *results: Any, orders: tuple[Json, ...] = (PACK, SHOES), before: tuple[str, ...] = ()) -> Reply:
    """The reply after the look-ups; `results` are what the other calls bring, in the order of their rounds."""
    lines = [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(before)]
    known = {each["order"]: each for each in orders}
    rounds: list[list[tuple[Call, Any]]] = []
    left = list(results)
    while True:
        body = request(said, *rounds, tools=CHANGES, passages="", before=lines)
        reply = decide(read_request(body))
        looks = [call for call in reply.calls if call.name in (ORDER, LIST)]
        if looks:
            listed = {"orders": [{"order": each["order"], "status": each["status"]} for each in orders]}
            answers = [listed if call.name == LIST else known[call.arguments["order_number"]] for call in looks]
            rounds.append(list(zip(looks, answers, strict=True)))
        elif reply.calls and left:
            rounds.append([(call, left.pop(0)) for call in reply.calls])
        else:
            return reply


def prepared(said: str, **more: Any) -> list[tuple[str, Json]]:
    """The changes that it prepares."""
    return [(call.name.removeprefix("prepare_"), call.arguments) for call in plays(said, **more).calls]


CANCEL = ("cancel_order", {"order_id": "ORD-67890", "reason": "other"})
RETURN = {"order_id": "ORD-31415", "lines": [{"line": "1", "quantity": 1}], "reason": "other"}


@pytest.mark.parametrize(
    "said",
    [
        "Please cancel ORD-67890",
        "Bitte stornieren Sie ORD-67890",
        "Quiero cancelar mi pedido ORD-67890",
        "Merci d'annuler ma commande ORD-67890",
        "tolong batalkan pesanan ORD-67890",
    ],
)
def test_an_order_is_looked_up_and_its_cancellation_prepared(said: str) -> None:
    assert prepared(said) == [CANCEL]


def test_it_is_the_order_of_the_thread_and_each_of_several_is_a_call_of_its_own() -> None:
    assert prepared("cancel it", before=("Where is ORD-67890?", "**ORD-67890** is being packed.")) == [CANCEL]
    other = order("ORD-2", "Stove")
    both = prepared("cancel ORD-67890 and ORD-2", orders=(PACK, other))
    assert both == [CANCEL, ("cancel_order", {"order_id": "ORD-2", "reason": "other"})]


@pytest.mark.parametrize(
    "said",
    [
        "I want to return the shoes from ORD-31415. They are too small.",
        "Ich möchte die Schuhe aus ORD-31415 zurückschicken, sie passen nicht",
        "Je voudrais retourner les chaussures de ORD-31415, elles sont trop petites",
        "Quiero devolver los zapatos de ORD-31415, son pequeños",
        "saya mau retur sepatu dari ORD-31415, kekecilan",
    ],
)
def test_an_article_is_known_by_its_title_in_any_language(said: str) -> None:
    assert prepared(said) == [("return_items", RETURN)]


def test_what_is_missing_is_asked_and_the_answer_completes_the_wish() -> None:
    first = plays("I want to return something from ORD-31415")
    assert not first.calls
    assert "Talus hiking shoes, EU 39 or Merino hiking socks" in first.text
    why = plays("the shoes", before=("I want to return something from ORD-31415", first.text))
    assert why.text == SAID["en"].asks["reason"].format(order="ORD-31415")
    told = prepared(
        "just because", before=("I want to return something from ORD-31415", first.text, "the shoes", why.text)
    )
    assert told == [("return_items", RETURN)]


def test_an_answer_that_asks_for_something_else_completes_nothing() -> None:
    asked = SAID["en"].asks["reason"].format(order="ORD-31415")
    reply = plays("How long does a refund take?", before=("I want my money back for ORD-31415", asked))
    assert not any(call.name.startswith("prepare_") for call in reply.calls)
    dropped = plays("never mind", before=("I want my money back for ORD-31415", asked))
    assert (dropped.text, dropped.calls) == (SAID["en"].left, ())


def test_which_order_is_asked_and_its_number_completes_the_wish() -> None:
    two = (PACK, order("ORD-2", "Stove"))
    asked = plays("cancel my order", orders=two)
    assert asked.text == PHRASES["en"].which_of.format(orders="ORD-67890 or ORD-2")
    assert prepared("ORD-67890", orders=two, before=("cancel my order", asked.text)) == [CANCEL]


def test_a_number_that_no_order_of_the_customer_has_is_named_while_a_procedure_is_on() -> None:
    needed = "- order: the number of one of the customer's own orders"
    guidance = f"A procedure is on: cancel-order.\nStill needed:\n{needed}"
    refused = {"noted": False, "error": "The customer has no order with this number."}
    noting = Call("note", {"name": "order", "value": "ORD-54321"})
    asked = request("cancel ORD-54321", [(noting, refused)], tools=CHANGES, passages="", before=[note(guidance)])
    assert decide(read_request(asked)).text == PHRASES["en"].order_missing.format(order="ORD-54321")


def test_the_one_order_that_can_be_returned_is_not_asked_for() -> None:
    assert prepared("I want to return my order, all of it was damaged") == [
        ("return_items", RETURN | {"lines": [{"line": "1", "quantity": 1}, {"line": "2", "quantity": 2}]} | BROKEN)
    ]


BROKEN = {"reason": "damaged"}


def test_money_back_needs_a_reason_and_is_for_all_where_no_article_is_named() -> None:
    said = "I want my money back for ORD-31415"
    asked = plays(said)
    assert asked.text == SAID["en"].asks["reason"].format(order="ORD-31415")
    whole = {"order_id": "ORD-31415", "lines": [], "reason": "damaged"}
    assert prepared("it arrived broken", before=(said, asked.text)) == [("refund", whole)]


def test_another_address_is_asked_for_as_a_whole() -> None:
    said = "please send ORD-67890 to another address"
    asked = plays(said)
    assert (asked.text, asked.calls) == (SAID["en"].asks["address"].format(order="ORD-67890"), ())
    half = plays("12 Oak Street", before=(said, asked.text))
    assert half.text == asked.text
    ((kind, arguments),) = prepared("Customer A\n12 Oak Street\nPortland, OR 97205", before=(said, asked.text))
    assert kind == "change_order_address"
    assert arguments["address"]["line1"] == "12 Oak Street"
    assert arguments["address"]["country"] == "US"


def test_another_size_is_chosen_among_those_there_are() -> None:
    choices = {"choices": [{"variant": f"v{n}", "title": f"Talus hiking shoes, EU {n}"} for n in (38, 39, 40)]}
    said = "can you exchange the shoes in ORD-31415 for size {}?"
    (call,) = plays(said.format(40), choices).calls
    assert call.arguments["swaps"] == [{"line": "1", "variant": "v40"}]
    asked = plays(said.format(47), choices)
    assert not asked.calls
    assert "EU 38 / Talus hiking shoes, EU 40" in asked.text


@pytest.mark.parametrize("language", list(SAID))
def test_an_offer_is_one_sentence_and_says_nothing_was_done(language: str) -> None:
    said = {
        "en": "Please cancel ORD-67890",
        "de": "Bitte stornieren Sie ORD-67890",
        "es": "Quiero cancelar mi pedido ORD-67890",
        "fr": "Merci d'annuler ma commande ORD-67890",
        "id": "tolong batalkan pesanan ORD-67890",
    }[language]
    assert plays(said, OFFERED) == Reply(SAID[language].offered)


def test_a_rules_sentence_is_passed_on_with_the_offer_of_a_person() -> None:
    refused = {"possible": False, "reason": "It left already.", "message": "Say this reason as it is."}
    told = plays("Please cancel ORD-67890", refused)
    assert (told.text, told.calls) == (
        f"**ORD-67890** is being packed. It left already.\n\n{PHRASES['en'].person_offer}",
        (),
    )


def test_a_person_is_called_where_only_a_person_can_decide() -> None:
    person = {"possible": False, "message": "Only a person can decide this. Call one."}
    assert [call.name for call in plays("Please cancel ORD-67890", person).calls] == [PERSON]


@pytest.mark.parametrize(
    ("hint", "missing"),
    [
        ("The reason is missing. Ask the customer why they want it.", "reason"),
        ("Several articles are in this order. Ask which ones, and how many of each.", "article"),
        ("Line 1 has 2 pieces only. Ask how many of them.", "quantity"),
        ("method", "method"),
        ("The order already goes to this address. Ask for the new one.", "address"),
        ("Something else.", "more"),
    ],
)
def test_what_the_tool_asks_is_asked_in_the_customers_language(hint: str, missing: Any) -> None:
    told = plays("Bitte stornieren Sie ORD-67890", {"possible": "not yet", "ask": hint})
    assert told.text == SAID["de"].asks[missing].format(order="ORD-67890", articles="Daypack, slate")


def test_a_change_that_runs_and_too_many_questions_are_said_so() -> None:
    running = {"possible": False, "message": "A change of this order is already under way. Say so."}
    assert plays("Please cancel ORD-67890", running).text == SAID["en"].under_way.format(order="ORD-67890")
    many = {"possible": False, "message": "There are too many open questions to the customer."}
    assert plays("Please cancel ORD-67890", many).text == SAID["en"].too_many


def test_each_question_begins_with_words_of_its_own() -> None:
    begun = [said.asks[missing].partition("{")[0] for said in SAID.values() for missing in MISSING]
    assert len(set(begun)) == len(begun)
    assert all(len(each) > 8 for each in begun)


@pytest.mark.parametrize(
    ("said", "motive"),
    [
        ("it arrived broken", "damaged"),
        ("ich habe es mir anders überlegt", "changed_mind"),
        ("c'est une erreur, je l'ai commandé par erreur", "mistake"),
        ("lo encontré más barato", "found_cheaper"),
        ("barangnya tidak sesuai foto", "not_as_described"),
        ("it never arrived", "too_slow"),
        ("you sent the wrong colour", "wrong_item"),
        ("Please", None),
    ],
)
def test_reasons_have_the_words_that_shops_use(said: str, motive: str | None) -> None:
    assert motive_of(said) == motive


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (
            "Please send ORD-67890 to Customer A, 12 Oak Street, Portland, OR 97205, USA. Thanks!",
            Address("Customer A", "12 Oak Street", "", "97205", "Portland", "OR", "USA"),
        ),
        (
            "Kunde B\nAn der Alster 3\n20099 Hamburg\nDeutschland",
            Address("Kunde B", "An der Alster 3", "", "20099", "Hamburg", "", "Deutschland"),
        ),
        (
            "Customer A, 3 Weaver Court, Flat 6, Leeds LS1 4AP",
            Address("Customer A", "3 Weaver Court", "Flat 6", "LS1 4AP", "Leeds", "", "GB"),
        ),
        (
            "kirim ke Pelanggan B, Jalan Kebun Teh 8, Bandung 40115, Indonesia",
            Address("Pelanggan B", "Jalan Kebun Teh 8", "", "40115", "Bandung", "", "Indonesia"),
        ),
        ("Kanaalkade 21, 3511 AB Utrecht", Address("", "Kanaalkade 21", "", "3511 AB", "Utrecht", "", "NL")),
        ("can you change it to 12 Pine St?", Address(line1="12 Pine St")),
        ("send it to another address", Address()),
    ],
)
def test_an_address_is_read_in_the_forms_that_people_use(text: str, address: Address) -> None:
    assert read_address(text, besides=["ORD-67890"]) == address


def test_what_is_whole_of_a_shortened_result_is_read() -> None:
    assert object_in('{"order":"ORD-1","parcels":[{"number":"1"}],"ships_to":"Port [shortened]') == {
        "order": "ORD-1",
        "parcels": [{"number": "1"}],
    }
    assert object_in('{"order":"ORD-1","scans":[{"at":"1"},{"at":"2","place":"Re [shortened]') == {
        "order": "ORD-1",
        "scans": [{"at": "1"}, {"at": "2"}],
    }
    assert object_in('{"order":"ORD-1","parcels":[') is None
