"""The page over HTTP and its websocket, without a browser."""

from collections.abc import AsyncIterator

import pytest
from aiohttp import FormData

from local_slack import views
from local_slack.tests.page import gallery, scene
from local_slack.tests.page.desk import Desk, open_desk
from local_slack.workspace import Ack

CUSTOMER, AGENT, DM, AGENTS, SUPPORT = scene.CUSTOMER, scene.AGENT, scene.DM, scene.AGENTS, scene.SUPPORT


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    async with open_desk() as opened:
        yield opened


async def test_the_page_needs_the_secret_of_this_run(desk: Desk) -> None:
    assert (await desk.client.get("/")).status == 403
    assert (await desk.client.get("/", params={"secret": "wrong ü"})).status == 403
    answer = await desk.client.get("/", params=desk.query)
    assert answer.status == 200
    assert answer.headers["Referrer-Policy"] == "no-referrer"


async def test_the_page_fetches_nothing_from_outside_and_runs_no_script_of_its_own(desk: Desk) -> None:
    await scene.fill(desk.workspace)
    answer = await desk.client.get("/", params=desk.query)
    written = await answer.text()
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'self'")
    assert " style=" not in written
    assert " onclick=" not in written
    assert written.count("<script") == written.count('<script src="/static/')
    assert 'src="http' not in written


async def test_the_page_tells_what_it_is_and_who_answers(desk: Desk) -> None:
    written = await (await desk.client.get("/", params=desk.query)).text()
    assert "A local stand-in for Slack · Answers by the &lt;offline&gt; stand-in model" in written


async def test_everything_is_there_before_the_socket_is_open(desk: Desk) -> None:
    asked, _ = await scene.fill(desk.workspace)
    places = {"left": f"{CUSTOMER}:{DM}:{asked}", "right": f"{AGENT}:{AGENTS}"}
    written = await (await desk.client.get("/", params=desk.query | places)).text()
    assert 'data-thread="open"' in written
    assert 'class="caret"' in written
    assert 'data-action-id="case.claim"' in written


async def test_an_address_that_leads_a_guest_to_a_closed_app_opens_a_channel(desk: Desk) -> None:
    async with desk.visit(left="U0GUEST:D0GUEST") as visitor:
        await visitor.does("send", text="hello", channel="D0GUEST")
        assert (await visitor.sees("toast"))["text"] == "This app is closed to guests."
        assert not (await visitor.sees("done"))["ok"]
        await visitor.does("send", text="hello", channel=SUPPORT)
        assert (await visitor.sees("done"))["ok"]


async def test_a_chat_with_an_assistant_begins_with_a_thread(desk: Desk) -> None:
    desk.workspace.kind = "assistant"
    async with desk.visit(left=f"{CUSTOMER}:{DM}") as visitor:
        await visitor.does("new_chat")
        assert (await visitor.sees("done"))["ok"]
        (root,) = desk.workspace.messages[DM]
        await visitor.does("send", text="hello", channel=DM, thread=root)
        assert (await visitor.sees("done"))["ok"]
    said = list(desk.workspace.messages[DM].values())
    assert [each.get("thread_ts") for each in said] == [root, root]


async def test_only_the_page_s_own_files_are_served(desk: Desk) -> None:
    for name in ("page.js", "panels.js", "tables.js", "theme.js", "page.css", "blocks.css", "panels.css", "mark.svg"):
        answer = await desk.client.get(f"/static/{name}")
        assert answer.status == 200
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
    for name in ("page.py", "..%2fpage.py", "%2e%2e/page.py", ".secret"):
        assert (await desk.client.get(f"/static/{name}")).status in (403, 404)


@pytest.mark.parametrize("origin", [None, "null", "https://evil.example", "http://127.0.0.1:1"])
async def test_other_pages_cannot_open_the_socket(desk: Desk, origin: str | None) -> None:
    headers = {"Upgrade": "websocket", "Connection": "Upgrade"} | ({"Origin": origin} if origin else {})
    assert (await desk.client.get("/page/ws", params=desk.query, headers=headers)).status == 403
    assert (await desk.client.get("/page/ws", headers={"Origin": desk.origin})).status == 403


async def test_a_message_goes_from_one_half_to_the_other(desk: Desk) -> None:
    async with desk.visit(left=f"{CUSTOMER}:{SUPPORT}", right=f"{AGENT}:{SUPPORT}") as visitor:
        await visitor.does("send", text="Hello @Frontdesk <3", channel=SUPPORT)
        assert "Hello" in (await visitor.sees("fill", "left-list"))["html"]
        assert "&lt;3" in (await visitor.sees("fill", "right-list"))["html"]
        assert (await visitor.sees("done"))["n"] == 1
    assert [event["type"] for event in desk.app.events] == ["message", "app_mention"]


