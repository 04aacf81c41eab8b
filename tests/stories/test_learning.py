"""What a person of the team has answered once becomes an article, and the next customer is answered from it."""

import asyncio
import json
import re

import pytest

from tests.stories.world import PATIENCE, Json, Post, Seen, World, is_app, seen_in

pytestmark = pytest.mark.asyncio(loop_scope="module")

QUESTION = "Do you repair tungsten furnaces of the Ember series?"
MESSAGE = f"{QUESTION} I am Customer A, mail me at customer.a@example.com. I want to talk to a real person"
ANSWER = "Yes Customer A, our workshop repairs tungsten furnaces of the Ember series within 19 days for 45 EUR."


async def solved(
    world: World, message: str = MESSAGE, answer: str = ANSWER, **inputs: object
) -> tuple[Post, Seen, str]:
    """The customer's thread, the closed card, the reference; `inputs` of the dialog that resolves it."""
    asked = await world.customer.says(message)
    card = await world.card_of(asked)
    ref = re.search(r"FD-\d+", card.text)
    assert ref is not None
    await world.staff.presses(card, "case.claim")
    await world.customer.reads(asked, having=lambda seen: "Agent A" in seen.text)
    await world.staff.says(answer, to=card)
    await world.customer.reads(asked, having=lambda seen: "(support)" in seen.text)
    await world.staff.resolves(await world.card(having=ref[0]), **inputs)
    closed = await world.until(
        lambda state: next((s for s in posts(state) if ref[0] in s.text and "kb.suggest" in s.buttons), None),
        what="the closed card",
        channel="C0AGENTS",
    )
    return asked, closed, ref[0]


async def suggested(world: World, card: Seen) -> Seen:
    """What is shown in the case's thread once an article is suggested."""
    await world.staff.presses(card, "kb.suggest")
    return await world.staff.reads(card, having=lambda seen: "kb.new" in seen.buttons)


async def outcome(world: World, shown: Seen, words: str) -> Seen:
    """The same message when it says so."""
    return await world.until(
        lambda state: next((s for s in posts(state) if s.ts == shown.ts and words in s.text), None),
        what=f"{words} in {shown.text}",
        channel="C0AGENTS",
    )


async def answered(world: World, question: str, having: str) -> Seen:
    """Ask until the answer says so: the index follows within seconds."""
    for _ in range(20):
        answer = await world.other_customer.reads(await world.other_customer.says(question))
        if having in answer.text:
            return answer
        await world.next_change()
    raise AssertionError(f"never answered with {having}: {answer.text}")


def kept(world: World, files: str) -> set[str]:
    """What is in these files of a process, or of each process of a fleet: one text where they agree."""
    return {path.read_text("utf-8") for path in world.data.rglob(files)}


async def test_what_a_person_answered_is_answered_from_the_article_next_time(world: World) -> None:
    _, card, ref = await solved(world)
    shown = await suggested(world, card)
    assert shown.thread_ts == card.ts
    assert "within 19 days" in shown.text
    assert ref in shown.text
    for personal in ("Customer A", "customer.a@example.com"):
        assert personal not in shown.text

    # Two press at once: one of them has added it, and the other one reads who.
    await world.at_once(*(person.presses(shown, "kb.new") for person in (world.staff, world.other_staff)))
    await world.until(lambda state: told(state, "It is article 1 already, approved by <@U0AGENT"), what="the refusal")
    done = await outcome(world, shown, "*Article 1*")
    assert not done.buttons
    answer = await answered(world, QUESTION, "within 19 days")
    assert ":books:" in answer.text
    assert "tungsten furnaces" in answer.text.partition(":books:")[2]

    # The list, the questions that the knowledge base is judged by, the page.
    async with asyncio.timeout(PATIENCE):
        while ":white_check_mark: its question finds it" not in await world.staff.runs("/kb learned"):
            await world.next_change()
    (questions,) = kept(world, "evaluation/questions.jsonl")
    (line,) = questions.splitlines()
    assert json.loads(line)["docs"] == [f"learned/{ref}-1.md"]
    (page,) = kept(world, "learned/*.md")
    for words in (f"source: {ref}", "approved_by: U0AGENT", "review: "):
        assert words in page

    # Taken back, and gone again.
    assert "is taken back" in await world.staff.runs("/kb forget 1")
    await outcome(world, shown, "*Taken back*")
    for _ in range(20):
        again = await world.other_customer.reads(await world.other_customer.says(QUESTION))
        if "19 days" not in again.text:
            break
    assert "19 days" not in again.text
    await world.until(lambda _: not kept(world, "learned/*.md") or None, what="no page that was taken back")


