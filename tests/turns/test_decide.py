"""What is to be done about a message, from facts alone."""

from typing import Any

import pytest

from bot.agent.model import Usage
from bot.desk.topics import NO_TOPICS
from bot.store.bodies import AttachedFile, MessageBody
from bot.store.inbox import InboxItem
from bot.turns.answers.danger_check import Look
from bot.turns.decide import (
    Answer,
    Call,
    CallForDanger,
    Decision,
    Done,
    Facts,
    Forget,
    HandOver,
    Help,
    Ignore,
    PassOn,
    Reopen,
    Resume,
    Say,
    Stop,
    TakeBack,
    Thank,
    decide,
)
from bot.turns.hearing import Hearing
from tests.store.rows import THREAD, a_case

NOW = 1_000.0
SEEN = Look("harm", ("cheap",), Usage())
UNASKED = Hearing(is_unasked=True)
WAITS, KEEPS = a_case(opened_at=10.0), a_case(opened_at=10.0, keeps_helping=True)
ABOUT_IT = a_case(opened_at=10.0, title="Nothing came of ORD-1001")
TAKEN_BACK = a_case(state="bot", ended_at=NOW)
HUMAN = a_case(state="human", owner="U0AGENTA")
SOLVED = a_case(state="resolved", ended_at=NOW - 60)
"""A case that was solved a minute ago."""
OLD = a_case(state="closed", ended_at=1.0)
FILE = AttachedFile("F1", "receipt.pdf", "application/pdf", 9)


def facts(text: str = "Where is ORD-1001?", **known: Any) -> Facts:
    """What is known of a message of Customer A in a conversation without a case."""
    body = MessageBody(text, files=known.pop("files", ()))
    interrupt = known.pop("interrupt", "")
    author = known.pop("author", "U0CUSTOMERA")
    item = InboxItem(7, "message", THREAD, "9.9", author, "T1", body, 1, NOW, interrupt)
    nothing = {"case": None, "ended": None, "seen": None, "danger": None, "begun_at": None}
    return Facts(
        item,
        **{
            "hearing": Hearing(),
            **nothing,
            "shows_images": False,
            "has_asked_back": False,
            "is_offered": False,
            "asked": (),
            "is_paused": False,
            "topics": NO_TOPICS,
            "is_over": False,
            "now": NOW,
            **known,
        },
    )