async def test_a_file_is_shared_with_what_was_written_to_it(desk: Desk) -> None:
    root = await desk.workspace.act.send(CUSTOMER, DM, "It is broken")
    given = {"user": CUSTOMER, "channel": DM, "thread": root, "text": "Look, @Frontdesk"}

    async def share(form: FormData, **headers: str) -> tuple[int, str]:
        async with desk.client.post("/page/file", params=desk.query, data=form, headers=headers) as answer:
            return answer.status, await answer.text()

    def form(**fields: str) -> FormData:
        written = FormData(given | fields)
        written.add_field("file", b"\x89PNG", filename="lamp.png")
        return written

    assert (await share(form()))[0] == 403
    assert await share(form(), Origin=desk.origin) == (200, "ok")
    assert await share(form(user=AGENT), Origin=desk.origin) == (400, "Only its members can open this conversation.")
    assert (await share(FormData(given), Origin=desk.origin))[0] == 400
    (_, shared) = desk.workspace.messages[DM].values()
    assert (shared["user"], shared["thread_ts"], shared["subtype"]) == (CUSTOMER, root, "file_share")
    assert shared["text"] == "Look, <@U0FRONTDESK>"
    ((id_, content),) = desk.workspace.uploads.items()
    assert (content, desk.workspace.files[id_]["mimetype"]) == (b"\x89PNG", "image/png")


async def test_the_files_of_a_modal_are_brought_first_and_are_their_bringers(desk: Desk) -> None:
    modal = gallery.MODAL | {"blocks": [gallery.labelled("Photo", gallery.named("file_input"), block_id="photo")]}

    async def bring(user: str) -> str:
        form = FormData({"user": user})
        form.add_field("file", b"\x89PNG", filename="lamp.png")
        async with desk.client.post(
            "/page/file", params=desk.query, data=form, headers={"Origin": desk.origin}
        ) as answer:
            return await answer.text()

    mine, theirs = await bring(CUSTOMER), await bring(AGENT)
    assert desk.workspace.messages.get(DM) is None
    async with desk.visit() as visitor:
        view = views.show(desk.workspace, CUSTOMER, modal, on_top=False)
        for brought in ([], [theirs, "F0NOWHERE"]):
            await visitor.does("submit", view_id=view["id"], state={"photo": {"file_input": brought}})
            assert list((await visitor.sees("errors"))["errors"]) == ["photo"]
        await visitor.does("submit", view_id=view["id"], state={"photo": {"file_input": [mine, theirs]}})
        assert (await visitor.sees("errors"))["errors"] == {}
    held = desk.app.interactions[-1][1]["view"]["state"]["values"]["photo"]["file_input"]
    assert held["type"] == "file_input"
    assert [(file["id"], file["name"]) for file in held["files"]] == [(mine, "lamp.png")]


async def test_a_press_reaches_the_app_with_its_name_and_value(desk: Desk) -> None:
    ts = scene.post(desk.workspace, AGENTS, blocks=scene.case_card(0))
    async with desk.visit() as visitor:
        await visitor.does("click", "right", channel=AGENTS, ts=ts, action_id="case.claim", value="FD-1042")
        await visitor.sees("done")
    ((kind, payload),) = desk.app.interactions
    assert kind == "interactive"
    assert payload["user"]["id"] == AGENT
    assert payload["actions"][0]["action_id"] == "case.claim"
    assert payload["actions"][0]["value"] == "FD-1042"


async def test_the_app_s_shortcuts_stand_in_the_menu_of_a_message(desk: Desk) -> None:
    desk.workspace.shortcuts = [
        {"name": "File <a> case", "type": "message", "callback_id": "file"},
        {"name": "Everywhere", "type": "global", "callback_id": "anywhere"},
    ]
    ts = await desk.workspace.act.send(CUSTOMER, DM, "It is broken")
    async with desk.visit(left=f"{CUSTOMER}:{DM}") as visitor:
        html = await (await desk.client.get("/", params=desk.query | {"left": f"{CUSTOMER}:{DM}"})).text()
        assert "File &lt;a&gt; case" in html
        assert 'data-do="shortcut" data-name="anywhere"' not in html
        await visitor.does("shortcut", ts=ts, name="file")
        await visitor.sees("done")
    ((_, payload),) = desk.app.interactions
    assert (payload["type"], payload["callback_id"]) == ("message_action", "file")
    assert payload["message"]["ts"] == ts


