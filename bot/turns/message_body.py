"""What is kept of what somebody wrote in Slack: its words without markup and secrets, and which files came with it.

said           the body of a message's row
addressed_to   whom a message in a channel mentions
filled         the fields of a dialog
"""

import re
from collections.abc import Mapping
from typing import Any

from bot.guard.guardrails import clean, mask
from bot.slack.client import Identity
from bot.slack.mrkdwn import from_slack

RAW_LIMIT = 16_000
"""Characters of one message that are looked at, before Slack hears "ok"."""
TEXT_LIMIT = 12_000
"""Characters of one message that are kept."""
FILES_LIMIT = 10
"""Files of one message."""
MENTIONS_LIMIT = 20
"""Mentions of others that are kept of one message."""
ADDRESSING = ("to_us", "others", "leads")
"""The fields of a row's body that say whom a message in a channel mentions."""

_MENTION = re.compile(r"<(?:@|!subteam\^|!(?=here|channel|everyone))([A-Za-z0-9]{1,32})(?:\|[^<>]*)?>")


def said(message: Mapping[str, Any], me: Identity) -> dict[str, Any]:
    """The body of an inbox row: `text`, `masked`, and the `files` that are still there."""
    raw = (message.get("text") or "")[:RAW_LIMIT]
    text = clean(from_slack(raw, bot_user=me.user), limit=TEXT_LIMIT)
    files = (file for file in message.get("files") or () if isinstance(file, dict))
    there = [file for file in files if file.get("mode") != "tombstone"][:FILES_LIMIT]
    return {"text": mask(text), "masked": mask(text) != text, "files": [_file(file) for file in there]}


def addressed_to(message: Mapping[str, Any], me: Identity, *, mentions_us: bool) -> dict[str, Any]:
    """Whom a message in a channel mentions, for the body of its row: the app (`to_us`), and `others`, people, groups or
    everybody; `leads` says that it begins with one of these."""
    text = (message.get("text") or "")[:RAW_LIMIT]
    found = [each for each in _MENTION.finditer(text) if each[1] != me.user]
    leads = bool(found) and not text[: found[0].start()].strip()
    return {"to_us": mentions_us, "others": [each[1][:32] for each in found[:MENTIONS_LIMIT]], "leads": leads}


def filled(fields: Mapping[str, str | list[str]]) -> dict[str, str | list[str]]:
    """What is kept of a submitted dialog's fields; what was chosen holds no words of anybody's."""
    return {
        name: mask(clean(value, limit=TEXT_LIMIT)) if isinstance(value, str) else value
        for name, value in fields.items()
    }


def _file(file: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of a file: what it is, and by which id Slack has its content."""
    size = file.get("size")
    return {
        "id": _word(file.get("id"), limit=32),
        "name": mask(_word(file.get("name"), limit=120)) or "file",
        "mimetype": _word(file.get("mimetype"), limit=120),
        "size": size if isinstance(size, int) and 0 <= size < 1 << 50 else 0,
    }


def _word(value: Any, *, limit: int) -> str:
    return clean(value, limit=limit) if isinstance(value, str) else ""