@pytest.mark.parametrize(
    ("known", "decision"),
    [
        # A case is open.
        ({"case": WAITS}, Help(WAITS)),
        ({"case": ABOUT_IT}, PassOn(ABOUT_IT, offers="help")),
        ({"case": WAITS, "text": "It came without the pegs."}, PassOn(WAITS)),
        ({"case": WAITS, "text": "hello?"}, PassOn(WAITS, offers="status")),
        ({"case": WAITS, "text": "how long until someone replies"}, PassOn(WAITS, offers="status")),
        ({"case": WAITS, "text": "stop"}, PassOn(WAITS, offers="end")),
        ({"case": WAITS, "text": "cancel that, sorry"}, PassOn(WAITS, offers="end")),
        ({"case": WAITS, "text": "oh wait, forget it, I just saw it in the app"}, PassOn(WAITS, offers="end")),
        ({"case": WAITS, "text": "ach, hat sich erledigt, es liegt beim Nachbarn"}, PassOn(WAITS, offers="end")),
        ({"case": WAITS, "text": "never mind the colour, I need it by Friday"}, PassOn(WAITS)),
        ({"case": WAITS, "is_paused": True}, PassOn(WAITS)),
        ({"case": WAITS, "is_over": True}, PassOn(WAITS)),
        ({"case": WAITS, "danger": "harm"}, PassOn(WAITS)),
        ({"case": HUMAN}, PassOn(HUMAN)),
        ({"case": HUMAN, "text": "Never mind"}, PassOn(HUMAN, says_solved=True)),
        ({"case": HUMAN, "text": "it works now, thank you so much!"}, PassOn(HUMAN, says_solved=True)),
        ({"case": HUMAN, "text": "thank you so much!"}, PassOn(HUMAN)),
        ({"case": HUMAN, "text": "it's still not solved"}, PassOn(HUMAN)),
        ({"case": HUMAN, "text": "Never mind", "files": (FILE,)}, PassOn(HUMAN)),
        ({"case": HUMAN, "text": "Never mind", "danger": "harm"}, PassOn(HUMAN)),
        ({"case": HUMAN, "text": "Never mind", "author": "U0OTHER"}, PassOn(HUMAN)),
        ({"case": WAITS, "text": "Never mind, I found it"}, TakeBack(WAITS)),
        ({"case": WAITS, "text": "Never mind", "files": (FILE,)}, PassOn(WAITS)),
        ({"ended": TAKEN_BACK, "text": "Never mind"}, Done("taken_back")),
        ({"ended": TAKEN_BACK}, Answer()),
        ({"ended": TAKEN_BACK, "text": "Never mind", "files": (FILE,)}, Answer()),
        ({"case": WAITS, "text": "Never mind", "author": "U0OTHER"}, PassOn(WAITS)),
        ({"case": KEEPS}, Help(KEEPS)),
        ({"case": KEEPS, "author": "U0OTHER"}, PassOn(KEEPS)),
        ({"case": KEEPS, "is_paused": True}, PassOn(KEEPS)),
        ({"case": KEEPS, "is_over": True}, PassOn(KEEPS)),
        ({"case": KEEPS, "danger": "harm"}, PassOn(KEEPS)),
        ({"case": KEEPS, "text": "stop"}, PassOn(KEEPS, offers="end")),
        ({"case": KEEPS, "text": "I want to talk to a human"}, PassOn(KEEPS)),
        ({"case": KEEPS, "text": "", "files": (FILE,)}, PassOn(KEEPS)),
        # An answer has begun: before the case was opened, or after it.
        ({"case": WAITS, "begun_at": 10.0}, Resume()),
        ({"case": WAITS, "begun_at": 10.0, "interrupt": "called"}, Call()),
        ({"case": WAITS, "begun_at": 11.0}, Help(WAITS)),
        ({"case": HUMAN, "begun_at": 1.0}, PassOn(HUMAN)),
        # The cheap model saw danger.
        ({"seen": SEEN, "danger": "harm"}, CallForDanger(SEEN)),
        ({"seen": SEEN, "danger": "harm", "case": WAITS}, CallForDanger(SEEN)),
        ({"seen": SEEN, "danger": "harm", "case": HUMAN}, PassOn(HUMAN)),
        # A person solved a case before.
        ({"ended": SOLVED, "text": "Thank you!"}, Thank(SOLVED)),
        ({"ended": SOLVED, "text": "Thank you!", "files": (FILE,)}, Reopen(SOLVED)),
        ({"ended": SOLVED, "text": "Thank you!", "danger": "harm"}, Reopen(SOLVED)),
        ({"ended": SOLVED}, Reopen(SOLVED)),
        ({"ended": SOLVED, "interrupt": "called"}, Reopen(SOLVED)),
        ({"ended": SOLVED, "author": "U0OTHER"}, Answer()),
        ({"ended": SOLVED, "begun_at": 1.0}, Answer()),
        ({"ended": SOLVED, "hearing": Hearing(is_unasked=True, concerns=False)}, Answer()),
        ({"ended": SOLVED, "text": "stop"}, Say("nothing_to_stop", "nothing_to_stop")),
        ({"ended": OLD}, Answer()),
        # There is no case.
        ({}, Answer()),
        ({"interrupt": "called"}, Call()),
        ({"danger": "legal"}, HandOver("legal")),
        ({"text": "I want to talk to a human"}, HandOver("asked_for_person")),
        ({"text": "I want to talk to a human", "danger": "harm"}, HandOver("harm")),
        ({"is_over": True, "danger": "harm"}, HandOver("harm")),
        ({"is_paused": True}, Ignore()),
        ({"is_paused": True, "begun_at": 1.0}, Answer()),
        ({"is_paused": True, "danger": "harm"}, HandOver("harm")),
        ({"text": ""}, Say("greeting", "no_words")),
        ({"text": "", "files": (FILE,)}, Say("file_unread", "no_words")),
        ({"text": "", "files": (FILE,), "shows_images": True}, Answer()),
        ({"text": "", "files": (FILE,), "shows_images": True, "hearing": UNASKED}, Forget()),
        ({"text": "", "hearing": UNASKED}, Forget()),
        ({"text": "", "hearing": UNASKED, "begun_at": 1.0}, Say("greeting", "no_words")),
        # The assistant has offered a person.
        ({"is_offered": True}, Answer()),
        ({"is_offered": True, "text": "yes please"}, HandOver("asked_for_person", accepts=True)),
        ({"is_offered": True, "text": "Ja, gerne!"}, HandOver("asked_for_person", accepts=True)),
        ({"is_offered": True, "text": "ok"}, HandOver("asked_for_person", accepts=True)),
        (
            {"is_offered": True, "text": "oui volontiers", "hearing": UNASKED},
            HandOver("asked_for_person", accepts=True),
        ),
        ({"is_offered": True, "text": "yes please", "files": (FILE,)}, Answer()),
        ({"is_offered": True, "text": "yes please cancel it"}, Answer()),
        ({"text": "yes please"}, Answer()),
        ({"is_offered": True, "text": "no"}, Say("rephrase", "declined")),
        ({"is_offered": True, "text": "tidak usah, makasih"}, Say("rephrase", "declined")),
        ({"is_offered": True, "text": "no thanks", "hearing": UNASKED}, Forget()),
        ({"text": "no thanks"}, Say("standing_by", "declined")),
        ({"text": "non merci, j'ai trouvé"}, Say("standing_by", "declined")),
        ({"text": "no"}, Answer()),
        ({"text": "no thanks", "has_asked_back": True}, Answer()),
        ({"text": "no need to send it again?"}, Answer()),
        ({"text": "stop"}, Say("nothing_to_stop", "nothing_to_stop")),
        ({"text": "stop", "begun_at": 1.0}, Stop()),
        ({"text": "stop", "hearing": UNASKED}, Forget()),
        ({"text": "stop", "hearing": UNASKED, "begun_at": 1.0}, Stop()),
        ({"hearing": UNASKED}, Answer()),
    ],
)
def test_the_first_rule_that_fits_decides(known: dict[str, Any], decision: Decision) -> None:
    assert decide(facts(**known)) == decision


def test_thanks_are_returned_unless_they_answer_a_question_or_nobody_asked_us() -> None:
    returned = decide(facts("Thanks, that helped a lot!"))
    assert isinstance(returned, Say)
    assert returned.reason == "thanked"
    assert decide(facts("Perfect!", has_asked_back=True)) == Answer()
    assert decide(facts("Thanks!", hearing=UNASKED)) == Forget()
    assert decide(facts("Thanks!", files=(FILE,))) == Answer()
    assert decide(facts("Thanks, I want to talk to a person")) == HandOver("asked_for_person")
