"""When a customer says that they are served."""

from bot.desk.courtesies import affirms, asks_nothing, is_last_word


def test_thanks_and_that_it_helped_affirm() -> None:
    table = [
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
        "awesome, I appreciate it, no more questions",
        "Thank you! You've been really helpful.",
        "Wow that was fast, thanks!!",
        "thank you very much, you helped me a lot",
        "Super, vielen Dank, das hilft mir sehr weiter!",
        "Danke für Ihre schnelle Antwort",
        "prima, das war's schon, danke",
        "Perfecto, eso era justo lo que necesitaba",
        "gracias, me has ayudado mucho",
        "Merci, c'est très clair maintenant",
        "merci beaucoup pour votre aide rapide, bonne soirée",
        "oke kak, terima kasih atas bantuannya",
        "sip, sudah jelas kak",
    ]
    misses = [text for text in table if not affirms(text) or not asks_nothing(text)]
    assert misses == []


def test_other_courtesies_ask_nothing_and_affirm_nothing() -> None:
    table = ["ok", "Hello", "Guten Tag", "no thanks", "that's all, bye", "Adiós", "oke kak"]
    misses = [text for text in table if not asks_nothing(text) or affirms(text)]
    assert misses == []


def test_what_may_answer_a_question_that_was_asked_back_is_no_courtesy() -> None:
    table = ["yes", "Ja!", "oui", "sí"]
    misses = [text for text in table if affirms(text) or asks_nothing(text) or not affirms(f"{text}, thanks")]
    assert misses == []


def test_whoever_says_more_is_not_done() -> None:
    table = [
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
        "thanks for nothing",
        "great, can you cancel it",
        "perfect, send it to my home",
        "Super, dann storniere das",
        "Danke, ich habe noch eine Frage",
        "ça marche plus",
        "gracias pero no funciona",
        "makasih tapi belum bisa",
    ]
    misses = [text for text in table if affirms(text) or asks_nothing(text)]
    assert misses == []


def test_a_last_word_needs_no_answer() -> None:
    table = [
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
    ]
    misses = [text for text in table if not is_last_word(text)]
    assert misses == []


def test_whatever_might_be_more_is_no_last_word() -> None:
    table = [
        *("", "?", "no", "yes", "hello", "Thanks, but it is still broken", "Thanks?", "ok?", "thanks for nothing"),
        *("Great, now it is broken again", "Again!", "not ok", "Thanks. Where is my order", "👎", ":rage:"),
        *("👍 but where is it", ":parrot:", "danke, aber es fehlt noch etwas", "gracias pero no funciona"),
        *("merci mais non", "terima kasih tapi belum sampai", "nicht gut", "pas bien"),
    ]
    misses = [text for text in table if is_last_word(text)]
    assert misses == []
