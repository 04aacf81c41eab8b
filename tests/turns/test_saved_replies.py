"""A saved reply is filled in with what is known, edited, and sent as a message that the person wrote."""

from dataclasses import replace

import pytest
from sqlalchemy import func, select

from bot.cases.dialogs import DIALOGS, NO_SUCH_REPLY, About, Dialogs
from bot.conversation import ThreadRef
from bot.desk_file.model import DeskFile
from bot.slack.api.directory import Directory, SlackUser
from bot.store import inbox, schema
from bot.store.cases import Case
from bot.store.database import Database
from bot.store.metrics import ANSWERED
from tests.doubles.local_slack import LocalSlack
from tests.turns.arrivals import TEAM, arrival
from tests.turns.test_staff_interactions import AGENT_A, AGENT_B, Channel, button

TEXT = {"en": "Dear {customer}, {order} is on its way. {person}", "de": "{customer}: {order} ist unterwegs. {person}"}
DESK = DeskFile.model_validate(
    {"saved_replies": [{"name": "On its way", "text": TEXT}, {"name": "Bye", "text": "Have a good day!"}]}
)
TRAY, WARNING = "outbox_tray", "warning"


@pytest.fixture
def channel(database: Database, slack: LocalSlack) -> Channel:
    channel = Channel(database, slack)
    messages = replace(channel.cases.messages, desk_file=lambda: DESK)
    channel.cases = replace(channel.cases, stepping=replace(channel.cases.stepping, messages=messages))
    channel.wires()
    return channel


async def prefilled(channel: Channel, case: Case, user: str, name: str = "On its way") -> str:
    """The text in the dialog for this person, or why there is none."""
    opened = Dialogs(channel.slack.client.chat, channel.slack.client.views, channel.cases)
    about = About(case.ref, ThreadRef(TEAM, "C0AGENTS", channel.card["ts"]), channel.card["ts"])
    view = await opened.reply(about, user=user, name=name)
    if view is None or isinstance(view, str):
        return str(view)
    return str(view["blocks"][-1]["element"]["initial_value"])


async def asks(channel: Channel, case: Case, *words: str) -> None:
    """What the customer has written in the case's thread."""
    async with channel.database.transaction() as tx:
        for text in words:
            row = await inbox.add(
                tx, arrival(channel.slack.workspace.new_ts(), text=text, thread_ts=case.thread.ts), now=1.0
            )
            assert row is not None
            await inbox.finish(tx, row, "done", now=2.0)


async def test_a_reply_is_filled_in_with_the_customers_own_words_and_never_a_models(channel: Channel) -> None:
    case = await channel.claimed()
    async with channel.database.transaction() as tx:
        made_up = {"title": "Refund for ORD-99999", "titled_by": "model", "summary": "It is ORD-99999."}
        await tx.execute(schema.kase.update().values(**made_up))
    assert await prefilled(channel, case, AGENT_A) == "Dear Customer A, {order} is on its way. Agent A"
    await asks(channel, case, "Where is ORD-1001?", "> ORD-7777\nI mean ORD-1002, not the first one.", "Thank you")
    assert await prefilled(channel, case, AGENT_A) == "Dear Customer A, ORD-1002 is on its way. Agent A"
    async with channel.database.transaction() as tx:
        await tx.execute(schema.kase.update().values(language="de", customer_name="{order} & {person}"))
    told = await prefilled(channel, case, AGENT_A)
    assert told == "{order} & {person}: ORD-1002 ist unterwegs. Agent A", "a name brings in nothing"
    assert await prefilled(channel, case, AGENT_A, "Bye") == "Have a good day!"
    assert await prefilled(channel, case, AGENT_A, "Gone") == NO_SUCH_REPLY


async def test_a_reply_is_sent_and_marked_as_what_the_person_wrote(channel: Channel) -> None:
    case = await channel.claimed()
    assert "case.saved" in str(channel.card["blocks"])
    assert (
        await channel.submits("submit.saved", case.ref, AGENT_A, text="It is *on its way* & soon there.") == "pressed"
    )
    (copy,) = (each for each in channel.slack.workspace.messages["D0CUSTOMERA"].values() if "soon there" in str(each))
    assert copy["text"].endswith("It is *on its way* &amp; soon there.")
    assert "Agent A" in str(copy)
    line = channel.posts[-1]
    assert line["text"] == "*Agent A* replied:\n>It is *on its way* &amp; soon there."
    assert line["thread_ts"] == channel.card["ts"]
    assert channel.slack.marks("C0AGENTS", line["ts"]) == [TRAY]
    assert "waiting for customer" in str(channel.card["blocks"]), "no reply is due any more"
    async with channel.database.transaction() as tx:
        answered = select(func.count()).where(schema.audit.c.action == ANSWERED)
        assert (await tx.execute(answered)).scalar_one() == 1


async def test_a_submission_that_is_worked_on_again_sends_nothing_twice(channel: Channel) -> None:
    case = await channel.claimed()
    for _ in range(2):
        await channel.relay.send_words(case.ref, AGENT_A, "Hello!", name="saved/7", ts=channel.card["ts"])
        await channel.delivers()
    assert len([text for text in channel.slack.texts("D0CUSTOMERA") if "Hello!" in text]) == 1
    assert len([post for post in channel.posts if "Hello!" in post["text"]]) == 1


