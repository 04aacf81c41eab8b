"""chat.unfurl: what an app shows under the links of a message."""

import json

from local_slack import timeline
from local_slack.blocks import completed, message_faults
from local_slack.links import may_unfurl, place_of
from local_slack.methods.call import Call, Method
from local_slack.workspace import Channel, Json, SlackError

SOURCES = ("composer", "conversations_history")


def unfurl(call: Call) -> Json:
    """A second unfurl of the same link replaces the first."""
    channel, message = _message(call)
    unfurls = _unfurls(call)
    if not all(_is_linked(message, url) and may_unfurl(call.workspace, url) for url in unfurls):
        raise SlackError("cannot_unfurl_url")
    kept = [each for each in message.get("attachments", []) if each.get("from_url") not in unfurls]
    shown = [_attachment(call, url, given) for url, given in unfurls.items()]
    attachments = [each | {"id": number} for number, each in enumerate([*kept, *shown], start=1)]
    timeline.change(call.workspace, channel, message["ts"], {"attachments": attachments})
    return {}


METHODS = {"chat.unfurl": Method(unfurl, scope="links:write", tier=3)}


def _message(call: Call) -> tuple[Channel, Json]:
    """The message by channel and ts, or by what link_shared told."""
    channel_id, ts = _place(call)
    channel = call.workspace.channels.get(channel_id)
    if channel is None or call.me not in channel.members:
        raise SlackError("cannot_find_channel")
    message = call.workspace.messages.get(channel.id, {}).get(ts)
    if message is None:
        raise SlackError("cannot_find_message")
    return channel, message


def _place(call: Call) -> tuple[str, str]:
    if call.text("unfurl_id") or call.text("source"):
        for name in ("unfurl_id", "source"):
            if not call.text(name):
                raise SlackError(f"missing_{name}")
        if call.text("source") not in SOURCES:
            raise SlackError("invalid_source")
        if (place := place_of(call.text("unfurl_id"))) is None:
            raise SlackError("invalid_unfurl_id")
        return place
    for name in ("channel", "ts"):
        if not call.text(name):
            raise SlackError(f"missing_{name}")
    return call.text("channel"), call.text("ts")


def _unfurls(call: Call) -> dict[str, Json]:
    given = call.json("unfurls", error="invalid_unfurls_format")
    if given is None:
        raise SlackError("missing_unfurls")
    if not isinstance(given, dict):
        raise SlackError("invalid_unfurls_format")
    if not all(
        isinstance(each, dict) and each and not message_faults(each.get("blocks", [])) for each in given.values()
    ):
        raise SlackError("cannot_parse_attachment")
    return given


def _is_linked(message: Json, url: str) -> bool:
    entity = url.replace("&", "&amp;")
    return f"<{entity}" in message.get("text", "") or json.dumps(url) in json.dumps(message.get("blocks", []))


def _attachment(call: Call, url: str, given: Json) -> Json:
    blocks = completed(given.get("blocks", []), lambda: call.workspace.new_id("", length=5))
    named = {"from_url": url, "app_unfurl_url": url, "original_url": url, "is_app_unfurl": True}
    app = {"bot_id": call.bot.bot_id, "app_id": call.bot.app_id}
    return given | named | app | ({"blocks": blocks} if blocks else {})
