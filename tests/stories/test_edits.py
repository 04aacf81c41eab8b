"""Customers stop an answer, edit what they wrote, or delete it; staff do the same to what they relayed."""

from collections.abc import Callable

import asyncpg
import pytest

from bot.language.sentences import load_sentences
from tests.stories.world import Json, Post, Seen, World, is_app, seen_in

pytestmark = pytest.mark.asyncio(loop_scope="module")

RETURNS = "How many days do I have to return an item?"
SLOW = {"text": "You have 30 days of delivery to return an item. ", "stall": 14}
"""Begins to answer, and falls silent until long after a test is over."""
STOPPED = "I've stopped."


async def begins(world: World, text: str, *, to: Post | str | None = None) -> Post:
    """Ask what is answered slowly, and wait until the answer is on its way."""
    await world.model_says({**SLOW, "when": text[:20]})
    asked = await world.customer.says(text, to=to)
    await world.under_way(asked, having="30 days")
    return asked


async def edits(world: World, post: Post, text: str, *, user: str = "U0CUSTOMERA") -> None:
    await world.act("edit", {"user": user, "channel": post.channel, "ts": post.ts, "text": text})


async def deletes(world: World, post: Post, *, user: str = "U0CUSTOMERA") -> None:
    await world.act("delete", {"user": user, "channel": post.channel, "ts": post.ts})


async def until_thread(world: World, post: Post, holds: Callable[[list[Seen]], bool], *, what: str) -> list[Seen]:
    """Wait for the app's messages in a thread to be as wanted."""

    def find(state: Json) -> list[Seen] | None:
        seen = [each for each in seen_in(state, post.channel) if is_app(each) and each.thread_ts == post.thread_ts]
        return seen if holds(seen) else None

    return await world.until(find, what=what, channel=post.channel)


async def settles(world: World) -> None:
    """Whatever was to be done is done: a later question in another thread has its answer."""
    await world.customer.reads(await world.customer.says("Thanks!"))


async def kept(world: World) -> bytes:
    """Every byte of the database on disk, or on Postgres every value of every row."""
    if world.database:
        return await _rows(world.database)
    files = [path for path in world.data.rglob("*.db*") if path.is_file() and "/kb" not in str(path)]
    assert files
    return b"".join(path.read_bytes() for path in files)


async def _rows(database: str) -> bytes:
    tables = (
        "select format('%I.%I', table_schema, table_name) from information_schema.tables"
        " where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')"
    )
    connection = await asyncpg.connect(database)
    try:
        named = [row[0] for row in await connection.fetch(tables)]
        assert named
        rows = [row for table in named for row in await connection.fetch(f"select * from {table}")]  # noqa: S608 - Postgres' own names
        return repr([tuple(row) for row in rows]).encode()
    finally:
        await connection.close()


async def test_stop_ends_the_answer_and_says_so(world: World) -> None:
    asked = await begins(world, RETURNS)
    await world.act("stop", {"user": "U0CUSTOMERA", "channel": asked.channel, "thread_ts": asked.ts})
    told = await world.customer.reads(asked, having=lambda seen: STOPPED in seen.text)
    sessions = (await world.state(asked.channel))["sessions"]
    assert [each["status"] for each in sessions if each["thread_ts"] == asked.ts] == ["active"]
    await world.model_says()
    again = await world.customer.says(RETURNS, to=asked)
    assert "30 days" in (await world.customer.reads(again, after=told.ts)).text
    assert len(await world.replies(asked)) == 3


@pytest.mark.parametrize("word", ["stop", "Berhenti!", "ARRÊTE"])
async def test_a_typed_stop_ends_the_answer_too(world: World, word: str) -> None:
    asked = await begins(world, RETURNS)
    await world.customer.says(word, to=asked)
    told = await world.customer.reads(asked, having=lambda seen: STOPPED in seen.text)
    first, _ = await world.replies(asked)
    assert first.is_done
    assert "30 days of delivery" in first.text
    assert told.ts > first.ts


async def test_in_direct_messages_a_stop_beside_the_thread_is_meant_as_well(world: World) -> None:
    asked = await begins(world, RETURNS)
    typed = await world.customer.says("Stop.")
    await world.customer.reads(asked, having=lambda seen: STOPPED in seen.text)
    await settles(world)
    assert await world.replies(typed) == []


