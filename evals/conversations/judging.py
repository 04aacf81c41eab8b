"""What is wrong with a conversation: what no reply may be, and the checks that its conversation names."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from evals.conversations.patterns import ACKNOWLEDGES, COURTEOUS, HELD, LITTLE_WORDS, PROGRAM, REFUSAL, WAVE, words_of
from evals.conversations.playing import Played
from evals.conversations.reading import Json, Reply, sentences

MOST_MESSAGES = 5
"""More messages in reply to one are a flood."""
SAID_TWICE = 25
"""The least characters of a sentence that is not to be said twice."""
_CONTENT = frozenset({"all", "any", "found", "orders", "sources", "not_sources", "no_source"})
"""Parts of a check that say whether a reply is to the point."""


def judge(played: Played) -> list[str]:
    """What is wrong, in words; empty when it passes."""
    if played.fault:
        return [f"could not be played: {played.fault}"]
    faults: list[str] = []
    for number, reply in enumerate(played.replies, 1):
        if not _goes_on(played, number):
            faults += [f"turn {number}: {fault}" for fault in _unmannered(reply, played.replies[: number - 1])]
    for check in played.talk["checks"]:
        for number in _turns(check, len(played.replies)):
            faults += [f"turn {number}: {fault}" for fault in _failed(check, played.replies[number - 1], played)]
    return list(dict.fromkeys(faults))


def is_beside_the_point(played: Played) -> bool:
    """Whether a reply with a source fails what its check says about its content."""
    if played.fault:
        return False
    for check in played.talk["checks"]:
        content = {part: check[part] for part in check.keys() & _CONTENT}
        replies = (played.replies[number - 1] for number in _turns(check, len(played.replies)))
        if any(reply.sources and any(_failed(content, reply, played)) for reply in replies):
            return True
    return False


def _goes_on(played: Played, number: int) -> bool:
    """Whether the next message followed at once."""
    message = played.talk["messages"][number - 1]
    return isinstance(message, dict) and message.get("wait") is False


def _turns(check: Json, count: int) -> Sequence[int]:
    match check.get("turn", "last"):
        case "last":
            return [count]
        case "all":
            return range(1, count + 1)
        case list() as several:
            return several
        case number:
            return [int(number)]


def _unmannered(reply: Reply, earlier: Sequence[Reply]) -> Iterator[str]:
    """What no reply may be, whatever was asked."""
    if PROGRAM.search(reply.text):
        yield "there is something of a program in it"
    if len(reply.seen) > MOST_MESSAGES:
        yield f"{len(reply.seen)} messages at once"
    said = [each.lower() for each in sentences(reply.text) if len(each) >= SAID_TWICE and not each.endswith(":")]
    if twice := next((each for each, times in Counter(said).items() if times > 1), ""):
        yield f"says the same twice: {twice!r}"
    before = earlier[-1] if earlier else None
    is_same = before is not None and len(reply.text) >= SAID_TWICE and reply.text == before.text
    if before and is_same and reply.asked.strip().lower() != before.asked.strip().lower():
        yield "the very same reply as before to another message"


def _failed(check: Json, reply: Reply, played: Played) -> Iterator[str]:
    """Which parts of a check do not hold."""
    if "silent" not in check.get("ended", ()) and not reply.seen and check.keys() - {"card", "turn", "why", "none"}:
        yield "no reply"
        return
    for part, wanted in check.items():
        if find := _PARTS.get(part):
            yield from find(wanted, reply)
    if check.get("released") and not _is_released(reply, played):
        yield "the taking back is not heard"
    if wanted := check.get("card"):
        yield from _failed_card(wanted, played)


def _all(wanted: Sequence[str], reply: Reply) -> Iterator[str]:
    yield from (f"lacks /{each}/" for each in wanted if not _says(each, reply))


def _any(wanted: Sequence[str], reply: Reply) -> Iterator[str]:
    if not any(_says(each, reply) for each in wanted):
        yield f"lacks any of {list(wanted)}"


def _none(wanted: Sequence[str], reply: Reply) -> Iterator[str]:
    found = (re.search(each, reply.text, re.IGNORECASE) for each in wanted)
    yield from (f"says {match[0]!r}" for match in found if match)


def _sources(wanted: Sequence[str | Sequence[str]], reply: Reply) -> Iterator[str]:
    for each in wanted:
        titles = [each] if isinstance(each, str) else each
        if not any(title.lower() in source.lower() for title in titles for source in reply.sources):
            yield f"lacks the source {' or '.join(titles)}; has {reply.sources}"


def _not_sources(wanted: Sequence[str], reply: Reply) -> Iterator[str]:
    for title in wanted:
        yield from (f"has the source {each}" for each in reply.sources if title.lower() in each.lower())


def _no_source(wanted: bool, reply: Reply) -> Iterator[str]:
    if wanted and reply.sources:
        yield f"has a source: {reply.sources}"


def _orders(wanted: Sequence[str], reply: Reply) -> Iterator[str]:
    said = reply.text.upper().replace("‑", "-")
    yield from (f"does not speak of {number}" for number in wanted if number not in said)


def _found(wanted: bool, reply: Reply) -> Iterator[str]:
    if wanted and (match := REFUSAL.search(reply.text)):
        yield f"says that it found nothing: {match[0]!r}"


def _ended(wanted: Sequence[str], reply: Reply) -> Iterator[str]:
    if not reply.endings & set(wanted):
        yield f"ended {sorted(reply.endings)}, not {list(wanted)}"


def _no_case(wanted: bool, reply: Reply) -> Iterator[str]:
    if wanted and reply.cases:
        yield f"opened {list(reply.cases)}"


def _max(wanted: int, reply: Reply) -> Iterator[str]:
    if len(reply.seen) > wanted:
        yield f"{len(reply.seen)} messages, {wanted} at most"


def _courtesy(wanted: bool, reply: Reply) -> Iterator[str]:
    if wanted and reply.seen and not COURTEOUS.search(reply.text):
        yield "not how one answers thanks"


def _ack(wanted: str, reply: Reply) -> Iterator[str]:
    if not ACKNOWLEDGES[wanted].search(reply.text):
        yield f"no word that acknowledges ({wanted})"


def _no_wave(wanted: bool, reply: Reply) -> Iterator[str]:
    if wanted and WAVE.search(reply.text):
        yield "waves a hand"


def _lang(wanted: str, reply: Reply) -> Iterator[str]:
    counts = {language: words_of(reply.text, language) for language in LITTLE_WORDS}
    if counts[wanted] < max(2, 0.5 * max(counts.values())):
        yield f"not in {wanted}: {counts}"


def _lang_some(wanted: str, reply: Reply) -> Iterator[str]:
    if words_of(reply.text, wanted) < 2:
        yield f"no words in {wanted}"


_PARTS: Mapping[str, Callable[..., Iterator[str]]] = {
    "all": _all,
    "any": _any,
    "none": _none,
    "sources": _sources,
    "not_sources": _not_sources,
    "no_source": _no_source,
    "orders": _orders,
    "found": _found,
    "ended": _ended,
    "no_case": _no_case,
    "max": _max,
    "courtesy": _courtesy,
    "ack": _ack,
    "no_wave": _no_wave,
    "lang": _lang,
    "lang_some": _lang_some,
}
"""Part of a check -> what finds its faults in one reply."""
KNOWN_PARTS = frozenset(_PARTS) | {"turn", "why", "released", "card"}
"""Everything that may stand in a check."""


def _says(pattern: str, reply: Reply) -> bool:
    return bool(re.search(pattern, reply.text, re.IGNORECASE))


def _is_released(reply: Reply, played: Played) -> bool:
    """Whether the case is closed, a button ends it, or the words say that the taking back was heard."""
    has_button = any(name != "fb" and not name.startswith("esc.customer") for name in reply.buttons)
    is_closed = bool(played.cards) and not any(card.is_open for card in played.cards.values())
    return has_button or is_closed or bool(HELD.search(reply.text))


def _failed_card(wanted: Json, played: Played) -> Iterator[str]:
    card = next(iter(played.cards.values()), None)
    if card is None:
        if not wanted.get("optional"):
            yield "no case's card"
        return
    if (pattern := wanted.get("why")) and not re.search(pattern, card.why, re.IGNORECASE):
        yield f"the card's reason is {card.why!r}"
    if (pattern := wanted.get("not_why")) and re.search(pattern, card.why, re.IGNORECASE):
        yield f"the card's reason is {card.why!r}"
    if (pattern := wanted.get("priority")) and not re.search(pattern, card.priority, re.IGNORECASE):
        yield f"the card's priority is {card.priority!r}"
