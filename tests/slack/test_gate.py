"""Everything that Slack must be told goes through the outbox or the writer of answers; the rest may be lost."""

import ast
from collections import defaultdict
from pathlib import Path
from typing import get_type_hints

from bot.slack.client import SlackClient

ROOT = Path(__file__).parents[2]
MUST_ARRIVE = {
    "chat.post",
    "chat.update",
    "chat.delete",
    "chat.react",
    "chat.unreact",
    "files.upload",
    "files.share",
    "files.delete",
    "streams.start",
    "streams.append",
    "streams.stop",
    "sessions.rename",
}
"""The client's methods for what people must find in their threads."""
THROUGH = {"bot/slack/outbox.py", "bot/slack/files.py", "bot/slack/place.py"}
"""The outbox, and its way of files; and where answers go, whose messages the journal and their marks tell of."""
MAY_BE_LOST = {
    "chat.post_ephemeral": "a note to one person, which Slack itself drops when they are away",
    "chat.pin": "the mark of a desk's queue message, which is found without it",
    "chat.respond": "an answer at the address of a press or a command, to whoever pressed",
    "sessions.show_work": "a session's status or a line, which a new message ends anyway",
    "sessions.show_line": "a place in the line, which is shown again until the answer begins",
    "sessions.settle": "how a session stands; a turn that could not tell leaves it to a row of the outbox",
    "views.suggest_prompts": "an offer; it is made again when the tab is opened again",
    "views.open": "a dialog for whoever pressed, within three seconds",
    "views.update": "the second page of a dialog, for whoever filled in the first",
    "views.publish_home": "a page that is made anew when it is opened",
}
"""What is said directly, and why nobody misses it."""
DERIVED = {"chat.update": {"bot/cases/living_messages.py"}}
"""A desk's living messages: each is edited again until it shows what it should."""
ASKED_AGAIN = {"bot/cases/relay.py", "bot/slack/api/chat.py"}
"""A question to a member of staff: its row of the inbox is taken up again until Slack has it; twice does no harm."""
READS = {
    "api.auth",
    "api.team",
    "api.http",
    "api.token",
    "api.base_url",
    "api.has_scope",
    "api.proxy",
    "chat.can_name",
    "chat.refuse_names",
    "api.find_token_fault",
    "chat.address",
    "chat.permalink",
    "chat.replies",
    "chat.own_replies",
    "chat.history",
    "chat.count_since",
    "directory.public_channels",
    "directory.user",
    "directory.is_active",
    "directory.is_undisturbed",
    "directory.members",
    "directory.group_members",
    "directory.open_dm",
    "directory.channel",
    "directory.channels",
    "files.find",
    "files.fetch",
    "streams.append_interval",
}
STARTS = {"api.open_socket"}
CALLS = {"api.call", "api.pages", "api.enter"}
"""The way of all these methods. Only they take it."""


def test_every_method_of_the_client_is_one_kind() -> None:
    parts = get_type_hints(SlackClient)
    public = {f"{part}.{name}" for part, kind in parts.items() for name in vars(kind) if not name.startswith("_")}
    assert public == MUST_ARRIVE | MAY_BE_LOST.keys() | {"chat.ephemeral"} | READS | STARTS | CALLS


def test_what_must_arrive_is_said_nowhere_else() -> None:
    found = calls()
    for method in MUST_ARRIVE:
        assert found[method] - DERIVED.get(method, set()) <= THROUGH, method
    assert found["chat.ephemeral"] - THROUGH <= ASKED_AGAIN
    for method in CALLS:
        assert all(path.startswith("bot/slack/api/") for path in found[method]), method


def calls() -> dict[str, set[str]]:
    """Part and method of the client -> the files that call it. The attributes that hold a part are called after it."""
    parts = {f"_{part}": part for part in get_type_hints(SlackClient)} | {"_slack_files": "files"}
    found: dict[str, set[str]] = defaultdict(set)
    for path in [*ROOT.glob("bot/**/*.py"), *ROOT.glob("handlers/**/*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            owner = node.func.value
            name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
            is_self = name == "self" and path.parent.name == "api"
            part = path.stem if is_self else parts.get(name, name)
            found[f"{part}.{node.func.attr}"].add(path.relative_to(ROOT).as_posix())
    return found
