"""When a customer says that they are served."""

import pytest

from bot.desk.affirmation import affirms, asks_nothing


@pytest.mark.parametrize(
    "text",
    [
        "Thanks, that works!",
        "ok great, thank you so much for your help",
        "Perfect 👍🏽",
        ":+1::skin-tone-3:",
        "Makasih banyak kak, sangat membantu!",
        "Alles klar, vielen Dank. Das hat geholfen.",
        "Danke schön, schönen Tag noch",
        "¡Muchísimas gracias, ya funciona!",
        "D’accord, merci beaucoup, ça marche",
        "No thanks, that's all, problem solved",
    ],
)
def test_thanks_and_that_it_helped_affirm(text: str) -> None:
    assert affirms(text)
    assert asks_nothing(text)


@pytest.mark.parametrize("text", ["ok", "Hello", "Guten Tag", "no thanks", "that's all, bye", "Adiós", "oke kak"])
def test_other_courtesies_ask_nothing_and_affirm_nothing(text: str) -> None:
    assert asks_nothing(text)
    assert not affirms(text)


@pytest.mark.parametrize("text", ["yes", "Ja!", "oui", "sí"])
def test_what_may_answer_a_question_that_was_asked_back_is_no_courtesy(text: str) -> None:
    assert not affirms(text)
    assert not asks_nothing(text)
    assert affirms(f"{text}, thanks")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "?",
        "Thanks, but that doesn't work",
        "Thanks. And how long does a refund take?",
        "that did not help",
        "Das hilft nicht",
        "Danke, aber wo ist mein Paket?",
        "no me sirve",
        "ça ne marche pas",
        "belum bisa",
        "Great, another delay",
        "thanks " * 40,
    ],
)
def test_whoever_says_more_is_not_done(text: str) -> None:
    assert not affirms(text)
    assert not asks_nothing(text)
