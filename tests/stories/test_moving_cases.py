"""A colleague helps, another desk takes a case, and two cases of one customer become one."""

import re
from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio

from tests.stories.stage import Stage
from tests.stories.world import Person, Post, Seen, World, is_app, seen_in

pytestmark = pytest.mark.asyncio(loop_scope="module")

OTHER_DESK = "C0GENERAL"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory, stage: Stage) -> AsyncIterator[World]:
    """A team with two desks."""
    env = {"DESK_CHANNELS": f"Billing={OTHER_DESK}"}
    async with stage.open_world(tmp_path_factory.mktemp("world"), env=env) as opened:
        yield opened


async def open_case(world: World, text: str = "I want to talk to a real person") -> tuple[Post, str, Seen]:
    """The customer's thread, the reference, the card."""
    asked = await world.customer.says(text)
    told = await world.customer.reads(asked, having=lambda seen: "FD-" in seen.text)
    ref = re.search(r"FD-\d+", told.text)
    assert ref is not None
    return asked, ref[0], await card_of(world, ref[0], lambda seen: "case.claim" in seen.buttons)


async def card_of(world: World, ref: str, having: Callable[[Seen], bool], *, channel: str = "C0AGENTS") -> Seen:
    """The case's card in a team channel, once it is as wanted."""
    return await world.until(
        lambda state: next(
            (
                seen
                for seen in seen_in(state, channel)
                if is_app(seen) and seen.ts == seen.thread_ts and seen.text.startswith(ref) and having(seen)
            ),
            None,
        ),
        what=f"the card of {ref}",
        channel=channel,
    )


async def ephemeral(world: World, who: Person, action_id: str) -> Seen:
    """What only this person sees, with this button."""

    def find(state: dict[str, list[dict[str, str]]]) -> Seen | None:
        shown = [each for each in state["ephemerals"] if each["user"] == who.user and action_id in str(each)]
        return Seen(shown[-1]["channel"], shown[-1]["ts"], "", "", shown[-1]) if shown else None

    return await world.until(find, what=f"a note with {action_id}")


async def chooses(world: World, who: Person, card: Seen, entry: str, ref: str) -> None:
    """Choose an entry of the card's menu."""
    body = {"user": who.user, "channel": card.channel, "ts": card.ts, "action_id": "case.more"}
    await world.act("click", body | {"value": f"{entry}/{ref}"})


def under(card: Seen) -> Post:
    return Post(card.channel, card.ts, card.ts)


async def test_a_colleague_helps_and_sends_one_message(world: World) -> None:
    asked, ref, card = await open_case(world)
    await world.staff.presses(card, "case.claim")
    await world.customer.reads(asked, having=lambda seen: "Agent A" in seen.text)
    await world.other_staff.says("I know this one", to=under(card))
    await world.other_staff.presses(await ephemeral(world, world.other_staff, "case.join"), "case.join")
    await card_of(world, ref, lambda seen: "Helping" in seen.text)
    await world.other_staff.says("It was sent <!here> this morning.", to=under(card))
    await world.other_staff.presses(await ephemeral(world, world.other_staff, "relay.send"), "relay.send")
    reply = await world.customer.reads(asked, having=lambda seen: "this morning" in seen.text)
    assert "Agent B (support)" in reply.text
    everything = "".join(seen.text for seen in await world.posts(asked.channel))
    assert "I know this one" not in everything
    assert "<!here>" not in everything
    await world.staff.resolves(await card_of(world, ref, lambda seen: "case.resolve" in seen.buttons))


async def test_another_desk_takes_a_case_though_the_process_is_killed_meanwhile(world: World) -> None:
    asked, ref, card = await open_case(world, "A person please, I was charged twice")
    await chooses(world, world.staff, card, "transfer", ref)
    await world.staff.fills_in("submit.transfer", desk=OTHER_DESK)
    await world.bot("kill")
    await world.bot("restart")
    told = await world.customer.reads(asked, having=lambda seen: "is now with colleagues" in seen.text)
    there = await card_of(world, ref, lambda seen: "case.claim" in seen.buttons, channel=OTHER_DESK)
    left = await card_of(world, ref, lambda seen: "its card there" in seen.text)
    assert not left.buttons
    await world.staff.reads(under(there), having=lambda seen: "I was charged twice" in seen.text)

    await world.staff.says("Is anybody there?", to=under(left))
    await world.until(
        lambda state: any(ref in str(each) and OTHER_DESK in str(each) for each in state["ephemerals"]) or None,
        what="where the case is now",
    )
    await world.other_staff.presses(there, "case.claim")
    await world.customer.reads(asked, having=lambda seen: "Agent B" in seen.text)
    await world.other_staff.says("You get it back today.", to=under(there))
    reply = await world.customer.reads(asked, having=lambda seen: "You get it back today." in seen.text)
    await world.customer.says("Thank you", to=asked)
    await world.staff.reads(under(there), having=lambda seen: "Thank you" in seen.text)
    shown = [seen.text for seen in await world.replies(asked)]
    assert sum("is now with colleagues" in text for text in shown) == 1
    assert not any("anybody there" in text for text in shown)
    assert told.ts < reply.ts
    await world.other_staff.resolves(
        await card_of(world, ref, lambda seen: "case.resolve" in seen.buttons, channel=OTHER_DESK)
    )


async def test_two_cases_of_one_customer_become_one(world: World) -> None:
    asked, ref, card = await open_case(world, "A human please, my lamp is late")
    again, second, other = await open_case(world, "A human please, where is my lamp?")
    await world.staff.presses(card, "case.claim")
    await world.customer.reads(asked, having=lambda seen: "Agent A" in seen.text)
    await chooses(world, world.staff, other, "merge", second)
    await world.staff.fills_in("submit.merge", into=ref)
    told = await world.customer.reads(again, having=lambda seen: ref in seen.text)
    await world.staff.reads(under(card), having=lambda seen: "where is my lamp?" in seen.text)
    await world.customer.says("It is the green one", to=again)
    shown = await world.staff.reads(under(card), having=lambda seen: "It is the green one" in seen.text)
    assert "in another thread" in shown.text
    await world.staff.says("It comes tomorrow.", to=under(card))
    await world.customer.reads(asked, having=lambda seen: "It comes tomorrow." in seen.text)
    await world.staff.resolves(await card_of(world, ref, lambda seen: "case.resolve" in seen.buttons))
    back = await world.customer.reads(again, after=told.ts)
    assert "assistant is back" in back.text
    question = await world.customer.says("How long does standard shipping take?", to=again)
    answer = await world.customer.reads(again, after=question.ts)
    assert "days" in answer.text