async def test_the_app_s_global_shortcuts_stand_in_the_composer_and_in_the_search(desk: Desk) -> None:
    without = await (await desk.client.get("/", params=desk.query)).text()
    assert "global_shortcut" not in without
    desk.workspace.shortcuts = [{"name": "Report a <bug>", "type": "global", "callback_id": "bug"}]
    async with desk.visit(left=f"{CUSTOMER}:{DM}") as visitor:
        written = await (await desk.client.get("/", params=desk.query)).text()
        assert 'data-do="global_shortcut" data-name="bug"' in written
        await visitor.does("search_open")
        await visitor.does("search", text="BUG")
        hits = (await visitor.sees("fill", "left-search"))["html"]
        while "Report a &lt;bug&gt;" not in hits:
            hits = (await visitor.sees("fill", "left-search"))["html"]
        assert 'data-do="global_shortcut" data-name="bug"' in hits
        await visitor.does("global_shortcut", name="bug")
        assert (await visitor.sees("fill", "left-search"))["html"] == ""
        assert (await visitor.sees("done"))["ok"]
    ((_, payload),) = desk.app.interactions
    assert (payload["type"], payload["callback_id"], payload["user"]["id"]) == ("shortcut", "bug", CUSTOMER)


async def test_whoever_asked_hears_whether_it_was_done(desk: Desk) -> None:
    desk.app.answers = [Ack(ok=False, error="dispatch_failed")]
    ts = scene.post(desk.workspace, AGENTS, blocks=scene.case_card(0))
    async with desk.visit(right=f"{AGENT}:{AGENTS}") as visitor:
        await visitor.does("click", "right", ts=ts, channel=AGENTS, action_id="case.claim", value="FD-1042")
        assert not (await visitor.sees("done"))["ok"]
        await visitor.does("send", "right", text="x" * 12_001, channel=AGENTS)
        assert "too long" in (await visitor.sees("toast"))["text"]
        assert not (await visitor.sees("done"))["ok"]
        await visitor.does("send", "right", text="short", channel=AGENTS)
        assert (await visitor.sees("done"))["ok"]
        await visitor.does("send", "right", text="/kb status", channel=AGENTS, thread="1.1")
        assert not (await visitor.sees("done"))["ok"]


async def test_an_edit_that_fails_keeps_its_editor(desk: Desk) -> None:
    ts = await desk.workspace.act.send(CUSTOMER, DM, "Where is it")
    element = f"left-m-{DM}-{ts}"
    async with desk.visit(left=f"{CUSTOMER}:{DM}") as visitor:
        await visitor.does("edit_here", ts=ts, element=element)
        await visitor.sees("done")
        await visitor.does("edit", "left", ts="1.1", text="Where is it?")
        assert not (await visitor.sees("done"))["ok"]
        await visitor.does("edit", ts=ts, text="Where is it?")
        assert "<textarea" not in (await visitor.sees("replace", element))["html"]


async def test_feedback_stays_pressed(desk: Desk) -> None:
    ts = scene.post(desk.workspace, DM, blocks=scene.footer(1), text="x")
    async with desk.visit(left=f"{CUSTOMER}:{DM}") as visitor:
        await visitor.does("click", ts=ts, channel=DM, action_id="fb", value="FD-1042/1/up", keep=True)
        patch = await visitor.sees("replace", f"left-m-{DM}-{ts}")
        assert 'aria-pressed="true"' in patch["html"]


async def test_an_app_that_is_away_is_said_to_be_away(desk: Desk) -> None:
    ts = scene.post(desk.workspace, AGENTS, blocks=scene.case_card(0))
    desk.app.answers = [Ack(ok=False, error="dispatch_failed"), Ack(ok=False, error="operation_timeout")]
    async with desk.visit() as visitor:
        for said in ("The app is not connected", "within 3 seconds"):
            await visitor.does("click", "right", ts=ts, channel=AGENTS, action_id="case.claim", value="FD-1042")
            assert said in (await visitor.sees("toast"))["text"]
            await visitor.sees("done")


async def test_a_slash_command_is_run_in_the_channel_and_refused_in_a_thread(desk: Desk) -> None:
    desk.app.answers = [Ack(ok=True, payload={"text": "12 documents"})]
    async with desk.visit(right=f"{AGENT}:{AGENTS}") as visitor:
        await visitor.does("send", "right", text="/kb status", channel=AGENTS)
        assert "12 documents" in (await visitor.sees("fill", "right-list"))["html"]
        await visitor.does("send", "right", text="/kb status", channel=AGENTS, thread="1.1")
        assert "not in threads" in (await visitor.sees("toast"))["text"]
    assert [(kind, payload["command"], payload["text"]) for kind, payload in desk.app.interactions] == [
        ("slash_commands", "/kb", "status")
    ]


async def test_a_command_names_channels_and_people_by_id_where_the_app_wants_it(desk: Desk) -> None:
    desk.workspace.commands = [{"command": "/kb"}, {"command": "/desk", "should_escape": True}]
    async with desk.visit(right=f"{AGENT}:{AGENTS}") as visitor:
        for line in ("/kb search #support", "/desk pause #support @Agent A #nowhere a&b"):
            await visitor.does("send", "right", text=line, channel=AGENTS)
            await visitor.sees("done")
    assert [payload["text"] for _, payload in desk.app.interactions] == [
        "search #support",
        f"pause <#{SUPPORT}|support> <@{AGENT}> #nowhere a&b",
    ]


