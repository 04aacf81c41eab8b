"""Tags of cases: proposed from what the customer wrote, given by people, over a real database and a local Slack."""

from collections.abc import Collection
from typing import cast

import pytest
from sqlalchemy import select

from bot.cases.dialogs import DIALOGS, NO_TAGS
from bot.cases.messages import CaseMessages
from bot.cases.tags import proposed_tags
from bot.desk_file.model import DeskFile
from bot.language.sentences import load_sentences
from bot.slack.blocks import Block
from bot.store import inbox
from bot.store.cases import Case
from bot.store.database import Database
from bot.store.schema import audit
from local_slack.blocks import view_faults
from tests.doubles.local_slack import LocalSlack
from tests.turns.answering import build_cases
from tests.turns.arrivals import arrival
from tests.turns.test_staff_interactions import AGENT_A, AGENT_B, Channel

DESK = DeskFile.model_validate(
    {
        "cases": {
            "tags": {
                "vip": {"label": "VIP & friends"},
                "refund": {"label": "Refund", "cause": "payment"},
                "warranty": {"label": "Warranty", "phrases": ["warranty", "Garantie*"]},
            }
        }
    }
)


class Tagging(Channel):
    """The agent channel of a desk that has tags."""

    def __init__(self, database: Database, slack: LocalSlack, desk: DeskFile = DESK) -> None:
        super().__init__(database, slack)
        messages = CaseMessages(load_sentences(), "C0AGENTS", desk_file=lambda: desk)
        self.cases = build_cases(database, self.outbox, slack.client, self.clock, messages=messages)
        self.wires()

    async def opens_about(self, text: str) -> Case:
        """A case whose customer has written this."""
        case = await self.opens()
        said = arrival(self.slack.workspace.new_ts(), text=text, thread_ts=case.thread.ts)
        item = await self.begins(said)
        async with self.database.transaction() as tx:
            await inbox.finish(tx, item.id, "done", reason="relayed", now=2.0)
        return case

    async def dialog(self, name: str, case: Case) -> Block:
        """The dialog that opens about the case as it is now."""
        view = await DIALOGS[name](self.cases, await self.cases.find(case.ref), "about")
        assert view_faults(cast(Block, view)) == []
        return cast(Block, view)

    async def tagged(self) -> list[tuple[str, object]]:
        """Who gave which tags, by the audit trail."""
        async with self.database.transaction() as tx:
            rows = (await tx.execute(select(audit).where(audit.c.action == "case.tagged").order_by(audit.c.id))).all()
        return [(row.actor, row.detail["tags"]) for row in rows]


@pytest.fixture
def channel(database: Database, slack: LocalSlack) -> Tagging:
    return Tagging(database, slack)


def chosen(view: Block) -> list[str]:
    """The tags that a dialog shows as chosen."""
    (menu,) = (block["element"] for block in view["blocks"] if block.get("block_id") == "tags")
    return [option["value"] for option in menu.get("initial_options", ())]


def asked(view: Block) -> Collection[str]:
    """What a dialog asks."""
    return [block["block_id"] for block in view["blocks"] if block["type"] == "input"]


def test_a_tag_is_proposed_for_its_phrases_and_for_the_built_in_words_of_its_name() -> None:
    misses = [
        (text, found)
        for text, expected in (
            ("Is there a warranty on the lamp?", ("warranty",)),
            ("Ich will mein Geld zurück, die Garantiezeit läuft", ("refund", "warranty")),
            ("I'd like a refund please", ("refund",)),
            ("> the warranty is over\nWhere is my order?", ()),
            ("vip", ()),
        )
        if (found := proposed_tags(DESK, [text])) != expected
    ]
    assert misses == []


async def test_what_is_proposed_is_preselected_and_nothing_is_set_before_a_person_submits(channel: Tagging) -> None:
    case = await channel.opens_about("I want a refund, it is under warranty.")
    view = await channel.dialog("submit.tags", case)
    assert chosen(view) == ["refund", "warranty"]
    assert "proposal" in str(view["blocks"])
    assert (await channel.cases.find(case.ref)).tags == ()
    assert await channel.submits("submit.tags", case.ref, AGENT_B, tags=["warranty", "vip", "gone"]) == "pressed"
    assert (await channel.cases.find(case.ref)).tags == ("vip", "warranty")
    assert "*Tags*\nVIP &amp; friends, Warranty" in str(channel.card["blocks"]).replace("\\n", "\n")
    assert chosen(await channel.dialog("submit.tags", case)) == ["vip", "warranty"]
    assert await channel.tagged() == [(AGENT_B, "vip warranty")]


async def test_the_same_tags_once_more_change_nothing_and_none_takes_them_off(channel: Tagging) -> None:
    case = await channel.claimed()
    for tags in (["refund"], ["refund"], []):
        assert await channel.submits("submit.tags", case.ref, AGENT_A, tags=tags) == "pressed"
    assert await channel.tagged() == [(AGENT_A, "refund"), (AGENT_A, "")]
    assert (await channel.cases.find(case.ref)).tags == ()


async def test_resolve_asks_only_what_is_not_known_yet_and_spam_is_no_end_to_choose(channel: Tagging) -> None:
    case = await channel.claimed()
    view = await channel.dialog("submit.resolve", case)
    assert (asked(view), "spam" in str(view).lower()) == (["outcome", "tags", "cause"], False)
    await channel.writes(AGENT_A, "Here it is.")
    await channel.submits("submit.tags", case.ref, AGENT_A, tags=["refund"])
    assert asked(await channel.dialog("submit.resolve", case)) == ["outcome", "kb"]
    assert await channel.submits("submit.resolve", case.ref, AGENT_A, outcome="solved") == "pressed"
    resolved = await channel.cases.find(case.ref)
    assert (resolved.outcome, resolved.cause, resolved.tags) == ("solved", "payment", ("refund",))
    assert "*Tags*\nRefund" in str(channel.card["blocks"]).replace("\\n", "\n")


async def test_tags_that_are_given_with_the_end_of_a_case_say_its_cause(channel: Tagging) -> None:
    case = await channel.claimed()
    assert await channel.submits("submit.resolve", case.ref, AGENT_A, outcome="solved", tags=["refund"]) == "pressed"
    resolved = await channel.cases.find(case.ref)
    assert (resolved.tags, resolved.cause) == (("refund",), "payment")


async def test_a_desk_without_tags_has_no_button_for_them(database: Database, slack: LocalSlack) -> None:
    plain = Tagging(database, slack, DeskFile())
    case = await plain.claimed()
    assert "case.tags" not in str(plain.card["blocks"])
    assert await DIALOGS["submit.tags"](plain.cases, case, "about") == NO_TAGS
