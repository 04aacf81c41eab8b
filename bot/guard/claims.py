"""The claim guard: no text says that an action was done unless something in this turn did it or shows it.

folded       a sentence as the patterns read it: nothing in it hides a word
find_claims  what a sentence claims: which action, in which form, of which order, which amounts
Grounds      what a claim may rest on: actions of this turn's tools, what lookups returned, passages
ClaimGate    lets text through sentence by sentence, and stops at the first claim that rests on nothing

A model that obeys an attacker, or that means well and is wrong, changes nothing by itself, since only tools do. But its
words could do harm: a customer who reads "I have refunded you" will hold the shop to it.
"""

import html
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from bot.agent.messages import ToolResult
from bot.guard.claim_patterns import MONEY, ORDER_ID, Form, Kind, Wording
from bot.guard.claimed_actions import ClaimedAction, find_actions, find_bare, starts_with_action, words_in
from bot.guard.grounding import EpisodeEvidence
from bot.guard.guardrails import OutputGate
from bot.guard.letters import MARKUP, plain_letters
from bot.guard.tool_results import (
    ESCALATE,
    PREPARES,
    SEARCH,
    LookupRecord,
    amounts_of,
    figures_in,
    maps_in,
    read_records,
)
from bot.guard.values import Value, plain, read_values

ACTIONS: Mapping[str, frozenset[Kind]] = {ESCALATE: frozenset({"transferred"})}
"""Tool -> what a successful call has done. A tool that writes must be in this table, or no answer can claim it."""
HELD = 600
"""Characters of one sentence that are held. A longer sentence is decided on in parts."""
CARRIED = 300
"""Characters before a sentence that are read with it if it continues them."""
CARRIED_PARTS = 12
"""Sentences before it that are read with it, at most. If each sentence were read again with all these characters, a row
of the shortest sentences would take a hundred times as long as one sentence of that length."""
AROUND = HELD + CARRIED
"""Characters before and after a claim that are read with it: as many as a gate ever has."""
BARE = 100
"""Characters of a clause that may be nothing but an action."""
QUOTED = 8
"""Words that a sentence needs at least to count as quoted from a passage."""

_STATUS: Mapping[Kind, frozenset[str]] = {
    "refunded": frozenset({"refunded", "partly refunded", "partially refunded"}),
    "cancelled": frozenset({"cancelled", "canceled", "voided"}),
    "resent": frozenset({"resent", "reshipped", "replacement sent", "replacement shipped"}),
}
"""The shop's words for a state, in whatever language the customer reads. They count as the whole value of a field."""
_MOVED = re.compile(
    r"re-?schedul|re-?direct|re-?rout|postpon|verschoben|umgeleitet|umverfugt|reprogram|redirig|aplaza|replanifi|"
    r"reporte|dialihkan|dijadwalkan ulang"
)
_ALTERED = re.compile(
    r"chang|updat|correct|modif|amend|geandert|geaendert|korrig|aktualis|actualiz|cambi|corrig|diubah|diperbarui"
)
_ADDRESS = re.compile(r"add?ress|direccion|alamat")
_DELIVERY = re.compile(
    r"deliver|shipment|parcel|package|liefer|zustell|\bsendung|paket|entrega|envio|paquete|livraison|colis|kirim|jadwal"
)
_SENT_AGAIN = re.compile(r"\bre-?(?:sent|shipped|dispatched)\b|\breplacement (?:\w+ )?(?:sent|shipped|dispatched)\b")
"""What a carrier may have done: it moves a delivery, corrects an address, sends again. These read folded words."""


@dataclass(frozen=True, slots=True)
class Claim:
    """An action that a text says was done, or is being done."""

    kind: Kind
    form: Form
    by_us: bool = False
    """True if the shop says it of itself ("we", "our team"), and not the assistant ("I")."""
    orders: frozenset[str] = frozenset()
    """The orders that it is about, folded and without "#". Empty if none is named."""
    amounts: frozenset[int] = frozenset()
    """The amounts of money that it names, in hundredths."""
    words: str = ""
    """The folded words that make the claim."""
    sentence: str = ""
    """The folded text that contains it. It is for deciding, and never for a log."""


