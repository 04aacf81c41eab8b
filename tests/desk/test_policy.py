"""Rules that no model decides."""

import pytest

from bot.desk import courtesies, policy


def test_words_that_ask_for_a_person_are_understood() -> None:
    table = [
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
    ]
    misses = [text for text in table if not policy.asks_for_person(text)]
    assert misses == []


def test_a_person_may_be_called_by_nothing_but_the_word() -> None:
    table = [
        "A person, please. It is about my order ORD-1001",
        "Please, a person.",
        "Hello! A real person, please: my parcel is lost",
        "I need a human",
        "I'd rather have a human look at this",
        "Is there a person I can talk to?",
        "Could a person please look at this?",
        "Ein Mensch, bitte. Es geht um meine Bestellung",
        "Mitarbeiter bitte!",
        "Una persona, por favor. Es sobre mi pedido",
        "Un humain, s'il vous plaît. C'est pour ma commande",
        "Tolong orang. Ini tentang pesanan saya",
        "Customer service",
    ]
    misses = [text for text in table if not policy.asks_for_person(text)]
    assert misses == []


def test_words_that_only_mention_people_are_not() -> None:
    table = [
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
        "What does a person need to return an item?",
        "Can a person return an item twice?",
        "Do I need a person at home when the parcel comes?",
        "A person of my household lost the parcel.",
        "Which agent carried it: DHL?",
        "Can someone help me?",
    ]
    misses = [text for text in table if policy.asks_for_person(text)]
    assert misses == []


def test_law_fraud_and_theft_go_to_a_person() -> None:
    table = [
        "I'll talk to my lawyer",
        "My account was hacked",
        "this is fraud",
        "I filed a chargeback",
        "das ist Betrug",
    ]
    misses = [text for text in table if not policy.needs_person(text)]
    assert misses == []


@pytest.mark.parametrize("text", ["Can I pay by card?", "How do I delete my account?", "The police car toy is broken"])
def test_ordinary_questions_do_not(text: str) -> None:
    assert not policy.needs_person(text)


def test_greetings_and_thanks_are_small_talk() -> None:
    table = ["Hi!", "hello there", "Thanks a lot!", "terima kasih banyak kak", "Danke schön", "ok, great"]
    misses = [text for text in table if not courtesies.is_small_talk(text)]
    assert misses == []


@pytest.mark.parametrize("text", ["Hi, where is my order?", "thanks but it is still broken", ""])
def test_a_greeting_before_a_question_is_not_small_talk(text: str) -> None:
    assert not courtesies.is_small_talk(text)


def test_an_answer_without_evidence_may_not_stand() -> None:
    assert not policy.is_grounded("Returns take 90 days.", "How long do returns take?", evidence=False)


def test_an_answer_with_evidence_may_stand() -> None:
    assert policy.is_grounded("Returns take 30 days.", "How long do returns take?", evidence=True)


def test_a_question_back_needs_no_evidence() -> None:
    assert policy.is_grounded("Which order do you mean?", "It is broken", evidence=False)


def test_a_claim_with_a_question_behind_it_is_a_claim() -> None:
    claim = "Your refund of 500 EUR arrives tomorrow. Is there anything else?"
    assert not policy.is_grounded(claim, "Where is my money?", evidence=False)


def test_after_a_search_in_vain_nothing_is_asked_back() -> None:
    back = "I could not find it. Shall I call somebody?"
    assert not policy.is_grounded(back, "How hot is the sun?", evidence=False, searched_in_vain=True)


def test_a_long_text_that_ends_in_a_question_is_not_a_question_back() -> None:
    assert not policy.is_grounded("We ship everywhere. " * 40 + "Anything else?", "Do you ship?", evidence=False)


