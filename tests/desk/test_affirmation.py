"""When a customer says that they are served."""

import pytest

from bot.desk.affirmation import affirms, asks_nothing, is_last_word


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


@pytest.mark.parametrize(
    "text",
    [
        *(
            "thanks",
            "Thank you so much!",
            "thx :pray:",
            "ok great",
            "OK",
            "Perfect, thank you. Bye!",
            ":wave::skin-tone-3:",
        ),
        *("terima kasih banyak kak", "Oke makasih", "alles klar, danke", "Gracias por su ayuda", "D'accord, merci !"),
        *("👍🏽", "❤️", "🎉🎉", ":heart_eyes:", ":wave::skin-tone-3:"),
    ],
)
def test_a_last_word_needs_no_answer(text: str) -> None:
    assert is_last_word(text)


@pytest.mark.parametrize(
    "text",
    [
        *("", "?", "no", "yes", "hello", "Thanks, but it is still broken", "Thanks?", "ok?", "thanks for nothing"),
        *("Great, now it is broken again", "Again!", "not ok", "Thanks. Where is my order", "👎", ":rage:"),
        *("👍 but where is it", ":parrot:", "danke, aber es fehlt noch etwas", "gracias pero no funciona"),
        *("merci mais non", "terima kasih tapi belum sampai", "nicht gut", "pas bien"),
    ],
)
def test_whatever_might_be_more_is_no_last_word(text: str) -> None:
    assert not is_last_word(text)