# Reading

_TICK = re.compile(r"(?<=\w)`(?=(?:ve|ll|m|d|re|s|ai|a)\b)")
_LINK = re.compile(r"\[([^\[\]\n]*)\]\([^()\s]*\)")
_BLANKS = re.compile(r"(?:[ \t_]|\.{2,}|…)+")
_SPLIT_FORM = re.compile(r" '(?=(?:ve|ll|m|d|re)\b)|(?<=\b[jlndcs])' ")
_NUMBER = re.compile(r"\b(n[ro]|num)\. ?(?=#?[a-z]*-?\d)")
_SPELLED = re.compile(r"\b[a-z](?:[ .-][a-z]){3,}\b")


def folded(text: str) -> str:
    """The text in small letters with one blank between words, without accents, emphasis, links and look-alikes.

    Only an é that ends a word stays, since in Spanish it distinguishes "I cancelled" from "cancel". Line breaks stay.
    """
    text = plain_letters(html.unescape(text)) if "&" in text or not text.isascii() else text.lower()
    text = _LINK.sub(r"\1", _TICK.sub("'", text))
    text = _SPLIT_FORM.sub("'", _BLANKS.sub(" ", MARKUP.sub("", text)))
    text = _NUMBER.sub(r"\1 ", text)
    text = _SPELLED.sub(lambda word: re.sub("[ .-]", "", word[0]), text)
    return _LISTED.sub(r"\1+", text)


_CLAUSE_END = re.compile(r"[;:!?\n()–—]|[,.](?!\d)")
_SENTENCE_END = re.compile(r"[!?\n]|\.(?!\w)")
_SENTENCE_END_BUT_ASKED = re.compile(r"[!\n]|\.(?!\w)")
_LEADING_ON = re.compile(r"\b(?:that|whether|of|dass|ob|que|bahwa) $")
_INVERTED = re.compile(r"\b(?:have|has|had|did) (?:i|we|our|the|they|someone)\b")
_TURNED = re.compile(r"\W*(?:¿ ?(?:(?:le|te|lo|la) )?(?:he|hemos)|haben? (?:ich|wir)|hat (?:unser|das))\b")
"""How a question for an action begins, in the languages where the word order shows it."""
_JOINT = re.compile(
    r"[;:!?\n()–—]|[,.](?!\d)| - "
    r"|\b(?:and|but|while|und|aber|wahrend|y|pero|mientras|et|mais|tandis|dan|tapi|sedangkan)\b"
)
_IDIOM = re.compile(
    r"\b(?:no (?:problem|worries|doubt|wait|(?:extra )?(?:charge|cost))"
    r"|no need(?: to(?: \w+){1,4}?(?= (?:i|we|it|your|the|our)\b))?"
    r"|not (?:a|to) (?:problem|worry)|nothing to worry about|(?:once|when) (?:again|more)"
    r"|(?:if|in case) you(?:'re| are)? (?:wonder|wondering|ask|asked|curious)|falls sie sich (?:fragen|wundern)"
    r"|por si (?:se lo pregunta|acaso)|si vous vous (?:le )?demandez"
    r"|(?:jika|kalau) anda (?:bertanya|penasaran)(?:-tanya)?"
    r"|without (?:further ado|delay)|kein (?:problem|thema)|keine sorge|ohne weiteres|tidak masalah"
    r"|sin (?:problemas?|mas)|no hay problema"
    r"|pas de (?:probleme|souci|soucis)|sans (?:probleme|souci))\b"
)
_LISTED = re.compile(rf"({ORDER_ID})(?:,| and| und| y| et| dan| &|, and)+ ?(?={ORDER_ID})")
_ORDER = re.compile(
    rf"{ORDER_ID}|(?<=\border )\d{{3,}}|(?<=\bn[ro] )\d{{3,}}|(?<=\bpesanan )\d{{3,}}|(?<=\bnomor )\d{{3,}}"
)
_AMOUNT = re.compile(MONEY)
_WORD = re.compile(r"\w+")
_LETTER = re.compile(r"[^\W\d_]")
_PARTS = re.compile(r"[:;–—()\n]| - ")
"""What separates the parts of a sentence."""


