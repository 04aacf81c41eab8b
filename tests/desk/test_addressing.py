"""Who a reply in a channel's thread is for."""

from bot.desk.addressing import asks, concerns_us, names_matter, says_unsettled

MATTER = ("My lamp arrived broken, how do I return it?", "¿Dónde está mi paquete?", "Wo ist meine Lieferung?")


def test_a_question_or_what_names_the_matter_concerns_us() -> None:
    table = [
        "And how long does it take?",
        "how long does that take",
        "what about ORD-1002",
        "can I return it without the box",
        "ok and when will it arrive",
        "berapa lama",
        "apakah bisa ditukar",
        "Wie lange dauert das",
        "kann ich das umtauschen",
        "cuándo llega",
        "puedo devolverlo sin la caja",
        "combien de temps ça prend",
        "est-ce que je peux le renvoyer",
        "本当に届きますか？",
        "It is ORD-1002.",
        "the lamp is the blue one",
        "mi paquete era azul",
        "Die Lieferung war am Montag fällig",
        "I want to talk to a real person",
        "quiero hablar con una persona",
    ]
    misses = [text for text in table if not concerns_us(text, matter=MATTER)]
    assert misses == []


def test_talk_among_others_does_not() -> None:
    table = [
        "Yes, what a match!",
        "I had a great time yesterday",
        "lunch at 12:30 then",
        "haha same here",
        "Ja, das war ein tolles Spiel gestern",
        "sí, qué partidazo el de ayer",
        "qué partidazo el de ayer",
        "oui, un beau match hier",
        "what a match it was",
        "iya, seru sekali tadi malam",
        "> how do I return it?",
        "see `what?` in the log",
        "look at https://example.com/?q=1",
        "ok",
        "",
        "👍",
    ]
    misses = [text for text in table if concerns_us(text, matter=("How do I reset my password?",))]
    assert misses == []


def test_any_reply_answers_what_the_assistant_asked() -> None:
    assert concerns_us("the blue one", matter=(), is_asked_back=True)
    assert not concerns_us("the blue one", matter=())


def test_what_still_does_not_work_is_known_in_five_languages() -> None:
    table = [
        "It still doesn't work",
        "masih belum bisa",
        "Das geht immer noch nicht",
        "sigue sin llegar",
        "ça ne marche toujours pas",
    ]
    misses = [text for text in table if not says_unsettled(text)]
    assert misses == []
    assert not says_unsettled("Did you see the game yesterday?")


def test_a_long_text_is_read_in_time() -> None:
    for seed in ("?", "what ", "`", "> ", "a", "ORD-", "für "):
        text = seed * 12_000
        assert isinstance(asks(text) or names_matter(text, [text]) or says_unsettled(text), bool)
