"""What staff read about the state of the knowledge base and its refreshes, in mrkdwn. Pure, and quick to import.

status         one base: what serves, from what, since when, what was left out, and what is wrong
report         what a refresh changed
Watch          how far a refresh is
fitting        cut to what one message holds
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from bot.slack.mrkdwn import escape
from knowledge.audience import Audience
from knowledge.build.report import BuildReport, LeftOut, Phase, Progress
from knowledge.documents import Notice
from knowledge.errors import KnowledgeError
from knowledge.generations import IndexedSource
from knowledge.sources.files import Quarantined
from knowledge.status import Status

MESSAGE_CHARACTERS = 3_900
"""What Slack surely shows in one piece."""
MAX_SHOWN_RESULTS = 5
"""Hits, and files that were left out, at the most."""
SOURCES_SHOWN = 20
REASONS_SHOWN = 3
EXCERPT = 160
WHY = 300
"""Characters of a reason or an error."""
CELLS = 12
"""Of a progress bar."""

BEGINS = "Refreshing the knowledge base. The current one keeps answering until then …"
JOINS = (
    "A refresh is already running. Yours starts when it ends, together with any others requested by then. "
    "The current knowledge base keeps answering …"
)
FORGOTTEN = (
    "The progress or result of that refresh isn't known here: Frontdesk was restarted, or another of its processes "
    "runs it. Then its own report is on its way. Serving now:"
)
BASE: dict[Audience, str] = {"public": "Knowledge base", "internal": "Internal knowledge base (staff only)"}
PHASES: dict[Phase, str] = {
    "scan": "looking for changes",
    "read": "reading",
    "cut": "cutting into passages",
    "embed": "embedding",
    "index": "indexing",
    "calibrate": "measuring the answer threshold",
    "verify": "checking the result",
}

UNITS: dict[Phase, str] = {"read": "files", "cut": "pages", "embed": "passages", "index": "passages"}
"""What is counted in a phase."""


def status(
    status: Status,
    *,
    audience: Audience,
    now: float,
    failure: str | None = None,
    among: Sequence[str] = (),
    in_full: bool = False,
) -> str:
    """The generation that serves, how old it is, what it was read from, and what is wrong with it.

    `among` are lines about what other machines serve. `in_full` adds what only the people who run Frontdesk need: where
    sources are, the embedder with its thresholds, and where its vectors are.
    """
    lines = [f"*{BASE[audience]}*"]
    if status.generation is None:
        state = "being built" if status.building else "empty: nothing can be looked up"
        return "\n".join([f"{lines[0]}: {state}.", *_troubles(status, failure)])
    built = datetime.fromisoformat(status.built_at)
    lines[0] += f", generation {status.generation}"
    lines.append(
        f"{status.documents:,} documents, {status.chunks:,} passages, "
        f"built {moment(built.timestamp())} ({_age(now - built.timestamp())})"
    )
    lines += [_source(source, status.notices, in_full=in_full) for source in status.sources[:SOURCES_SHOWN]]
    if len(status.sources) > SOURCES_SHOWN:
        lines.append(f"… and {len(status.sources) - SOURCES_SHOWN} more sources")
    lines += _left_out(status.left_out.quarantined)
    lines += _passed_over(status.left_out.passed_over)
    lines += _search(status) if in_full else []
    before = f"generation {status.previous}" if status.previous is not None else "nothing (no older generation is kept)"
    lines.append(f"`/kb rollback` goes back to {before}")
    if status.building:
        lines.append("A refresh is running.")
    lines += among
    lines += _secrets([notice for notice in status.notices if not notice.is_hidden], audience=audience)
    return "\n".join([*lines, *_troubles(status, failure)])


def report(report: BuildReport, *, audience: Audience, cost: float | None = None) -> str:
    """What a refresh changed, what was left out and why, and what it took. `cost` is in dollars, if it is known."""
    if report.is_new:
        head = (
            f"*{BASE[audience]} refreshed* in {report.seconds:.1f} s: {report.added:,} added, {report.changed:,} "
            f"changed, {report.removed:,} removed, {report.unchanged:,} unchanged. "
            f"Generation {report.generation} serves now, with {report.documents:,} documents."
        )
    elif report.mended:
        head = (
            f"*{BASE[audience]}*: no document has changed, but the index was damaged and was rebuilt in "
            f"{report.seconds:.1f} s. Generation {report.generation} serves now, with {report.documents:,} documents."
        )
    else:
        head = (
            f"*{BASE[audience]}*: nothing has changed. Generation {report.generation} still serves, with "
            f"{report.documents:,} documents ({report.seconds:.1f} s)."
        )
    lines = [head, *_embedded(report, cost)]
    lines += [f":warning: `{escape(source.name)}` is stale: {plain(source.stale)}" for source in report.stale]
    left_out = report.quarantined
    lines += [
        f":warning: left out `{escape(each.name)}`: {plain(each.reason)}" for each in left_out[:MAX_SHOWN_RESULTS]
    ]
    if len(left_out) > MAX_SHOWN_RESULTS:
        more = len(left_out) - MAX_SHOWN_RESULTS
        lines.append(f"… and {more:,} more left out. `frontdesk kb status --problems` lists them all.")
    return "\n".join([*lines, *_passed_over(report.passed_over)])


def problems(left_out: LeftOut, *, audience: Audience) -> str:
    """Everything that the last build did not take, one line each: files with their reasons, then kinds of files."""
    lines = [f"*{BASE[audience]}*: {len(left_out.quarantined):,} left out"]
    lines += [f"`{escape(each.name)}`: {plain(each.reason)}" for each in left_out.quarantined]
    lines += [f"not read: `{escape(kind)}` ({count:,})" for kind, count in _by_count(left_out.passed_over)]
    return "\n".join(lines)


def _left_out(quarantined: Sequence[Quarantined]) -> list[str]:
    """How many files were left out, by their reasons, the commonest first, each with an example. Else no line."""
    if not quarantined:
        return []
    reasons = Counter(each.reason for each in quarantined)
    examples = {each.reason: each.name for each in reversed(quarantined)}
    lines = [f":warning: {len(quarantined):,} left out; `frontdesk kb status --problems` lists them all:"]
    for reason, count in reasons.most_common(REASONS_SHOWN):
        lines.append(f"   {count:,}x {plain(reason)}, for example `{escape(examples[reason])}`")
    if len(reasons) > REASONS_SHOWN:
        others = sum(count for _, count in reasons.most_common()[REASONS_SHOWN:])
        lines.append(f"   {others:,}x for {counted(len(reasons) - REASONS_SHOWN, 'other reason')}")
    return lines


def _passed_over(passed_over: Mapping[str, int]) -> list[str]:
    """A line with the commonest kinds of files that are not read. No line if there are none."""
    if not passed_over:
        return []
    shown = ", ".join(f"`{escape(kind)}` ({count:,})" for kind, count in _by_count(passed_over)[:MAX_SHOWN_RESULTS])
    return [f"Not read, {sum(passed_over.values()):,} files: {shown}"]


def _by_count(passed_over: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(passed_over.items(), key=lambda each: (-each[1], each[0]))


def not_refreshed(error: KnowledgeError, *, audience: Audience, serves: bool) -> str:
    """Why there is no new generation, and whether there `serves` an older one."""
    meanwhile = "what serves keeps serving" if serves else "and nothing can be looked up"
    return f":warning: *{BASE[audience]}*: not refreshed, {meanwhile}. {plain(str(error))}"


def rolled_back(status: Status, *, audience: Audience) -> str:
    """What serves after going back, and how long."""
    return (
        f"*{BASE[audience]}*: generation {status.generation} serves again, with {status.documents:,} documents. "
        "The next refresh reads the sources again: fix what was wrong there before then."
    )


class Watch:
    """How far a refresh is: listens to the builder, and says it when asked."""

    def __init__(self, also: Callable[[Progress], None] | None = None) -> None:
        """`also` hears everything, too."""
        self._also = also
        self._audience: Audience = "public"
        self._progress: Progress | None = None

    def begin(self, audience: Audience) -> None:
        """What is heard from now on is of this base."""
        self._audience, self._progress = audience, None

    def __call__(self, progress: Progress) -> None:
        """Hear of progress."""
        self._progress = progress
        if self._also is not None:
            self._also(progress)

    def text(self) -> str:
        """How far it is."""
        if self._progress is None:
            return f"*{BASE[self._audience]}*: waiting for the build to start …"
        return f"*{BASE[self._audience]}*: {progress(self._progress)}"


def progress(progress: Progress) -> str:
    """A phase, and within it a bar where there is something to count."""
    if not progress.of:
        return f"{phase(progress)} …"
    full = round(CELLS * min(progress.done / progress.of, 1.0))
    bar = f"`{'█' * full}{'░' * (CELLS - full)}`"
    counted = f"{progress.done:,} of {progress.of:,} {UNITS.get(progress.phase, '')}".rstrip()
    return f"{bar} {PHASES[progress.phase]}, {counted}"


def phase(progress: Progress) -> str:
    """What a build is at."""
    return f"{PHASES[progress.phase]} {progress.of:,}" if progress.of else PHASES[progress.phase]


def fitting(text: str) -> str:
    """The text, or as many of its lines as one message holds."""
    if len(text) <= MESSAGE_CHARACTERS:
        return text
    kept = text[: MESSAGE_CHARACTERS - 20]
    return f"{kept.rpartition(chr(10))[0] or kept}\n… (cut)"


def plain(text: str) -> str:
    """An error or a reason, fit for a line."""
    return escape(cut(" ".join(text.split()), WHY))


def moment(at: float) -> str:
    """A moment in the reader's own time zone."""
    return f"<!date^{int(at)}^{{date_short_pretty}} {{time}}|{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC>"