def find_claims(text: str, wordings: Sequence[Wording], *, since: int = 0, named: str = "") -> Iterator[Claim]:
    """The claims of the folded text after position `since`. `named` is the order that was spoken of before."""
    words = words_in(text)
    for wording in wordings:
        for action in find_actions(words, wording):
            if action.end > since and not _is_harmless(text, action, wording):
                yield _claim(text, action, named)


def find_bare_claims(text: str, wordings: Sequence[Wording], *, named: str = "") -> Iterator[Claim]:
    """Claims of a folded sentence that is little but an action: "It is refunded.", "Done: cancelled.", "Sent it."."""
    if "?" in text or _NEW_LINE.match(text):
        return
    for clause in dict.fromkeys((text, *_PARTS.split(text))):
        words = words_in(clause) if len(clause) <= BARE else []
        for wording in wordings if words else ():
            for action in find_bare(words, wording):
                yield replace(_claim(clause, action, named), words=clause, sentence=text)
    begin = _LETTER.search(text)
    words = words_in(text[begin.start() :]) if begin else []
    for wording in wordings:
        if starts_with_action(words, wording):
            sentence = text[words[0].start + begin.start() :] if begin else text
            for action in find_actions([words[0]._replace(text=wording.subject), *words], wording):
                if not _is_harmless(sentence, action, wording):
                    yield _claim(sentence, action, named)


def _is_harmless(text: str, action: ClaimedAction, wording: Wording) -> bool:
    """Whether the words express a condition, a rule, a denial or a question."""
    near = 1 if action.form == "done" else 2
    clause = _IDIOM.sub("", text[_last_end(_CLAUSE_END, text, action.start) : action.start])
    told = text[action.start : action.end]
    if _stands_before(wording.conditions, clause, near) or _is_denied(text, clause, action, wording):
        return True
    if action.form != "done" and wording.conditions.search(_IDIOM.sub("", told)):
        return True
    before = _IDIOM.sub("", text[_last_end(_SENTENCE_END, text, action.start) : action.start])
    rest = _SENTENCE_END_BUT_ASKED.split(text[action.end : action.end + AROUND], maxsplit=1)[0]
    if _is_asked(told, clause, rest, action, wording):
        return True
    match action.form:
        case "done":
            return False
        case "promised":
            return bool(wording.cases.search(f"{before}\n{rest}"))
        case "pledged":
            is_pinned = wording.pins.search(f"{before}{told}{rest}")
            return not is_pinned or bool(wording.cases.search(f"{before}\n{told}{rest}"))
        case "stated":
            return action.in_present and bool(wording.cases.search(before) or wording.rules.search(rest))


def _is_denied(text: str, clause: str, action: ClaimedAction, wording: Wording) -> bool:
    """Whether it is denied inside or right before. What comes before "I have" must lead on to it."""
    if wording.denials.search(_IDIOM.sub("", text[action.start : action.end])):
        return True
    following = text[action.end : action.end + AROUND].split(" ", 2)[:2]
    if action.form == "promised" and wording.denials.search(" ".join(following)):
        return True
    leads_on = action.form != "done" or _LEADING_ON.search(clause)
    return _stands_before(wording.denials, clause, 3 if leads_on else 1)


def _is_asked(told: str, clause: str, rest: str, action: ClaimedAction, wording: Wording) -> bool:
    """Whether it is in question. "okay?" after it and "did you see that" before it do not question the action."""
    asked, mark, _ = rest.partition("?")
    if not mark or wording.tags.search(asked) or wording.facts.search(clause + told):
        return False
    if action.form == "promised":
        return True
    if _CLAUSE_END.search(asked):
        return False
    return action.form != "done" or bool(_INVERTED.search(clause + told) or _TURNED.match(clause + told))


def _stands_before(pattern: re.Pattern[str], clause: str, words: int) -> bool:
    """Whether one of the pattern's words is at the clause's end, with at most `words` words after it."""
    return any(len(clause[found.end() :].split()) <= words for found in pattern.finditer(clause))


def _last_end(pattern: re.Pattern[str], text: str, before: int) -> int:
    """Where the last match before a position ends, or where the search began if there is none."""
    start = max(0, before - AROUND)
    return max((found.end() for found in pattern.finditer(text, start, before)), default=start)


