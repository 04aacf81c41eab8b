"""Stop words, words that settle a matter, and edits that mean something."""

from hypothesis import given
from hypothesis import strategies as st

from bot.desk.intents import (
    accepts,
    asks_how_long,
    changes_meaning,
    may_say_settled,
    needs_no_more,
    refuses,
    says_settled,
    says_stop,
)


def test_a_message_that_is_nothing_but_a_stop_asks_for_an_end() -> None:
    table = [
        "stop",
        "STOP!",
        " Stop. ",
        "Stopp",
        "berhenti",
        "Alto",
        "¡Para!",
        "detente",
        "Arrête !",
        "arrete",
        "stop please",
    ]
    misses = [text for text in table if not says_stop(text)]
    assert misses == []


def test_a_message_that_says_more_asks_for_none() -> None:
    table = [
        "",
        "?",
        "How do I stop my subscription?",
        "stop my order",
        "don't stop",
        "para mi pedido",
        "unstoppable",
        "ok",
    ]
    misses = [text for text in table if says_stop(text)]
    assert misses == []


def test_a_message_that_says_that_nobody_is_needed_any_more() -> None:
    table = [
        "never mind",
        "Nevermind!",
        "ok, never mind, thanks",
        "Solved it, thank you!",
        "Hat sich erledigt, danke",
        "erledigt",
        "ya está resuelto, gracias",
        "Olvídelo",
        "C'est réglé, merci",
        "laissez tomber",
        "sudah beres, makasih",
        "ga jadi",
    ]
    misses = [text for text in table if not says_settled(text)]
    assert misses == []


def test_a_message_that_may_mean_something_else_says_no_such_thing() -> None:
    table = [
        "",
        "thanks",
        "ok",
        "It is not solved",
        "is it solved?!  I think not",
        "never mind the color, where is it",
        "no",
        "never",
        "solved?",
        "solved? no",
        "nicht gelöst",
        "no está resuelto",
        "belum selesai",
        "pas résolu",
        "x" * 90,
    ]
    misses = [text for text in table if says_settled(text)]
    assert misses == []


def test_a_slip_put_right_changes_nothing() -> None:
    table = [
        ("where is my order", "Where is my order?!"),
        ("Where is my my order?", "Where is my order?"),
        ("wo ist meine bestelung", "Wo ist meine Bestellung?"),
        ("donde esta mi envio", "¿Dónde está mi envío?"),
        ("any thing else", "anything else"),
        ("I recieved it", "I received it"),
        ("", ""),
    ]
    misses = [(before, after) for before, after in table if changes_meaning(before, after)]
    assert misses == []


def test_other_words_or_numbers_change_the_meaning() -> None:
    table = [
        ("Where is ORD-1001?", "Where is ORD-1002?"),
        ("Can I return it?", "Can I exchange it?"),
        ("I want it", "I do not want it"),
        ("It is in", "It is on"),
        ("It came on Tuesday", "It came on Thursday"),
        ("I want to subscribe", "I want to unsubscribe"),
        ("That is possible", "That is impossible"),
        ("Please increase it", "Please decrease it"),
        ("Send it to Austria", "Send it to Australia"),
        ("The blue shirt", "The blue skirt"),
        ("I am your employer", "I am your employee"),
        ("They are included", "They are excluded"),
        ("It is the import", "It is the export"),
        ("Return policy", "Return policy for shoes"),
        ("我要退货", "我不要退货"),
        ("我要退货", "我要换货"),
        ("Where is my order?", ""),
        ("a" * 5_000, "b" * 5_000),
    ]
    misses = [(before, after) for before, after in table if not changes_meaning(before, after)]
    assert misses == []


@given(st.text(max_size=200))
def test_the_same_text_never_changes_its_meaning(text: str) -> None:
    assert not changes_meaning(text, text)


