"""In a channel others talk as well: the assistant answers who speaks to it, and leaves the others alone."""

import json
import sqlite3
from contextlib import closing

import pytest

from bot.store import bodies
from tests.stories.world import Json, Post, World, seen_in

pytestmark = pytest.mark.asyncio(loop_scope="module")

CHANNEL = "C0SUPPORT"
US = "<@U0FRONTDESK>"
RETURNS = "How do I return an item?"


async def until_quiet(world: World, post: Post) -> None:
    """Return once the product has done with a post, whatever it made of it."""

    def finished() -> bool:
        with closing(sqlite3.connect(world.data / "frontdesk.db")) as opened:
            row = opened.execute("select state from inbox where channel = ? and ts = ?", (post.channel, post.ts))
            return str((row.fetchone() or ["new"])[0]) != "new"

    while not finished():
        await world.next_change()


async def row_of(world: World, post: Post) -> tuple[str, str]:
    with closing(sqlite3.connect(world.data / "frontdesk.db")) as opened:
        found = opened.execute("select reason, body from inbox where channel = ? and ts = ?", (post.channel, post.ts))
        reason, body = found.fetchone()
    return reason, body


async def test_others_talk_is_neither_answered_nor_kept_nor_copied(world: World) -> None:
    asked = await world.customer.says(f"{US} {RETURNS}", to=CHANNEL)
    await world.customer.reads(asked)
    before = len(await world.replies(asked))
    talk = [
        await world.other_customer.says("Did you see the game yesterday?", to=asked),
        await world.customer.says("Yes, what a match it was", to=asked),
        await world.other_customer.says("I want to talk to a person about that referee", to=asked),
        await world.customer.says(f"<@{world.other_customer.user}> shall we go next week?", to=asked),
    ]
    # Nothing of theirs may be open when they write it, or it ends that.
    for post in talk:
        await until_quiet(world, post)
    talk.append(await world.other_customer.says("stop", to=asked))
    follow = await world.customer.says("And how many days do I have to return it?", to=asked)
    answer = await world.customer.reads(asked, after=follow.ts)
    for post in (*talk, follow):
        await until_quiet(world, post)
    assert len(await world.replies(asked)) == before + 1, [await row_of(world, each) for each in (*talk, follow)]
    for post in talk:
        reason, body = await row_of(world, post)
        kept = bodies.decode("message", json.loads(body))
        assert isinstance(kept, bodies.MessageBody)
        assert (reason, kept.text) == ("overheard", "")
    called = await world.customer.says(f"{US} a real person please", to=asked)
    told = await world.customer.reads(asked, after=called.ts)
    assert "FD-" in told.text
    desk = " ".join(seen.text for seen in await world.posts("C0AGENTS"))
    for words in ("game", "match it was", "referee", "next week"):
        assert words not in desk
    assert answer.ts < told.ts


async def test_what_cannot_be_answered_to_a_reply_without_a_mention_ends_in_silence(world: World) -> None:
    asked = await world.customer.says(f"{US} {RETURNS}", to=CHANNEL)
    await world.customer.reads(asked)
    before = len(await world.replies(asked))
    cards = len(await world.posts("C0AGENTS"))
    for words in ("Did you see the game yesterday?", "Shall we watch the next one together?"):
        await until_quiet(world, await world.customer.says(words, to=asked))
    assert len(await world.replies(asked)) == before
    assert len(await world.posts("C0AGENTS")) == cards


async def test_the_words_of_a_cases_customer_go_on_to_the_people_and_nobody_elses(world: World) -> None:
    asked = await world.customer.says(f"{US} a real person please", to=CHANNEL)
    told = await world.customer.reads(asked)
    assert "FD-" in told.text
    await world.customer.says("The lamp came without its plug.", to=asked)
    await world.other_customer.says("Mine too, and did you see the match?", to=asked)
    last = await world.customer.says("I need it by Friday.", to=asked)

    def find(state: Json) -> bool | None:
        return any("by Friday" in seen.text for seen in seen_in(state, "C0AGENTS")) or None

    await world.until(find, what="the customer's words", channel="C0AGENTS")
    await until_quiet(world, last)
    desk = " ".join(seen.text for seen in await world.posts("C0AGENTS"))
    assert "without its plug" in desk
    assert "the match" not in desk


async def test_in_direct_messages_nothing_is_overheard(world: World) -> None:
    asked = await world.customer.says(RETURNS)
    await world.customer.reads(asked)
    more = await world.customer.says("the weather is nice", to=asked)
    assert (await world.customer.reads(asked, after=more.ts)).text
