"""Who a message is from, where it goes and whose it is."""

from local_slack.methods.call import Call
from local_slack.shapes import by_app, by_person
from local_slack.workspace import Channel, Json, SlackError


def destination(call: Call) -> Channel:
    """The channel; a person's id stands for the direct message with them. Two people have none here."""
    target = call.required("channel")
    bot = call.bot.user_id
    if target in call.workspace.users and bot in (target, call.me) and target != call.me:
        return call.workspace.dm_with(target if call.me == bot else call.me, call.bot)
    return call.writable()


def author(call: Call, channel: Channel) -> Json:
    """The author's fields of a message: a person, or the app, perhaps under a name of its own."""
    if call.by_person:
        return by_app(call.workspace, call.bot) | by_person(call.workspace, channel, call.workspace.user(call.me))
    username, emoji, url = (call.text(name) for name in ("username", "icon_emoji", "icon_url"))
    if username or emoji or url:
        call.need("chat:write.customize")
    icons = {name: value for name, value in (("emoji", emoji), ("image_48", url)) if value}
    return by_app(call.workspace, call.bot, username=username, icons=icons or None)


def own(call: Call, channel: Channel, ts: str, *, error: str) -> Json:
    """A message of the caller's. Raises `error` for one of somebody else."""
    message = call.workspace.message(channel.id, ts)
    is_apps = message.get("bot_id") == call.bot.bot_id
    author_of = message.get("user", call.bot.user_id if is_apps else "")
    if author_of != call.me or not (is_apps or call.by_person):
        raise SlackError(error)
    return message
