"""The bodies of inbox rows, as they are stored and read."""

from typing import Any

import pytest

from bot.store.bodies import (
    AttachedFile,
    Body,
    DeleteBody,
    EditBody,
    InteractionBody,
    MessageBody,
    StopBody,
    body_as,
    decode,
    encode,
)

FILES = (AttachedFile("F1", "lamp.png", "image/png", 7),)
WHOLE: list[tuple[str, Body]] = [
    ("message", MessageBody("Where is it?", masked=True, files=FILES, others=("U1",), leads=True, edited="2.1")),
    ("message", MessageBody("I mean <@U1>", to_us=False)),
    ("staff", MessageBody("It is on its way", files=FILES).stone()),
    ("edit", EditBody("Where?", of="1.1", is_staff=True, speaks_anew=True, before="Where is it?", answers=True)),
    ("edit", EditBody(of="1.1", deleted=7, hidden=EditBody("Where?", files=FILES, of="1.1", before="Was?"))),
    ("delete", DeleteBody("1.1", is_staff=True)),
    ("stop", StopBody(("1.2", "1.3"), idle=True)),
    ("interaction", InteractionBody("case.claim", "FD-1001", "1.1", "https://x", {"kb": ["a"]}, True, {"cases": 1})),
    ("interaction", InteractionBody("case.claim", unstorable=True)),
]
EARLIER: list[tuple[str, dict[str, Any], Body]] = [
    ("message", {"text": "Hello"}, MessageBody("Hello")),
    ("message", {"text": "", "files": ["a.pdf"]}, MessageBody(files=(AttachedFile("", "a.pdf"),))),
    ("message", {"text": "", "files": [{"id": "F1", "name": "a"}]}, MessageBody(files=(AttachedFile("F1", "a"),))),
    ("message", {"text": "", "files": [], "overheard": True}, MessageBody(to_us=False, overheard=True)),
    ("message", {"text": "", "files": [], "deleted": {}}, MessageBody(deleted=0)),
    ("edit", {"text": "Hi", "of": "1.1", "colour": "red"}, EditBody("Hi", of="1.1")),
    ("stop", {"text": "", "typed": True}, StopBody()),
    ("interaction", {"action": "esc.cancel", "value": "FD-1", "text": ""}, InteractionBody("esc.cancel", "FD-1")),
    ("interaction", {"text": "", "files": [], "deleted": {"length": 0}}, InteractionBody(deleted=0)),
]


@pytest.mark.parametrize(("kind", "body"), WHOLE)
def test_a_stored_body_is_read_as_it_was_written(kind: str, body: Body) -> None:
    assert decode(kind, encode(body)) == body


@pytest.mark.parametrize(("kind", "stored", "body"), EARLIER)
def test_a_body_of_an_earlier_version_is_read(kind: str, stored: dict[str, Any], body: Body) -> None:
    assert decode(kind, stored) == body


def test_nothing_of_the_words_is_left_of_an_erased_or_overheard_message() -> None:
    edit = EditBody("secret", files=(AttachedFile("F1", "secret"),), others=("secret",), of="1.1", before="secret")
    assert "secret" not in str(encode(edit.stone()))
    assert "secret" not in str(encode(edit.left()))
    assert edit.stone().deleted == len("secret\n[attached: secret]")


def test_a_message_for_others_stays_for_others_when_its_turn_is_tried_again() -> None:
    left = decode("message", encode(MessageBody("Tea?", to_us=False).left()))
    assert isinstance(left, MessageBody)
    assert (left.text, left.to_us, left.overheard) == ("", False, True)


def test_a_body_of_another_kind_is_refused() -> None:
    with pytest.raises(TypeError, match="a StopBody is no InteractionBody"):
        body_as(InteractionBody, StopBody())