def test_a_request_for_a_person_is_taken_back_in_many_words() -> None:
    back = [
        "never mind, I found it",
        "it's ok, I found it",
        "no thanks, I don't need a person anymore",
        "all good now, thank you!",
        "ich hab's gefunden, danke trotzdem",
        "brauche doch keinen menschen mehr",
        "ya lo encontré, gracias",
        "no hace falta, gracias",
        "c'est bon, j'ai trouvé",
        "laissez tomber, merci",
        "sudah ketemu kak, makasih",
        "gak jadi kak",
    ]
    no = [
        "no resuelto",
        "non résolu",
        "tidak selesai",
        "nicht gelöst",
        "I found it broken",
        "still not solved",
        "I don't need the tent anymore",
        "cancel my order",
        "please hurry",
    ]
    misses = [text for text in back if not says_settled(text)]
    misses += [text for text in no if says_settled(text)]
    assert misses == []


def test_whoever_waits_asks_how_long_in_many_words() -> None:
    how_long = [
        "hello?",
        "are you there??",
        "how long will it take until someone replies?",
        "Any update?",
        "still waiting...",
        "ist da jemand",
        "wie lange dauert das noch, bis jemand antwortet?",
        "¿hay alguien ahí?",
        "¿cuánto tardan en responder?",
        "allô ?",
        "il y a quelqu'un ?",
        "berapa lama saya harus menunggu",
    ]
    no = [
        "hello",
        "how long does a refund take?",
        "when will my parcel come?",
        "wann kommt mein Paket?",
        "cuánto cuesta el envío",
        "quand arrive mon colis ?",
        "berapa lama pengiriman ke Bali?",
    ]
    misses = [text for text in how_long if not asks_how_long(text)]
    misses += [text for text in no if asks_how_long(text)]
    assert misses == []


def test_yes_to_the_offer_of_a_person_is_understood_in_each_language() -> None:
    yes = (
        *("yes", "yes please", "Yes, thanks!", "sure, go ahead", "ok", "okay please", "that would be great", "👍"),
        *("ja bitte", "Ja, gerne", "klar", "auf jeden Fall!", "sí, por favor", "claro que sí", "vale, gracias"),
        *("oui", "oui volontiers", "d'accord", "je veux bien, merci", "boleh kak", "iya dong", "mau", "ya, tolong"),
    )
    no = (
        *("ok thanks", "yes but where is ORD-1001?", "yes?", "not yet", "please cancel my order", "oui et non"),
        *("ja wo ist mein Paket", "sure it is broken", "yes " * 50),
    )
    assert [text for text in yes if not accepts(text)] == []
    assert [text for text in no if accepts(text)] == []


def test_no_to_the_offer_of_a_person_is_understood_in_each_language() -> None:
    no = (
        *("no", "nope", "no thanks", "nah, it's fine", "not now", "no need, I found it", "never mind"),
        *("nein danke", "nö, passt so", "no, gracias", "ahora no", "non merci", "pas la peine", "tidak usah, makasih"),
    )
    other = ("no idea where it is", "no, where is ORD-1001?", "no?", "nein, das Paket ist kaputt", "yes", "thanks")
    assert [text for text in no if not refuses(text)] == []
    assert [text for text in other if refuses(text)] == []


def test_nothing_more_is_needed_only_where_the_words_say_so() -> None:
    done = ("no thanks", "nein danke", "no, no need", "non merci, j'ai trouvé", "gak usah kak", "no gracias")
    open_ = ("no", "nein", "thanks", "still not solved, no thanks to you", "no thanks to you it is broken", "not yet")
    assert [text for text in done if not needs_no_more(text)] == []
    assert [text for text in open_ if needs_no_more(text)] == []


def test_who_begins_as_if_no_person_were_needed_may_say_so() -> None:
    may = (
        *("oh wait, forget it, I just saw it in the app", "never mind! it just arrived"),
        *("hat sich erledigt, das Paket lag beim Nachbarn", "olvídalo, ya llegó", "laisse tomber, il est arrivé"),
        *("gak jadi kak, sudah sampai barangnya", "cancel that, sorry"),
    )
    not_so = (
        *("never mind the colour, just send it", "it arrived, never mind", "forget it, what about the other one?"),
        *("where is my parcel", "never mind, " + "it arrived " * 20),
    )
    assert [text for text in may if not may_say_settled(text)] == []
    assert [text for text in not_so if may_say_settled(text)] == []
