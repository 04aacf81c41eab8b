"""Look-ups that were refused since they came too fast: the customer may ask again, and nobody is called."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import pytest

from bot.desk.budgets import paced
from bot.language.sentences import load_sentences
from bot.store.database import Database
from bot.turns.answers.asking import Agents
from tests.desk.doubles import CUSTOMER_A, context_of
from tests.doubles.clock import ManualClock
from tests.doubles.scripted_model import call, calls, says
from tests.turns.test_asking import LOOK, RETURNS, TUNGSTEN, WHERE, Room, several

SEARCH = calls(call("search_knowledge", {"query": "boots"}))
IN_A_MINUTE = says("I could not look it up, please write again in a minute.")


@dataclass
class PacedRoom(Room):
    """A room whose customer may have one look-up a minute."""

    @property
    def agents(self) -> Agents:
        agents = super().agents
        return replace(agents, team=paced(agents.team, self.database, ManualClock(), per_minute=1))


OpenRoom = Callable[..., PacedRoom]


@pytest.fixture
def room_for(database: Database) -> OpenRoom:
    return partial(PacedRoom, database)


async def used_up(room_for: OpenRoom) -> None:
    """A look-up of an earlier question, which was the minute's."""
    look = room_for({}).agents.team["orders"].tools[0]
    assert (await look.call(context_of(CUSTOMER_A), look.read('{"order_id": "ORD-0"}'))).ok


async def test_a_refused_look_up_is_not_a_shop_that_is_down(room_for: OpenRoom) -> None:
    await used_up(room_for)
    room = room_for({"You know orders.": [LOOK, IN_A_MINUTE]})
    asked = await room.ask(WHERE, agent="orders")
    assert (asked.verdict, room.writer.words) == ("too_fast", "")


async def test_a_refused_search_does_not_say_that_the_pages_hold_nothing(room_for: OpenRoom) -> None:
    await used_up(room_for)
    room = room_for({"You know the pages.": [SEARCH, IN_A_MINUTE]}, titles=())
    asked = await room.ask(TUNGSTEN, agent="answers")
    assert (asked.verdict, room.writer.words) == ("too_fast", "")


async def test_what_was_found_without_the_refused_search_is_said(room_for: OpenRoom) -> None:
    await used_up(room_for)
    room = room_for({"You know the pages.": [SEARCH, says("All about boots stands here.")]})
    asked = await room.ask(RETURNS, agent="answers")
    assert (asked.verdict, room.writer.words) == ("stands", "All about boots stands here.")


async def test_what_one_look_up_found_is_said_though_the_next_was_refused(room_for: OpenRoom) -> None:
    two = calls(call("lookup_order", {"order_id": "ORD-1"}), call("lookup_order", {"order_id": "ORD-2"}, id="call_2"))
    room = room_for({"You know orders.": [two, says("One is shipped; ask for the other in a minute.")]})
    assert (await room.ask(WHERE, agent="orders")).verdict == "stands"


async def test_a_shop_that_is_down_is_so_though_another_look_up_was_refused(room_for: OpenRoom) -> None:
    strike = call("check_shipping", {"tracking_number": "strike"})
    room = room_for({"You know orders.": [calls(strike), LOOK, says("Lost.")]})
    assert (await room.ask(WHERE, agent="orders")).verdict == "shop_down"


async def test_one_of_several_questions_is_to_be_asked_again(room_for: OpenRoom) -> None:
    await used_up(room_for)
    room = room_for(several([says("30 days.")]))
    asked = await room.ask(f"{WHERE} {RETURNS}", agent="orders")
    assert (asked.verdict, asked.partly) == ("stands", False)
    assert room.writer.words.startswith(load_sentences().say("en", "part_too_fast", question=WHERE))
    assert room.writer.words.endswith("\n\n30 days.")


async def test_when_every_question_was_refused_the_whole_is_to_be_asked_again(room_for: OpenRoom) -> None:
    await used_up(room_for)
    room = room_for(several([SEARCH, IN_A_MINUTE]), titles=())
    asked = await room.ask(f"{WHERE} {TUNGSTEN}", agent="orders")
    assert (asked.verdict, asked.partly, room.writer.words) == ("too_fast", False, "")


async def test_a_refusal_is_remembered_over_a_restart(room_for: OpenRoom) -> None:
    await used_up(room_for)
    await room_for({"You know orders.": [LOOK, IN_A_MINUTE]}).ask(WHERE, agent="orders")
    assert (await room_for({}).ask(WHERE, agent="orders")).verdict == "too_fast"