async def test_a_suggestion_is_edited_before_it_is_added_and_another_is_discarded_by_one_tap(world: World) -> None:
    message = "May I rent a crampon set for glaciers? I want to talk to a real person"
    answer = "You can rent crampon sets in our shop for 12 EUR a day."
    _, card, _ = await solved(world, message, answer, kb=["suggest"])
    shown = await world.staff.reads(card, having=lambda seen: "kb.new" in seen.buttons)
    await world.staff.presses(shown, "kb.edit")
    await world.staff.fills_in(
        "submit.article",
        title="Renting crampons",
        question="May I rent a crampon set for glaciers?",
        answer="Crampon sets can be rented in our shop for 13 EUR a day.",
    )
    done = await outcome(world, shown, "approved by")
    assert "13 EUR" in done.text
    await answered(world, "May I rent a crampon set for glaciers?", "13 EUR")

    # The next one comes close to it, says otherwise, and may take its place; it is discarded.
    _, card, _ = await solved(world, message, "Crampon sets for glaciers can be rented for 17 EUR a day.")
    shown = await suggested(world, card)
    assert "Close to *Renting crampons*" in shown.text
    assert "it might say otherwise" in shown.text
    assert "kb.update" in shown.buttons
    number = shown.buttons["kb.new"]
    body = {"user": world.staff.user, "channel": shown.channel, "ts": shown.ts, "action_id": "kb.discard"}
    await world.act("click", body | {"value": f"wrong/{number}"})
    assert not (await outcome(world, shown, "*Discarded*")).buttons


async def test_a_message_is_added_by_its_shortcut_when_the_dialog_is_submitted(world: World) -> None:
    asked = await world.customer.says("Is there a museum of lamps in your building? I want to talk to a real person")
    card = await world.card_of(asked)
    await world.staff.presses(card, "case.claim")
    await world.customer.reads(asked, having=lambda seen: "Agent A" in seen.text)
    said = await world.staff.says("Our museum of lamps is open on Sundays from 10 to 16.", to=card)
    body = {"channel": said.channel, "ts": said.ts, "callback_id": "kb.add"}
    await world.act("message_shortcut", body | {"user": world.staff.user})
    view = await world.until(
        lambda state: next(iter(state["modals"].get(world.staff.user, ())), None), what="the dialog"
    )
    filled = {
        block["block_id"]: block["element"].get("initial_value") for block in view["blocks"] if "element" in block
    }
    assert "museum of lamps" in str(filled["question"])
    assert "Sundays" in str(filled["answer"])
    await world.staff.fills_in("submit.article", title="Museum")
    await world.staff.reads(card, having=lambda seen: "approved by" in seen.text)
    await answered(world, "Is there a museum of lamps in your building?", "Sundays")
    await world.staff.resolves(await world.card(having="museum"))


async def test_a_gap_that_a_person_has_answered_says_how_to_fill_it(world: World) -> None:
    asked = await world.customer.says("Do you sell quartz sundials with a gnomon?")
    await world.customer.reads(asked, having=lambda seen: "esc.accept" in seen.buttons)
    offer = (await world.replies(asked))[-1]
    await world.customer.presses(offer, "esc.accept")
    card = await world.card_of(asked)
    ref = re.search(r"FD-\d+", card.text)
    assert ref is not None
    await world.staff.presses(card, "case.claim")
    await world.customer.reads(asked, having=lambda seen: "Agent A" in seen.text)
    await world.staff.says("We sell quartz sundials with a gnomon each spring for 80 EUR.", to=card)
    await world.customer.reads(asked, having=lambda seen: "(support)" in seen.text)
    await world.staff.resolves(await world.card(having=ref[0]))
    await world.customer.reads(asked, having=lambda seen: "case.reopen" in seen.buttons)
    assert f"/kb suggest {ref[0]}" in await world.staff.runs("/kb gaps")
    await world.staff.runs("/frontdesk fix")
    fixes = (await world.staff.ephemerals())[-1]
    assert "quartz sundials" in str(fixes["blocks"])
    press = {"user": world.staff.user, "channel": "C0AGENTS", "ts": fixes["ts"], "action_id": "fix.write"}
    await world.act("click", press | {"value": ref[0]})
    shown = await world.staff.reads(card, having=lambda seen: "kb.new" in seen.buttons)
    assert "80 EUR" in shown.text
    await world.staff.presses(shown, "kb.new")
    await outcome(world, shown, "approved by")
    await world.staff.runs("/frontdesk fix")
    assert "quartz sundials" not in str((await world.staff.ephemerals())[-1]["blocks"])


@pytest.mark.parametrize("command", ["/kb learned", "/kb forget 1", "/kb suggest FD-1001"])
async def test_a_customer_is_refused(world: World, command: str) -> None:
    assert "support team" in await world.customer.runs(command, channel="C0SUPPORT")


def posts(state: Json) -> list[Seen]:
    return [seen for seen in seen_in(state, "C0AGENTS") if is_app(seen)]


def told(state: Json, words: str) -> str | None:
    texts = (str(each["text"]) for each in state["ephemerals"])
    return next((text for text in texts if words in text), None)
