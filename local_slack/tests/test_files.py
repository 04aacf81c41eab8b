"""Files: shared, told, fetched and deleted, in channels of one's own workspace and of Slack Connect."""

from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest
from slack_sdk.web.async_client import AsyncWebClient

from local_slack.server import open_workspace
from local_slack.tests.apps import SocketApp, acts, breaks, error_of
from local_slack.workspace import Workspace

Json = dict[str, Any]

CUSTOMER = {"user": "U0CUSTOMERA", "channel": "D0CUSTOMERA"}
CONNECTED = {"user": "U0STRANGER", "channel": "C0SUPPORT"}


async def shared(workspace: Workspace, name: str = "note.txt", **where: str) -> Json:
    """A person's file, as the workspace keeps it."""
    await acts(workspace, "upload", **(where or CUSTOMER), name=name, content="it broke")
    return workspace.files[list(workspace.files)[-1]]


async def fetched(http: aiohttp.ClientSession, url: str, token: str, *, follow: bool = True) -> tuple[int, str, str]:
    """Status, content type and body."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with http.get(url, headers=headers, allow_redirects=follow) as response:
        return response.status, response.content_type, await response.text()


async def test_a_shared_file_is_told_known_and_fetched(
    workspace: Workspace, client: AsyncWebClient, app: SocketApp, http: aiohttp.ClientSession
) -> None:
    await shared(workspace)
    (told,) = (await app.event("message.file_share"))["files"]
    assert (told["name"], told["filetype"], told["pretty_type"]) == ("note.txt", "text", "Plain Text")
    assert (told["mode"], told["file_access"], told["user_team"]) == ("hosted", "visible", "T0FRONTDESK")
    assert (await app.event("file_shared"))["file"] == {"id": told["id"]}
    known = (await client.files_info(file=told["id"]))["file"]
    assert (known["ims"], known["channels"], known["is_public"]) == (["D0CUSTOMERA"], [], False)
    assert known["shares"]["private"]["D0CUSTOMERA"][0]["share_user_id"] == "U0CUSTOMERA"
    for url in ("url_private", "url_private_download"):
        assert await fetched(http, told[url], workspace.bot_token) == (200, "text/plain", "it broke")


async def test_what_is_shared_in_a_channel_is_public(client: AsyncWebClient, workspace: Workspace) -> None:
    file = await shared(workspace, user="U0AGENTA", channel="C0GENERAL")
    known = (await client.files_info(file=file["id"]))["file"]
    assert (known["is_public"], known["channels"]) == (True, ["C0GENERAL"])
    assert known["shares"]["public"]["C0GENERAL"][0]["channel_name"] == "general"


async def test_a_file_where_the_app_is_not_is_hidden_from_it(
    client: AsyncWebClient, workspace: Workspace, http: aiohttp.ClientSession
) -> None:
    made = (await acts(workspace, "create_channel", user="U0AGENTA", name="secret", is_private=True))["channel"]
    file = await shared(workspace, user="U0AGENTA", channel=made)
    assert await error_of(client.files_info(file=file["id"])) == "not_visible"
    assert await error_of(client.files_delete(file=file["id"])) == "file_not_found"
    assert (await fetched(http, file["url_private"], workspace.bot_token))[0] == 404


async def test_slack_connect_tells_a_file_by_id_and_the_rest_when_asked(
    client: AsyncWebClient, workspace: Workspace, app: SocketApp, http: aiohttp.ClientSession
) -> None:
    ts = (await acts(workspace, "upload", **CONNECTED, name="log.txt", content="it broke", text="<@U0FRONTDESK>"))["ts"]
    (told,) = (await app.event("message.file_share"))["files"]
    assert told.keys() == {"id", "mode", "file_access", "created", "timestamp", "user"}
    assert (told["mode"], told["file_access"]) == ("file_access", "check_file_info")
    assert (await app.event("app_mention.file_share"))["files"] == [told]
    known = (await client.files_info(file=told["id"]))["file"]
    assert (known["name"], known["user_team"], known["file_access"]) == ("log.txt", "T0PARTNER", "visible")
    assert (await fetched(http, known["url_private"], workspace.bot_token))[2] == "it broke"
    (message,) = (await client.conversations_history(channel="C0SUPPORT"))["messages"]
    assert message["files"][0]["url_private"] == known["url_private"]
    await acts(workspace, "edit", **CONNECTED, ts=ts, text="see")
    changed = await app.event("message.message_changed")
    assert changed["message"]["files"] == changed["previous_message"]["files"] == [told]


async def test_who_may_not_read_files_gets_the_sign_in_page_for_one(http: aiohttp.ClientSession) -> None:
    async with open_workspace(config={"scopes": ["chat:write"]}) as workspace:
        file = await shared(workspace)
        for token in (workspace.bot_token, "xoxb-nobody", workspace.app_token):
            status, kind, page = await fetched(http, file["url_private_download"], token)
            assert (status, kind) == (200, "text/html")
            assert "it broke" not in page
        assert (await fetched(http, file["url_private"], "", follow=False))[0] == 302
        assert (await fetched(http, file["url_private"], ""))[1] == "text/html"


async def test_a_removed_app_reads_no_files(workspace: Workspace, http: aiohttp.ClientSession) -> None:
    file = await shared(workspace)
    await acts(workspace, "uninstall", user="U0AGENTA")
    assert (await fetched(http, file["url_private"], workspace.bot_token))[1] == "text/html"


async def test_a_deleted_file_leaves_a_tombstone(
    client: AsyncWebClient, workspace: Workspace, app: SocketApp, http: aiohttp.ClientSession
) -> None:
    file = await shared(workspace, **CONNECTED)
    here = {"user": CONNECTED["user"], "file": file["id"]}
    assert (await acts(workspace, "delete_file", **here | {"user": "U0AGENTA"}))["error"] == "cant_delete_file"
    await acts(workspace, "delete_file", **here)
    stone = [{"id": file["id"], "mode": "tombstone"}]
    assert (await app.event("message.message_changed"))["message"]["files"] == stone
    deleted = await app.event("file_deleted")
    assert (deleted["file_id"], deleted["channel_ids"]) == (file["id"], ["C0SUPPORT"])
    (message,) = (await client.conversations_history(channel="C0SUPPORT"))["messages"]
    assert message["files"] == stone
    assert (await fetched(http, file["url_private"], workspace.bot_token))[0] == 404
    assert await error_of(client.files_info(file=file["id"])) == "file_deleted"
    assert (await acts(workspace, "delete_file", **here))["error"] == "file_not_found"


async def test_the_app_deletes_its_own_files_alone(client: AsyncWebClient, workspace: Workspace) -> None:
    uploaded = await client.files_upload_v2(content="hello", filename="note.txt", channel="C0SUPPORT")
    file = uploaded["file"]["id"]
    await client.files_delete(file=file)
    assert file not in workspace.uploads
    assert await error_of(client.files_delete(file=file)) == "file_deleted"
    assert await error_of(client.files_delete(file="F0NONE")) == "file_not_found"
    assert await error_of(client.files_delete(file=(await shared(workspace))["id"])) == "cant_delete_file"


async def test_files_are_shared_in_several_channels_and_listed(client: AsyncWebClient) -> None:
    for name in ("one.txt", "two.txt"):
        await client.files_upload_v2(content="hello", filename=name, channels=["C0SUPPORT", "C0GENERAL"])
    listed = await client.files_list(channel="C0GENERAL", count=1)
    assert [file["name"] for file in listed["files"]] == ["two.txt"]
    assert listed["files"][0]["channels"] == ["C0SUPPORT", "C0GENERAL"]
    assert listed["paging"] == {"count": 1, "total": 2, "page": 1, "pages": 2}
    assert [file["name"] for file in (await client.files_list(page=2, count=1))["files"]] == ["one.txt"]
    assert (await client.files_list(channel="C0AGENTS"))["files"] == []
    assert (await client.files_list(ts_to="1"))["files"] == []
    await client.files_delete(file=listed["files"][0]["id"])
    assert (await client.files_list())["paging"]["total"] == 1
    assert await error_of(client.files_list(user="U0NOBODY")) == "user_not_found"


async def test_files_are_shared_in_every_channel_or_in_none(
    client: AsyncWebClient, workspace: Workspace, http: aiohttp.ClientSession
) -> None:
    announced = await client.files_getUploadURLExternal(filename="note.txt", length=5)
    await http.post(announced["upload_url"], data=b"hello")
    given = {"files": [{"id": announced["file_id"]}], "channels": "C0SUPPORT,C0NONE"}
    assert await error_of(client.api_call("files.completeUploadExternal", json=given)) == "channel_not_found"
    assert not workspace.messages.get("C0SUPPORT")


async def test_the_content_may_come_as_a_form(
    client: AsyncWebClient, workspace: Workspace, http: aiohttp.ClientSession
) -> None:
    announced = await client.files_getUploadURLExternal(filename="note.txt", length=5)
    form = aiohttp.FormData()
    form.add_field("filename", b"hello", filename="note.txt")
    async with http.post(announced["upload_url"], data=form) as response:
        assert await response.text() == "OK - 5"
    assert workspace.uploads[announced["file_id"]] == b"hello"


@pytest.mark.parametrize(
    ("fault", "status", "kind"),
    [("sign_in", 200, "text/html"), ("429", 429, "application/octet-stream"), ("500", 500, "text/plain")],
)
async def test_a_download_fails_as_often_as_was_asked_for(
    workspace: Workspace, http: aiohttp.ClientSession, fault: str, status: int, kind: str
) -> None:
    url = (await shared(workspace))["url_private_download"]
    assert not await breaks(workspace, downloads=fault, count=2)
    for _ in range(2):
        assert (await fetched(http, url, workspace.bot_token))[:2] == (status, kind)
    assert (await fetched(http, url, workspace.bot_token))[0] == 200


async def test_a_download_is_sent_to_another_host_that_needs_no_token(
    workspace: Workspace, http: aiohttp.ClientSession
) -> None:
    url = (await shared(workspace))["url_private"]
    await breaks(workspace, downloads="redirect")
    headers = {"Authorization": f"Bearer {workspace.bot_token}"}
    async with http.get(url, headers=headers, allow_redirects=False) as response:
        elsewhere = response.headers["Location"]
    assert (response.status, urlsplit(elsewhere).hostname) == (302, "localhost")
    assert await fetched(http, elsewhere, "") == (200, "text/plain", "it broke")


async def test_a_download_ends_half_way(workspace: Workspace, http: aiohttp.ClientSession) -> None:
    url = (await shared(workspace))["url_private"]
    await breaks(workspace, downloads="cut")
    with pytest.raises(aiohttp.ClientPayloadError):
        await fetched(http, url, workspace.bot_token)
