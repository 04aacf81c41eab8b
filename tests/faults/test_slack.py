"""Slack fails, once and for good: what the customer reads, what staff read, and what the operator can see.

One world serves most of it, each fault bound to one customer's channel. What would be in others' way, or takes its
time, has a world of its own that begins with the module.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.faults.quiet import check_log, errors
from tests.faults.talk import at_once, open_bare_world, question, said_in
from tests.stories.world import (
    PATIENCE,
    Json,
    Person,
    Post,
    World,
    is_card,
    open_world,
    product_environment,
    run_product,
    seen_in,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")

PERSON = "I want to talk to a real person"
A_CARD = "My card is 4111 1111 1111 1111, thanks!"
WARNED = "looks like a card number"
"""What is posted about that, beside the answer; it costs staff no case."""
FIRST_WORDS = "You can return an item within 30 days of delivery"
LAST_WORDS = "the 30 days start with the last one"
"""Of the help page on returns."""
ALWAYS = 10_000
"""More calls than are ever made."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """A world whose model takes some time, so that streams grow."""
    async with open_world(tmp_path_factory.mktemp("world"), pace=0.5) as opened:
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module", autouse=True)
async def begun(world: World, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[dict[str, asyncio.Task[Any]]]:
    """What takes long, begun at once, but few worlds at a time: others want the machine as well."""
    places = asyncio.Semaphore(3)

    async def apart(work: Callable[[World], Coroutine[Any, Any, None]]) -> None:
        async with places, open_bare_world(tmp_path_factory.mktemp("own")) as world:
            await work(world)
            await check_log(world)

    works: dict[str, Coroutine[Any, Any, Any]] = {
        "limited": asked_under_a_long_limit(world),
        "late": asked_with_a_late_answer(world),
        "silent": apart(sockets_fall_silent),
        "lost": apart(sockets_are_lost),
        "sent away": apart(sockets_are_sent_away),
        "crowded": apart(sockets_are_crowded),
        "unacknowledged": apart(acknowledgements_are_lost),
    }
    async with at_once(works) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="module", autouse=True)
async def quiet(world: World) -> AsyncIterator[None]:
    """Whatever happened, Slack is well again and the log is in order."""
    yield
    await world.breaks(clear=True)
    await check_log(world)


async def test_a_long_rate_limit_holds_up_nobody_else(world: World) -> None:
    limited = "C0SUPPORT"
    await world.breaks(method="chat.postMessage", do="429", retry_after="3600", channel=limited, count=ALWAYS)
    asked = await world.customer.says(f"<@U0FRONTDESK> {A_CARD}", to=limited)
    async with asyncio.timeout(PATIENCE):
        while limited not in [each["detail"]["args"].get("channel") for each in await calls(world, fault="429")]:
            await world.next_change()
    await is_warned(world.customer)
    assert not [seen for seen in await world.replies(asked) if WARNED in seen.text], "the limit is not over"


@pytest.mark.parametrize("times", [1, 2])
async def test_a_rate_limit_is_waited_for_whatever_it_asks(world: World, times: int) -> None:
    people = {"1": world.customer, "0.5": world.stranger, "": world.staff, "soon": world.other_staff}
    for wait, person in people.items():
        limit = {"method": "chat.postMessage", "do": "429", "retry_after": wait}
        await world.breaks(**limit, channel=person.direct, count=times)
    for asked in await asyncio.gather(*map(is_warned, people.values())):
        assert await said_once(world, asked)


@pytest.mark.parametrize("times", [1, 3])
async def test_a_post_that_was_kept_and_answered_with_an_error_is_not_posted_again(world: World, times: int) -> None:
    await world.breaks(method="chat.postMessage", do="lost-500", channel=world.customer.direct, count=times)
    asked = await is_warned(world.customer)
    await world.customer.reads(await world.customer.says("Thanks!"))
    assert await said_once(world, asked)


async def test_what_slack_refuses_for_good_is_not_sent_again_and_staff_are_told(world: World) -> None:
    people = {
        "channel_not_found": world.customer,
        "not_in_channel": world.stranger,
        "is_archived": world.staff,
        "msg_too_long": world.other_staff,
    }
    for error, person in people.items():
        await world.breaks(method="chat.postMessage", do=error, channel=person.direct, count=ALWAYS)
        await person.says(A_CARD)
    for error, person in people.items():
        line = await world.card(having=f"Slack refused it ({error})")
        assert "not delivered in their direct messages" in line.text
        tried = await calls(world, fault=error)
        assert 1 <= len(tried) <= 2, "its blocks may be left out once"
        assert {each["detail"]["args"]["channel"] for each in tried} == {person.direct}
    assert {line["slack"] for line in errors(world, "refused for good")} >= set(people)


async def test_blocks_that_slack_refuses_once_leave_the_words(world: World) -> None:
    await world.breaks(method="chat.postMessage", do="invalid_blocks", channel=world.customer.direct, count=1)
    asked = await world.customer.says(PERSON)
    told = await world.customer.reads(asked)
    assert "FD-" in told.raw["text"]
    assert not told.buttons
    assert len(await world.replies(asked)) == 1


async def test_blocks_and_words_that_slack_refuses_are_told_to_staff(world: World) -> None:
    await world.breaks(method="chat.postMessage", do="invalid_blocks", channel=world.stranger.direct, count=ALWAYS)
    await world.stranger.says(PERSON)

    def told_to_staff(state: Json) -> bool | None:
        return any("Slack refused it (invalid_blocks)" in seen.text for seen in seen_in(state, "C0AGENTS")) or None

    await world.until(told_to_staff, what="that the words were not delivered", channel="C0AGENTS")
    await world.breaks(clear=True)


@pytest.mark.parametrize("times", [1, 2])
async def test_a_rate_limit_in_a_good_answer_is_one_too(world: World, times: int) -> None:
    await world.breaks(method="chat.postMessage", do="ratelimited", channel=world.customer.direct, count=times)
    assert await said_once(world, await is_warned(world.customer))


async def test_a_card_that_is_gone_holds_up_nobody(world: World) -> None:
    asked = await world.customer.says(PERSON)
    told = await world.customer.reads(asked)
    card = await world.card_of(asked)
    await world.breaks(method="chat.update", do="message_not_found", channel=card.channel, count=ALWAYS)
    await world.staff.presses(card, "case.claim")
    joined = await world.customer.reads(asked, after=told.ts)
    assert "has joined" in joined.text
    await world.breaks(clear=True)


@pytest.mark.parametrize("times", [1, ALWAYS])
@pytest.mark.parametrize("method", ["chat.appendStream", "chat.stopStream"])
async def test_a_stream_that_slack_has_ended_is_followed_by_the_rest(world: World, method: str, times: int) -> None:
    await world.breaks(method=method, do="message_not_in_streaming_state", count=times)
    asked = await world.customer.says(question("lamp"))
    await world.customer.reads(asked, having=lambda seen: LAST_WORDS in seen.text)
    await world.breaks(clear=True)
    await world.customer.reads(await world.customer.says("Thanks!"))
    said = "".join(said_in(seen) for seen in await world.replies(asked))
    assert [said.count(words) for words in (FIRST_WORDS, LAST_WORDS)] == [1, 1]


async def test_an_event_that_comes_many_times_is_answered_once(world: World) -> None:
    await world.breaks(deliveries="duplicate", count=ALWAYS)
    asked = await world.customer.says("Hello!")
    await world.customer.reads(asked)
    await world.customer.reads(await world.customer.says("Thanks!"))
    assert await said_once(world, asked)


async def test_events_that_come_out_of_order_are_all_answered_once(world: World) -> None:
    first = await world.customer.says("Hello!")
    before = await world.customer.reads(first)
    await world.breaks(deliveries="hold", count=1)
    await world.customer.says("How long does a refund take?", to=first)
    await world.customer.says("And which payment methods do you accept?", to=first)
    answer = await world.customer.reads(first, after=before.ts)
    await world.customer.reads(first, after=answer.ts)
    await world.customer.reads(await world.customer.says("Bye!"))
    assert len(await world.replies(first)) == 3


@pytest.mark.parametrize("work", ["silent", "lost", "sent away", "crowded", "unacknowledged"])
async def test_the_connection_comes_back_at_its_ease_and_nothing_is_lost(
    begun: dict[str, asyncio.Task[Any]], work: str
) -> None:
    await begun[work]


async def test_an_answer_that_slack_gives_too_late_is_looked_up(
    world: World, begun: dict[str, asyncio.Task[Any]]
) -> None:
    asked = await begun["late"]
    await world.other_customer.reads(asked, having=lambda seen: WARNED in seen.text)
    await world.other_customer.reads(await world.other_customer.says("Thanks!"))
    assert await said_once(world, asked)


async def test_what_waited_under_a_long_rate_limit_is_said_once(
    world: World, begun: dict[str, asyncio.Task[Any]]
) -> None:
    asked = await begun["limited"]
    await world.third_customer.reads(asked, having=lambda seen: WARNED in seen.text)
    assert await said_once(world, asked)


async def test_a_token_that_is_refused_at_the_start_is_one_line_without_it(world: World, tmp_path: Path) -> None:
    await world.breaks(method="auth.test", do="account_inactive", count=1)
    status, told = await run_product(product_environment(world, tmp_path), "serve")
    assert status == 2
    assert len(told.strip().splitlines()) == 1
    assert "SLACK_BOT_TOKEN" in told
    assert "account_inactive" in told
    assert world.ready["slack"]["bot_token"] not in told


async def test_a_token_that_is_revoked_is_told_once_and_nothing_is_lost(outage: World) -> None:
    world = outage
    await world.breaks(method="*", do="token_revoked", count=ALWAYS)
    asked = await world.customer.says("Hello!")
    other = await world.other_customer.says(PERSON)
    await until_health(world, lambda health: "SLACK_BOT_TOKEN: token_revoked" in str(health["missing"]))
    assert (await world.health())["status"] == 503
    await world.breaks(clear=True)
    await world.customer.reads(asked)
    assert "FD-" in (await world.other_customer.reads(other)).text
    await until_health(world, lambda health: health["status"] == 200)
    assert "technical" not in (await world.replies(asked))[0].text
    assert [len(await world.replies(each)) for each in (asked, other)] == [1, 1]
    told = errors(world, "Slack refuses the app's token")
    assert [line["slack"] for line in told] == ["token_revoked"]


@pytest.mark.parametrize(
    ("error", "times"), [("not_in_channel", 1), ("is_archived", ALWAYS), ("channel_not_found", ALWAYS)]
)
async def test_without_the_agent_channel_the_case_waits_and_the_customer_is_told(
    outage: World, error: str, times: int
) -> None:
    """There is nowhere else to say it: the row waits, /healthz and the log tell, and the card comes when it can."""
    world = outage
    await world.breaks(method="chat.postMessage", do=error, channel="C0AGENTS", count=times)
    asked = await world.customer.says(PERSON)
    told = await world.customer.reads(asked)
    number = re.search(r"FD-\d+", told.text)
    assert number is not None
    await until_health(world, lambda health: f"C0AGENTS: chat.postMessage: {error}" in str(health["missing"]))
    await world.breaks(clear=True)
    card = await world.card(having=number[0])
    await until_health(world, lambda health: health["status"] == 200)
    assert len([seen for seen in await world.posts("C0AGENTS") if is_card(seen) and number[0] in seen.text]) == 1
    assert "asked for a person" in card.text
    assert [line["slack"] for line in errors(world, "a post waits for repair")].count(error) == 1


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def outage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """A world of its own for faults that would stop everybody's."""
    async with open_bare_world(tmp_path_factory.mktemp("outage")) as opened:
        yield opened
        await check_log(opened)