async def test_without_an_answer_on_its_way_a_stop_is_told_so_without_asking_the_model(world: World) -> None:
    await world.model_says()
    before = len(await world.model_requests())
    asked = await world.other_customer.says("stop")
    assert load_sentences().say("id", "nothing_to_stop") in (await world.other_customer.reads(asked)).text
    assert len(await world.model_requests()) == before


async def test_nobody_stops_the_answer_to_somebody_else(world: World) -> None:
    await world.model_says(
        {"text": "You have 30 days of delivery to return an item. ", "stall": 3, "when": "days do I"}
    )
    asked = await world.customer.says(f"<@U0FRONTDESK> {RETURNS}", to="C0SUPPORT")
    await world.under_way(asked)
    await world.other_customer.says("stop", to=asked)
    # A thread is worked on in order: what is answered afterwards says that the word has been dealt with.
    again = await world.other_customer.says("<@U0FRONTDESK> Which payment methods do you accept?", to=asked)
    await world.customer.reads(asked, having=lambda seen: "30 days" in seen.text)
    await world.other_customer.reads(asked, after=again.ts, having=lambda seen: "Payment methods" in seen.text)
    assert all(STOPPED not in seen.text for seen in await world.replies(asked))


async def test_what_was_asked_meanwhile_is_answered_after_a_stop(world: World) -> None:
    asked = await begins(world, RETURNS)
    await world.customer.says("Which payment methods do you accept?", to=asked)
    await world.customer.says("stop", to=asked)
    told = await world.customer.reads(asked, having=lambda seen: STOPPED in seen.text)
    assert (await world.customer.reads(asked, after=told.ts)).text


async def test_an_edit_while_the_answer_is_written_leaves_one_answer_to_the_new_words(world: World) -> None:
    asked = await begins(world, RETURNS)
    await edits(world, asked, "Which payment methods do you accept?")
    await world.model_says({"text": "We accept cards and PayPal.", "when": "payment"})
    answer = await world.customer.reads(asked, having=lambda seen: "PayPal" in seen.text)
    await settles(world)
    assert [seen.ts for seen in await world.replies(asked)] == [answer.ts]
    assert "30 days" not in answer.text
    await world.model_says()


async def test_of_two_edits_the_later_counts(world: World) -> None:
    asked = await begins(world, RETURNS)
    await edits(world, asked, "What is a gift card?")
    await edits(world, asked, "Which payment methods do you accept?")
    await world.model_says({"text": "We accept cards and PayPal.", "when": "payment"})
    await world.customer.reads(asked, having=lambda seen: "PayPal" in seen.text)
    await settles(world)
    assert len(await world.replies(asked)) == 1
    await world.model_says()


async def test_an_edit_after_the_answer_is_answered_when_it_says_something_else(world: World) -> None:
    await world.model_says()
    asked = await world.customer.says("how many days do I have to return an an item")
    answer = await world.customer.reads(asked)
    await edits(world, asked, RETURNS)
    await settles(world)
    assert len(await world.replies(asked)) == 1
    await edits(world, asked, "How long does shipping take?")
    again = await world.customer.reads(asked, after=answer.ts)
    assert again.text.startswith("I saw your edit.")
    await settles(world)
    assert len(await world.replies(asked)) == 2


async def test_a_message_deleted_while_its_answer_is_written_leaves_nothing(world: World) -> None:
    canary = "zebracanary41"
    asked = await begins(world, f"{RETURNS} {canary}")
    assert canary.encode() in await kept(world)
    await deletes(world, asked)
    await until_thread(world, asked, lambda seen: not seen, what="no answer any more")
    await settles(world)
    assert canary.encode() not in await kept(world)
    await world.model_says()


async def test_a_message_deleted_after_its_answer_takes_the_answer_with_it(world: World) -> None:
    canary = "zebracanary42"
    await world.model_says({"text": f"You wrote {canary}: you have 30 days to return it.", "when": canary})
    asked = await world.customer.says(f"{RETURNS} {canary}")
    await world.customer.reads(asked, having=lambda seen: canary in seen.text)
    await deletes(world, asked)
    await until_thread(world, asked, lambda seen: not seen, what="no answer any more")
    await settles(world)
    assert canary.encode() not in await kept(world)


