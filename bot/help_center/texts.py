"""What staff read about the knowledge base, in mrkdwn. Pure: from what the library tells to words.

status         one base: what serves, from what, since when, and what is wrong
findings       what a question finds, and why it is answered or not
report         what a refresh changed
Watch          how far a refresh is
gaps           what was asked and not answered
fitting        cut to what one message holds
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from bot.agent.endpoints import Price
from bot.agent.model import Usage
from bot.desk.answers import place
from bot.help_center.gaps import Gap
from bot.help_center.index_replication import ReplicationStatus
from bot.slack.mrkdwn import escape
from knowledge.config import Audience
from knowledge.documents import Notice
from knowledge.errors import KnowledgeError
from knowledge.generations import IndexedSource
from knowledge.knowledge_base import Findings, Status
from knowledge.passages import Hit
from knowledge.report import BuildReport, LeftOut, Phase, Progress
from knowledge.thresholds import Certainty

MESSAGE_CHARACTERS = 3_900
"""What Slack surely shows in one piece."""
MAX_SHOWN_RESULTS = 5
"""Hits, and files that were left out, at the most."""
SOURCES_SHOWN = 20
GAPS_SHOWN = 10
EXCERPT = 160
WHY = 300
"""Characters of a reason or an error."""
CELLS = 12
"""Of a progress bar."""
HASH = 8
"""Characters by which people tell contents apart."""

BEGINS = "Refreshing the knowledge base. The current one keeps answering until then …"
JOINS = (
    "A refresh is already running. Yours starts when it ends, together with any others requested by then. "
    "The current knowledge base keeps answering …"
)
FORGOTTEN = (
    "The progress or result of that refresh isn't known here: Frontdesk was restarted, or another of its processes "
    "runs it. Then its own report is on its way. Serving now:"
)
DIFFERS = "If that lasts, the sources there say something else, or can't be read."
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

_MARKUP = re.compile(r"[*_#`|]+")
VERDICTS: Mapping[Audience, Mapping[Certainty, str]] = {
    "public": {
        "clearly": "would be answered",
        "perhaps": "would be answered *perhaps*: the assistant reads these pages as uncertain and decides",
        "not": "would *not* be answered",
    },
    "internal": {
        "clearly": "has an answer here",
        "perhaps": "has an answer here *perhaps*",
        "not": "has *no* answer here",
    },
}
"""What a search says about a question, for each base."""


def status(
    status: Status, *, audience: Audience, failure: str | None = None, among: ReplicationStatus | None = None
) -> str:
    """The generation that serves, what it was read from, what is wrong with it, and what other machines serve."""
    lines = [f"*{BASE[audience]}*"]
    if status.generation is None:
        state = "being built" if status.building else "empty: nothing can be looked up"
        return "\n".join([f"{lines[0]}: {state}.", *_troubles(status, failure)])
    built = datetime.fromisoformat(status.built_at)
    lines[0] += f", generation {status.generation}"
    lines.append(f"{status.documents:,} documents, {status.chunks:,} passages, built {moment(built.timestamp())}")
    lines += [_source(source, status.notices) for source in status.sources[:SOURCES_SHOWN]]
    if len(status.sources) > SOURCES_SHOWN:
        lines.append(f"… and {len(status.sources) - SOURCES_SHOWN} more sources")
    if status.left_out.quarantined:
        many = len(status.left_out.quarantined)
        lines.append(f":warning: {many:,} left out: `frontdesk kb status --problems` lists them all")
    lines += _passed_over(status.left_out.passed_over)
    thresholds = f"answer threshold {status.threshold:.2f}, perhaps from {status.perhaps_threshold:.2f}"
    lines.append(f"Embedder `{escape(status.embedder)}`, {thresholds}")
    lines.append(f"Vectors on the Chroma server {escape(status.server)}" if status.server else "Vectors on disk")
    before = f"generation {status.previous}" if status.previous is not None else "nothing (no older generation is kept)"
    lines.append(f"`/kb rollback` goes back to {before}")
    if status.building:
        lines.append("A refresh is running.")
    lines += _among(status, among) if among else []
    lines += _secrets([notice for notice in status.notices if notice.kind], audience=audience)
    return "\n".join([*lines, *_troubles(status, failure)])


def findings(query: str, found: Findings, status: Status, *, audience: Audience) -> str:
    """The passages that a question gets, with their scores, and whether it is answered."""
    head = f"*{BASE[audience]}*: “{escape(_cut(query, EXCERPT))}”"
    if status.generation is None:
        return f"{head} couldn't be looked up. {plain(status.error or 'It is being built.')}"
    if found.degraded and not found.hits:
        return f"{head} couldn't be looked up. {plain(status.error or 'Try again in a moment.')}"
    verdict = VERDICTS[audience][found.certainty]
    thresholds = f"clearly from {status.threshold:.2f}, perhaps from {status.perhaps_threshold:.2f}"
    lines = [f"{head} {verdict}: confidence {found.confidence:.2f} ({thresholds})"]
    if found.degraded:
        # The floor for words alone is another one.
        lines[0] = f"{head} {verdict}: confidence {found.confidence:.2f}"
        lines.append(f":warning: Searched by words only. {plain(status.error or '')}".rstrip())
    lines += [_hit(hit) for hit in found.hits[:MAX_SHOWN_RESULTS]]
    if not found.hits:
        lines.append("Nothing found.")
    return "\n".join(lines)


def report(report: BuildReport, *, audience: Audience, price: Price | None = None) -> str:
    """What a refresh changed, what was left out and why, what it took and cost."""
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
    lines = [head, *_embedded(report, price)]
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


def gaps(found: Sequence[Gap], *, days: int, by_meaning: bool, answered: Mapping[str, str]) -> str:
    """The gaps that are asked for most, an example each; `answered` has the cases in which people answered since, by
    the threads' keys."""
    within = "the last day" if days == 1 else f"the last {days} days"
    if not found:
        return f"In {within}, every question was answered or went to a person at once."
    total = sum(gap.times for gap in found)
    lines = [f"*Not answered in {within}*: {_counted(total, 'question')} about {_counted(len(found), 'topic')}"]
    if not by_meaning:
        lines.append(
            ":warning: Only identical questions are counted together: the embedder gives no vectors right now."
        )
    for gap in found[:GAPS_SHOWN]:
        asked = f"*{gap.times}x*, {_counted(gap.people, 'person', 'people')}, last {moment(gap.last)}"
        lines.append(f"• {asked}: {escape(gap.example)}")
        if case := next((answered[thread] for thread in gap.threads if thread in answered), ""):
            lines.append(f"   A person answered this in {case}: `/kb suggest {case}` makes an article from that.")
    if len(found) > GAPS_SHOWN:
        rest = found[GAPS_SHOWN:]
        lines.append(f"… and {_counted(sum(gap.times for gap in rest), 'question')} about {len(rest)} more.")
    return "\n".join(lines)