def _age(seconds: float) -> str:
    """How long ago that was, in its largest unit."""
    for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= size:
            return f"{counted(int(seconds // size), unit)} ago"
    return "just now"


def _troubles(status: Status, failure: str | None) -> list[str]:
    told = [status.error] if status.error and status.error not in (failure or "") else []
    told += [failure] if failure else []
    return [f":warning: {plain(each)}" for each in told]


def _secrets(found: Sequence[Notice], *, audience: Audience) -> list[str]:
    """Where secrets are, by document and kind, and what has become of the passages."""
    lines = []
    for notice in found[:MAX_SHOWN_RESULTS]:
        passages = counted(notice.withheld, "passage")
        what = f"{passages} not served" if audience == "public" else "only staff can find it"
        lines.append(
            f":warning: `{escape(notice.document)}` contains a secret ({notice.kind}): {what}. Remove it there."
        )
    if len(found) > MAX_SHOWN_RESULTS:
        lines.append(f"… and {counted(len(found) - MAX_SHOWN_RESULTS, 'more secret')}.")
    return lines


def _search(status: Status) -> list[str]:
    """How it is searched."""
    thresholds = f"answer threshold {status.threshold:.2f}, perhaps from {status.perhaps_threshold:.2f}"
    where = f"Vectors on the Chroma server {escape(status.server)}" if status.server else "Vectors on disk"
    return [f"Embedder `{escape(status.embedder)}`, {thresholds}", where]


