"""Rules that no model decides."""

import pytest

from bot.desk import policy


@pytest.mark.parametrize(
    "text",
    [
        "Can I talk to a human?",
        "I want to speak to a real person please",
        "get me an agent",
        "human please",
        "Agent",
        "please connect me with someone from support",
        "transfer me to a representative",
        "Is there a real person here?",
        "bisa bicara dengan orang?",
        "tolong sambungkan saya dengan CS",
        "saya mau ngomong sama admin",
        "Ich möchte mit einem Menschen sprechen",
        "Kann ich mit jemandem reden?",
        "quiero hablar con una persona",
        "Pásame con un agente",
        "Je voudrais parler à un conseiller",
        "je veux parler à une vraie personne",
    ],
)
def test_words_that_ask_for_a_person_are_understood(text: str) -> None:
    assert policy.asks_for_person(text)


@pytest.mark.parametrize(
    "text",
    [
        "Where is my order ORD-12345?",
        "Do you sell wigs made of human hair?",
        "The delivery person left the parcel at the wrong door",
        "My agent number is 12, does that matter?",
        "Can I send a gift to another person?",
        "I spoke to my sister and she says the size is too small",
        "Berapa orang yang bisa pakai satu akun?",
        "Wie viele Personen können ein Konto nutzen?",
        "Puedo regalar el pedido a otra persona?",
        "Combien de personnes peuvent utiliser le compte ?",
        "What is a human resources discount?",
    ],
)
def test_words_that_only_mention_people_are_not(text: str) -> None:
    assert not policy.asks_for_person(text)


@pytest.mark.parametrize(
    "text",
    ["I'll talk to my lawyer", "My account was hacked", "this is fraud", "I filed a chargeback", "das ist Betrug"],
)
def test_law_fraud_and_theft_go_to_a_person(text: str) -> None:
    assert policy.needs_person(text)


@pytest.mark.parametrize("text", ["Can I pay by card?", "How do I delete my account?", "The police car toy is broken"])
def test_ordinary_questions_do_not(text: str) -> None:
    assert not policy.needs_person(text)


@pytest.mark.parametrize(
    "text", ["Hi!", "hello there", "Thanks a lot!", "terima kasih banyak kak", "Danke schön", "ok, great"]
)
def test_greetings_and_thanks_are_small_talk(text: str) -> None:
    assert policy.is_small_talk(text)


@pytest.mark.parametrize("text", ["Hi, where is my order?", "thanks but it is still broken", ""])
def test_a_greeting_before_a_question_is_not_small_talk(text: str) -> None:
    assert not policy.is_small_talk(text)


def test_an_answer_without_evidence_may_not_stand() -> None:
    assert not policy.may_stand("Returns take 90 days.", "How long do returns take?", evidence=False)


def test_an_answer_with_evidence_may_stand() -> None:
    assert policy.may_stand("Returns take 30 days.", "How long do returns take?", evidence=True)


def test_a_question_back_needs_no_evidence() -> None:
    assert policy.may_stand("Which order do you mean?", "It is broken", evidence=False)


def test_a_claim_with_a_question_behind_it_is_a_claim() -> None:
    claim = "Your refund of 500 EUR arrives tomorrow. Is there anything else?"
    assert not policy.may_stand(claim, "Where is my money?", evidence=False)


def test_after_a_search_in_vain_nothing_is_asked_back() -> None:
    back = "I could not find it. Shall I call somebody?"
    assert not policy.may_stand(back, "How hot is the sun?", evidence=False, searched_in_vain=True)


def test_a_long_text_that_ends_in_a_question_is_not_a_question_back() -> None:
    assert not policy.may_stand("We ship everywhere. " * 40 + "Anything else?", "Do you ship?", evidence=False)
