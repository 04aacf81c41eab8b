"""What a page shows, and how one picture becomes the next."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_slack import agent_status, streams
from local_slack.page import compose
from local_slack.page.html import Html
from local_slack.page.loose import Json
from local_slack.page.picture import Picture, patches
from local_slack.page.screen import Screen
from local_slack.tests.page import scene
from local_slack.tests.page.reading import Reading
from local_slack.workspace import AppKind, SlackError, Workspace

CUSTOMER, AGENT, DM, AGENTS, SUPPORT = scene.CUSTOMER, scene.AGENT, scene.DM, scene.AGENTS, scene.SUPPORT


@pytest.fixture
async def workspace() -> Workspace:
    workspace, _ = scene.build_scene()
    return workspace


def opened(workspace: Workspace, **wanted: str) -> Screen:
    screen = Screen(workspace, wanted)
    workspace.subscribe(screen.note)
    screen.update()
    return screen


def played(shown: dict[str, list[str]], changes: list[Json]) -> dict[str, list[str]]:
    """A browser with nothing but lists: what it shows after the patches."""
    lists = {id_: list(items) for id_, items in shown.items()}
    for change in changes:
        match change["op"]:
            case "fill":
                lists[change["id"]] = [each for each in change["html"].split(";") if each]
            case "append":
                lists[change["id"]].append(change["html"].rstrip(";"))
            case "remove":
                lists = {id_: [each for each in items if key_of(each) != change["id"]] for id_, items in lists.items()}
            case "replace":
                new = change["html"].rstrip(";")
                lists = {
                    id_: [new if key_of(each) == change["id"] else each for each in items]
                    for id_, items in lists.items()
                }
    return lists


def key_of(item: str) -> str:
    return item.split("=")[0]


LISTS = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 3), max_size=8)


@given(LISTS, LISTS)
def test_patches_lead_from_any_list_to_any_other(old: dict[str, int], new: dict[str, int]) -> None:
    before = Picture(lists={"list": {key: Html(f"{key}={value};") for key, value in old.items()}})
    after = Picture(lists={"list": {key: Html(f"{key}={value};") for key, value in new.items()}})
    shown = played({"list": [f"{key}={value}" for key, value in old.items()]}, patches(before, after))
    assert shown["list"] == [f"{key}={value}" for key, value in new.items()]
    assert patches(after, after) == []


def test_an_attribute_is_set_taken_away_and_left_alone() -> None:
    on, off = Picture(attributes={("x", "inert"): ""}), Picture(attributes={("x", "inert"): None})
    assert patches(Picture(), on) == [{"op": "set", "id": "x", "name": "inert", "value": ""}]
    assert patches(on, off) == [{"op": "set", "id": "x", "name": "inert", "value": None}]
    assert patches(off, off) == []


async def test_a_new_message_is_one_appended_element(workspace: Workspace) -> None:
    await workspace.act.send(CUSTOMER, DM, "first")
    screen = opened(workspace, left=f"{CUSTOMER}:{DM}")
    ts = await workspace.act.send(CUSTOMER, DM, "second")
    (patch,) = screen.update()
    assert (patch["op"], patch["id"]) == ("append", "left-list")
    assert Reading(patch["html"]).having("data-ts") == [ts]


async def test_a_growing_stream_replaces_its_own_message_only(workspace: Workspace) -> None:
    root = await workspace.act.send(CUSTOMER, DM, "Where is it?")
    stream = scene.start(workspace, DM, root)
    screen = opened(workspace, left=f"{CUSTOMER}:{DM}:{root}")
    streams.grow(workspace, stream, [scene.markdown("On its *way*")])
    (patch,) = screen.update()
    assert (patch["op"], patch["id"]) == ("replace", f"left-t-{DM}-{stream.ts}")
    assert "caret" in patch["html"]
    streams.finish(workspace, stream, "completed", blocks=scene.footer(1))
    drawn = next(each["html"] for each in screen.update() if each["id"] == f"left-t-{DM}-{stream.ts}")
    assert "caret" not in drawn
    assert "aria-busy" not in drawn
    assert {"fb", "esc.customer"} == set(Reading(drawn).having("data-action-id"))


async def test_the_thread_of_an_own_question_opens_when_something_happens_in_it(workspace: Workspace) -> None:
    screen = opened(workspace, left=f"{CUSTOMER}:{DM}")
    root = await workspace.act.send(CUSTOMER, DM, "Where is it?")
    screen.update()
    assert screen.halves["left"].thread == ""
    agent_status.set_status(workspace, DM, root, "is looking that up...", ["Reading"])
    changes = screen.update()
    assert screen.halves["left"].thread == root
    status = next(each["html"] for each in changes if each["id"] == "left-thread-status")
    assert "Frontdesk is looking that up..." in Reading(status).words
    assert "stop" in Reading(status).having("data-do")


async def test_a_closed_thread_stays_closed_until_the_next_question(workspace: Workspace) -> None:
    screen = opened(workspace, left=f"{CUSTOMER}:{DM}")
    root = await workspace.act.send(CUSTOMER, DM, "Where is it?")
    scene.post(workspace, DM, root, text="There")
    screen.update()
    half = screen.halves["left"]
    screen.go(half, thread="")
    scene.post(workspace, DM, root, text="Or there")
    screen.update()
    assert half.thread == ""
    again = await workspace.act.send(CUSTOMER, DM, "And the other?")
    scene.post(workspace, DM, again, text="Here")
    screen.update()
    assert half.thread == again


async def test_threads_of_others_do_not_open_by_themselves(workspace: Workspace) -> None:
    screen = opened(workspace, right=f"{AGENT}:{SUPPORT}")
    root = await workspace.act.send(CUSTOMER, SUPPORT, "<@U0FRONTDESK> hello")
    scene.post(workspace, SUPPORT, root, text="Hello")
    screen.update()
    assert screen.halves["right"].thread == ""


async def test_both_halves_see_one_channel_with_their_own_eyes(workspace: Workspace) -> None:
    screen = opened(workspace, left=f"{CUSTOMER}:{SUPPORT}", right=f"{AGENT}:{SUPPORT}")
    await workspace.act.send(CUSTOMER, SUPPORT, f"<@{AGENT}> look")
    by_id = {each["id"]: each["html"] for each in screen.update() if each["op"] == "fill" and "list" in each["id"]}
    assert "mention-me" in by_id["right-list"]
    assert "mention-me" not in by_id["left-list"]
    assert "edit_here" in by_id["left-list"]
    assert "edit_here" not in by_id["right-list"]


async def test_an_ephemeral_is_seen_by_one_person_only(workspace: Workspace) -> None:
    note = {"user": AGENT, "channel": SUPPORT, "ts": workspace.new_ts(), "text": "only for you", "blocks": []}
    workspace.keep_ephemeral(note)
    picture = opened(workspace, left=f"{CUSTOMER}:{SUPPORT}", right=f"{AGENT}:{SUPPORT}").draw()
    assert "only for you" in "".join(picture.lists["right-list"].values())
    assert "only for you" not in "".join(picture.lists["left-list"].values())


async def test_a_channel_is_unread_until_its_person_looks(workspace: Workspace) -> None:
    screen = opened(workspace, left=f"{CUSTOMER}:{DM}", right=f"{AGENT}:{AGENTS}")
    await workspace.act.send(CUSTOMER, SUPPORT, "anyone?")
    picture = screen.draw()
    assert "1 unread" in picture.parts["right-side"]
    assert "unread" not in Reading(picture.parts["left-side"]).having("aria-label")
    screen.go(screen.halves["right"], channel=SUPPORT)
    screen.draw()
    screen.go(screen.halves["right"], channel=AGENTS)
    assert "1 unread" not in screen.draw().parts["right-side"]


async def test_a_reply_marks_its_thread_until_it_is_opened(workspace: Workspace) -> None:
    root = scene.post(workspace, AGENTS, blocks=scene.claimed_card())
    screen = opened(workspace, right=f"{AGENT}:{AGENTS}")
    scene.post(workspace, AGENTS, root, text="The customer wrote again")
    assert "data-unread" in "".join(screen.draw().lists["right-list"].values())
    screen.go(screen.halves["right"], thread=root)
    screen.draw()
    assert "data-unread" not in "".join(screen.draw().lists["right-list"].values())


async def test_somebody_else_sees_their_own_places(workspace: Workspace) -> None:
    table: list[tuple[AppKind, str, list[str]]] = [
        ("plain", "D0GUEST", [SUPPORT, "D0GUEST"]),
        ("agent", SUPPORT, [SUPPORT]),
    ]
    for kind, first, places in table:
        workspace.kind = kind
        screen = opened(workspace, right=f"{AGENT}:{AGENTS}")
        screen.go(screen.halves["right"], user="U0GUEST")
        sidebar = Reading(screen.draw().parts["right-side"])
        assert screen.halves["right"].channel == first
        assert sidebar.having("data-channel") == places


async def test_a_channel_without_oneself_offers_to_join(workspace: Workspace) -> None:
    workspace.channels["C0GENERAL"].members.remove(CUSTOMER)
    picture = opened(workspace, left=f"{CUSTOMER}:C0GENERAL").draw()
    assert Reading(picture.parts["left-composer"]).having("data-do") == ["join"]


async def test_messages_of_one_person_stand_under_one_name_and_those_of_apps_do_not(workspace: Workspace) -> None:
    await workspace.act.send(CUSTOMER, DM, "one")
    await workspace.act.send(CUSTOMER, DM, "two")
    scene.post(workspace, DM, text="three")
    scene.post(workspace, DM, text="four")
    _, *drawn = opened(workspace, left=f"{CUSTOMER}:{DM}").draw().lists["left-list"].values()
    assert ["compact" in each for each in drawn] == [False, True, False, False]


async def test_a_relayed_message_carries_the_name_and_face_it_was_given(workspace: Workspace) -> None:
    icons = {"emoji": ":bust_in_silhouette:"}
    scene.post(workspace, AGENTS, username="Customer B", icons=icons, text="Hello?")
    (drawn,) = list(opened(workspace, right=f"{AGENT}:{AGENTS}").draw().lists["right-list"].values())[1:]
    assert "Customer B" in Reading(drawn).words
    assert "👤" in Reading(drawn).words


async def test_a_deleted_root_leaves_a_line_and_its_replies(workspace: Workspace) -> None:
    root = await workspace.act.send(CUSTOMER, DM, "Where is it?")
    scene.post(workspace, DM, root, text="There")
    screen = opened(workspace, left=f"{CUSTOMER}:{DM}:{root}")
    await workspace.act.delete(CUSTOMER, DM, root)
    drawn = "".join(screen.draw().lists["left-thread-list"].values())
    assert "This message was deleted." in drawn
    assert "There" in drawn


async def test_suggested_prompts_show_while_no_conversation_is_open(workspace: Workspace) -> None:
    workspace.prompts[DM, ""] = {"title": "Try", "prompts": [{"title": "Track", "message": "Where is my order?"}]}
    screen = opened(workspace, left=f"{CUSTOMER}:{DM}")
    assert Reading(screen.draw().parts["left-prompts"]).having("data-text") == ["Where is my order?"]
    screen.go(screen.halves["left"], thread=await workspace.act.send(CUSTOMER, DM, "hello"))
    assert screen.draw().parts["left-prompts"] == ""
    screen.go(screen.halves["left"], thread="")
    assert Reading(screen.draw().parts["left-prompts"]).having("data-text") == ["Where is my order?"]


async def test_what_an_agent_s_manifest_suggests_shows_until_the_app_suggests_something_else(
    workspace: Workspace,
) -> None:
    workspace.suggested_prompts = [{"title": "Return", "message": "How do I return it?"}]
    screen = opened(workspace, left=f"{CUSTOMER}:{DM}", right=f"{CUSTOMER}:{SUPPORT}")
    assert Reading(screen.draw().parts["left-prompts"]).having("data-text") == ["How do I return it?"]
    assert screen.draw().parts["right-prompts"] == ""
    workspace.prompts[DM, ""] = {"prompts": [{"title": "Track", "message": "Where is my order?"}]}
    assert Reading(screen.draw().parts["left-prompts"]).having("data-text") == ["Where is my order?"]
    workspace.prompts.clear()
    assert Reading(screen.draw().parts["left-prompts"]).having("data-text") == ["How do I return it?"]


async def test_each_kind_of_app_has_its_own_way_to_begin(workspace: Workspace) -> None:
    table: list[tuple[AppKind, str, list[str]]] = [
        ("plain", "data-form", ["send"]),
        ("agent", "data-form", ["send"]),
        ("assistant", "data-do", ["new_chat"]),
    ]
    for kind, attribute, ways in table:
        workspace.kind = kind
        screen = opened(workspace, left=f"{CUSTOMER}:{DM}", right=f"{AGENT}:{AGENTS}")
        assert Reading(screen.draw().parts["left-composer"]).having(attribute) == ways
        assert Reading(screen.draw().parts["right-composer"]).having("data-form") == ["send"]


async def test_only_an_agent_that_hears_of_it_can_be_stopped(workspace: Workspace) -> None:
    root = await workspace.act.send(CUSTOMER, DM, "hello")
    workspace.statuses[DM, root] = {"status": "is thinking…"}
    screen = opened(workspace, left=f"{CUSTOMER}:{DM}:{root}")

    def offered() -> list[str]:
        return Reading(screen.draw().parts["left-thread-status"]).having("data-do")

    assert offered() == ["stop"]
    workspace.subscriptions -= {"agent_session_stopped"}
    assert offered() == []
    workspace.subscriptions |= {"agent_session_stopped"}
    workspace.kind = "plain"
    assert offered() == []


async def test_a_guest_without_any_channel_sees_that_the_app_is_closed(workspace: Workspace) -> None:
    workspace.channels[SUPPORT].members.remove("U0GUEST")
    screen = opened(workspace, left="U0GUEST:D0GUEST")
    drawn = Reading(screen.draw().parts["left-composer"])
    assert (drawn.having("data-form"), "closed to guests" in drawn.words) == ([], True)


async def test_a_modal_lies_over_its_own_half_only(workspace: Workspace) -> None:
    view = scene.open_modal(workspace, AGENT)
    picture = opened(workspace).draw()
    drawn = Reading(picture.parts["right-modal"])
    assert drawn.having("data-view-id") == [view["id"]]
    assert drawn.words.startswith("Resolve FD-1041")
    assert picture.attributes["right-frame", "inert"] == ""
    assert picture.attributes["left-frame", "inert"] is None
    assert picture.parts["left-modal"] == ""


async def test_the_home_tab_shows_what_the_app_published(workspace: Workspace) -> None:
    screen = opened(workspace, left=f"{CUSTOMER}:{DM}")
    screen.halves["left"].tab = "home"
    assert "has not published" in screen.draw().parts["left-home"]
    scene.publish_home(workspace, CUSTOMER)
    assert "Your cases" in screen.draw().parts["left-home"]


async def test_the_log_is_drawn_while_somebody_inspects_it(workspace: Workspace) -> None:
    screen = opened(workspace)
    workspace.note("call", "chat.postMessage", detail={"text": "hi"})
    assert screen.update() == []
    screen.is_inspecting = True
    (patch,) = screen.update()
    assert (patch["op"], patch["id"]) == ("fill", "log")
    workspace.note("retry", "event_callback", ok=False)
    (patch,) = screen.update()
    assert patch["op"] == "append"


async def test_the_light_follows_the_app(workspace: Workspace) -> None:
    screen = opened(workspace)
    workspace.online = 0
    changes = {(each["id"], each.get("name")): each for each in screen.update()}
    assert changes["page", "data-bot"]["value"] == "offline"
    assert "Frontdesk is offline" in changes["presence", None]["html"]


async def test_an_address_brings_a_page_back_to_where_it_was(workspace: Workspace) -> None:
    root = await workspace.act.send(CUSTOMER, DM, "hello")
    screen = opened(workspace, left=f"{CUSTOMER}:{DM}:{root}")
    assert screen.address() == f"left={CUSTOMER}:{DM}:{root}&right={AGENT}:{AGENTS}"


async def test_an_address_that_names_nothing_real_still_opens_a_page(workspace: Workspace) -> None:
    screen = opened(workspace, left="U9:C9", right="::")
    assert screen.address() == f"left={CUSTOMER}:{DM}&right={AGENT}:{AGENTS}"
    with pytest.raises(SlackError, match="channel_not_found"):
        screen.go(screen.halves["left"], channel="C9")


async def test_nobody_is_led_into_a_conversation_of_others(workspace: Workspace) -> None:
    screen = opened(workspace, left=f"{CUSTOMER}:{DM}")
    for place in (AGENTS, "D0AGENTA"):
        with pytest.raises(SlackError, match="not_in_channel"):
            screen.go(screen.halves["left"], channel=place)


async def test_what_is_typed_is_kept_as_slack_keeps_it(workspace: Workspace) -> None:
    table = [
        ("hello @Frontdesk", "hello <@U0FRONTDESK>"),
        ("@agent a and @agent.b", "<@U0AGENTA> and <@U0AGENTB>"),
        ("in #support, @here", "in <#C0SUPPORT|support>, <!here>"),
        ("a < b & c", "a &lt; b &amp; c"),
        ("mail@Frontdesk.example #supports", "mail@Frontdesk.example #supports"),
        ("<@U0AGENTA> by hand", "&lt;@U0AGENTA&gt; by hand"),
    ]
    misses = []
    for typed, kept in table:
        if compose.to_mrkdwn(typed, workspace) != kept:
            misses.append((typed, kept))
    assert misses == []


async def test_editing_starts_from_what_was_typed(workspace: Workspace) -> None:
    typed = "hello @Frontdesk, a < b & c in #support @here https://a.example"
    ts = await workspace.act.send(CUSTOMER, SUPPORT, compose.to_mrkdwn(typed, workspace))
    assert compose.to_typed(workspace.message(SUPPORT, ts)["text"], workspace) == typed
    screen = opened(workspace, left=f"{CUSTOMER}:{SUPPORT}")
    screen.halves["left"].editing = f"left-m-{SUPPORT}-{ts}"
    drawn = Reading("".join(screen.draw().lists["left-list"].values()))
    assert typed in drawn.words
    assert drawn.having("data-form") == ["edit"]