def _claim(text: str, action: ClaimedAction, named: str) -> Claim:
    following = _JOINT.search(text, action.end)
    end = min(following.start() if following else len(text), action.end + AROUND)
    # The subject is nearest to the verb; amounts may be anywhere between.
    clause, whole = _cut(text, action.end, end), _cut(text, action.start, end)
    orders = (
        orders_in(clause)
        or orders_in(text[max(0, action.end - AROUND) : action.end])[-1:]
        or ([named] if named else [])
    )
    return Claim(
        action.kind,
        action.form,
        by_us=action.by_us,
        orders=frozenset(orders),
        amounts=frozenset(figures_in(" ".join(_AMOUNT.findall(whole)))),
        words=text[action.start : action.end],
        sentence=text,
    )


def _cut(text: str, position: int, end: int) -> str:
    """The text up to `end`, from the beginning of the clause that contains the position."""
    return text[_last_end(_JOINT, text, position) : end]


def orders_in(text: str) -> list[str]:
    """The order numbers in a folded text, in the order of the text."""
    return [found.lstrip("# ") for found in _ORDER.findall(text)]


# Deciding


@dataclass(frozen=True, slots=True)
class DoneAction:
    """An action that code knows of, and what an answer may say of it."""

    kinds: frozenset[Kind]
    order: str
    """The order's number, folded."""
    amounts: frozenset[int]
    """The money that moved, in hundredths."""

    def bears(self, claim: Claim) -> bool:
        """Whether the claim says no more than what was done."""
        is_past = claim.form in ("done", "stated")
        return is_past and claim.kind in self.kinds and claim.orders <= {self.order} and claim.amounts <= self.amounts


@dataclass(frozen=True, slots=True)
class Grounds:
    """What claims may rest on, as far as it is known when it is called."""

    results: Callable[[], Iterable[ToolResult]]
    """Returns the results of this turn's tools."""
    passages: Callable[[], Iterable[str]]
    """Returns the words of the help pages that the agents were given."""
    earlier: Sequence[ToolResult] = ()
    """What tools returned earlier in the conversation. States that were looked up then still count, actions do not."""
    done: Sequence[DoneAction] = ()
    """The thread's actions of which something may be said."""
    kept: EpisodeEvidence | None = None
    """What the values of an answer must be found in. If None, only actions are checked."""

    def bear(self, claim: Claim) -> bool:
        """Whether the claim rests on something."""
        results = [result for result in self.results() if result.ok]
        if any(claim.kind in ACTIONS.get(result.name, ()) for result in results):
            return True
        if any(each.bears(claim) for each in self.done):
            return True
        if claim.form != "done" and self._are_quoted(claim.sentence):
            return True
        if claim.form == "stated" or (claim.form == "done" and claim.by_us and claim.orders):
            return _show(read_records(results), read_records(self.earlier), claim)
        return False

    def _are_quoted(self, sentence: str) -> bool:
        """Whether the sentence is in a help page or is the shop's reason for a refusal, word for word."""
        words = _WORD.findall(sentence)
        results = (
            result
            for result in self.results()
            if result.name.startswith(PREPARES) or (result.ok and result.name == SEARCH)
        )
        pages = (*self.passages(), *(result.content for result in results))
        return len(words) >= QUOTED and any(_holds_words(words, page) for page in pages)


def _holds_words(words: Sequence[str], page: str) -> bool:
    return f" {' '.join(words)} " in f" {' '.join(_WORD.findall(folded(page)))} "


def _show(found: Sequence[LookupRecord], earlier: Sequence[LookupRecord], claim: Claim) -> bool:
    """Whether lookups show the state and the amounts, for every order that is named or else was asked for."""
    records = [*earlier, *found]
    numbers = claim.orders or _spoken_of(found) or _spoken_of(earlier)
    of_each = [[record for record in records if record.is_of(number)] for number in numbers]
    if not of_each or not all(any(_shows(record, claim) for record in own) for own in of_each):
        return False
    return claim.amounts <= amounts_of([record for own in of_each for record in own])