async def test_a_refused_submission_comes_back_with_its_errors(desk: Desk) -> None:
    async with desk.visit() as visitor:
        view = scene.open_modal(desk.workspace, AGENT)
        assert "Resolve FD-1041" in (await visitor.sees("fill", "right-modal"))["html"]
        await visitor.does("submit", "right", view_id=view["id"], state={"note": {"note": "sorry"}})
        patch = await visitor.sees("errors")
        assert patch["id"] == f"right-{view['id']}"
        assert list(patch["errors"]) == ["outcome"]
        state = {"outcome": {"outcome": "refunded"}, "note": {"note": "sorry"}}
        await visitor.does("submit", "right", view_id=view["id"], state=state)
        assert (await visitor.sees("fill", "right-modal"))["html"] == ""
    assert desk.app.interactions[-1][1]["type"] == "view_submission"


async def test_an_edit_and_a_deletion_are_seen_at_once(desk: Desk) -> None:
    ts = await desk.workspace.act.send(CUSTOMER, DM, "Where is it")
    element = f"left-m-{DM}-{ts}"
    async with desk.visit(left=f"{CUSTOMER}:{DM}") as visitor:
        await visitor.does("edit_here", ts=ts, element=element)
        assert "<textarea" in (await visitor.sees("replace", element))["html"]
        await visitor.does("edit", ts=ts, text="Where is it?")
        edited = (await visitor.sees("replace", element))["html"]
        assert "Where is it?" in edited
        assert "(edited)" in edited
        await visitor.does("react", ts=ts, name="eyes")
        assert "reaction" in (await visitor.sees("replace", element))["html"]
        await visitor.does("delete", ts=ts)
        assert "left-empty" in (await visitor.sees("fill", "left-list"))["html"]


async def test_going_elsewhere_keeps_the_address_and_tells_the_app(desk: Desk) -> None:
    async with desk.visit(left=f"{CUSTOMER}:{SUPPORT}") as visitor:
        await visitor.does("look", channel=DM)
        assert (await visitor.sees("set", "page"))["value"].startswith(f"left={CUSTOMER}:{DM}")
        await visitor.does("act_as", value="U0CUSTOMERB")
        assert (await visitor.sees("set", "page"))["value"].startswith("left=U0CUSTOMERB:D0CUSTOMERB")
        await visitor.does("tab_home")
        assert "has not published" in (await visitor.sees("fill", "left-home"))["html"]
    assert [(each["type"], each["user"], each["tab"]) for each in desk.app.events] == [
        ("app_home_opened", CUSTOMER, "messages"),
        ("app_home_opened", "U0CUSTOMERB", "messages"),
        ("app_home_opened", "U0CUSTOMERB", "home"),
    ]


async def test_a_link_to_a_message_opens_its_thread_for_members(desk: Desk) -> None:
    root = await desk.workspace.act.send(CUSTOMER, DM, "Where is it?")
    async with desk.visit(left=f"{CUSTOMER}:{SUPPORT}", right=f"{AGENT}:{AGENTS}") as visitor:
        await visitor.does("permalink", channel=DM, thread=root)
        assert f"left={CUSTOMER}:{DM}:{root}" in (await visitor.sees("set", "page"))["value"]
        await visitor.does("permalink", "right", channel=DM, thread=root)
        assert "Only its members" in (await visitor.sees("toast"))["text"]


@pytest.mark.parametrize(
    "sent",
    [
        "",
        "not json",
        "[" * 5_000,
        "[]",
        '{"do": "send"}',
        '{"do": "send", "half": "middle", "text": "x"}',
        '{"do": "__init__", "half": "left"}',
        '{"do": "click", "half": "left", "ts": {}, "action_id": 7, "state": []}',
        '{"do": "look", "half": "left", "channel": "C0NOWHERE"}',
        '{"do": "submit", "half": "left", "view_id": "V0"}',
        '{"do": "edit", "half": "left", "text": "x"}',
    ],
)
async def test_nonsense_from_a_browser_ends_nothing(desk: Desk, sent: str) -> None:
    async with desk.visit(left=f"{CUSTOMER}:{DM}") as visitor:
        await visitor.sends(sent)
        await visitor.does("send", text="still here", channel=DM)
        assert "still here" in (await visitor.sees("fill", "left-list"))["html"]


async def test_a_visit_leaves_no_subscription_behind(desk: Desk) -> None:
    async with desk.visit():
        assert len(desk.workspace._subscribers) == 1
    await desk.client.server.close()
    assert desk.workspace._subscribers == []
