"""Links to the app's own domains: the app hears of them and may say what is shown beneath."""

import hashlib
import re
from urllib.parse import urlsplit

from local_slack.workspace import Channel, Json, Workspace

_LINK = re.compile(r"<(https?://[^|>\s]+)")


def link_shared(workspace: Workspace, channel: Channel, message: Json) -> Json | None:
    """The event for the links of a message; None when there are none, or when the app wrote it itself."""
    urls = dict.fromkeys(found.replace("&amp;", "&") for found in _LINK.findall(message.get("text", "")))
    links = [{"domain": domain, "url": url} for url in urls if (domain := _own_domain(workspace, url))]
    if not links or "bot_id" in message:
        return None
    in_thread = {"thread_ts": message["thread_ts"]} if "thread_ts" in message else {}
    return {
        "type": "link_shared",
        "channel": channel.id,
        "is_bot_user_member": bool(workspace.bots_in(channel)),
        "user": message["user"],
        "message_ts": message["ts"],
        **in_thread,
        "unfurl_id": _unfurl_id(channel.id, message["ts"]),
        "source": "conversations_history",
        "links": links,
        "event_ts": workspace.new_ts(),
    }


def place_of(unfurl_id: str) -> tuple[str, str] | None:
    """The channel and the ts of the message for which an unfurl_id was given out."""
    channel, _, rest = unfurl_id.partition(".")
    ts = rest.rpartition(".")[0]
    return (channel, ts) if unfurl_id == _unfurl_id(channel, ts) else None


def may_unfurl(workspace: Workspace, url: str) -> bool:
    """Whether the address is in a domain of the app's, if it registered any."""
    return not workspace.unfurl_domains or bool(_own_domain(workspace, url))


def _unfurl_id(channel: str, ts: str) -> str:
    return f"{channel}.{ts}.{hashlib.sha256(f'{channel} {ts}'.encode()).hexdigest()}"


def _own_domain(workspace: Workspace, url: str) -> str:
    """The domain that the app registered for this address, or ""."""
    host = urlsplit(url).hostname or ""
    return next((each for each in workspace.unfurl_domains if host == each or host.endswith(f".{each}")), "")
