"""Recognising a deleted message's words in other texts."""

import json

from bot.privacy.quotations import Quotations


def test_a_deleted_messages_telling_words_and_runs_are_recognised_and_others_are_not() -> None:
    quotations = Quotations(["My code is canary-7f3a and I live in Elm Street"], ["I live here", "Where is my order?"])
    quoting = ["The canary, sent.", "It is 7F3A.", "they live in Elm Street, they say", "A street"]
    plain = ["Where is my order?", "I live here", "The code is known.", "Elm"]
    assert [text for text in quoting + plain if quotations.are_in(text)] == quoting


def test_the_words_of_several_messages_are_recognised_as_those_of_each() -> None:
    deleted = ["My code is canary-7f3a and I live in Elm Street", "Jane Doe", "I", "Where is my order?"]
    others = ["I live here", "Where is my order?"]
    texts = ["They live in Elm Street", "I", "Jane Doe, I see", "Where is my order?", "The canary-7f3a", "Fine"]
    alone = [any(Quotations([each], others).are_in(text) for each in deleted) for text in texts]
    together = Quotations(deleted, others)
    assert [together.are_in(text) for text in texts] == alone
    assert set(alone) == {True, False}


def test_words_are_recognised_in_the_fields_of_json_and_in_json_inside_of_them() -> None:
    quotations = Quotations(["canary7f3a please, desk refund"], [])
    arguments = json.dumps({"query": 'é "canary7f3a"\ncanary7f3a'})
    assert quotations.are_in_any([{"type": "agent", "calls": [{"arguments": arguments}]}])
    assert quotations.are_in_any([{"extra": {"thought": ["It says canary7f3a"]}}])
    assert quotations.are_in_any({"text": '{"a": canary7f3a'})
    assert not quotations.are_in_any([{"name": "refund", "agent": "desk", "text": '{"a": 1}'}])


def test_a_message_of_a_word_or_two_is_recognised_inside_of_a_sentence_too() -> None:
    quotations = Quotations(["Jane Doe"], [])
    assert quotations.are_in("The customer is Jane Doe, a member.")
    assert not quotations.are_in("Jane, or Doe")
    ana = Quotations(["Ana"], [])
    assert ana.are_in("Banana and Ana")
    assert not ana.are_in("Banana")


def test_a_message_of_a_letter_or_two_tells_nothing() -> None:
    quotations = Quotations(["I"], [])
    assert not quotations.are_in("I see, and I look")


def test_what_somebody_else_said_as_well_is_no_quotation() -> None:
    table = ["Where is my order?", "Jane Doe", "Ana", "I", "我要退货", "ช่วยด้วยครับ"]
    misses = [text for text in table if Quotations([text], [f"Hello. {text}"]).are_in(f"Asked: {text}")]
    assert misses == []


def test_words_of_scripts_that_do_not_part_them_are_recognised() -> None:
    table = [
        ("我的密码是红色大象", "客户说：我的密码是红色大象。"),
        ("私のパスワードは赤い象です", "お客様：私のパスワードは赤い象です。"),
        ("รหัสผ่านของฉันคือช้างแดง", "ลูกค้า: รหัสผ่านของฉันคือช้างแดง"),
        ("密码", "他的密码在这里"),
        ("我的密码是canary", "我的密码是canary吗"),
    ]
    assert [deleted for deleted, text in table if not Quotations([deleted], []).are_in(text)] == []
    assert not Quotations(["我的密码是红色大象"], []).are_in("他的名字在这里")


def test_small_numbers_tell_nothing_by_themselves_and_long_ones_do() -> None:
    quotations = Quotations(["1 of order 4711"], [])
    assert quotations.are_in("It is about 4711")
    assert not quotations.are_in("Question 1 is about that")
