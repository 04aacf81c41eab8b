"""Between what a person types and what Slack keeps: names become ids, characters are escaped, and back."""

import re

from local_slack.workspace import Workspace

_BROADCASTS = ("here", "channel", "everyone")


def to_mrkdwn(typed: str, workspace: Workspace) -> str:
    """What Slack's own composer would send for `typed`; addresses become links when it is sent."""
    return _with_ids(_escape(typed.strip()), workspace)


def to_command(line: str, workspace: Workspace) -> str:
    """What Slack makes of a slash command: names become ids where the app wants that, as `should_escape` says."""
    name = line.partition(" ")[0]
    installed = next((each for each in workspace.commands if each["command"] == name), {})
    return _with_ids(line, workspace) if installed.get("should_escape") else line


def to_typed(text: str, workspace: Workspace) -> str:
    """What a person sees in the composer when they edit a message."""

    def readable(found: re.Match[str]) -> str:
        target, _, label = found[1].partition("|")
        match target[:1]:
            case "@" if target[1:] in workspace.users:
                return f"@{workspace.users[target[1:]].real_name}"
            case "#":
                channel = workspace.channels.get(target[1:])
                return f"#{channel.name if channel else label}"
            case "!" if (group := workspace.usergroups.get(target.removeprefix("!subteam^"))) is not None:
                return f"@{group.handle}"
            case "!":
                return f"@{target[1:]}"
            case _:
                return target

    typed = re.sub(r"<([^<>]+)>", readable, text)
    return typed.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _with_ids(said: str, workspace: Workspace) -> str:
    people = _people(workspace) | {name: f"<!{name}>" for name in _BROADCASTS}
    channels = {each.name: f"<#{each.id}|{each.name}>" for each in workspace.channels.values() if each.name}
    return _replaced(_replaced(said, "@", people), "#", channels)


def _people(workspace: Workspace) -> dict[str, str]:
    """Display names and handles, also of groups; display names win."""
    users = [user for user in workspace.users.values() if not user.deleted]
    groups = {group.handle: f"<!subteam^{group.id}>" for group in workspace.usergroups.values()}
    handles = {user.name: f"<@{user.id}>" for user in users}
    return groups | handles | {user.real_name: f"<@{user.id}>" for user in users}


def _replaced(said: str, mark: str, tokens: dict[str, str]) -> str:
    """`mark` and a name become the name's token; the longest name wins."""
    if not tokens:
        return said
    known = {_escape(name).lower(): token for name, token in tokens.items()}
    names = "|".join(re.escape(name) for name in sorted(known, key=len, reverse=True))
    pattern = re.compile(rf"(?<![\w/{mark}]){mark}({names})(?!\w)", re.IGNORECASE)
    return pattern.sub(lambda found: known[found[1].lower()], said)


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
