"""What staff read when they search the knowledge base or ask what it lacks, in mrkdwn. Pure.

findings       what a question finds, and why it is answered or not
gaps           what was asked and not answered
among          what other machines serve
"""

import re
from collections.abc import Mapping, Sequence

from bot.desk.answers import place
from bot.help_center.gaps import Gap
from bot.help_center.index_replication import ReplicationStatus
from bot.help_center.status_texts import BASE, EXCERPT, MAX_SHOWN_RESULTS, counted, cut, moment, plain
from bot.slack.mrkdwn import escape
from bot.views.cards import why_not_helpful
from knowledge.audience import Audience
from knowledge.knowledge_base import Findings
from knowledge.search.passages import Hit
from knowledge.status import Status
from knowledge.thresholds import Certainty

GAPS_SHOWN = 10
HASH = 8
"""Characters by which people tell contents apart."""
DIFFERS = "If that lasts, the sources there say something else, or can't be read."

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


def findings(query: str, found: Findings, status: Status, *, audience: Audience, rewritten: str = "") -> str:
    """The passages that a question gets, with their scores, and whether it is answered.

    `rewritten` is what the cheap model made of the question to look again.
    """
    head = f"*{BASE[audience]}*: “{escape(cut(query, EXCERPT))}”"
    if status.generation is None:
        return f"{head} couldn't be looked up. {plain(status.error or 'It is being built.')}"
    if found.degraded and not found.hits:
        return f"{head} couldn't be looked up. {plain(status.error or 'Try again in a moment.')}"
    verdict = VERDICTS[audience][found.certainty]
    thresholds = f"clearly from {status.threshold:.2f}, perhaps from {status.perhaps_threshold:.2f}"
    lines = [f"{head} {verdict}: confidence {found.confidence:.2f} ({thresholds})"]
    if rewritten:
        lines.append(f"Looked for “{escape(cut(rewritten, EXCERPT))}” too")
    if found.degraded:
        # The floor for words alone is another one.
        lines[0] = f"{head} {verdict}: confidence {found.confidence:.2f}"
        lines.append(f":warning: Searched by words only. {plain(status.error or '')}".rstrip())
    lines += [_hit(hit) for hit in found.hits[:MAX_SHOWN_RESULTS]]
    if not found.hits:
        lines.append("Nothing found.")
    return "\n".join(lines)


def gaps(
    found: Sequence[Gap],
    *,
    days: int,
    by_meaning: bool,
    answered: Mapping[str, str],
    nearest: Mapping[str, Hit],
) -> str:
    """The gaps that are asked for most, an example each.

    `answered` has the cases in which people answered since, by the threads' keys. `nearest` has the page that comes
    closest to an example, where any does.
    """
    within = "the last day" if days == 1 else f"the last {days} days"
    if not found:
        return f"In {within}, every question was answered or went to a person at once, and no answer was rated down."
    total = sum(gap.times for gap in found)
    head = "Not answered, or not helpfully," if any(gap.ratings for gap in found) else "Not answered"
    lines = [f"*{head} in {within}*: {counted(total, 'question')} about {counted(len(found), 'topic')}"]
    if not by_meaning:
        lines.append(":warning: Only identical questions are counted together right now.")
    for gap in found[:GAPS_SHOWN]:
        asked = f"*{gap.times}x*, {counted(gap.people, 'person', 'people')}, last {moment(gap.last)}"
        lines.append(f"• {asked}: {escape(gap.example)}")
        if gap.ratings:
            lines.append(f"   Answered, but not helpful: {why_not_helpful(gap.ratings)}")
        if hit := nearest.get(gap.example):
            lines.append(f"   Nearest page: {_linked(hit)} (score {hit.score:.2f})")
        if case := next((answered[thread] for thread in gap.threads if thread in answered), ""):
            lines.append(f"   A person answered this in {case}: `/kb suggest {case}` makes an article from that.")
    if len(found) > GAPS_SHOWN:
        rest = found[GAPS_SHOWN:]
        lines.append(f"… and {counted(sum(gap.times for gap in rest), 'question')} about {len(rest)} more.")
    return "\n".join(lines)


def among(status: Status, replication: ReplicationStatus) -> list[str]:
    """How this machine stands to the others; nothing where there are none."""
    if replication.wanted is None:
        return []
    if status.content != replication.content:
        here, there = status.content[:HASH], replication.content[:HASH]
        since = f"{moment(replication.wanted.set_at)}, from {escape(replication.wanted.set_by)}"
        return [f":warning: Contents `{here}` here; all machines should serve `{there}` since {since}. {DIFFERS}"]
    others = [escape(machine.set_by) for machine in replication.machines if machine.target != replication.content]
    if others:
        told = (
            f"{len(others)} of {counted(len(replication.machines), 'machine')}: {', '.join(others[:MAX_SHOWN_RESULTS])}"
        )
        return [f":warning: Contents `{replication.content[:HASH]}`. Other contents on {told}. {DIFFERS}"]
    if len(replication.machines) > 1:
        return [f"Contents `{replication.content[:HASH]}` on all {len(replication.machines)} machines"]
    return []


def _linked(hit: Hit) -> str:
    """A page, as a link if customers can open it."""
    title = escape(place(hit))
    return f"*<{hit.url}|{title}>*" if hit.url.startswith(("https://", "http://")) else f"*{title}*"


def _hit(hit: Hit) -> str:
    excerpt = escape(cut(" ".join(_MARKUP.sub("", hit.text).split()), EXCERPT))
    parts = f"meaning {hit.score - hit.words:.2f} + words {hit.words:.2f}"
    return f"• `{hit.score:.2f}` ({parts}) *{escape(place(hit))}*, `{escape(hit.source)}`\n>{excerpt}"