def fitting(text: str) -> str:
    """The text, or as many of its lines as one message holds."""
    if len(text) <= MESSAGE_CHARACTERS:
        return text
    kept = text[: MESSAGE_CHARACTERS - 20]
    return f"{kept.rpartition(chr(10))[0] or kept}\n… (cut)"


def plain(text: str) -> str:
    """An error or a reason, fit for a line."""
    return escape(_cut(" ".join(text.split()), WHY))


def moment(at: float) -> str:
    """A moment in the reader's own time zone."""
    return f"<!date^{int(at)}^{{date_short_pretty}} {{time}}|{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC>"


def _among(status: Status, among: ReplicationStatus) -> list[str]:
    """How this machine stands to the others; nothing where there are none."""
    if among.wanted is None:
        return []
    if status.content != among.content:
        here, there = status.content[:HASH], among.content[:HASH]
        since = f"{moment(among.wanted.set_at)}, from {escape(among.wanted.set_by)}"
        return [f":warning: Contents `{here}` here; all machines should serve `{there}` since {since}. {DIFFERS}"]
    others = [escape(machine.set_by) for machine in among.machines if machine.target != among.content]
    if others:
        told = f"{len(others)} of {_counted(len(among.machines), 'machine')}: {', '.join(others[:MAX_SHOWN_RESULTS])}"
        return [f":warning: Contents `{among.content[:HASH]}`. Other contents on {told}. {DIFFERS}"]
    if len(among.machines) > 1:
        return [f"Contents `{among.content[:HASH]}` on all {len(among.machines)} machines"]
    return []


def _troubles(status: Status, failure: str | None) -> list[str]:
    told = [status.error] if status.error and status.error not in (failure or "") else []
    told += [failure] if failure else []
    return [f":warning: {plain(each)}" for each in told]


def _secrets(found: Sequence[Notice], *, audience: Audience) -> list[str]:
    """Where secrets are, by document and kind, and what has become of the passages."""
    lines = []
    for notice in found[:MAX_SHOWN_RESULTS]:
        passages = _counted(notice.withheld, "passage")
        what = f"{passages} not served" if audience == "public" else "only staff can find it"
        lines.append(
            f":warning: `{escape(notice.document)}` contains a secret ({notice.kind}): {what}. Remove it there."
        )
    if len(found) > MAX_SHOWN_RESULTS:
        lines.append(f"… and {_counted(len(found) - MAX_SHOWN_RESULTS, 'more secret')}.")
    return lines


def _source(source: IndexedSource, notices: Sequence[Notice]) -> str:
    name = source.name or Path(source.path).name or source.path
    line = f"• `{escape(name)}`: {_counted(source.documents, 'document')} from {escape(source.path)}"
    if hidden := [notice for notice in notices if notice.origin == source.name and not notice.kind]:
        total = _counted(sum(notice.times for notice in hidden), "invisible character")
        where = ", ".join(f"`{escape(notice.document)}` ({notice.times:,})" for notice in hidden[:MAX_SHOWN_RESULTS])
        line += f"\n   {total} removed from {_counted(len(hidden), 'document')}: {where}"
        line += " …" if len(hidden) > MAX_SHOWN_RESULTS else ""
    return f"{line}\n   :warning: stale: {plain(source.stale)}" if source.stale else line


def _hit(hit: Hit) -> str:
    excerpt = escape(_cut(" ".join(_MARKUP.sub("", hit.text).split()), EXCERPT))
    parts = f"meaning {hit.score - hit.words:.2f} + words {hit.words:.2f}"
    return f"• `{hit.score:.2f}` ({parts}) *{escape(place(hit))}*, `{escape(hit.source)}`\n>{excerpt}"


def _embedded(report: BuildReport, price: Price | None) -> list[str]:
    reused = f"{_counted(report.reused, 'vector')} kept from earlier builds" if report.reused else ""
    if not report.embedded:
        return [f"No passage embedded, {reused}."] if reused else []
    line = f"{_counted(report.embedded, 'passage')} embedded"
    line += f", {reused}" if reused else ""
    if not report.embedded_tokens:
        return [f"{line}."]
    line += f", about {report.embedded_tokens:,} tokens"
    cost = price.of(Usage(report.embedded_tokens, 0)) if price else None
    return [f"{line}, ${cost:.4f}." if cost is not None else f"{line}."]


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 2]} …"


def _counted(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
