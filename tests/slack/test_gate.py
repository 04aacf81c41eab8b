"""Everything that Slack must be told goes through the outbox or the writer of answers; the rest may be lost."""

import ast
from collections import defaultdict
from pathlib import Path

from bot.slack.client import SlackClient

ROOT = Path(__file__).parents[2]
MUST_ARRIVE = {
    "post",
    "update",
    "delete",
    "react",
    "unreact",
    "announce_file",
    "share_files",
    "delete_file",
    "start_stream",
    "append_stream",
    "stop_stream",
    "rename_session",
}
"""The client's methods for what people must find in their threads."""
THROUGH = {"bot/slack/outbox.py", "bot/slack/files.py", "bot/slack/place.py"}
"""The outbox, and its way of files; and where answers go, whose messages the journal and their marks tell of."""
MAY_BE_LOST = {
    "post_ephemeral": "a note to one person, which Slack itself drops when they are away",
    "respond": "an answer at the address of a press or a command, to whoever pressed",
    "show_work": "a session's status or a line, which a new message ends anyway",
    "settle_session": "how a session stands; a turn that could not tell leaves it to a row of the outbox",
    "suggest_prompts": "an offer; it is made again when the tab is opened again",
    "open_view": "a dialog for whoever pressed, within three seconds",
    "publish_home": "a page that is made anew when it is opened",
}
"""What is said directly, and why nobody misses it."""
ASKED_AGAIN = {("bot/cases/relay.py", "ephemeral"), ("bot/slack/client.py", "ephemeral")}
"""A question to a member of staff: its row of the inbox is taken up again until Slack has it; twice does no harm."""
READS = {
    "auth",
    "user",
    "members",
    "group_members",
    "file",
    "address",
    "http",
    "token",
    "base_url",
    "open_dm",
    "channel",
    "permalink",
    "replies",
    "history",
    "append_interval",
    "find_token_fault",
    "proxy",
}
STARTS = {"open_socket"}


def test_every_method_of_the_client_is_one_kind() -> None:
    public = {name for name in vars(SlackClient) if not name.startswith("_")}
    assert public == MUST_ARRIVE | MAY_BE_LOST.keys() | {"ephemeral"} | READS | STARTS


def test_what_must_arrive_is_said_nowhere_else() -> None:
    found = calls()
    for method in MUST_ARRIVE:
        assert found[method] <= THROUGH, method
    assert {(path, "ephemeral") for path in found["ephemeral"] - THROUGH} <= ASKED_AGAIN


def calls() -> dict[str, set[str]]:
    """Method of the client -> the files that call it. The client is called `slack` or `client` there."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in [*ROOT.glob("bot/**/*.py"), *ROOT.glob("handlers/**/*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            owner = node.func.value
            name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
            is_self = name == "self" and path.name == "client.py"
            if is_self or name in ("slack", "_slack", "client"):
                found[node.func.attr].add(path.relative_to(ROOT).as_posix())
    return found
