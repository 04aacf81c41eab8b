"""`frontdesk try`, against the model, the shop and the pages that customers get."""

from pathlib import Path

import pytest

from bot.language.sentences import load_sentences
from demo.world import DESK_FILE, LINK_HOSTS, PAGES
from tests.stories.world import World, product_environment, run_product

pytestmark = pytest.mark.asyncio(loop_scope="module")

OTHER = """\
shop: Harbour Bikes
refuse: [{topic: Returns, phrases: [return], say: We take nothing back.}]
people: [{topic: Leasing, phrases: [leasing]}]
helplines: {DE: {emergency: "112"}}
"""


async def tried(world: World, *arguments: str, folder: Path | None = None) -> str:
    settings = {
        "KB_PATH": str(PAGES),
        "LINK_HOSTS": LINK_HOSTS,
        "DESK_FILE": str(folder / "other.yml" if folder else DESK_FILE),
        "SHOP_URL": world.ready["shop"]["url"],
        "SHOP_TOKEN": world.ready["shop"]["token"],
        "COLUMNS": "200",
    }
    environment = {
        name: value for name, value in product_environment(world, world.data).items() if not name.startswith("SLACK_")
    }
    status, told = await run_product({**environment, **settings}, "try", *arguments)
    assert status == 0, told
    return told


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "other.yml").write_text(OTHER)
    return tmp_path


async def test_an_answer_is_shown_with_all_it_rests_on_and_nothing_goes_to_slack(world: World) -> None:
    before = len(await world.log("call"))
    told = await tried(world, "How many days do I have to return an item?")
    assert "the agents answer, in en" in told
    assert "clearly (" in told
    assert "30 days" in told
    assert "stands, rests on: " in told
    assert "tokens in (" in told
    assert "[Helpful]" in told
    assert len(await world.log("call")) == before


async def test_a_customer_of_the_shop_sees_their_order_and_the_look_ups(world: World) -> None:
    address = "customer.a@example.com"
    told = await tried(world, "--customer", address, "Where is ORD-12345?")
    assert 'lookup_order {"order_id": "ORD-12345"}' in told
    assert "check_shipping" in told


async def test_two_desk_files_are_shown_side_by_side(world: World, folder: Path) -> None:
    told = await tried(world, "--desk", str(folder / "other.yml"), "How do I return an item?")
    heads = next(line for line in told.splitlines() if "desk.yml" in line)
    left, right = heads.split("│")
    assert "desk.yml" in left
    assert "other.yml" in right
    assert any("refused (Returns)" in line.split("│")[1] for line in told.splitlines() if "│" in line)
    assert "We take nothing back." in told


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        (["Do you do leasing?"], ["a person is called (topic: Leasing)", load_sentences().say("en", "escalated")]),
        (["--country", "DE", "My hand is on fire, help"], ["(harm)", "112"]),
        (["Thank you!"], ["in code: say"]),
        (["Which moss grows on the moon of Endor?"], ["ended     no_answer", "[Yes, get a person]"]),
    ],
)
async def test_what_code_decides_is_said(world: World, folder: Path, asked: list[str], shown: list[str]) -> None:
    told = " ".join((await tried(world, *asked, folder=folder)).split())
    assert [words for words in shown if " ".join(words.split()) not in told] == []
