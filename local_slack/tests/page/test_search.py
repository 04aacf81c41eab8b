"""Search: what one person finds, and where it leads."""

import pytest

from local_slack import timeline
from local_slack.page.half import Half
from local_slack.page.search import Hit, box, find
from local_slack.tests.page import scene
from local_slack.tests.page.desk import open_desk
from local_slack.tests.page.reading import Reading
from local_slack.workspace import Workspace

CUSTOMER, AGENT, DM, AGENTS, SUPPORT = scene.CUSTOMER, scene.AGENT, scene.DM, scene.AGENTS, scene.SUPPORT


@pytest.fixture
async def workspace() -> Workspace:
    workspace, _ = scene.build_scene()
    return workspace


def found(workspace: Workspace, user: str, words: str) -> list[Hit]:
    return find(workspace, Half("left", user, SUPPORT), words)


async def test_channels_people_and_messages_are_found_by_any_of_their_words(workspace: Workspace) -> None:
    await workspace.act.send(CUSTOMER, SUPPORT, "Where is my AGENT?")
    assert [(each.kind, each.name.split(",")[0]) for each in found(workspace, AGENT, "agent")] == [
        ("Channels", "agents"),
        ("People", "Agent A"),
        ("People", "Agent B"),
        ("Messages", "Customer A in #support"),
    ]
    assert [each.kind for each in found(workspace, AGENT, "agent where")] == ["Messages"]
    assert found(workspace, AGENT, "  ") == []


async def test_nobody_finds_what_they_may_not_see(workspace: Workspace) -> None:
    await workspace.act.send(AGENT, AGENTS, "a secret between agents")
    await workspace.act.send("U0CUSTOMERB", "D0CUSTOMERB", "a secret with the app")
    assert [each.channel for each in found(workspace, AGENT, "secret")] == [AGENTS]
    assert found(workspace, CUSTOMER, "secret") == []
    assert "agents" not in [each.name for each in found(workspace, CUSTOMER, "agents")]


async def test_a_message_is_found_by_what_is_read_and_not_by_its_markup(workspace: Workspace) -> None:
    await workspace.act.send(CUSTOMER, SUPPORT, "<@U0AGENTA> *late* & <https://example.com/x|the page>")
    (hit,) = found(workspace, CUSTOMER, "@agent late the")
    assert hit.about == "@Agent A late & the page"
    assert found(workspace, CUSTOMER, "U0AGENTA") == []


async def test_the_newest_come_first_and_a_long_message_is_cut_around_the_word(workspace: Workspace) -> None:
    for number in range(20):
        await workspace.act.send(CUSTOMER, SUPPORT, f"{'so ' * 40}lamp {number} {'and ' * 40}")
    hits = found(workspace, CUSTOMER, "lamp")
    assert len(hits) == 12
    assert "lamp 19" in hits[0].about
    assert hits[0].about.startswith("…")
    assert hits[0].about.endswith("…")


async def test_markup_in_what_was_found_stays_text(workspace: Workspace) -> None:
    await workspace.act.send(CUSTOMER, SUPPORT, "<b>lamp</b>")
    half = Half("left", CUSTOMER, SUPPORT, searched='lamp"')
    assert "Nothing here" in Reading(box(workspace, half)).words
    half.searched = "lamp"
    assert "<b>lamp</b>" in Reading(box(workspace, half)).words


async def test_a_hit_leads_to_its_thread_and_another_to_its_person() -> None:
    async with open_desk() as desk, desk.visit(left=f"{CUSTOMER}:{SUPPORT}") as visitor:
        root = await desk.workspace.act.send(CUSTOMER, DM, "Where is it?")
        place = desk.workspace.channel(DM)
        reply = timeline.post(
            desk.workspace, place, {"type": "message", "text": "Here", "thread_ts": root, "user": AGENT}
        )
        await visitor.does("search_open")
        assert "Type a word" in (await visitor.sees("fill", "left-search"))["html"]
        await visitor.does("search", text="here")
        html = (await visitor.sees("fill", "left-search"))["html"]
        assert f'data-thread="{root}"' in html
        await visitor.does("found", channel=DM, ts=reply["ts"], thread=root)
        assert (await visitor.sees("set", "page"))["value"].startswith(f"left={CUSTOMER}:{DM}:{root}")
        assert (await visitor.sees("reach"))["id"] == f"left-t-{DM}-{reply['ts']}"
        await visitor.does("search_open")
        await visitor.does("found", value="U0CUSTOMERB")
        assert (await visitor.sees("set", "page"))["value"].startswith("left=U0CUSTOMERB:")
        await visitor.does("search_open")
        await visitor.does("found", channel=AGENTS)
        assert "Only its members" in (await visitor.sees("toast"))["text"]
