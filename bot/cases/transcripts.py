"""Transcripts for the thread of a card: the latest messages and, if these are not the whole conversation, a file.

is_whole   Says whether one message can show the whole conversation.
pages      Returns the latest messages as quotations, page by page.
attached   Returns the post that attaches the whole conversation as a file.
write      Returns the content of the file at the time when it is sent.
instead    Returns the posts that follow if the file cannot be attached.
rewritten  Writes the posts that quote the conversation again, after a message was deleted.
renewed    Returns the rows that replace a file which may contain a deleted message.

The content is not stored. It is built from the stored conversation each time, so it contains nothing that was erased
before.
"""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime

from bot.guard.guardrails import OutputGate, mask
from bot.slack.files import OWN
from bot.slack.mrkdwn import escape, from_slack, to_mrkdwn
from bot.store import files, outbox
from bot.store.cases import ERASED, Case, card_key
from bot.store.database import Transaction
from bot.store.erasure import GONE_COPY
from bot.store.outbox import OutboxRow, Outgoing
from bot.store.transcripts import LATEST, TranscriptLine, of_thread

QUOTE_LIMIT = 600
"""The characters of one message on a page."""
PAGE_LIMIT = 2_800
"""The characters of one page."""
PAGES = 6
"""The number of pages that replace a file. With few exceptions they hold all of the latest lines."""
ATTACHED = "The whole conversation as a file. Card numbers and passwords are hidden."
NOT_ATTACHED = "_The file couldn't be attached._"
BEFORE = "Before the messages above:"
_PAGE = "/page/"
"""What stands, in the key of a page that replaces a file, before its number."""


def is_whole(case: Case, lines: Sequence[TranscriptLine]) -> bool:
    """Whether one page shows the whole conversation.

    `lines` are the latest ones, and more than LATEST if there are more.
    """
    is_cut = any(len(line.text) > QUOTE_LIMIT for line in lines)
    return len(lines) <= LATEST and not is_cut and len(pages(case, lines, most=2)) <= 1


def pages(case: Case, lines: Sequence[TranscriptLine], *, most: int) -> list[list[str]]:
    """The latest lines, oldest first, as quotations on at most `most` pages. The oldest lines that don't fit are left
    out."""
    found: list[list[str]] = []
    room = 0
    for line in reversed(lines[-LATEST:]):
        who, text = _said(case, line, limit=QUOTE_LIMIT)
        at = _time(line)
        entry = f"*{who}* <!date^{int(at.timestamp())}^{{time}}|{at:%H:%M}>\n" + _quote(text)
        if len(entry) > room:
            if len(found) == most:
                break
            found.append([])
            room = PAGE_LIMIT
        room -= len(entry)
        found[-1].append(entry)
    return [page[::-1] for page in reversed(found)]


def attached(case: Case, lines: Sequence[TranscriptLine], *, channel: str, desk: str = "") -> Outgoing:
    """The post that attaches the conversation, up to the last of the lines, in the card's thread in `channel`.

    `desk` is a suffix of the key that makes it unique for each desk.
    """
    file = {"id": OWN, "name": f"{case.ref}-transcript.txt", "through": lines[-1].ts}
    return Outgoing(
        f"{_key(case.id)}{desk}",
        "post",
        channel,
        {"text": ATTACHED, "files": [file], "if_missing": NOT_ATTACHED},
        parent=card_key(case),
        case_id=case.id,
    )


async def write(tx: Transaction, case: Case, row: OutboxRow) -> bytes:
    """The content of the row's file. Empty if nothing remains of the conversation."""
    lines = [] if case.customer == ERASED else await _through(tx, case, row)
    if not lines:
        return b""
    said = []
    for line in lines:
        who, text = (from_slack(each, bot_user="") for each in _said(case, line, limit=None))
        # Words are indented, so that no message can imitate a heading.
        said.append(f"{_time(line):%Y-%m-%d %H:%M} {who}\n" + "\n".join(f"    {each}" for each in text.splitlines()))
    return mask("\n\n".join([f"{case.ref}, times in UTC", *said])).encode() + b"\n"


async def instead(tx: Transaction, case: Case, row: OutboxRow) -> list[Outgoing]:
    """The pages before the one that the thread already shows."""
    return [
        Outgoing(
            f"{row.key}{_PAGE}{number}",
            "post",
            row.channel,
            {"text": text},
            parent=row.parent,
            case_id=case.id,
        )
        for number, text in enumerate(await _before(tx, case, row), start=1)
    ]


