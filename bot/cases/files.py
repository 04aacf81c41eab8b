"""The files of a message: which copies of the message carry them, and what people read if a file is not passed on.

carrying      Adds the message's files to a copy.
file_names    Returns the names of the message's files.
words_beside  Returns the words of a message, without the names of the files that come with it.
left_out      Returns the files of a copy that an edit has removed from the message.
withdrawn     Returns the rows that remove copies of files.
notes_on      Returns the keys of the messages about a copy's files.
earlier       Returns the files that the customer sent before the case was opened, for the thread of its card.
FilesNotes    Writes the transcript file, and the messages to staff and customers about files that were not passed on.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from bot.cases import transcripts
from bot.cases.messages import copy_for_staff
from bot.conversation import ThreadRef
from bot.language.sentences import Sentences, language_for
from bot.slack.api.files import Refusal
from bot.slack.files import MEGABYTES, OWN
from bot.slack.mrkdwn import escape
from bot.store import cases, inbox, interrupts, outbox
from bot.store.bodies import MessageBody
from bot.store.cases import Case, card_key
from bot.store.database import Transaction
from bot.store.outbox import OutboxRow, Outgoing

EARLIER = 10
"""The number of latest messages with files that a new case shows."""
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
"""Refusal -> the reason that the card's thread gives for a file that was not passed on."""


def carrying(row: Outgoing, body: MessageBody, *, if_missing: str = "") -> Outgoing:
    """The copy of a message with the message's files. `if_missing` is shown below it if a file cannot be passed on."""
    files = _carried(body)
    return replace(row, payload={**row.payload, "files": files, "if_missing": if_missing}) if files else row


def words_beside(body: MessageBody) -> str:
    """The text of a copy of the message. It names files only if they do not come with the copy."""
    return body.text if _carried(body) else body.words


def file_names(body: MessageBody) -> str:
    """The names of the message's files in mrkdwn, separated by commas. Empty if there are none."""
    return ", ".join(f"*{escape(name)}*" for name in body.file_names)


def left_out(mirror: OutboxRow, body: MessageBody) -> list[str]:
    """The ids of the copy's files that are no longer in the message."""
    kept = {file["id"] for file in _carried(body)}
    return [file["id"] for file in mirror.payload.get("files", ()) if file["id"] not in kept]


def withdrawn(
    mirrors: Sequence[OutboxRow],
    name: str,
    *,
    body: MessageBody | None = None,
    when_failed: tuple[Outgoing, ...] = (),
) -> Iterator[Outgoing]:
    """The rows that remove the copies' files: those that are not in `body`, or all.

    `name` makes the keys differ from those of other changes. `when_failed` follows if Slack refuses.
    """
    for mirror in mirrors:
        gone = left_out(mirror, body or MessageBody())
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
    """The rows that copy the files of the customer's earlier messages in `thread` into the card's thread.

    Each message is copied once.
    """
    rows = []
    for item in await inbox.with_files(tx, thread, author=case.customer, latest=EARLIER):
        place = (item.thread.channel, item.ts)
        if _carried(item.message) and not await outbox.mirrors(tx, *place):
            said = {
                "text": copy_for_staff(case.customer_name, words_beside(item.message), elsewhere=thread != case.thread)
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
            rows.append(carrying(copy, item.message))
    return rows


def earlier_key(case: Case, item: int) -> str:
    """The key of the copy that shows a new case the files of an older message."""
    return f"case/{case.id}/files/{item}"


def notes_on(mirror: OutboxRow) -> list[str]:
    """The keys of the messages, if there are any, about the copy's files that were not passed on."""
    return [_line_key(mirror.key), _sorry_key(mirror.key)]


@dataclass(frozen=True, slots=True)
class FilesNotes:
    """Tells staff, in the card's thread, why a file was not passed on, and tells the customer who sent it."""

    sentences: Sentences
    agent_channel: str

    async def content(self, tx: Transaction, row: OutboxRow) -> bytes:
        """The transcript of the conversation of the row's case. Implements `bot.slack.files.Notes`."""
        case = None if row.case_id is None else await cases.find(tx, row.case_id)
        return b"" if case is None else await transcripts.write(tx, case, row)

    async def not_passed_on(
        self, tx: Transaction, row: OutboxRow, refused: Mapping[str, Refusal]
    ) -> Sequence[Outgoing]:
        """The messages about the refused files. Implements `bot.slack.files.Notes`."""
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
            told.append(self.sentences.say(language_for(case.language), "file_too_large", **values))
        if rest:
            told.append(self.sentences.say(language_for(case.language), "file_not_passed_on", files=", ".join(rest)))
        return " ".join(told)


def _line_key(post: str) -> str:
    return f"{post}/missing"


def _sorry_key(post: str) -> str:
    return f"{post}/unsent"


def _carried(body: MessageBody) -> list[dict[str, str]]:
    """The files of a stored message that can be requested from Slack."""
    return [{"id": file.id, "name": file.name} for file in body.files if file.id]
