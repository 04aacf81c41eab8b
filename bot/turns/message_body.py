"""What is stored of a person's message in Slack: the words without markup and secrets, and the files' details.

said           the body of a message's row
addressed_to   the body with who is mentioned in a channel's message
filled         the fields of a dialog
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bot.guard.guardrails import clean, mask
from bot.slack.api.transport import Identity
from bot.slack.mrkdwn import from_slack
from bot.store.bodies import AttachedFile, MessageBody

RAW_LIMIT = 16_000
"""How many characters of one message are read, before Slack gets its acknowledgement."""
TEXT_LIMIT = 12_000
"""How many characters of one message are stored."""
FILES_LIMIT = 10
"""How many files of one message are stored."""
MENTIONS_LIMIT = 20
"""How many mentions of others are stored for one message."""

_MENTION = re.compile(r"<(?:@|!subteam\^|!(?=here|channel|everyone))([A-Za-z0-9]{1,32})(?:\|[^<>]*)?>")


def said(message: Mapping[str, Any], me: Identity) -> MessageBody:
    """Return the body of a message: its words, and the files that are not deleted."""
    raw = (message.get("text") or "")[:RAW_LIMIT]
    text = clean(from_slack(raw, bot_user=me.user), limit=TEXT_LIMIT)
    files = (file for file in message.get("files") or () if isinstance(file, dict))
    there = [file for file in files if file.get("mode") != "tombstone"][:FILES_LIMIT]
    return MessageBody(mask(text), masked=mask(text) != text, files=tuple(map(_file, there)))


def addressed_to(body: MessageBody, message: Mapping[str, Any], me: Identity, *, mentions_us: bool) -> MessageBody:
    """Return the body of a channel's message, with who is mentioned in it: the app, people, groups, or everyone."""
    text = (message.get("text") or "")[:RAW_LIMIT]
    found = [each for each in _MENTION.finditer(text) if each[1] != me.user]
    leads = bool(found) and not text[: found[0].start()].strip()
    others = tuple(each[1][:32] for each in found[:MENTIONS_LIMIT])
    return replace(body, to_us=mentions_us, others=others, leads=leads)


def filled(fields: Mapping[str, str | list[str]]) -> dict[str, str | list[str]]:
    """Return what is stored of a submitted dialog's fields. Chosen values hold no person's words, so they stay."""
    return {
        name: mask(clean(value, limit=TEXT_LIMIT)) if isinstance(value, str) else value
        for name, value in fields.items()
    }


def _file(file: Mapping[str, Any]) -> AttachedFile:
    """Return what is stored of a file: its name, type and size, and its id in Slack."""
    size = file.get("size")
    return AttachedFile(
        id=_word(file.get("id"), limit=32),
        name=mask(_word(file.get("name"), limit=120)) or "file",
        mimetype=_word(file.get("mimetype"), limit=120),
        size=size if isinstance(size, int) and 0 <= size < 1 << 50 else 0,
    )


def _word(value: Any, *, limit: int) -> str:
    return clean(value, limit=limit) if isinstance(value, str) else ""