def _source(source: IndexedSource, notices: Sequence[Notice], *, in_full: bool) -> str:
    name = source.name or Path(source.path).name or source.path
    line = f"• `{escape(name)}`: {counted(source.documents, 'document')}"
    line += f" from {escape(source.path)}" if in_full else ""
    by_kind, by_document = Counter[str](), Counter[str]()
    for notice in notices:
        if notice.origin == source.name and notice.is_hidden:
            by_kind[notice.kind] += notice.times
            by_document[notice.document] += notice.times
    if by_kind:
        removed = ", ".join(counted(times, kind) for kind, times in by_kind.most_common())
        most = by_document.most_common(MAX_SHOWN_RESULTS)
        where = ", ".join(f"`{escape(document)}` ({times:,})" for document, times in most)
        line += f"\n   {removed} removed from {counted(len(by_document), 'document')}: {where}"
        line += " …" if len(by_document) > MAX_SHOWN_RESULTS else ""
    return f"{line}\n   :warning: stale: {plain(source.stale)}" if source.stale else line


def _embedded(report: BuildReport, cost: float | None) -> list[str]:
    reused = f"{counted(report.reused, 'vector')} kept from earlier builds" if report.reused else ""
    if not report.embedded:
        return [f"No passage embedded, {reused}."] if reused else []
    line = f"{counted(report.embedded, 'passage')} embedded"
    line += f", {reused}" if reused else ""
    if not report.embedded_tokens:
        return [f"{line}."]
    line += f", about {report.embedded_tokens:,} tokens"
    return [f"{line}, ${cost:.4f}." if cost is not None else f"{line}."]


def cut(text: str, length: int) -> str:
    """The text within so many characters."""
    return text if len(text) <= length else f"{text[: length - 2]} …"


def counted(number: int, one: str, many: str = "") -> str:
    """A number and what it counts."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
