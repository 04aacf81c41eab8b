"""What a thread shows about the agent: the "is working..." line and the session's state."""

from demo.slack.workspace import Bot, Json, Workspace

SESSION_STATES = ("active", "processing", "suspended", "closed")


def set_status(workspace: Workspace, channel: str, thread_ts: str, status: str, loading: list[str]) -> None:
    """Show a status line; an empty one clears it. Slack clears it by itself after two minutes."""
    key = (channel, thread_ts)
    if status:
        workspace.statuses[key] = {"status": status, "loading_messages": loading}
        workspace.background.set_timer(
            ("status", *key),
            workspace.clock,
            workspace.rules.status_seconds,
            lambda: set_status(workspace, channel, thread_ts, "", []),
        )
    elif workspace.statuses.pop(key, None) is None:
        return
    else:
        workspace.background.cancel_timer(("status", *key))
    workspace.changed("status", channel=channel, ts=thread_ts)


def set_session(
    workspace: Workspace, channel: str, thread_ts: str, *, bot: Bot | None = None, status: str = "", title: str = ""
) -> None:
    """Create or change the agent session of a thread; the thread's root shows it. Who has it stays who began it."""
    key = (channel, thread_ts)
    fresh: Json = {"status": "active", "title": "", "agent_statuses": []}
    session = fresh | workspace.sessions.get(key, {})
    if status:
        session["status"] = status
        known = session["agent_statuses"][0]["bot_id"] if session["agent_statuses"] else workspace.app.bot_id
        session["agent_statuses"] = [{"bot_id": bot.bot_id if bot else known, "status": status}]
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
