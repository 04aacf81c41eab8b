"""/kb for staff, and only for staff; the internal base that customers never reach; and what /kb refresh tells."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.stories.world import Person, World

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def refreshed(world: World, command: str) -> list[str]:
    """Run a refresh to its end; everything that was said of it."""
    before = len(await world.staff.ephemerals())
    await world.staff.runs(command)

    def find(state: dict[str, list[dict[str, str]]]) -> list[str] | None:
        told = [each["text"] for each in state["ephemerals"] if each["user"] == world.staff.user][before:]
        is_over = any(word in told[-1] for word in ("Generation", "ot refreshed")) if told else False
        return told if is_over else None

    return await world.until(find, what=f"the end of {command}")


async def pressed(world: World, text: str, having: str) -> dict[str, Any]:
    """Press the button of the newest message with this text; the message as it is afterwards, with other words."""
    before = [each for each in await world.staff.ephemerals() if each["text"] == text and "kb.progress" in str(each)][
        -1
    ]
    body = {"user": world.staff.user, "channel": before["channel"], "ts": before["ts"], "action_id": "kb.progress"}
    await world.act("click", body)

    def find(state: dict[str, list[dict[str, Any]]]) -> dict[str, Any] | None:
        now = next(each for each in state["ephemerals"] if each["ts"] == before["ts"])
        return now if having in now["text"] else None

    return await world.until(find, what="what a press shows")


async def runs_until(person: Person, command: str, wanted: Callable[[str], bool]) -> str:
    """Run a command until its answer is as wanted; what is waited for happens beside."""
    while not wanted(told := await person.runs(command)):  # noqa: ASYNC110 - another process's work
        await asyncio.sleep(0.1)
    return told


async def test_staff_see_the_state_of_both_knowledge_bases(world: World) -> None:
    told = await runs_until(world.staff, "/kb status", lambda told: told.count("generation 1") == 2)
    for words in ("documents", "passages", "help", "notes", "staff only"):
        assert words in told
    assert "Embedder" not in told, "that is for operators: frontdesk kb status"
    assert ":warning:" not in told


async def test_staff_see_what_a_question_finds_and_why(world: World) -> None:
    told = await world.staff.runs("/kb search how do I return an item")
    assert "would be answered" in told
    assert "confidence" in told
    assert "meaning" in told


async def test_staff_find_what_is_internal_and_customers_do_not(world: World) -> None:
    question = "How much goodwill may be granted without asking, as a gift card?"
    public, internal = (await world.staff.runs(f"/kb search {question}")).split("Internal knowledge base")
    assert "Goodwill, and who may grant it" in internal
    assert "goodwill.md" not in public

    asked = await world.customer.says(question)
    answer = await world.customer.reads(asked)
    assert "25 EUR" not in answer.text
    assert "shift lead" not in str(await world.model_requests()), "nothing internal ever reaches a model"


async def test_a_search_can_be_narrowed(world: World) -> None:
    told = await world.staff.runs("/kb search returns --source notes")
    public, internal = told.split("Internal knowledge base")
    assert "Nothing found" in public
    assert "notes/" in internal


async def test_a_refresh_tells_what_changed_in_each_base(world: World) -> None:
    begins, *_, report = await refreshed(world, "/kb refresh")
    assert "keeps answering" in begins
    assert report.count("nothing has changed") == 2


async def test_the_first_message_becomes_the_report_by_a_press(world: World) -> None:
    begins, report = (await refreshed(world, "/kb refresh"))[-2:]
    assert report.count("nothing has changed") == 2
    shown = await pressed(world, begins, "nothing has changed")
    assert shown["text"] == report
    assert "kb.progress" not in str(shown)


async def test_one_source_can_be_refreshed_and_an_unknown_one_is_told(world: World) -> None:
    *_, report = await refreshed(world, "/kb refresh notes --force")
    assert "Internal knowledge base" in report
    assert "\n\n" not in report
    assert "There are: help, notes." in await world.staff.runs("/kb refresh nothing")


async def test_there_is_nothing_to_roll_back_to_yet(world: World) -> None:
    assert "no older generation" in await world.staff.runs("/kb rollback")


async def test_questions_without_an_answer_are_listed_without_order_data(world: World) -> None:
    for question in ("Do you repair tungsten furnaces?", "Is order 4412-7781 a tungsten furnace repair?"):
        await world.other_customer.reads(await world.other_customer.says(question))
    told = await world.staff.runs("/kb gaps")
    assert "tungsten" in told
    assert "4412" not in told


@pytest.mark.parametrize("command", ["/kb status", "/kb gaps", "/kb rollback", "/kb refresh", "/kb search goodwill"])
async def test_a_customer_is_refused(world: World, command: str) -> None:
    told = await world.customer.runs(command, channel="C0SUPPORT")
    assert "support team" in told
    assert "eneration" not in told


async def test_anything_else_is_answered_with_the_usage(world: World) -> None:
    for command in ("/kb", "/kb reload", "/kb gaps many", "/kb search", "/kb refresh one two", "/kb status --force"):
        assert "/kb refresh" in await world.staff.runs(command)


async def test_a_press_after_a_restart_tells_what_serves(world: World) -> None:
    begins, report = (await refreshed(world, "/kb refresh notes"))[-2:]
    assert "nothing has changed" in report
    await world.bot("restart")
    await runs_until(world.staff, "/kb status", lambda told: "generation 1" in told)
    shown = await pressed(world, begins, "isn't known here")
    assert "generation 1" in shown["text"]
