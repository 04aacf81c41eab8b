"""What the stand-in does with a conversation."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from demo.model.conversation import Call, Json, Reply, read_request
from demo.model.phrases import PHRASES
from demo.model.reply import decide
from tests.demo.model.requests import LIST, ORDER, PARCEL, PERSON, SEARCH, TOOLS, request

SHIPPED: Json = {
    "order": "ORD-12345",
    "status": "shipped",
    "placed": "14 Nov 2026",
    "total": "148.00 USD",
    "articles": [{"title": "Rain jacket", "quantity": 1, "price_each": "119.00 USD"}],
    "parcels": [{"tracking_number": "1Z999AA10123456784", "carrier": "UPS"}],
}
IN_TRANSIT: Json = {
    "tracking_number": "1Z999AA10123456784",
    "carrier": "UPS",
    "order": "ORD-12345",
    "status": "in_transit",
    "expected": "22 Nov 2026",
    "scans": [{"at": "20 Nov 2026, 04:10 UTC", "place": "Troutdale", "carrier_wrote": "Arrived at facility"}],
}
NOT_FOUND: Json = {"found": False, "message": "There is no such order among this customer's orders."}


def order(number: str) -> Call:
    return Call(ORDER, {"order_number": number})


def parcel(number: str) -> Call:
    return Call(PARCEL, {"tracking_code": number})


def answer(said: str, *rounds: list[tuple[Call, Any]], **more: Any) -> Reply:
    return decide(read_request(request(said, *rounds, **more)))


def test_an_order_is_looked_up_then_its_parcel_then_answered_in_the_customers_language() -> None:
    said = "Status pesanan saya nomor ORD-12345 udah sampe mana?"
    first = (order("ORD-12345"), SHIPPED)
    second = (parcel("1Z999AA10123456784"), IN_TRANSIT)
    assert answer(said).calls == (order("ORD-12345"),)
    assert answer(said, [first]).calls == (parcel("1Z999AA10123456784"),)
    told = answer(said, [first], [second])
    assert not told.calls
    assert "Pesanan **ORD-12345** sudah dikirim" in told.text
    assert "sedang dalam perjalanan" in told.text
    assert "Arrived at facility" in told.text
    assert "22 Nov 2026" in told.text


def test_several_orders_and_their_parcels_are_asked_for_together() -> None:
    said = "Where are ORD-1001 and ORD-1002?"
    calls = answer(said).calls
    assert calls == (order("ORD-1001"), order("ORD-1002"))
    two = SHIPPED | {"parcels": [{"tracking_number": f"1Z99999{n}"} for n in range(2)]}
    assert answer(said, [(calls[0], SHIPPED), (calls[1], two)]).calls == (
        parcel("1Z999AA10123456784"),
        parcel("1Z999990"),
        parcel("1Z999991"),
    )


def test_a_tracking_number_in_the_message_is_checked_at_once() -> None:
    calls = answer("Where is parcel 1Z999AA10123456784 of ORD-12345?").calls
    assert calls == (order("ORD-12345"), parcel("1Z999AA10123456784"))


def test_without_a_number_the_orders_are_listed_and_those_on_their_way_checked() -> None:
    listed = {
        "orders": [
            {"order": "ORD-1", "status": "delivered", "tracking_numbers": ["OLD1234567"]},
            {"order": "ORD-2", "status": "shipped", "tracking_numbers": ["NEW1234567"], "total": "5.00 USD"},
        ]
    }
    said = "Where is my order?"
    assert answer(said).calls == (Call(LIST, {}),)
    assert answer(said, [(Call(LIST, {}), listed)]).calls == (parcel("NEW1234567"),)
    told = answer(said, [(Call(LIST, {}), listed)], [(parcel("NEW1234567"), IN_TRANSIT)]).text
    assert "ORD-2" in told
    assert "ORD-1" not in told


def test_a_short_question_after_it_means_the_order_spoken_of_before() -> None:
    before = [
        {"role": "user", "content": "What is in ORD-12345?"},
        {"role": "assistant", "content": "A rain jacket."},
    ]
    assert answer("And where is it?", before=before).calls == (order("ORD-12345"),)


def test_the_contents_of_an_order_need_no_parcel() -> None:
    told = answer("What did I order in ORD-12345?", [(order("ORD-12345"), SHIPPED)])
    assert not told.calls
    assert "1 × Rain jacket" in told.text
    assert "148.00 USD" in told.text


def test_a_number_that_is_not_found_is_asked_to_be_checked() -> None:
    table = [
        ("Where is ORD-99999?", "check the number"),
        ("Pesanan ORD-99999 udah sampe mana?", "dicek lagi nomornya"),
        ("Wo ist ORD-99999?", "Nummer bitte prüfen"),
        ("¿Dónde está ORD-99999?", "comprobar el número"),
        ("Où est ORD-99999 ?", "vérifier le numéro"),
    ]
    misses = []
    for said, words in table:
        told = answer(said, [(order("ORD-99999"), NOT_FOUND)])
        if words not in told.text or "ORD-99999" not in told.text:
            misses.append((said, told.text))
    assert misses == []


@pytest.mark.parametrize(
    "result",
    [
        "The shop's order system gives no answer at the moment.",
        {"error": "timeout", "message": "No answer in time."},
        {"available": False, "message": "Not linked to a customer."},
    ],
)
def test_a_tool_that_cannot_answer_leads_to_the_offer_of_a_person(result: Any) -> None:
    told = answer("Where is ORD-12345?", [(order("ORD-12345"), result)])
    assert told.text.endswith(PHRASES["en"].person_offer)
    assert "ORD-12345" not in told.text or "cannot" in told.text


def test_a_call_is_never_repeated() -> None:
    said = "Where is ORD-12345?"
    gone = (order("ORD-12345"), {"error": "timeout"})
    assert not answer(said, [gone]).calls
    assert not answer(said, [(order("ORD-12345"), SHIPPED)], [(parcel("1Z999AA10123456784"), "broken")]).calls


def test_a_request_that_forbids_calls_gets_words_from_what_there_is() -> None:
    told = answer("Where is ORD-12345?", [(order("ORD-12345"), SHIPPED)], tool_choice="none")
    assert not told.calls
    assert "has been shipped" in told.text
    assert answer("Where is ORD-12345?", tool_choice="none").text


def test_a_note_before_a_result_does_not_hide_it() -> None:
    noted = "[You made this same call before in this turn.]\n" + '{"order": "ORD-1", "status": "processing"}'
    assert "is being packed" in answer("Where is ORD-1?", [(order("ORD-1"), noted)]).text


def test_a_question_is_answered_by_quoting_the_page_that_fits() -> None:
    told = answer("How do I return something?")
    assert not told.calls
    assert "**Returns**" in told.text
    assert "\n\n1. Open My orders and press Return." in told.text
    assert "14.90 USD" not in told.text


def test_a_row_of_a_table_is_quoted_with_its_columns() -> None:
    assert "\n\n- **Express**: Time: 1 day, Price: 14.90 USD" in answer("How much is express shipping?").text


def test_weak_passages_lead_to_one_search_and_then_to_not_knowing() -> None:
    said = "Do you sell elephants?"
    searched = answer(said).calls
    assert [call.name for call in searched] == [SEARCH]
    told = answer(said, [(searched[0], "Nothing in the help pages fits this.")])
    assert told.text == f"{PHRASES['en'].unknown} {PHRASES['en'].person_offer}"


def test_a_foreign_question_is_searched_for_in_english_and_answered_in_its_language() -> None:
    said = "Bagaimana cara mengembalikan barang?"
    (search,) = answer(said, passages="").calls
    assert search.arguments["query"] == "how to return"
    found = '<passage number="1" title="Returns">\nYou can return an item within 30 days.\n</passage>'
    told = answer(said, [(search, found)], passages="").text
    assert told.startswith("Halaman bantuan kami **Returns**")
    assert "(dalam bahasa Inggris)" in told
    assert "within 30 days" in told


def test_an_order_and_a_general_question_in_one_message_are_both_answered() -> None:
    said = "Where is ORD-12345? And how can I return an article?"
    told = answer(said, [(order("ORD-12345"), SHIPPED)], [(parcel("1Z999AA10123456784"), IN_TRANSIT)]).text
    assert "is on its way" in told
    assert "**Returns**" in told


def test_a_person_is_called_with_a_reason_the_tool_allows() -> None:
    table = [
        ("I want to talk to a human", "asked_for_person", "medium"),
        ("Saya mau bicara dengan orang", "asked_for_person", "medium"),
        ("Ich möchte mit einem Menschen sprechen", "asked_for_person", "medium"),
        ("Quiero hablar con una persona", "asked_for_person", "medium"),
        ("Je veux parler à un conseiller", "asked_for_person", "medium"),
        ("You charged me twice!", "billing", "high"),
        ("My lawyer will call you", "legal", "high"),
        ("This is unacceptable", "upset", "high"),
        ("WHERE IS MY STUFF I WAIT SINCE WEEKS", "upset", "high"),
    ]
    misses = []
    for said, reason, priority in table:
        (call,) = answer(said).calls
        if (
            call.name != PERSON
            or call.arguments["reason"] != reason
            or call.arguments["priority"] != priority
            or not (len(call.arguments["summary"]) <= 80)
            or said[:20] not in call.arguments["summary"]
        ):
            misses.append((said, call))
    assert misses == []


@pytest.mark.parametrize(
    "said", ["How do I cancel an order?", "Is this jacket a gift for someone?", "What is COVID-19?"]
)
def test_a_question_is_not_taken_for_a_wish_to_see_a_person(said: str) -> None:
    assert PERSON not in {call.name for call in answer(said).calls}


@pytest.mark.parametrize("language", PHRASES)
def test_a_yes_to_the_offer_calls_a_person(language: str) -> None:
    phrases = PHRASES[language]
    before = [
        {"role": "user", "content": "Do you sell elephants?"},
        {"role": "assistant", "content": f"{phrases.unknown} {phrases.person_offer}"},
    ]
    yes = {"en": "yes please", "id": "ya, tolong", "de": "Ja, gerne", "es": "sí, por favor", "fr": "oui"}[language]
    assert [call.name for call in answer(yes, before=before).calls] == [PERSON]


def test_without_a_tool_for_it_a_wish_for_a_person_is_answered_in_words() -> None:
    assert answer("Ich will mit einem Menschen sprechen", tools=[]).text == PHRASES["de"].person_missing


def test_an_agent_without_the_tool_hands_over_to_the_one_that_has_it() -> None:
    colleagues = [
        {"type": "function", "function": {"name": f"hand_over_to_{name}", "description": what, "parameters": {}}}
        for name, what in (("billing", "Money."), ("logistics", "Orders and parcels."), ("librarian", "Help pages."))
    ]
    assert [call.name for call in answer("Where is ORD-12345?", tools=colleagues).calls] == ["hand_over_to_logistics"]
    assert [call.name for call in answer("Do you sell elephants?", tools=colleagues, passages="").calls] == [
        "hand_over_to_librarian"
    ]
    handed = (Call("hand_over_to_logistics", {}), "Done: logistics is in charge from here on.")
    assert answer("Where is ORD-12345?", [handed]).calls == (order("ORD-12345"),)


def test_a_greeting_is_greeted() -> None:
    table = [
        ("hi", "Hello!"),
        ("Halo kak", "Halo!"),
        ("Guten Tag", "Hallo!"),
        ("hola", "¡Hola!"),
        ("Bonjour", "Bonjour !"),
    ]
    misses = [(said, greeting) for said, greeting in table if not answer(said).text.startswith(greeting)]
    assert misses == []


@pytest.mark.parametrize(
    ("said", "language"), [("thanks a lot!", "en"), ("terima kasih banyak", "id"), ("merci", "fr")]
)
def test_thanks_are_answered_and_nothing_else_is_done(said: str, language: str) -> None:
    assert answer(said) == Reply(PHRASES[language].thanks)


def test_the_speakers_tag_is_no_part_of_what_was_said() -> None:
    assert answer("[customer U0CUSTOMERA]\nWhere is ORD-12345?").calls == (order("ORD-12345"),)


def test_a_tool_that_wants_more_than_is_known_gets_something_for_each_required_property() -> None:
    tool = {
        "type": "function",
        "function": {
            "name": "escalate_to_human",
            "parameters": {
                "properties": {"why": {"type": "string"}, "topic": {"enum": ["a", "b"]}, "note": {}},
                "required": ["why", "topic"],
            },
        },
    }
    (call,) = answer("I want to talk to a human", tools=[tool]).calls
    assert set(call.arguments) == {"why", "topic"}
    assert call.arguments["topic"] in ("a", "b")


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["role", "content", "tool_calls", "function", "name", "arguments", "id", "text", "orders"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(["messages", "tools", "tool_choice", "model"]), _JSON))
def test_no_request_makes_it_stumble(body: Json) -> None:
    reply = decide(read_request(body))
    assert reply.text or reply.calls


@given(said=st.text(max_size=300), result=st.text(max_size=100) | _JSON)
def test_no_words_and_no_result_make_it_stumble(said: str, result: Any) -> None:
    for call in (order("ORD-1"), parcel("1Z9999999"), Call(LIST, {}), Call(SEARCH, {"query": "x"})):
        assert decide(read_request(request(said, [(call, result)]))) is not None
    assert decide(read_request({"messages": [{"role": "user", "content": said}], "tools": TOOLS})) is not None
