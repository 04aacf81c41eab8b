"""The profile pictures of the people here: their initials, each on a colour of its own."""

import html
import zlib

from aiohttp import web

from local_slack.workspace import User, Workspace

COLOURS = ("#8a4b08", "#1c6e8c", "#7b3fa0", "#a63d57", "#3a6b2a", "#3f51b5", "#8d3b2b", "#52606d")
_SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 72 72"><rect width="72" height="72" rx="16" fill="{}"/>'
    '<text x="36" y="46" fill="#fff" font-family="sans-serif" font-size="28" font-weight="600" text-anchor="middle">'
    "{}</text></svg>"
)


def address(workspace: Workspace, user: str) -> str:
    """Where the picture of a person is."""
    return f"{workspace.url}/avatars/{user}.svg"


def person_of(workspace: Workspace, picture: str) -> User | None:
    """Whose picture it is. None for pictures from elsewhere."""
    beginning, _, name = picture.rpartition("/")
    is_here = bool(workspace.url) and beginning == f"{workspace.url}/avatars"
    return workspace.users.get(name.removesuffix(".svg")) if is_here else None


def initials(name: str) -> str:
    """Of the first two words."""
    words = name.split() or ["?"]
    return (words[0][:1] + (words[1][:1] if len(words) > 1 else "")).upper()


def colour(id_: str) -> int:
    """The number of somebody's colour."""
    return zlib.crc32(id_.encode("utf-8", "replace")) % len(COLOURS)


def routes(workspace: Workspace) -> list[web.RouteDef]:
    """The pictures, for anybody who has an address."""

    async def picture(request: web.Request) -> web.Response:
        user = workspace.users.get(request.match_info["user"])
        if user is None:
            raise web.HTTPNotFound
        drawn = _SVG.format(COLOURS[colour(user.id)], html.escape(initials(user.real_name)))
        return web.Response(text=drawn, content_type="image/svg+xml", headers={"X-Content-Type-Options": "nosniff"})

    return [web.get("/avatars/{user}.svg", picture)]
