"""The titles of cases: what the rules make of customers' words, when a title is refreshed, and what a model may add."""

from typing import Any, cast

import pytest

from bot.agent.endpoints import Endpoint, Models
from bot.agent.model import ModelFailure
from bot.cases.titles import UNTITLED, names_matter, title_in
from bot.conversation import ThreadRef
from bot.store.cases import Case
from bot.store.database import Database
from bot.store.erasure import NO_TITLE
from bot.telemetry import Metrics
from bot.turns.case_titles import CaseTitles, build_titler
from tests.doubles.local_slack import LocalSlack
from tests.doubles.scripted_model import ScriptedModel, says
from tests.store.test_interrupts import deletion
from tests.turns.answering import CUSTOMER
from tests.turns.arrivals import TEAM, arrival
from tests.turns.test_edits import Desk

THREAD = ThreadRef(TEAM, "D0CUSTOMERA", "1.1")


def test_a_title_says_the_matter_and_never_that_a_person_is_wanted() -> None:
    titles = {
        "human please": "",
        "Agent!": "",
        "Hallo, ich möchte bitte mit einem Menschen sprechen": "",
        "thanks": "",
        "Hi, I need help": "",
        "Können Sie mir bitte helfen?": "",
        "Hola, necesito ayuda por favor": "",
        "Bonjour, pouvez-vous m'aider ?": "",
        "Halo, saya butuh bantuan": "",
        "I need help with my lamp": "I need help with my lamp",
        "Hi, I was charged twice for order ORD-67890. I want to speak to a person": "Refund for ORD-67890",
        "Hello! Where is my parcel ORD-1001?": "Delivery for ORD-1001",
        "Wo ist meine Bestellung #12345?": "Delivery for #12345",
        "Quiero devolver las botas del pedido ORD-1002": "Return for ORD-1002",
        "ORD-1001": "Question about ORD-1001",
        "Je ne peux pas me connecter à mon compte.": "Je ne peux pas me connecter à mon compte.",
        "Can I talk to someone about the invoice?": "The invoice",
        "I want to talk to a person about my kettle.": "My kettle",
        "Since the update I tried again and again to log in with the right words and it never works": "Cannot log in",
    }
    assert {said: title_in([said]) for said in titles} == titles
    assert title_in(["human please", "Where is ORD-1001?"]) == "Question about ORD-1001"
    assert [names_matter(words) for words in ("Customer requests a human agent", "Lost parcel")] == [False, True]


@pytest.fixture
def desk(database: Database, slack: LocalSlack) -> Desk:
    return Desk(database, slack)


async def opened(desk: Desk, *said: str) -> Case:
    await desk.receives(*(arrival(f"1.{number}", thread_ts="1.1", text=text) for number, text in enumerate(said, 1)))
    return await desk.cases.open(THREAD, CUSTOMER, reason="asked_for_person", priority="medium")


def titles(desk: Desk, *steps: Any) -> tuple[CaseTitles, ScriptedModel]:
    model = ScriptedModel(*steps)
    models = Models((Endpoint("cheap", cast(Any, model)),))
    team = build_titler(shop_name="Fernwick")
    return CaseTitles(desk.cases, desk.database, desk.clock, Metrics(), models, team), model


async def test_a_case_that_nothing_is_known_of_is_named_once_when_its_customer_says_it(desk: Desk) -> None:
    case = await opened(desk, "human please")
    assert case.title == UNTITLED
    await desk.cases.name_matter(case, "are you there?")
    await desk.cases.name_matter(await desk.cases.find(case.ref), "Where is my parcel ORD-1001?")
    named = await desk.cases.find(case.ref)
    assert named.title == "Delivery for ORD-1001"
    assert "case/1/card/2" in [key for _, key in await desk.queued()]
    await desk.cases.name_matter(named, "And a refund for ORD-1002, too")
    assert (await desk.cases.find(case.ref)).title == "Delivery for ORD-1001"


async def test_the_cheap_model_names_a_case_once_and_says_nothing_but_the_matter(desk: Desk) -> None:
    case = await opened(desk, "My left boot is torn, card 4111 1111 1111 1111, I want a person")
    makes, model = titles(desk, says('"Torn left boot"\n'))
    await makes.look()
    await makes.look()
    assert (await desk.cases.find(case.ref)).title == "Torn left boot"
    assert len(model.requests) == 1
    assert "4111" not in str(model.requests)


@pytest.mark.parametrize(
    "step", [says("Customer wants to talk to a human"), says("none"), [ModelFailure("model_unreachable")]]
)
async def test_the_title_from_a_rule_stays_when_the_model_has_none(desk: Desk, step: Any) -> None:
    case = await opened(desk, "My left boot is torn")
    makes, _ = titles(desk, step)
    await makes.look()
    assert (await desk.cases.find(case.ref)).title == "My left boot is torn"


async def test_a_deleted_message_takes_the_title_that_was_made_of_it_with_it(desk: Desk) -> None:
    case = await opened(desk, "human please")
    desk.clock.advance(60.0)
    await desk.receives(arrival("1.2", thread_ts="1.1", text="My left boot is torn"))
    await desk.cases.name_matter(case, "My left boot is torn")
    titled = await desk.cases.find(case.ref)
    (gone,) = await desk.receives(deletion("1.2", "5.0", thread_ts="1.1"))
    await desk.thoughts.deleted(gone)
    assert (await desk.cases.find(case.ref)).title == NO_TITLE
    assert not await desk.cases.retitle(titled, "Torn left boot", by="model"), "made while it was deleted"
    assert "torn" not in await desk.everything()
