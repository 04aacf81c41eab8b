"""In a channel others talk as well: the assistant answers who speaks to it, and leaves the others alone."""

import json
import sqlite3
from contextlib import closing

import pytest

from bot.language.sentences import load_sentences
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


async def test_who_was_offered_a_person_says_yes_without_a_mention_and_others_do_not(world: World) -> None:
    question = "Do you sell tungsten furnaces?"
    asked = await world.customer.says(f"{US} {question}", to=CHANNEL)
    offer = await world.customer.reads(asked, having=lambda seen: "esc.accept" in seen.buttons)
    other = await world.other_customer.says("yes please", to=asked)
    await until_quiet(world, other)
    assert (await row_of(world, other))[0] == "overheard"
    yes = await world.customer.says("Yes, please!", to=asked)
    told = await world.customer.reads(asked, after=yes.ts, having=lambda seen: "FD-" in seen.text)
    assert [seen.ts for seen in await world.replies(asked)] == [offer.ts, told.ts]
    assert question in (await world.card_of(asked)).text, "the case is named after what was asked"


async def test_no_to_the_offer_of_a_person_opens_no_case_and_needs_no_answer_in_a_channel(world: World) -> None:
    asked = await world.customer.says(f"{US} Do you sell tungsten furnaces?", to=CHANNEL)
    await world.customer.reads(asked, having=lambda seen: "esc.accept" in seen.buttons)
    before, cards = len(await world.replies(asked)), len(await world.posts("C0AGENTS"))
    await until_quiet(world, await world.customer.says("no thanks", to=asked))
    assert len(await world.replies(asked)) == before
    direct = await world.customer.says("Do you sell tungsten furnaces?")
    await world.customer.reads(direct, having=lambda seen: "esc.accept" in seen.buttons)
    no = await world.customer.says("no thanks", to=direct)
    told = await world.customer.reads(direct, after=no.ts)
    assert told.text.startswith(load_sentences().say("en", "rephrase"))
    assert len(await world.posts("C0AGENTS")) == cards


async def test_a_word_that_shows_no_language_is_answered_in_that_of_the_thread(world: World) -> None:
    asked = await world.customer.says("Vendez-vous des fours à tungstène ?")
    await world.customer.reads(asked, having=lambda seen: "esc.accept" in seen.buttons)
    yes = await world.customer.says("ok", to=asked)
    told = await world.customer.reads(asked, after=yes.ts, having=lambda seen: "FD-" in seen.text)
    assert load_sentences().say("fr", "escalated") in told.text


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