def test_the_questions_of_a_message_are_found() -> None:
    table = [
        ("Where is my order ORD-12345?", ("Where is my order ORD-12345?",)),
        (
            "Hi! How do I return boots? And which cards do you take?",
            ("How do I return boots?", "And which cards do you take?"),
        ),
        ("How do I pay?\nHow long is the warranty?!", ("How do I pay?", "How long is the warranty?!")),
        ("¿Dónde está mi pedido? ¿Y cómo lo devuelvo?", ("¿Dónde está mi pedido?", "¿Y cómo lo devuelvo?")),
        ("退货需要多长时间？你们接受哪些信用卡？", ("退货需要多长时间？", "你们接受哪些信用卡？")),
        ("Where is my order? Where is my order?", ("Where is my order?",)),
        ("It is late, right?", ("It is late, right?",)),
        ("> How do I pay?\nIs this still true?", ("Is this still true?",)),
        ("What does “30 days?” mean on the page?", ("What does “30 days?” mean on the page?",)),
    ]
    misses = [(text, got) for text, questions in table if (got := policy.questions_in(text)) != questions]
    assert misses == []


def test_what_is_quoted_short_or_polite_is_no_question() -> None:
    table = [
        "",
        "Thanks a lot!",
        "And ORD-12345?",
        "Hello, can you help me?",
        "Hi! How are you today?",
        "> How do I return an item?",
        "The page says “Are returns free of charge?” and that is all.",
        'Your mail asked "How did we do today?" again.',
        "See https://shop.example.com/?order=1 for it",
        "Halo kak, bisa bantu saya?",
    ]
    misses = [(text, got) for text in table if (got := policy.questions_in(text)) != ()]
    assert misses == []


def test_separate_questions_are_taken_apart() -> None:
    table = [
        ("Where is ORD-12345? How do I return boots?", 2),
        ("Where is ORD-12345? How do I return boots? Which cards do you take? Do you ship to France?", 4),
        ("I bought boots and they are small. Can I exchange them? Where is my other order ORD-67890?", 2),
        ("Pesanan saya ORD-12345 sampai mana? Bagaimana cara mengembalikan barang?", 2),
        ("Wo ist meine Bestellung ORD-12345? Welche Zahlungsarten gibt es bei Ihnen?", 2),
        ("How do I return an item? Is it possible to pay by invoice?", 2),
    ]
    misses = [(text, got) for text, apart in table if (got := len(policy.questions_apart(text))) != apart]
    assert misses == []


RHETORICAL = (
    ("Are you kidding me?", "Where is my order ORD-12345?"),
    ("Hello, can someone tell me what's wrong with you people?", "Where is my order ORD-12345?"),
    ("Do you even care?", "When does my parcel arrive?"),
    ("do you speak German?", "How do I return boots?"),
    ("Did you get my last message?", "When does my parcel arrive?"),
    ("Is this some kind of joke?", "When does my parcel arrive?"),
    ("What the hell is going on?", "When does my parcel arrive?"),
    ("How hard can it be?", "When does my parcel arrive?"),
    ("Are you a real human or a bot?", "When does my parcel arrive?"),
    ("Kalian serius atau bercanda?", "Pesanan saya ORD-12345 sampai mana?"),
    ("Kalian ini niat kerja gak sih?", "Pesanan saya ORD-12345 sampai mana?"),
    ("Apa kalian bisa bahasa Inggris?", "Bagaimana cara mengembalikan barang?"),
    ("Sudah baca pesan saya yang kemarin?", "Pesanan saya ORD-12345 sampai mana?"),
    ("Was soll das?", "Wo ist meine Bestellung ORD-12345?"),
    ("Ist das Ihr Ernst?", "Wo ist meine Bestellung ORD-12345?"),
    ("Wollen Sie mich veräppeln?", "Wo ist meine Bestellung ORD-12345?"),
    ("Haben Sie meine letzte Nachricht bekommen?", "Wann kommt mein Paket an?"),
    ("Sprechen Sie auch Englisch?", "Wann kommt mein Paket an?"),
    ("¿Me están tomando el pelo?", "¿Dónde está mi pedido ORD-12345?"),
    ("¿Esto va en serio?", "¿Dónde está mi pedido ORD-12345?"),
    ("¿Qué les pasa a ustedes?", "¿Cómo devuelvo las botas?"),
    ("¿Recibieron mi último mensaje?", "¿Cómo devuelvo las botas?"),
    ("¿Alguien habla inglés?", "¿Cómo devuelvo las botas?"),
    ("Vous vous moquez de moi ?", "Où est ma commande ORD-12345 ?"),
    ("C'est une blague ou quoi ?", "Où est ma commande ORD-12345 ?"),
    ("Avez-vous reçu mon dernier message ?", "Comment retourner un article ?"),
    ("Est-ce que vous parlez anglais ?", "Comment retourner un article ?"),
)
"""A question that asks about nothing, and one that does."""