async def test_a_message_deleted_while_a_person_is_on_it_is_deleted_for_them_too(world: World) -> None:
    canary = "Zebracanary43"
    asked = await world.customer.says(f"I want to talk to a human about {canary}")
    card = await world.card_of(asked)
    assert canary in card.text
    more = await world.customer.says(f"It is about {canary} and nothing else", to=asked)
    copy = await world.staff.reads(card, having=lambda seen: "nothing else" in seen.text)
    await deletes(world, more)
    await until_thread(
        world,
        card,
        lambda seen: any(each.ts == copy.ts and "_deleted by the customer_" in each.text for each in seen),
        what="a copy without its words",
    )
    await deletes(world, asked)
    await until_thread(
        world, card, lambda seen: bool(seen) and all(canary not in each.text for each in seen), what="no word of it"
    )
    await settles(world)
    assert canary.encode() not in await kept(world)


def runs_of(words: str) -> list[bytes]:
    """Every run of three words, as it is stored."""
    each = words.split()
    return [" ".join(each[at : at + 3]).encode() for at in range(len(each) - 2)]


async def until_nothing_repeats(world: World, words: str) -> None:
    """Wait until no message of the app, in any channel, holds a run of the words."""

    def is_gone(state: Json) -> bool | None:
        said = "\n".join(
            str(seen.raw) for channel in state["channels"] for seen in seen_in(state, channel["id"]) if is_app(seen)
        )
        return not any(run.decode() in said for run in runs_of(words)) or None

    await world.until(is_gone, what="no run of the words in Slack")


async def test_no_run_of_a_deleted_messages_words_is_left_in_any_file_or_in_slack(world: World) -> None:
    words = "my quollviolet passphrase opens seven narrow harbour gates tonight"
    asked = await world.customer.says(f"I want to talk to a human: {words}")
    card = await world.card_of(asked)
    await world.staff.presses(card, "case.claim")
    joined = await world.customer.reads(asked, having=lambda seen: "Agent A" in seen.text)
    await world.model_says(*({"role": "draft", "text": f"So {words}, and you have 30 days."} for _ in range(3)))
    claimed = await world.until(
        lambda state: next((seen for seen in seen_in(state, card.channel) if "case.draft" in seen.buttons), None),
        what="the claimed card",
        channel=card.channel,
    )
    await world.staff.presses(claimed, "case.draft")
    shown = await world.staff.reads(card, having=lambda seen: "draft.send" in seen.buttons)
    assert words in str(shown.raw)
    before = await kept(world)
    assert [run for run in runs_of(words) if run in before] == runs_of(words)
    await deletes(world, asked)
    await until_nothing_repeats(world, words)
    await settles(world)
    left = await kept(world) + b"".join(path.read_bytes() for path in world.data.rglob("*") if path.is_file())
    assert [run for run in runs_of(words) if run in left] == []
    assert b"quollviolet" not in left
    assert joined.ts
    await world.model_says()
    await world.hands_all_back()


async def test_an_edit_while_a_person_is_on_it_changes_their_copy_and_keeps_the_old_words_beside_it(
    world: World,
) -> None:
    asked = await world.customer.says("Let me talk to a human please")
    card = await world.card_of(asked)
    more = await world.customer.says("My order is ORD-1", to=asked)
    await world.staff.reads(card, having=lambda seen: "ORD-1" in seen.text)
    await edits(world, more, "My order is ORD-2")
    changed = await world.staff.reads(card, having=lambda seen: "ORD-2" in seen.text)
    assert "(edited)" in changed.text
    assert "ORD-1" in (await world.staff.reads(card, having=lambda seen: "Before the edit" in seen.text)).text


