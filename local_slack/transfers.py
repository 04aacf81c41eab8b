"""The content of files: where an announced one is sent to, and where a shared one is fetched.

Files are private. Who comes without a token is sent to the sign-in page, and who comes with one that may not read files
gets that page in place of the file, with status 200.
"""

import secrets

from aiohttp import web

from local_slack.faults import Faults
from local_slack.files import is_visible
from local_slack.workspace import Workspace

TICKETS_KEPT = 100

_SIGN_IN = "<!DOCTYPE html><html><head><title>Slack</title></head><body><h1>Sign in to {}</h1></body></html>"


class Transfers:
    """Uploads and downloads; what shall fail of them is in `Faults.downloads`."""

    def __init__(self, workspace: Workspace, faults: Faults) -> None:
        self._workspace = workspace
        self._faults = faults
        self._tickets: dict[str, str] = {}
        """The file behind each address elsewhere."""

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post("/upload/{file}", self.upload),
            web.get("/files-pri/{file}/{name}", self.download),
            web.get("/files-pri/{file}/download/{name}", self.download),
            web.get("/files-tickets/{ticket}", self.elsewhere),
            web.get("/signin", self.sign_in),
        ]

    async def upload(self, request: web.Request) -> web.Response:
        """The content of a file whose upload was announced."""
        file = request.match_info["file"]
        if self._workspace.files.get(file, {}).get("mode", "tombstone") == "tombstone":
            return web.Response(status=404, text="file_not_found")
        content = await _content(request)
        self._workspace.uploads[file] = content
        self._workspace.files[file]["size"] = len(content)
        return web.Response(text=f"OK - {len(content)}")

    async def download(self, request: web.Request) -> web.StreamResponse:
        """The content of a file, for who may read it. What was deleted or is not for them is not found (believed)."""
        file_id = request.match_info["file"].rpartition("-")[2]
        response = await self._download(request, file_id)
        detail = {"file": file_id, "status": response.status, "content_type": response.content_type}
        self._workspace.note("call", "download", ok=response.content_type != "text/html", detail=detail)
        return response

    async def elsewhere(self, request: web.Request) -> web.Response:
        """The content behind an address that needs no token, because it is a secret itself."""
        return self._found(self._tickets.get(request.match_info["ticket"], ""))

    async def sign_in(self, request: web.Request) -> web.Response:
        return self._login()

    async def _download(self, request: web.Request, file_id: str) -> web.StreamResponse:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return web.Response(status=302, headers={"Location": str(request.url.with_path("/signin"))})
        fault = self._faults.take_download()
        reader = self._reader(token.strip())
        if not reader or fault == "sign_in":
            return self._login()
        file = self._workspace.files.get(file_id)
        if file is None or file["mode"] == "tombstone" or not is_visible(self._workspace, file, reader):
            return web.Response(status=404, text="file not found")
        match fault:
            case "429":
                return web.Response(status=429, headers={"Retry-After": "1"})
            case "500":
                return web.Response(status=500, text="upstream connect error")
            case "redirect":
                return web.Response(status=302, headers={"Location": self._address_elsewhere(request, file_id)})
            case "cut":
                return await self._cut(request, file_id)
        return self._found(file_id)

    def _reader(self, token: str) -> str:
        """By whose eyes the file is looked at; nobody's with a token that may not read files."""
        workspace = self._workspace
        grant = workspace.user_tokens.get(token)
        bots = {workspace.bot_token: workspace.app} | workspace.installations
        if not workspace.is_installed or (grant is None and token not in bots):
            return ""
        scopes = workspace.scopes if grant is None else grant.scopes
        user = bots[token].user_id if grant is None else grant.user
        return user if "files:read" in scopes else ""

    def _found(self, file_id: str) -> web.Response:
        content = self._workspace.uploads.get(file_id)
        file = self._workspace.files.get(file_id)
        if content is None or file is None:
            return web.Response(status=404, text="file not found")
        return web.Response(body=content, headers={"Content-Type": file["mimetype"]})

    def _login(self) -> web.Response:
        return web.Response(text=_SIGN_IN.format(self._workspace.team.name), content_type="text/html")

    def _address_elsewhere(self, request: web.Request, file_id: str) -> str:
        """On another host, as `slack-files.com` is, to which no token belongs."""
        ticket = secrets.token_urlsafe(24)
        self._tickets[ticket] = file_id
        while len(self._tickets) > TICKETS_KEPT:
            del self._tickets[next(iter(self._tickets))]
        other = "127.0.0.1" if request.url.host == "localhost" else "localhost"
        return str(request.url.with_host(other).with_path(f"/files-tickets/{ticket}"))

    async def _cut(self, request: web.Request, file_id: str) -> web.StreamResponse:
        """Half of the content, and the end of the connection."""
        content = self._workspace.uploads.get(file_id, b"")
        response = web.StreamResponse(headers={"Content-Length": str(len(content))})
        await response.prepare(request)
        await response.write(content[: len(content) // 2])
        if request.transport is not None:
            request.transport.abort()
        return response


async def _content(request: web.Request) -> bytes:
    """The body as it is, or the first file of a form."""
    if request.content_type != "multipart/form-data":
        return await request.read()
    for part in (await request.post()).values():
        if isinstance(part, web.FileField):
            return part.file.read()
    return b""