async def rewritten(tx: Transaction, case: Case, *, deletion: int, since: float) -> list[Outgoing]:
    """Write the case's posts of `since` or later that quote its conversation again, from what is stored of it now.

    The new texts replace the stored ones. Returns the rows that show them, with keys that contain `deletion`.
    """
    rows: list[Outgoing] = []
    for post in await outbox.posts_under(tx, f"case/{case.id}/transcript", merged_key(case.id)):
        if "files" in post.payload or post.created_at < since:
            continue
        text = await _as_now(tx, case, post) or GONE_COPY
        if text != post.payload["text"]:
            await outbox.reword(tx, post, text)
            key = f"erased/{deletion}/{post.id}"
            rows.append(Outgoing(key, "update", post.channel, {"text": text}, parent=post.key, case_id=case.id))
    return rows


async def renewed(tx: Transaction, cases: Collection[int], *, deletion: int, said_at: str) -> list[Outgoing]:
    """Replace the cases' files that may contain the message of `said_at`. If it is empty, replace all of them.

    `deletion` makes the keys differ from those of other deletions. A file that is being written now is replaced too,
    because its writing may have begun before the deletion.
    """
    rows: list[Outgoing] = []
    for case_id in cases:
        for post in await outbox.posts_under(tx, _key(case_id)):
            held = next((file for file in post.payload.get("files", ()) if file["id"] == OWN), None)
            if held is None or held["through"] < said_at or not await _stands(tx, post):
                continue
            key, desk, old = f"{_key(case_id)}/{deletion}/{post.id}", post.channel, post.key
            rows += [
                Outgoing(f"{old}/unshared", "unshare", desk, {"files": []}, parent=old, case_id=case_id),
                Outgoing(_gone(post), "delete", desk, {}, parent=old, case_id=case_id),
                Outgoing(key, "post", desk, post.payload, parent=post.parent, case_id=case_id),
            ]
    return rows


async def _stands(tx: Transaction, post: OutboxRow) -> bool:
    """Whether the post's file is in the thread, or will be."""
    if post.state == "failed" or await outbox.by_key(tx, _gone(post)) is not None:
        return False
    return post.state != "sent" or any(each.copy for each in await files.of_post(tx, post.key))


async def _as_now(tx: Transaction, case: Case, post: OutboxRow) -> str:
    """What the post would quote of the conversation today, up to its own time."""
    file, is_page, number = post.key.rpartition(_PAGE)
    if is_page:
        row = await outbox.by_key(tx, file)
        texts = [] if row is None else await _before(tx, case, row)
        return texts[int(number) - 1] if int(number) <= len(texts) else ""
    lines = await of_thread(tx, case.thread, latest=None)
    lines = [line for line in lines if post.ts is None or line.ts < post.ts]
    spoken = [entry for page in pages(case, lines, most=1) for entry in page]
    is_merged = post.key.startswith(merged_key(case.id))
    heading = [str(post.payload["text"]).partition("\n")[0]] if is_merged else []
    return "\n".join([*heading, *spoken])


async def _before(tx: Transaction, case: Case, row: OutboxRow) -> list[str]:
    """The texts of the pages that replace the row's file, without the latest page."""
    texts = ["\n".join(page) for page in pages(case, await _through(tx, case, row), most=PAGES)[:-1]]
    return [f"{BEFORE}\n{text}" for text in texts[:1]] + texts[1:]


async def _through(tx: Transaction, case: Case, row: OutboxRow) -> list[TranscriptLine]:
    """The lines of the conversation up to the last one of the row's file."""
    ends = max(str(file.get("through", "")) for file in row.payload["files"])
    return [line for line in await of_thread(tx, case.thread, latest=None) if line.ts <= ends]


def merged_key(case_id: int) -> str:
    """The beginning of the keys of posts that quote a merged case below the card of another one."""
    return f"case/{case_id}/merged-into/"


def _key(case_id: int) -> str:
    return f"case/{case_id}/transcript-file"


def _gone(post: OutboxRow) -> str:
    return f"{post.key}/gone"


def _time(line: TranscriptLine) -> datetime:
    return datetime.fromtimestamp(float(line.ts), UTC)


def _said(case: Case, line: TranscriptLine, *, limit: int | None) -> tuple[str, str]:
    """The speaker and the words of a line, both as mrkdwn. The assistant's are cut to about `limit` characters."""
    if line.by_staff:
        return line.speaker, line.text
    if line.speaker == "assistant":
        return "Assistant", _gated(line.text[:limit])
    return escape(case.customer_name) if line.speaker == case.customer else "Someone else", escape(line.text)


def _gated(markdown: str) -> str:
    """The assistant's words in a form that is safe to show to staff: no links of the model's, and no mentions."""
    gate = OutputGate(frozenset())
    return to_mrkdwn(gate.feed(markdown) + gate.close())


def _quote(text: str) -> str:
    shown = text if len(text) <= QUOTE_LIMIT else text[:QUOTE_LIMIT] + " …"
    return "\n".join(f">{line.removeprefix('&gt;').removeprefix('>').lstrip()}" for line in shown.splitlines())
