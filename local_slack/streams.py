"""Streamed messages: started, grown by chunks, and completed by the app, by a person or by their age.

A stream is a message whose text and blocks appear only when it is completed; until then its parts are what
people see. Slack ends every stream about five minutes after its start.
"""

from local_slack import rich_text, timeline
from local_slack.agent_status import set_session, set_status
from local_slack.blocks import completed, message_faults, types_of
from local_slack.workspace import Channel, Json, SlackError, Stream, StreamState, Workspace

CALL_CHARACTERS = 12_000
STREAM_BYTES = 11_300
"""Over the life of a stream, details and output counting twice; undocumented, reported by users."""
TASKS = 50
FIELD_CHARACTERS = 256
_STATUSES = ("pending", "in_progress", "complete", "error")


def start(workspace: Workspace, channel: Channel, author: Json, *, thread_ts: str, display: str) -> Stream:
    """Post an empty message in the thread that grows from here on."""
    fields = {"text": "", "thread_ts": thread_ts, "streaming_state": "in_progress"}
    message = timeline.post(workspace, channel, author | fields)
    stream = Stream(channel.id, message["ts"], thread_ts, workspace.clock.time(), display=display)
    workspace.streams[channel.id, stream.ts] = stream
    set_status(workspace, channel.id, thread_ts, "", [])
    if workspace.kind == "agent":
        set_session(workspace, channel.id, thread_ts, status="processing")
    workspace.background.set_timer(
        ("stream", channel.id, stream.ts),
        workspace.clock,
        workspace.rules.stream_seconds,
        lambda: finish(workspace, stream, "expired"),
    )
    return stream


def running(workspace: Workspace, channel: str, ts: str) -> Stream:
    """The stream that may still grow. Raises what Slack answers when there is none."""
    workspace.message(channel, ts)
    stream = workspace.streams.get((channel, ts))
    if stream is not None and stream.state == "in_progress":
        return stream
    stopped = stream is not None and stream.state == "stopped"
    raise SlackError("stopped_by_user" if stopped else "message_not_in_streaming_state")


def settle_mode(stream: Stream | None, markdown_text: str, chunks: object) -> str:
    """By which argument the stream grows from this call on. A stream that is to begin is None.

    Raises `cannot_provide_both_markdown_text_and_chunks`, and `streaming_mode_mismatch` for the other argument than
    that of an earlier call.
    """
    if markdown_text and chunks:
        raise SlackError("cannot_provide_both_markdown_text_and_chunks")
    used = "markdown_text" if markdown_text else "chunks" if chunks else ""
    before = stream.mode if stream is not None else ""
    if used and before and used != before:
        raise SlackError("streaming_mode_mismatch")
    return used or before


def checked_chunks(markdown_text: str, chunks: object) -> list[Json]:
    """What one call adds, as chunks. Raises `invalid_chunks` or `msg_too_long`."""
    if not isinstance(chunks, list):
        raise _bad_chunk("must be an array", "/chunks")
    for index, chunk in enumerate(chunks):
        _check_chunk(chunk, f"/chunks/{index}")
    chunks = [{"type": "markdown_text", "text": markdown_text}, *chunks] if markdown_text else chunks
    written = sum(len(chunk["text"]) for chunk in chunks if chunk["type"] == "markdown_text")
    if written > CALL_CHARACTERS:
        raise SlackError("msg_too_long")
    return chunks


def grow(workspace: Workspace, stream: Stream, chunks: list[Json]) -> None:
    """Append checked chunks. Raises `msg_too_long` without a change when the stream would get too long."""
    if sum(_weight(part) for part in [*stream.parts, *chunks]) > STREAM_BYTES:
        raise SlackError("msg_too_long")
    new_tasks = {chunk["id"] for chunk in chunks if chunk["type"] == "task_update"}
    if len(new_tasks | {part["id"] for part in stream.parts if part["type"] == "task"}) > TASKS:
        raise SlackError("msg_too_long")
    for chunk in chunks:
        _apply(stream, chunk)
    workspace.changed("message", channel=stream.channel, ts=stream.ts)


def finish(
    workspace: Workspace,
    stream: Stream,
    state: StreamState,
    *,
    blocks: list[Json] | None = None,
    metadata: Json | None = None,
    session_status: str = "",
) -> Json:
    """Complete the message: its Markdown becomes rich_text blocks and mrkdwn text, and the app hears of it."""
    stream.state = state
    workspace.background.cancel_timer(("stream", stream.channel, stream.ts))
    content = [*_content(stream), *(blocks or ())]
    text = "\n".join(rich_text.to_mrkdwn(each) for each in content if each["type"] == "rich_text")
    changes: Json = {
        "text": text,
        "blocks": completed(content, lambda: workspace.new_id("", length=5)),
        "streaming_state": "completed",
    }
    changes |= {"metadata": metadata} if metadata else {}
    workspace.made_of[stream.channel, stream.ts] = types_of(content)
    message = timeline.change(workspace, workspace.channel(stream.channel), stream.ts, changes)
    if state != "stopped" and workspace.kind == "agent":
        set_session(workspace, stream.channel, stream.thread_ts, status=session_status or "active")
    return message


