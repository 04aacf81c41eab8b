"""Taking a deleted message's words out of other texts."""

import json

from bot.privacy.redaction import Redactor


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
