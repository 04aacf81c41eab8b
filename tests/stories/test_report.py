"""What the desk's figures say of a short day."""

import re
from pathlib import Path

import pytest

from tests.stories.world import World, product_environment, run_product

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_short_day_is_counted(world: World, tmp_path: Path) -> None:
    asked = await world.customer.says("Where is my order ORD-12345?")
    answer = await world.customer.reads(asked, having=lambda seen: seen.is_done and "ORD-12345" in seen.text)
    thanked = await world.customer.says("Thanks, that works!", to=asked)
    await world.customer.reads(asked, after=max(answer.ts, thanked.ts))

    helped = await world.other_customer.says("I want to talk to a real person")
    card = await world.card_of(helped)
    await world.staff.presses(card, "case.claim")
    joined = await world.other_customer.reads(helped, having=lambda seen: "Agent A" in seen.text)
    await world.staff.says("Hello, what can I do for you?", to=card)
    await world.other_customer.reads(helped, after=joined.ts, having=lambda seen: "what can I do" in seen.text)

    page, table = tmp_path / "page.html", tmp_path / "table.csv"
    environment = product_environment(world, world.data)
    status, told = await run_product(environment, "report", "--days", "2", "--output", str(page), "--csv", str(table))
    assert status == 0, told
    figures = {name: " ".join(rest.split()) for name, rest in re.findall(r"^ +(\S.*?)  +(\S.*)$", told, re.MULTILINE)}
    assert figures["Conversations"] == "2 1 still open"
    assert figures["Resolved by the assistant"] == "0 of 1 settled"
    assert figures["confirmed by the customer"] == "0"
    assert figures["Escalated"] == "1 of 2 conversations"
    assert figures["asked for a person"] == "1"
    assert figures["Cases"] == "1 0 unclaimed"
    assert figures["Time to the first human reply"].endswith("n = 1")
    assert figures["Messages relayed"] == "1 0 on their way"
    html = page.read_text(encoding="utf-8")
    assert "Resolved by the assistant" in html
    assert re.search(r'<a href="http[^"]+/archives/C0AGENTS/p\d+">FD-\d+</a>', html)
    assert re.search(r"^person,Agent A,", table.read_text(encoding="utf-8"), re.MULTILINE)