async def test_a_placeholder_that_is_left_is_not_sent(channel: Channel) -> None:
    case = await channel.claimed()
    assert await channel.submits("submit.saved", case.ref, AGENT_A, text="Where is {order}, {customer}?") == "not_sent"
    assert channel.ephemerals(AGENT_A)[-1]["text"] == "Fill in {customer}, {order} first, or take it out."
    assert await channel.submits("submit.saved", case.ref, AGENT_A, text=" // Where is it?") == "not_sent"
    assert "stays in the team" in channel.ephemerals(AGENT_A)[-1]["text"]
    assert not any("Where is" in text for text in channel.slack.texts("D0CUSTOMERA"))


async def edits(channel: Channel, user: str, text: str) -> str:
    """Change the reply that was sent last, in the dialog that its button opens; how it ended."""
    value = button(channel.posts[-1], "relay.edit")["value"]
    about = About(value, ThreadRef(TEAM, "C0AGENTS", channel.card["ts"]), channel.posts[-1]["ts"])
    view = await DIALOGS["submit.edit"](channel.cases, await channel.cases.find("FD-1001"), str(about))
    assert not isinstance(view, str)
    assert view["blocks"][-1]["element"]["initial_value"] in " ".join(channel.slack.texts("D0CUSTOMERA")).replace(
        "&amp;", "&"
    )
    return await channel.submits("submit.edit", value, user, text=text)


async def test_a_reply_is_changed_and_taken_back_by_who_sent_it_as_their_own_message_would_be(channel: Channel) -> None:
    case = await channel.claimed()
    await channel.submits("submit.saved", case.ref, AGENT_A, text="It costs 10 & more.")
    for text in ("It costs 20 & more.", "It costs 30 & more."):
        assert await edits(channel, AGENT_A, text) == "pressed"
        line, said = channel.posts[-1], channel.slack.texts("D0CUSTOMERA")
        assert said[-1] == f"*Agent A (support)*\n{text.replace('&', '&amp;')} _(edited)_"
        assert text.replace("&", "&amp;") in line["text"]
        assert channel.slack.marks("C0AGENTS", line["ts"]) == [TRAY]
    assert await edits(channel, AGENT_B, "It is free.") == "not_edited"
    assert await edits(channel, AGENT_A, "For {order}") == "not_edited"
    assert "It costs 30" in channel.slack.texts("D0CUSTOMERA")[-1]
    value = button(channel.posts[-1], "relay.edit")["value"]
    for _ in range(2):
        assert await channel.relay.edit_words(
            case.ref, AGENT_A, "// It costs 40.", name=value.partition("/")[2], change="99"
        ), "also when it is worked on again"
        await channel.delivers()
    assert not any("It costs" in text for text in channel.slack.texts("D0CUSTOMERA"))
    line = channel.posts[-1]
    assert line["text"] == "*Agent A* replied:\n_taken back_"
    assert "relay.edit" not in str(line["blocks"])
    assert channel.slack.marks("C0AGENTS", line["ts"]) == []
    assert await channel.submits("submit.edit", value, AGENT_A, text="Once more") == "not_edited"


async def test_who_helps_sends_under_their_name_and_others_send_nothing(channel: Channel) -> None:
    case = await channel.claimed()
    assert await prefilled(channel, case, AGENT_B) == "None"
    assert await channel.submits("submit.saved", case.ref, AGENT_B, text="Hello!") == "moved_on"
    assert {"case.join", "case.takeover"} <= {
        element["action_id"]
        for block in channel.ephemerals(AGENT_B)[-1]["blocks"]
        for element in block.get("elements", ())
    }
    await channel.cases.join(case.ref, AGENT_B)
    assert (await prefilled(channel, case, AGENT_B)).endswith("Agent B")
    assert await channel.submits("submit.saved", case.ref, AGENT_B, text="Hello!") == "pressed"
    assert channel.posts[-1]["text"].startswith("*Agent B* replied:")
    assert "Agent B" in str(list(channel.slack.workspace.messages["D0CUSTOMERA"].values())[-1])


async def test_a_reply_that_does_not_arrive_is_marked_so_on_its_line(
    channel: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = await channel.claimed()
    await channel.slack.breaks(method="chat.postMessage", do="is_archived", count=1, channel="D0CUSTOMERA")
    await channel.submits("submit.saved", case.ref, AGENT_A, text="Hello!")
    user = Directory.user

    async def gone(self: Directory, user_id: str, *, seconds: float = 0.0) -> SlackUser:
        found = await user(self, user_id)
        return replace(found, deleted=True) if user_id == case.customer else found

    monkeypatch.setattr(Directory, "user", gone)
    await channel.submits("submit.saved", case.ref, AGENT_A, text="Hello again!")
    lines = [post for post in channel.posts if post["text"].startswith("*Agent A* replied:")]
    assert [channel.slack.marks("C0AGENTS", line["ts"]) for line in lines] == [[WARNING], [WARNING]]
    assert len([post for post in channel.posts if post["text"].startswith("Not delivered to Customer A")]) == 2