async def test_what_staff_change_about_a_message_changes_for_the_customer(world: World) -> None:
    asked = await world.customer.says("Let me talk to a real person please")
    card = await world.card_of(asked)
    await world.staff.presses(card, "case.claim")
    joined = await world.customer.reads(asked, having=lambda seen: "joined" in seen.text)
    wrote = await world.staff.says("It comes on Monday", to=card)
    copy = await world.customer.reads(asked, after=joined.ts, having=lambda seen: "Monday" in seen.text)
    await edits(world, wrote, "It comes on Tuesday", user="U0AGENTA")
    changed = await world.customer.reads(asked, after=joined.ts, having=lambda seen: "Tuesday" in seen.text)
    assert changed.ts == copy.ts
    assert "(edited)" in changed.text
    await deletes(world, wrote, user="U0AGENTA")
    await until_thread(
        world, asked, lambda seen: all(each.ts != copy.ts for each in seen), what="the copy is taken back"
    )


async def test_an_edit_that_brings_a_mention_is_a_new_message(world: World) -> None:
    await world.model_says()
    said = await world.customer.says(RETURNS, to="C0SUPPORT")
    await settles(world)
    assert await world.replies(said) == []
    await edits(world, said, f"<@U0FRONTDESK> {RETURNS}")
    assert "30 days" in (await world.customer.reads(said)).text


async def test_an_edit_while_the_product_is_down_is_what_is_answered(world: World) -> None:
    asked = await begins(world, RETURNS)
    await world.bot("kill")
    await edits(world, asked, "Which payment methods do you accept?")
    await world.model_says({"text": "We accept cards and PayPal.", "when": "payment"})
    await world.bot("restart")
    answer = await world.customer.reads(asked, having=lambda seen: "PayPal" in seen.text)
    await settles(world)
    assert [seen.ts for seen in await world.replies(asked)] == [answer.ts]


async def test_a_product_that_is_killed_right_after_an_edit_answers_the_new_words_once(world: World) -> None:
    asked = await begins(world, RETURNS)
    await world.model_says({**SLOW, "text": "We accept ", "when": "payment"})
    earlier = len(await world.model_requests())
    await edits(world, asked, "Which payment methods do you accept?")
    await until_requested(world, "Which payment methods do you accept?", earlier=earlier)
    await world.bot("kill")
    await world.model_says({"text": "We accept cards and PayPal.", "when": "payment"})
    await world.bot("restart")
    answer = await world.customer.reads(asked, having=lambda seen: "PayPal" in seen.text)
    await until_thread(world, asked, lambda seen: [each.ts for each in seen] == [answer.ts], what="one answer alone")
    await settles(world)
    assert [seen.ts for seen in await world.replies(asked)] == [answer.ts]
    assert answer.raw["text"].count("PayPal") == 1


async def until_requested(world: World, words: str, *, earlier: int) -> None:
    """Wait until the model has been asked this after so many earlier requests."""
    while not any(words in str(each["body"].get("messages", "")) for each in (await world.model_requests())[earlier:]):
        await world.next_change()


async def test_a_deleted_question_takes_the_private_answer_with_it_too(world: World) -> None:
    await world.model_says()
    before = {seen.ts for seen in await world.posts("D0CUSTOMERA")}
    asked = await world.customer.says("<@U0FRONTDESK> Where is my order ORD-12345?", to="C0SUPPORT")
    await world.customer.reads(asked, having=lambda seen: "direct message" in seen.text)
    assert {seen.ts for seen in await world.posts("D0CUSTOMERA")} > before
    await deletes(world, asked)
    await until_thread(world, asked, lambda seen: not seen, what="nothing in the channel")

    def is_gone(state: Json) -> bool | None:
        return {seen.ts for seen in seen_in(state, "D0CUSTOMERA") if is_app(seen)} == before or None

    await world.until(is_gone, what="nothing in the direct messages", channel="D0CUSTOMERA")


async def test_an_edit_and_a_deletion_that_come_twice_are_one_each(world: World) -> None:
    await world.model_says()
    asked = await world.customer.says(RETURNS)
    answer = await world.customer.reads(asked)
    await world.breaks(deliveries="duplicate", count=2)
    await edits(world, asked, "How long does shipping take?")
    await world.customer.reads(asked, after=answer.ts, having=lambda seen: seen.text.startswith("I saw your edit."))
    await settles(world)
    assert len(await world.replies(asked)) == 2
    await world.breaks(deliveries="duplicate", count=2)
    await deletes(world, asked)
    await until_thread(world, asked, lambda seen: not seen, what="no answer any more")
    await world.breaks(clear=True)
