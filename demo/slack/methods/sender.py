"""Who a message is from, where it goes and whose it is."""

from demo.slack.methods.call import Call
from demo.slack.shapes import by_app
from demo.slack.workspace import Channel, Json, SlackError


def destination(call: Call) -> Channel:
    """The channel; a person's id stands for the direct message with them."""
    target = call.required("channel")
    if target in call.workspace.users and target != call.workspace.app.user_id:
        return call.workspace.dm_with(target)
    return call.writable()


def author(call: Call) -> Json:
    """The author's fields of a message, perhaps under a name of its own."""
    username, emoji, url = (call.text(name) for name in ("username", "icon_emoji", "icon_url"))
    if username or emoji or url:
        call.need("chat:write.customize")
    icons = {name: value for name, value in (("emoji", emoji), ("image_48", url)) if value}
    return by_app(call.workspace, username=username, icons=icons or None)


def own(call: Call, channel: Channel, ts: str, *, error: str) -> Json:
    """A message of the caller's. Raises `error` for one of somebody else."""
    message = call.workspace.message(channel.id, ts)
    if message.get("bot_id") != call.workspace.app.bot_id:
        raise SlackError(error)
    return message