def test_a_question_about_nothing_is_not_answered_by_itself() -> None:
    misses = [
        (rhetorical, real)
        for rhetorical, real in RHETORICAL
        if policy.questions_apart(f"{rhetorical} {real}") != () or policy.questions_apart(f"{real} {rhetorical}") != ()
    ]
    assert misses == []


def test_it_is_left_out_of_what_is_taken_apart() -> None:
    other = "Which cards do you take?"
    misses = [
        (rhetorical, got)
        for rhetorical, real in RHETORICAL[::3]
        if (got := policy.questions_apart(f"{rhetorical} {real} {other}")) != (real, other)
    ]
    assert misses == []


def test_what_sounds_alike_and_asks_about_something_is_taken_apart() -> None:
    table = [
        ("Do you ship to Spain?", "Do you speak to the carrier about my parcel?"),
        ("What is wrong with my order ORD-12345?", "Do you care for leather boots with wax?"),
        ("Is this real leather or not?", "Do you sell machine washable trousers?"),
        ("Did you get my return parcel?", "What is going on with ORD-12345?"),
        ("Apakah kalian kirim ke Bali?", "Berapa ongkir ekspres ke Jakarta?"),
        ("Was soll das Paket kosten?", "Haben Sie meine Rücksendung bekommen?"),
        ("¿Qué pasa con mi pedido ORD-12345?", "¿Recibieron mi devolución?"),
        ("Avez-vous reçu mon colis retour ?", "Que se passe-t-il avec ORD-12345 ?"),
    ]
    misses = [
        (questions, got) for questions in table if (got := policy.questions_apart(" ".join(questions))) != questions
    ]
    assert misses == []


@pytest.mark.parametrize("doubtful", ["Why are you all like this?", "Warum seid ihr alle so?", "¿Por qué son así?"])
def test_when_it_is_not_clear_what_a_question_is_about_the_whole_is_answered_as_one(doubtful: str) -> None:
    assert policy.questions_apart(f"{doubtful} Where is ORD-12345? How do I return boots?") == ()


def test_what_leads_up_to_a_question_may_name_its_subject() -> None:
    table = [
        (
            "It is ORD-12345. Where is it now? Who is the carrier?",
            "Who is the carrier?",
            "It is ORD-12345. Where is it now?",
        ),
        ("Hi! Can you help me? I bought boots. Who pays the fee?", "Who pays the fee?", "Hi! I bought boots."),
        ("Which cards do you take? I bought boots.", "Which cards do you take?", ""),
        ("Are you kidding me? Who pays the postage?", "Who pays the postage?", ""),
    ]
    misses = [
        (text, question, got)
        for text, question, before in table
        if (got := policy.lead_up_to(text, question)) != before
    ]
    assert misses == []


def test_what_belongs_together_stays_together() -> None:
    table = [
        "Where is my order ORD-12345?",
        "Where is my order ORD-12345? Has it been sent?",
        "How do I pay with a gift card? And how long is it valid?",
        "Wie schicke ich etwas zurück? Was kostet das?",
        "Bagaimana cara retur barang? Biayanya berapa ya kak?",
        "¿Cómo devuelvo las botas? ¿Cuánto cuesta eso?",
        "Comment retourner un article ? Combien de temps prend cela ?",
        "Where is ORD-12345? How do I return boots? Please change my address too.",
        "Where is ORD-12345? How do I return boots? " + "It is a long story. " * 60,
        "Who are you? Where is it? What is this? When does it come? How much is it? Why is that so?",
    ]
    misses = [(text, got) for text in table if (got := policy.questions_apart(text)) != ()]
    assert misses == []


