"""What a thread shows about the agent: the "is working..." line and the session's state.

Both share one place, in which the last word counts. A status line of the legacy method makes the session of an agent
`processing` for as long as it is shown (Slack's compatibility bridge, as far as it is known).
"""

from local_slack.workspace import Bot, Json, Workspace

SESSION_STATES = ("active", "processing", "suspended", "closed")
PRECEDENCE = ("suspended", "processing", "active", "closed")
"""Of several agents' statuses the first of these is the session's."""


def set_status(workspace: Workspace, channel: str, thread_ts: str, status: str, loading: list[str]) -> None:
    """Show a status line; an empty one clears it. Slack clears it by itself after two minutes."""
    key = (channel, thread_ts)
    if not status:
        was_bridged = key in workspace.bridged
        _take_line_away(workspace, channel, thread_ts)
        if was_bridged:
            set_session(workspace, channel, thread_ts, status="active")
        return
    if workspace.kind == "agent" and thread_ts:
        set_session(workspace, channel, thread_ts, status="processing")
        workspace.bridged.add(key)
    workspace.statuses[key] = {"status": status, "loading_messages": loading}
    workspace.background.set_timer(
        ("status", *key),
        workspace.clock,
        workspace.rules.status_seconds,
        lambda: set_status(workspace, channel, thread_ts, "", []),
    )
    workspace.changed("status", channel=channel, ts=thread_ts)


def set_session(
    workspace: Workspace, channel: str, thread_ts: str, *, bot: Bot | None = None, status: str = "", title: str = ""
) -> None:
    """Create or change the agent session of a thread; the thread's root shows it. Who has it stays who began it."""
    key = (channel, thread_ts)
    fresh: Json = {"status": "active", "title": "", "agent_statuses": []}
    session = fresh | workspace.sessions.get(key, {})
    if status:
        known = session["agent_statuses"][0]["bot_id"] if session["agent_statuses"] else workspace.app.bot_id
        bot_id = bot.bot_id if bot else known
        others = [each for each in session["agent_statuses"] if each["bot_id"] != bot_id]
        session["agent_statuses"] = [*others, {"bot_id": bot_id, "status": status}]
        session["status"] = min((each["status"] for each in session["agent_statuses"]), key=PRECEDENCE.index)
        _take_line_away(workspace, channel, thread_ts)
    session["title"] = title or session["title"]
    workspace.sessions[key] = session
    root = workspace.messages.get(channel, {}).get(thread_ts)
    if root is not None:
        root["agent_session"] = session
    workspace.changed("session", channel=channel, ts=thread_ts)
    if session["status"] == "processing":
        workspace.background.set_timer(
            ("session", *key),
            workspace.clock,
            workspace.rules.processing_seconds,
            lambda: set_session(workspace, channel, thread_ts, status="active"),
        )
    else:
        workspace.background.cancel_timer(("session", *key))


def _take_line_away(workspace: Workspace, channel: str, thread_ts: str) -> None:
    key = (channel, thread_ts)
    workspace.bridged.discard(key)
    if workspace.statuses.pop(key, None) is not None:
        workspace.background.cancel_timer(("status", *key))
        workspace.changed("status", channel=channel, ts=thread_ts)