_FIELDS = {
    "markdown_text": {"text"},
    "plan_update": {"title"},
    "task_update": {"id", "title", "status", "details", "output", "sources", "hide_title", "icon"},
    "blocks": {"blocks"},
}
"""What a chunk may hold beside its type."""


def _check_chunk(chunk: object, at: str) -> None:
    if not isinstance(chunk, dict):
        raise _bad_chunk("must provide an object", at)
    known = _FIELDS.get(str(chunk.get("type")))
    if known is not None and (others := chunk.keys() - known - {"type"}):
        raise _bad_chunk(f"invalid additional property: {min(others)}", at)
    match chunk.get("type"):
        case "markdown_text":
            _check_strings(chunk, at, needed=("text",), limit=CALL_CHARACTERS)
        case "plan_update":
            _check_strings(chunk, at, needed=("title",), limit=FIELD_CHARACTERS)
        case "task_update":
            _check_strings(chunk, at, needed=("id", "title"), limit=FIELD_CHARACTERS)
            _check_strings(chunk, at, optional=("details", "output"), limit=FIELD_CHARACTERS)
            if chunk.get("status", "pending") not in _STATUSES:
                raise _bad_chunk("must be a valid enum value", f"{at}/status")
            sources = chunk.get("sources") or []
            if not isinstance(sources, list) or not all(isinstance(each, dict) and "url" in each for each in sources):
                raise _bad_chunk("must be an array of url elements", f"{at}/sources")
        case "blocks":
            if faults := message_faults(chunk.get("blocks")):
                raise _bad_chunk(faults[0].problem, at + faults[0].pointer)
        case unknown:
            raise _bad_chunk(f"unsupported type: {unknown}", f"{at}/type")


def _check_strings(
    chunk: Json, at: str, *, limit: int, needed: tuple[str, ...] = (), optional: tuple[str, ...] = ()
) -> None:
    for name in needed + optional:
        if name in optional and chunk.get(name) is None:
            continue
        if not isinstance(chunk.get(name), str):
            raise _bad_chunk(f"missing required field: {name}", at)
        if len(chunk[name]) > limit:
            raise _bad_chunk(f"must be less than {limit + 1} characters", f"{at}/{name}")


def _bad_chunk(problem: str, at: str) -> SlackError:
    message = f"{problem} [json-pointer:{at}]"
    return SlackError("invalid_chunks", response_metadata={"messages": [f"[ERROR] {message}"]})


def _weight(part: Json) -> int:
    once = [part.get("text"), part.get("title")]
    twice = [part.get("details"), part.get("output")]
    return sum(len((text or "").encode()) for text in (*once, *twice, *twice))


def _apply(stream: Stream, chunk: Json) -> None:
    match chunk["type"]:
        case "markdown_text" if stream.parts and stream.parts[-1]["type"] == "markdown":
            stream.parts[-1]["text"] += chunk["text"]
        case "markdown_text":
            stream.parts.append({"type": "markdown", "text": chunk["text"]})
        case "plan_update":
            stream.plan_title = chunk["title"]
        case "blocks":
            stream.parts.append({"type": "blocks", "blocks": chunk["blocks"]})
        case "task_update":
            _apply_task(stream, chunk)


def _apply_task(stream: Stream, chunk: Json) -> None:
    """Title and status replace, details and output append."""
    for part in stream.parts:
        if part["type"] == "task" and part["id"] == chunk["id"]:
            break
    else:
        part = {"type": "task", "id": chunk["id"], "details": "", "output": "", "sources": []}
        stream.parts.append(part)
    part["title"] = chunk["title"]
    part["status"] = chunk.get("status", part.get("status", "pending"))
    part["details"] += chunk.get("details") or ""
    part["output"] += chunk.get("output") or ""
    part["sources"] += chunk.get("sources") or []


def _content(stream: Stream) -> list[Json]:
    """The parts as blocks, in order; with a plan its tasks stand together where the first one was."""
    blocks: list[Json] = []
    plan: Json = {"type": "plan", "title": stream.plan_title, "tasks": []}
    for part in stream.parts:
        match part["type"]:
            case "markdown" if part["text"].strip():
                blocks.append(rich_text.from_markdown(part["text"]))
            case "blocks":
                blocks += part["blocks"]
            case "task" if stream.plan_title:
                if not plan["tasks"]:
                    blocks.append(plan)
                plan["tasks"].append(_task_card(part))
            case "task":
                blocks.append(_task_card(part))
    return blocks


def _task_card(part: Json) -> Json:
    card = {"type": "task_card", "task_id": part["id"], "title": part["title"], "status": part["status"]}
    for name in ("details", "output"):
        if part[name]:
            card[name] = rich_text.from_markdown(part[name])
    return card | ({"sources": part["sources"]} if part["sources"] else {})
