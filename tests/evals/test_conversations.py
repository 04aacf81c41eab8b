"""Judging conversations: what passes, and what does not."""

from typing import Any

import pytest

from evals.conversations.__main__ import SETS, read_sets
from evals.conversations.judging import KNOWN_PARTS, is_beside_the_point, judge
from evals.conversations.playing import Played
from evals.conversations.reading import read_message, read_reply

PAGE = {"type": "context", "elements": [{"type": "mrkdwn", "text": ":books: <https://help.example.com/x|Returns>"}]}


def played(*said: str, checks: list[dict[str, Any]], pages: bool = False) -> Played:
    """A conversation in which the app replied with these texts, in turn."""
    messages = [f"question {number}" for number in range(len(said))]
    replies = []
    for asked, text in zip(messages, said, strict=True):
        blocks = [{"type": "markdown", "text": text}, *([PAGE] if pages else [])]
        seen = (read_message({"ts": "1", "blocks": blocks}),) if text else ()
        replies.append(read_reply(asked, seen, set(), is_public=False))
    return Played({"id": "one", "category": "any", "messages": messages, "checks": checks}, replies)


@pytest.mark.parametrize(
    ("check", "said", "fault"),
    [
        ({"all": ["30 days"]}, "You have 14 days.", "lacks"),
        ({"none": ["has been cancelled"]}, "It has been cancelled.", "says"),
        ({"found": True}, "I could not find this in our help pages.", "found nothing"),
        ({"ended": ["offered"]}, "It is being packed.", "ended"),
        ({"ended": ["asked"]}, "Shall I bring in a person?", "ended"),
        ({"orders": ["ORD-12345"]}, "It is on its way.", "does not speak of"),
        ({"lang": "de"}, "Your order is on its way to you.", "not in de"),
        ({"no_case": True}, "Passed on. Case FD-1001", "opened"),
        ({"ack": "complaint"}, "It is on its way.", "acknowledges"),
        ({"all": ["x"]}, "", "no reply"),
    ],
)
def test_a_reply_that_breaks_a_check_fails(check: dict[str, Any], said: str, fault: str) -> None:
    (found,) = judge(played(said, checks=[check]))
    assert fault in found


@pytest.mark.parametrize(
    ("check", "said"),
    [
        ({"found": True}, "I cannot find ORD-12354 among your orders."),
        ({"ended": ["offered"]}, "Soll ich jemanden aus dem Team dazuholen?"),
        ({"ended": ["asked"]}, "Which order do you mean?"),
        ({"lang": "de"}, "Ihre Bestellung ist unterwegs und wird heute zugestellt."),
        ({"all": ["30 days"], "turn": 1}, "You have 30 days."),
    ],
)
def test_a_reply_that_keeps_its_checks_passes(check: dict[str, Any], said: str) -> None:
    assert judge(played(said, checks=[check])) == []


@pytest.mark.parametrize(
    "said", ["Hello {name}!", "We will answer you right here today. We will answer you right here today."]
)
def test_what_no_reply_may_be_fails_without_a_check(said: str) -> None:
    assert judge(played(said, checks=[]))


def test_the_same_reply_to_another_message_fails() -> None:
    assert judge(played(*["It is on its way with UPS since Monday."] * 2, checks=[]))


def test_a_reply_with_a_source_that_misses_its_check_is_beside_the_point() -> None:
    checks = [{"all": ["30 days"], "no_case": True}]
    assert is_beside_the_point(played("We ship on Monday.", checks=checks, pages=True))
    assert not is_beside_the_point(played("We ship on Monday.", checks=checks))
    assert not is_beside_the_point(played("You have 30 days.", checks=checks, pages=True))


def test_every_conversation_can_be_read_and_has_a_name_of_its_own() -> None:
    talks = read_sets(SETS)
    assert len(talks) >= 200
    assert len({talk["id"] for talk in talks}) == len(talks)
    for talk in talks:
        assert talk["messages"]
        assert talk["checks"]
        assert all(check.keys() <= KNOWN_PARTS for check in talk["checks"]), talk["id"]
