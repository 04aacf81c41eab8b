"""Files as they are kept in memory, whoever brought them."""

import mimetypes
from pathlib import PurePath

from demo.slack.workspace import Json, Workspace

FILES_KEPT = 100


def announce(workspace: Workspace, name: str, size: int, *, user: str, about: Json | None = None) -> Json:
    """A file whose content is still to come; the oldest of many is forgotten. `about` is told beside or instead of what
    the name tells."""
    file_id = workspace.new_id("F")
    file: Json = {
        "id": file_id,
        "name": name,
        "title": name,
        "size": size,
        "user": user,
        "user_team": workspace.user(user).team,
        "created": int(workspace.clock.time()),
        "timestamp": int(workspace.clock.time()),
        "mimetype": mimetypes.guess_type(name)[0] or "application/octet-stream",
        "filetype": PurePath(name).suffix.removeprefix(".") or "binary",
        "alt_txt": "",
        "mode": "hosted",
        "is_external": False,
        "is_public": False,
        "url_private": f"{workspace.url}/files/{file_id}",
        "url_private_download": f"{workspace.url}/files/{file_id}",
        "permalink": f"{workspace.url}/files/{file_id}",
        **(about or {}),
    }
    workspace.files[file_id] = file
    while len(workspace.files) > FILES_KEPT:
        forgotten = next(iter(workspace.files))
        del workspace.files[forgotten]
        workspace.uploads.pop(forgotten, None)
    return file


def keep(workspace: Workspace, name: str, content: bytes, *, user: str) -> Json:
    """A file with its content."""
    file = announce(workspace, name, len(content), user=user)
    workspace.uploads[file["id"]] = content
    return file
