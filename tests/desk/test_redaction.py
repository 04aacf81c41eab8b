"""Stop words, edits that mean something, and taking a deleted message's words out of other texts."""

import json

from hypothesis import given
from hypothesis import strategies as st

from bot.desk.redaction import Redactor, changes_meaning, says_settled, says_stop


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


def test_a_deleted_messages_telling_words_and_runs_are_taken_out_and_others_stay() -> None:
    redactor = Redactor(["My code is canary-7f3a and I live in Elm Street"], ["I live here", "Where is my order?"])
    assert redactor.clean("The code is canary-7f3a, sent to Elm Street.") == "The …-…, sent to Elm …."
    assert redactor.clean("they live in Elm Street, they say") == "they …, they say"
    assert redactor.clean("Where is my order?") == "Where is my order?"
    assert not redactor.quotes("I live here")


def test_the_words_of_several_messages_are_taken_out_as_those_of_each() -> None:
    deleted = ["My code is canary-7f3a and I live in Elm Street", "Jane Doe", "I", "Where is my order?"]
    others = ["I live here", "Where is my order?"]
    texts = ["They live in Elm Street", "I", "Jane Doe, I see", "Where is my order?", "The canary-7f3a"]
    left = []
    for text in texts:
        for each in deleted:
            text = Redactor([each], others).clean(text)
        left.append(text)
    together = Redactor(deleted, others)
    assert [together.clean(text) for text in texts] == left
    assert left != texts


def test_json_stays_json() -> None:
    redactor = Redactor(["canary7f3a please"], [])
    arguments = json.dumps({"query": 'é "canary7f3a"\ncanary7f3a'})
    cleaned = redactor.clean_json({"text": "canary7f3a", "calls": [{"arguments": arguments}], "n": 7})
    assert "canary7f3a" not in json.dumps(cleaned)
    assert json.loads(cleaned["calls"][0]["arguments"]) == {"query": 'é "…"\n…'}
    assert cleaned["n"] == 7


def test_a_message_of_a_word_or_two_is_found_inside_of_a_sentence_too() -> None:
    redactor = Redactor(["Jane Doe"], [])
    assert redactor.clean("The customer is Jane Doe, a member.") == "The customer is …, a member."
    assert redactor.clean("Jane, or Doe") == "Jane, or Doe"
    assert Redactor(["Ana"], []).clean("Banana and Ana") == "Banana and …"


def test_a_message_of_a_letter_or_two_is_found_where_it_stands_alone() -> None:
    redactor = Redactor(["I"], [])
    assert redactor.clean("I") == "…"
    assert redactor.clean("I see, and I look") == "I see, and I look"


def test_what_somebody_else_said_as_well_stays() -> None:
    table = ["Where is my order?", "Jane Doe", "Ana", "I", "我要退货", "ช่วยด้วยครับ"]
    misses = []
    for text in table:
        redactor = Redactor([text], [f"Hello. {text}"])
        if redactor.quotes(text) or redactor.clean(f"Asked: {text}") != f"Asked: {text}":
            misses.append(text)
    assert misses == []


def test_words_of_scripts_that_do_not_part_them_are_taken_out() -> None:
    table = [
        ("我的密码是红色大象", "客户说：我的密码是红色大象。", "客户说：…。"),
        ("私のパスワードは赤い象です", "お客様：私のパスワードは赤い象です。", "お客様：…。"),
        ("รหัสผ่านของฉันคือช้างแดง", "ลูกค้า: รหัสผ่านของฉันคือช้างแดง", "ลูกค้า: …"),
        ("密码", "他的密码在这里", "他的…在这里"),
        ("我的密码是canary", "我的密码是canary吗", "…吗"),
    ]
    misses = [
        (deleted, text, got) for deleted, text, left in table if (got := Redactor([deleted], []).clean(text)) != left
    ]
    assert misses == []


def test_small_numbers_tell_nothing_by_themselves_and_long_ones_do() -> None:
    redactor = Redactor(["1 of order 4711"], [])
    assert redactor.clean("Question 1 is about 4711") == "Question 1 is about …"
