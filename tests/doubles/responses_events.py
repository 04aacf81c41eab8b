"""Streams of the Responses API as the real one sends them, for tests/doubles/chat_server.py to play."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import orjson

from tests.doubles.chat_server import Reply, event

Shape = dict[str, Any]


class Response:
    """One response in the making: each method adds an item with all its events."""

    def __init__(self) -> None:
        self.blocks: list[bytes] = []
        """One block an event."""
        self.output: list[Shape] = []
        self._add("response.created", response=self._whole("in_progress"))
        self._add("response.in_progress", response=self._whole("in_progress"))

    def says(self, *pieces: str, id: str = "msg_1", **more: Any) -> Self:  # noqa: A002
        """A message in these pieces."""
        shape = {"id": id, "type": "message", "role": "assistant", **more}
        part = {"type": "output_text", "annotations": [], "text": ""}
        where = {**self._announce({**shape, "status": "in_progress", "content": []}), "content_index": 0}
        self._add("response.content_part.added", **where, part=part)
        for piece in pieces:
            self._add("response.output_text.delta", **where, delta=piece, logprobs=[])
        whole = {**part, "text": "".join(pieces)}
        self._add("response.output_text.done", **where, text=whole["text"], logprobs=[])
        self._add("response.content_part.done", **where, part=whole)
        return self._close({**shape, "status": "completed", "content": [whole]})

    def refuses(self, *pieces: str) -> Self:
        """A message that declines."""
        shape = {"id": "msg_1", "type": "message", "role": "assistant"}
        where = {**self._announce({**shape, "status": "in_progress", "content": []}), "content_index": 0}
        for piece in pieces:
            self._add("response.refusal.delta", **where, delta=piece)
        self._add("response.refusal.done", **where, refusal="".join(pieces))
        part = {"type": "refusal", "refusal": "".join(pieces)}
        return self._close({**shape, "status": "completed", "content": [part]})

    def calls(self, name: str, arguments: Mapping[str, Any] | str, *, id: str = "fc_1", call_id: str = "c1") -> Self:  # noqa: A002
        """A call, its arguments in two pieces."""
        text = arguments if isinstance(arguments, str) else orjson.dumps(arguments).decode()
        shape = {"id": id, "type": "function_call", "call_id": call_id, "name": name}
        where = self._announce({**shape, "status": "in_progress", "arguments": ""})
        for piece in (text[: len(text) // 2], text[len(text) // 2 :]):
            self._add("response.function_call_arguments.delta", **where, delta=piece)
        self._add("response.function_call_arguments.done", **where, arguments=text)
        return self._close({**shape, "status": "completed", "arguments": text})

    def thinks(self, *thoughts: str, id: str = "rs_1", encrypted: str | None = "gAAAA1") -> Self:  # noqa: A002
        """Reasoning; with thoughts, a summary that streams."""
        shape: Shape = {"id": id, "type": "reasoning", "summary": []}
        where = self._announce(shape)
        for place, thought in enumerate(thoughts):
            self._add("response.reasoning_summary_text.delta", **where, summary_index=place, delta=thought)
        summary = [{"type": "summary_text", "text": thought} for thought in thoughts]
        return self._close({**shape, "summary": summary} | ({"encrypted_content": encrypted} if encrypted else {}))

    def ends(self, status: str = "completed", **more: Any) -> Reply:
        """The whole answer of the server."""
        self._add(f"response.{status}", response={**self._whole(status), **more})
        return Reply(tuple(self.blocks))

    def breaks_off(self) -> Reply:
        """The same without an end."""
        return Reply(tuple(self.blocks))

    def as_json(self, status: str = "completed", **more: Any) -> Reply:
        """The response in one piece."""
        body = orjson.dumps({**self._whole(status), **more})
        return Reply((body,), headers={"Content-Type": "application/json"})

    def _announce(self, shape: Shape) -> Shape:
        where = {"output_index": len(self.output)}
        self._add("response.output_item.added", **where, item=shape)
        return {**where, "item_id": shape["id"]}

    def _close(self, shape: Shape) -> Self:
        self._add("response.output_item.done", output_index=len(self.output), item=shape)
        self.output.append(shape)
        return self

    def _add(self, kind: str, **fields: Any) -> None:
        self.blocks.append(event({"type": kind, "sequence_number": len(self.blocks), **fields}))

    def _whole(self, status: str) -> Shape:
        usage = {"input_tokens": 70, "input_tokens_details": {"cached_tokens": 20}, "output_tokens": 9}
        return {
            "id": "resp_1",
            "object": "response",
            "status": status,
            "error": None,
            "incomplete_details": None,
            "output": self.output if status != "in_progress" else [],
            "usage": usage if status != "in_progress" else None,
        }


def without(reply: Reply, *kinds: str) -> Reply:
    """The same stream without the events of these kinds."""
    kept = [block for block in reply.blocks if _read(block)["type"] not in kinds]
    return Reply(tuple(kept))


def changed(reply: Reply, names: Sequence[str], value: object = None) -> Reply:
    """The same stream with these fields of every event set to a value, or taken away."""
    blocks = []
    for block in reply.blocks:
        shape = _read(block)
        for name in names:
            if shape.pop(name, None) is not None and value is not None:
                shape[name] = value
        blocks.append(event(shape))
    return Reply(tuple(blocks))


def _read(block: bytes) -> Shape:
    shape: Shape = orjson.loads(block.removeprefix(b"data: "))
    return shape