def _spoken_of(records: Sequence[LookupRecord]) -> frozenset[str]:
    """The orders that a claim without a number may be about: those asked for one by one, or else all of a list."""
    asked_for = frozenset(record.number for record in records if record.number and not record.is_listed)
    return asked_for or frozenset(record.number for record in records if record.number)


def _shows(record: LookupRecord, claim: Claim) -> bool:
    """Whether the shop's or the carrier's own words say so."""
    states = {record.word(name).replace("_", " ") for name in ("status", "payment")}
    if states & _STATUS.get(claim.kind, frozenset()):
        return True
    scans = [folded(str(scan.get("carrier_wrote", ""))) for scan in maps_in(record.fields.get("scans"))]
    if claim.kind == "resent":
        return any(_SENT_AGAIN.search(scan) for scan in scans)
    if claim.kind != "changed":
        return False
    if _ADDRESS.search(claim.words):
        return any(_ADDRESS.search(scan) and _ALTERED.search(scan) for scan in scans)
    is_move = _MOVED.search(claim.words) or (_DELIVERY.search(claim.words) and _ALTERED.search(claim.words))
    return bool(is_move) and any(_MOVED.search(scan) for scan in scans)


# Letting through

_END = re.compile(
    r"\n|[。！？]|(?:(?<![!?…])[!?…]|(?<![0-9.])\.|(?<=[0-9]\.)\.|(?<=[0-9]{3})\.|(?<=[.,:][0-9]{2})\.)"
    r"[.!?…]*+[\"'”’»)\]*_`]*+\s"
)
"""The end of a sentence, or of a line. A point after one or two digits, as in "22. November", is not an end."""
_OPEN = re.compile(
    r"[^.!?…:\s\"'”’»)\]*_`][\"'”’»)\]*_`]*\s*$|(?:\.\.|…)\s*$"
    r"|\b(?:n[ro]|num|núm|ca|bzw|b|inkl|str|dr|mrs?|approx|e\.g|i\.e|art|\d{1,2})\.\s*$",
    re.IGNORECASE,
)
"""A sentence that has not ended: a line without a final mark, one that trails off, an abbreviation."""
_SHORT = re.compile(r"\b\w{3,5}\.\s*$")
"""What may be a month's short name: "Nov. 22"."""
_ASKED = re.compile(r"([^.!?;:,()\n]{0,80})\?")
"""The text between a value and the mark of the question that it is part of."""
_HANGING = re.compile(
    r"\b(?:(?:i|we)(?:['’` ]?ve| have)|ich habe|wir haben|he|hemos|j['’]ai|nous avons|(?:saya|kami) (?:sudah|telah))"
    r"[*_]*[.!?…]+\W*$",
    re.IGNORECASE,
)
"""A sentence that breaks off before its verb, like "I have."."""
_NEW_LINE = re.compile(r"\s*(?:[-*+•] |\d+[.)] |#+ |\|)")
"""What begins an item of a list, a heading or a row of a table."""
_FIRST = re.compile(r"\w")