def test_a_message_that_asks_for_many_things_is_compound() -> None:
    table = [
        "Where is ORD-1? Is ORD-2 paid? How do returns work? Which cards do you take? How long is the warranty?",
        "I ordered boots. Where is ORD-12345? How do returns work? Please also tell me whether ORD-67890 is paid.",
        "Please tell me where ORD-12345 is. I also need the invoice of ORD-67890. Let me know how returns work.",
        "Tolong cek ORD-12345. Saya juga mau tahu cara retur barang. Kapan ORD-67890 sampai ya?",
    ]
    misses = [text for text in table if not policy.is_compound(text) or policy.questions_apart(text) != ()]
    assert misses == []


def test_an_ordinary_message_is_not() -> None:
    table = [
        "Where is my order ORD-12345?",
        "Please tell me where my order ORD-12345 is.",
        "My order is late. I need it on Friday. Please hurry up with this.",
        "Where is ORD-12345? How do I return boots?",
        "Please read this. " * 300,
    ]
    misses = [text for text in table if policy.is_compound(text)]
    assert misses == []


def test_an_upset_customer_is_recognised_and_a_calm_one_is_not() -> None:
    upset = [
        "This is the third time I write! Nobody answers. I am furious!!!",
        "this is ridiculous, I've been waiting for a week!!",
        "I'm really disappointed, the jacket leaks after two days of rain",
        "Das ist eine Frechheit! Niemand antwortet.",
        "Esto es una vergüenza, nadie responde",
        "C'est inadmissible, j'en ai marre",
        "saya sangat kecewa dengan pelayanan ini",
    ]
    calm = [
        "Where is my order?",
        "Is the third time slot free?",
        "Kann ich saure Milch zurückgeben?",
        "quiero devolver la chaqueta",
        "Je voudrais une facture",
        "Saya mau tanya soal retur",
        "I was never this happy with a tent!",
    ]
    misses = [text for text in upset if not policy.is_upset(text)]
    misses += [text for text in calm if policy.is_upset(text)]
    assert misses == []


def test_the_reason_for_a_person_is_the_gravest_of_what_the_words_show() -> None:
    assert policy.reason_to_call("I want to talk to a person", None) == "asked_for_person"
    assert policy.reason_to_call("I'm sick of this, get me your manager", None) == "upset"
    assert policy.reason_to_call("I'm sick of this, get me your manager", "harm") == "harm"
    assert policy.reason_to_call("I'm sick of this", None) is None


QUESTIONS = (
    "How do I pay?",
    "Where do you ship?",
    "Which cards do you take?",
    "How long is the warranty?",
    "What does express cost?",
)


def test_texts_are_split_or_shown_up_to_their_limits_and_not_beyond() -> None:
    apart, compound = " ".join(QUESTIONS[:2]), " ".join(QUESTIONS)
    assert [bool(policy.questions_apart(apart.ljust(length))) for length in (1_000, 1_001)] == [True, False]
    assert [policy.is_compound(compound.ljust(length)) for length in (4_000, 4_001)] == [True, False]
    back = "Which order do you mean?"
    shown = [policy.is_grounded(back.ljust(length), "It broke", evidence=False) for length in (300, 301)]
    assert shown == [True, False]


def test_two_to_four_questions_are_answered_apart_and_more_make_a_message_compound() -> None:
    for count in range(1, 6):
        text = " ".join(QUESTIONS[:count])
        assert policy.questions_apart(text) == (QUESTIONS[:count] if 2 <= count <= 4 else ())
        assert policy.is_compound(text) is (count == 5)
    request = "Please cancel my order ORD-12345."
    assert policy.questions_apart(f"{QUESTIONS[0]} {QUESTIONS[1]} {request}") == ()
    assert [policy.is_compound(" ".join((*QUESTIONS[:count], request))) for count in (1, 2, 3)] == [False, True, True]


def test_a_question_has_three_words_and_one_that_refers_back_at_most_eight() -> None:
    assert policy.questions_in("Is it? Where is it?") == ("Where is it?",)
    assert policy.refers_back("And how long does it take to come?")
    assert not policy.refers_back("And how long does it take to come here?")
