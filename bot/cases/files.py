"""The files of a message, beside its words: with which copies they go, and what is said when they do not.

carrying      a copy that brings the message's files
file_names    what its files are called
words_beside  the words of a message, without the names of files that come with it
left_out      what of a copy's files an edit has taken out of the message
withdrawn     the rows by which copies of files are taken back
notes_on      what was said of a copy's files
earlier       what the customer sent before there was a case, for the thread of its card
FilesNotes    what a transcript's file holds; what staff and customers are told of files that were not passed on
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bot.cases import transcripts
from bot.cases.messages import copy_for_staff, language
from bot.conversation import ThreadRef
from bot.language.sentences import Sentences
from bot.slack.files import MEGABYTES, OWN, Refusal
from bot.slack.mrkdwn import escape
from bot.store import cases, inbox, outbox
from bot.store import interrupts as interrupts
from bot.store.cases import Case, card_key
from bot.store.database import Transaction
from bot.store.inbox import words_of
from bot.store.outbox import OutboxRow, Outgoing

EARLIER = 10
"""Messages with files that a new case is shown, the latest."""
NOT_DELIVERED = "warning"

WHY: Mapping[Refusal, str] = {
    "too_large": f"larger than {MEGABYTES} MB",
    "empty": "the file is empty",
    "gone": "it was deleted, or the app can't see it",
    "outside": "it's stored outside Slack",
    "no_read": "the app isn't allowed to read it (scope files:read)",
    "no_write": "the app isn't allowed to share files (scope files:write)",
    "sign_in": "Slack asked for a sign-in instead of sending it (scope files:read)",
    "refused": "Slack refused it",
    "unanswered": "Slack didn't answer",
}
"""What the card's thread says of a file."""


def carrying(row: Outgoing, body: Mapping[str, Any], *, if_missing: str = "") -> Outgoing:
    """The copy of a message, with the message's files; `if_missing` stands below it when one of them cannot come."""
    files = _carried(body)
    return replace(row, payload={**row.payload, "files": files, "if_missing": if_missing}) if files else row


def words_beside(body: Mapping[str, Any]) -> str:
    """What a copy of the message says."""
    return str(body["text"]) if _carried(body) else words_of(body)


def file_names(body: Mapping[str, Any]) -> str:
    """The names of the message's files in mrkdwn, with commas; empty when it brings none."""
    names = (file if isinstance(file, str) else file["name"] for file in body.get("files", ()))
    return ", ".join(f"*{escape(str(name))}*" for name in names)


def left_out(mirror: OutboxRow, body: Mapping[str, Any]) -> list[str]:
    """The files of a copy that are not in the message any more."""
    kept = {file["id"] for file in _carried(body)}
    return [file["id"] for file in mirror.payload.get("files", ()) if file["id"] not in kept]


def withdrawn(
    mirrors: Sequence[OutboxRow],
    name: str,
    *,
    body: Mapping[str, Any] | None = None,
    when_failed: tuple[Outgoing, ...] = (),
) -> Iterator[Outgoing]:
    """What takes the copies' files back: those that are not in `body`, or all. `name` tells this from other changes."""
    for mirror in mirrors:
        gone = left_out(mirror, body or {})
        if gone:
            yield Outgoing(
                f"{mirror.key}/unshared/{name}",
                "unshare",
                mirror.channel,
                {"files": gone},
                parent=mirror.key,
                case_id=mirror.case_id,
                when_failed=when_failed,
            )


async def earlier(tx: Transaction, case: Case, thread: ThreadRef, desk: str) -> list[Outgoing]:
    """What brings the files into the card's thread that the customer had sent in one of theirs; each message once."""
    rows = []
    for item in await inbox.with_files(tx, thread, author=case.customer, latest=EARLIER):
        place = (item.thread.channel, item.ts)
        if _carried(item.body) and not await outbox.mirrors(tx, *place):
            said = {
                "text": copy_for_staff(case.customer_name, words_beside(item.body), elsewhere=thread != case.thread)
            }
            copy = Outgoing(
                earlier_key(case, item.id),
                "post",
                desk,
                said,
                parent=card_key(case),
                case_id=case.id,
                source=place,
            )
            rows.append(carrying(copy, item.body))
    return rows


def earlier_key(case: Case, item: int) -> str:
    """The key of the copy by which a new case was shown the files of an older message."""
    return f"case/{case.id}/files/{item}"


def notes_on(mirror: OutboxRow) -> list[str]:
    """The keys of what was said, if anything was, of a copy's files that were not passed on."""
    return [_line_key(mirror.key), _sorry_key(mirror.key)]


@dataclass(frozen=True, slots=True)
class FilesNotes:
    """Tells staff in the card's thread why a file was not passed on, and the customer whose it was."""

    sentences: Sentences
    agent_channel: str

    async def content(self, tx: Transaction, row: OutboxRow) -> bytes:
        """As `bot.slack.files.Notes`: what was said in the conversation of the row's case."""
        case = None if row.case_id is None else await cases.find(tx, row.case_id)
        return b"" if case is None else await transcripts.write(tx, case, row)

    async def not_passed_on(
        self, tx: Transaction, row: OutboxRow, refused: Mapping[str, Refusal]
    ) -> Sequence[Outgoing]:
        """As `bot.slack.files.Notes`."""
        case = None if row.case_id is None else await cases.find(tx, row.case_id)
        if case is None or not refused:
            return []
        names = {str(file["id"]): escape(str(file["name"])) for file in row.payload["files"]}
        lines = [f"Not delivered: {names.get(file, 'a file')}: {WHY[why]}." for file, why in refused.items()]
        line = Outgoing(
            _line_key(row.key),
            "post",
            case.stands_in(self.agent_channel),
            {"text": "\n".join(lines)},
            parent=card_key(case),
            case_id=case.id,
        )
        if OWN in refused:
            return [line, *await transcripts.instead(tx, case, row)]
        if row.source is None:
            return [line]
        channel, ts = row.source
        item = await interrupts.written(tx, case.thread.team, channel, ts)
        if item is None:
            return [line]
        if item.kind == "staff":
            return [line, Outgoing(f"{row.key}/failed", "react", channel, {"ts": ts, "name": NOT_DELIVERED})]
        said = Outgoing(
            _sorry_key(row.key),
            "post",
            channel,
            {"text": self._sorry(case, names, refused)},
            thread_ts=item.thread.ts,
            case_id=case.id,
        )
        return [line, said]

    def _sorry(self, case: Case, names: Mapping[str, str], refused: Mapping[str, Refusal]) -> str:
        large = [names.get(file, "") for file, why in refused.items() if why == "too_large"]
        rest = [names.get(file, "") for file, why in refused.items() if why != "too_large"]
        told = []
        if large:
            values = {"files": ", ".join(large), "limit": str(MEGABYTES)}
            told.append(self.sentences.say(language(case), "file_too_large", **values))
        if rest:
            told.append(self.sentences.say(language(case), "file_not_passed_on", files=", ".join(rest)))
        return " ".join(told)


def _line_key(post: str) -> str:
    return f"{post}/missing"


def _sorry_key(post: str) -> str:
    return f"{post}/unsent"


def _carried(body: Mapping[str, Any]) -> list[dict[str, str]]:
    """The files of a stored message that Slack may be asked for. Messages of earlier releases have but their names."""
    files = [file for file in body.get("files", ()) if isinstance(file, Mapping) and file["id"]]
    return [{"id": file["id"], "name": file["name"]} for file in files]