async def asked_under_a_long_limit(world: World) -> Post:
    """A customer writes while Slack takes no post in their channel for half a minute."""
    await world.breaks(method="chat.postMessage", do="429", retry_after="25", channel=world.third_customer.direct)
    return await world.third_customer.says(A_CARD)


async def asked_with_a_late_answer(world: World) -> Post:
    """Slack keeps a post and answers later than anybody waits."""
    await world.breaks(method="chat.postMessage", do="late", seconds=15, channel=world.other_customer.direct)
    return await world.other_customer.says(A_CARD)


async def sockets_fall_silent(world: World) -> None:
    await world.breaks(sockets="silent")
    await is_heard_once(world)
    await world.breaks(sockets="silent")
    await is_heard_once(world)


async def sockets_are_lost(world: World) -> None:
    await world.breaks(sockets="cut")
    await is_heard_once(world)
    await world.breaks(sockets="refuse", count=2)
    await world.breaks(sockets="cut")
    await is_heard_once(world)
    await world.breaks(sockets="huge")
    await is_heard_once(world)
    assert await connections_asked_for(world) <= 2 + 1 + 3 + 1


async def sockets_are_sent_away(world: World) -> None:
    await world.breaks(sockets="mute")
    for reason in ("warning", "refresh_requested", "link_disabled", "too_many_websockets"):
        await world.breaks(sockets=reason)
        await is_heard_once(world)
    assert await connections_asked_for(world) <= 2 + 4