class ClaimGate:
    """Takes text in any pieces and gives out the same text whatever the pieces were, up to the first ungrounded claim.

    The gate holds at most the sentence that is being written, and no more than HELD characters. It judges the text as
    the customer will read it, so the text goes through an output gate first.
    """

    def __init__(self, wordings: Sequence[Wording], grounds: Grounds, output: OutputGate) -> None:
        self.stopped: Claim | Value | None = None
        """The claim that rests on nothing, or the value that is found nowhere. Everything from there on is dropped."""
        self._wordings = wordings
        self._grounds = grounds
        self._output = output
        self._held = ""
        self._before = ""
        """The end of what was let through, as far as the next sentence may continue it."""
        self._named = ""
        """The order that was mentioned last."""
        self._carried: deque[str] = deque(maxlen=CARRIED_PARTS)
        """The sentences that `_before` ends."""
        self._told: deque[str] = deque(maxlen=CARRIED_PARTS)
        """The last sentences that were let through."""

    def feed(self, text: str) -> str:
        """Return the sentences that are complete now and may be shown."""
        self._held += self._output.feed(text)
        return self._pass_whole()

    def settle(self) -> str:
        """Decide on what was held as it is, and return it: nothing more of this sentence will come."""
        self._held += self._output.close()
        return self._pass_whole() + self._pass(len(self._held))

    def find(self, text: str) -> Claim | Value | None:
        """The first claim in another, whole text that rests on nothing, or the first value that is found nowhere."""
        other = ClaimGate(self._wordings, self._grounds, OutputGate(frozenset()))
        other.feed(text)
        other.settle()
        return other.stopped

    def _pass_whole(self) -> str:
        shown: list[str] = []
        while self.stopped is None and (end := self._next_end()):
            shown.append(self._pass(end))
        return "".join(shown)

    def _next_end(self) -> int:
        """Where the next part to decide on ends. 0 as long as that is open."""
        found = _END.search(self._held, 0, HELD)
        if found:
            return found.end()
        if len(self._held) < HELD + 1:
            return 0
        return self._held.rfind(" ", HELD // 2, HELD) + 1 or HELD

    def _pass(self, end: int) -> str:
        """The held text up to `end`, unless it claims something that rests on nothing."""
        part, self._held = self._held[:end], self._held[end:]
        if self.stopped is not None or not part.strip():
            return "" if self.stopped else part
        before, joint = self._what_it_continues(part)
        own = folded(part)
        text = _NUMBER.sub(r"\1 ", before + joint + own)
        # Punctuation alone claims nothing and names nothing.
        found = self._first_claim(text, own) or self._first_ungrounded(part, joint) if _FIRST.search(part) else None
        if found is not None:
            self.stopped, self._held = found, ""
            return ""
        if not joint:
            self._carried.clear()
        self._carried.append(part)
        self._before = "".join(self._carried)[-CARRIED:]
        self._told.append(part)
        self._named = (orders_in(text) or [self._named])[-1]
        return part

    def _first_claim(self, text: str, own: str) -> Claim | None:
        """The first claim that rests on nothing and ends in the part's own folded text, which is the end of `text`."""
        claims = chain(
            find_claims(text, self._wordings, since=len(text) - len(own), named=self._named),
            find_bare_claims(own, self._wordings, named=self._named),
        )
        return next((claim for claim in claims if not self._grounds.bear(claim)), None)

    def _first_ungrounded(self, part: str, joint: str) -> Value | None:
        """The first value of the part that is found in nothing that was kept."""
        if self._grounds.kept is None:
            return None
        own = plain(part)
        is_open = bool(joint or (_SHORT.search(self._before) and own[:1].isdigit()))
        before = f"{plain(self._before).rstrip()} " if is_open else ""
        text = before + own
        values = [value for value in read_values(text) if value.end > len(before)]
        if not values:
            return None
        grounding = self._grounds.kept.grounding()
        context = plain("".join(self._told)[-HELD:]) + own
        for value in values:
            if grounding.holds(value, context) or grounding.says(text[value.start : value.end]):
                continue
            if not (grounding.is_heard(value) and self._is_echoed(text, value)):
                return value
        return None

    def _is_echoed(self, text: str, value: Value) -> bool:
        """Whether the answer denies what the customer named, or asks about it, and grants nothing."""
        before, rest = folded(text[: value.start]), text[value.end :]
        clause = _IDIOM.sub("", _cut(before, len(before), len(before)))
        following = _CLAUSE_END.split(folded(rest), maxsplit=1)[0]
        if any(
            wording.denials.search(clause) or _stands_before(wording.denials, following, 1)
            for wording in self._wordings
        ):
            return True
        asked = _ASKED.match(rest)
        return asked is not None and not any(wording.tags.search(asked[1]) for wording in self._wordings)

    def _what_it_continues(self, part: str) -> tuple[str, str]:
        """The folded text that this part continues, and what joins them. ("", "") if it begins afresh."""
        if not self._before or _NEW_LINE.match(part):
            return "", ""
        if _HANGING.search(self._before):
            return folded(self._before).rstrip(" .!?…\n"), " "
        begins_small = _FIRST.search(part)
        if _OPEN.search(self._before) or (begins_small and begins_small[0].islower()):
            return folded(self._before).strip(), " "
        return "", ""
