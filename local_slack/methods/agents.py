"""assistant.threads.* and agents.sessions.*: what a thread shows about the agent that works in it."""

from local_slack import timeline
from local_slack.agent_status import SESSION_STATES, set_session, set_status
from local_slack.methods.call import Call, Method, invalid_arguments
from local_slack.workspace import Channel, Json, SlackError

LOADING_MESSAGES = 10
LOADING_CHARACTERS = 50
PROMPTS = 4
TITLE_CHARACTERS = 200
UNHEARD_STOP = "missing_agent_session_stopped_event_subscription"


def set_thread_status(call: Call) -> Json:
    channel = call.writable("channel_id")
    call.required("thread_ts")
    thread_ts = _thread(call, channel)
    loading = call.json("loading_messages") or []
    if not isinstance(loading, list) or len(loading) > LOADING_MESSAGES:
        raise invalid_arguments(f"no more than {LOADING_MESSAGES} items allowed [json-pointer:/loading_messages]")
    for index, message in enumerate(loading):
        if len(str(message)) > LOADING_CHARACTERS:
            problem = f"must be less than {LOADING_CHARACTERS + 1} characters"
            raise invalid_arguments(f"{problem} [json-pointer:/loading_messages/{index}]")
    _check_identity(call)
    set_status(call.workspace, channel.id, thread_ts, call.text("status"), loading)
    return {}


def set_title(call: Call) -> Json:
    channel = call.writable("channel_id")
    call.required("thread_ts")
    thread_ts, title = _thread(call, channel), call.required("title")
    root = call.workspace.messages.get(channel.id, {}).get(thread_ts, {})
    if call.workspace.kind == "agent":
        set_session(call.workspace, channel.id, thread_ts, bot=call.bot, title=title)
    elif root.get("subtype") == "assistant_app_thread":
        timeline.change(call.workspace, channel, thread_ts, {"text": title})
    return {}


def set_suggested_prompts(call: Call) -> Json:
    channel = call.writable("channel_id")
    if call.workspace.kind == "plain":
        raise SlackError("not_agent_app")
    thread_ts = _thread(call, channel)
    prompts = call.json("prompts")
    if not isinstance(prompts, list) or not 1 <= len(prompts) <= PROMPTS:
        raise invalid_arguments(f"must be 1 to {PROMPTS} items [json-pointer:/prompts]")
    if not all(isinstance(each, dict) and each.get("title") and each.get("message") for each in prompts):
        raise invalid_arguments("missing required field: title or message [json-pointer:/prompts]")
    call.workspace.prompts[channel.id, thread_ts] = {"title": call.text("title"), "prompts": prompts}
    call.workspace.changed("prompts", channel=channel.id, ts=thread_ts)
    return {}


def set_session_status(call: Call) -> Json:
    channel = _channel(call, outside="not_authorized")
    status = call.required("status")
    if status not in SESSION_STATES:
        raise invalid_arguments("must be a valid enum value [json-pointer:/status]")
    if (initiator := call.text("initiator_user_id")) and initiator not in channel.members:
        raise SlackError("user_not_found")
    _check_identity(call)
    title, thread_ts = _title(call), call.thread(channel)
    is_new = (channel.id, thread_ts) not in call.workspace.sessions
    set_session(call.workspace, channel.id, thread_ts, bot=call.bot, status=status, title=title if is_new else "")
    session = call.workspace.sessions[channel.id, thread_ts]
    answer = {"status": session["status"], "agent_status": status} | _named(session)
    if "agent_session_stopped" in call.workspace.subscriptions:
        return answer
    return answer | {"warning": UNHEARD_STOP, "response_metadata": {"warnings": [UNHEARD_STOP]}}


def rename(call: Call) -> Json:
    channel = _channel(call, outside="no_permission")
    call.required("title")
    session = call.workspace.sessions.get((channel.id, call.text("thread_ts")))
    if session is None:
        raise SlackError("session_not_found")
    if call.bot.bot_id not in [each["bot_id"] for each in session["agent_statuses"]]:
        raise SlackError("not_authorized")
    set_session(call.workspace, channel.id, call.text("thread_ts"), bot=call.bot, title=_title(call))
    return _named(call.workspace.sessions[channel.id, call.text("thread_ts")])


METHODS = {
    "assistant.threads.setStatus": Method(set_thread_status, scope="chat:write", tier=5, caller="bot"),
    "assistant.threads.setTitle": Method(set_title, scope="assistant:write", tier=4, caller="bot"),
    "assistant.threads.setSuggestedPrompts": Method(
        set_suggested_prompts, scope="assistant:write", tier=4, caller="bot"
    ),
    "agents.sessions.setStatus": Method(set_session_status, scope="chat:write", tier=3, caller="bot"),
    "agents.sessions.rename": Method(rename, scope="chat:write", tier=3, caller="bot"),
}


def _thread(call: Call, channel: Channel) -> str:
    """The root of an assistant thread, or "" when none was given. Raises `invalid_thread_ts`."""
    try:
        return call.thread(channel)
    except SlackError as refusal:
        raise SlackError("invalid_thread_ts", **refusal.extra) from None


def _check_identity(call: Call) -> None:
    """A name or picture of one's own needs a scope of its own. Raises `missing_scope`."""
    if any(call.text(name) for name in ("icon_emoji", "icon_url", "username")):
        call.need("chat:write.customize")


def _named(session: Json) -> Json:
    return {"title": session["title"]} if session["title"] else {}


def _channel(call: Call, *, outside: str) -> Channel:
    """Where a session is, which is a thread; session channels are none here. `outside` is the refusal of an app that
    is no member. Apps that are no agents have no sessions at all."""
    if call.workspace.kind != "agent":
        raise SlackError("not_authorized")
    channel = call.conversation("channel_id")
    if call.me not in channel.members:
        raise SlackError(outside)
    if channel.is_archived:
        raise SlackError("is_archived")
    if not call.text("thread_ts"):
        raise SlackError("thread_ts_required")
    return channel


def _title(call: Call) -> str:
    title = call.text("title")
    if len(title) > TITLE_CHARACTERS:
        raise invalid_arguments(f"must be less than {TITLE_CHARACTERS + 1} characters [json-pointer:/title]")
    return title