async def sockets_are_crowded(world: World) -> None:
    """Every new connection is sent away again: no hot loop, one alert, and it holds as soon as it is let."""
    await world.breaks(sockets="crowded", count=4)
    await world.breaks(sockets="too_many_websockets")
    async with asyncio.timeout(PATIENCE):
        while not errors(world, "does not hold"):
            await world.next_change()
    await is_heard_once(world)
    assert await connections_asked_for(world) <= 2 + 1 + 4
    assert len(errors(world, "does not hold")) == 1


async def acknowledgements_are_lost(world: World) -> None:
    """The connection ends between the product's handling of an event and its acknowledgement."""
    for times, retries in ((1, 1), (2, 3)):
        await world.breaks(deliveries="forget", count=times)
        asked = await world.customer.says("Hello!")
        async with asyncio.timeout(PATIENCE):
            while len(await world.log("retry")) < retries:
                await world.next_change()
        await world.other_customer.reads(await world.other_customer.says("Thanks!"))
        assert await said_once(world, asked)


async def is_warned(person: Person) -> Post:
    """Have somebody write what must not be written, and be told."""
    asked = await person.says(A_CARD)
    await person.reads(asked, having=lambda seen: WARNED in seen.text)
    return asked


async def is_heard_once(world: World) -> None:
    asked = await world.customer.says("Hello!")
    await world.customer.reads(asked)
    await world.other_customer.reads(await world.other_customer.says("Thanks!"))
    assert await said_once(world, asked)


async def calls(world: World, *, fault: str) -> list[Json]:
    """The calls that Slack broke in this way."""
    return [each for each in await world.log("call") if each["detail"].get("fault") == fault]


async def connections_asked_for(world: World) -> int:
    """Addresses for a connection that were given out, the one that is asked for at the start included."""
    return len([each for each in await world.log("call") if each["name"] == "apps.connections.open"])


async def said_once(world: World, asked: Post) -> bool:
    """Whether the app wrote once under the post, the warning left out where an answer stands beside it."""
    seen = [WARNED in seen.text for seen in await world.replies(asked)]
    return seen.count(True) == 1 if True in seen else seen == [False]


async def until_health(world: World, is_wanted: Callable[[Json], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not is_wanted(await world.health()):
            await world.next_change()
