"""The words with which a deed is claimed, in five languages: `bot/desk/claim_words`, read into patterns.

A claim has one of four forms: done ("I have cancelled it"), promised ("I'll cancel it now"), pledged by the shop or by
nobody ("it will be cancelled"; a claim only where something pins it to this customer), stated ("it was cancelled"). A
language's file lists, for each form and each kind of deed, the phrases that claim it, over folded
text (claims.folded: small letters, no accents, one blank between words). Besides:

words       named pieces; `<name>` in a phrase stands for one. Every file also has `<w>`, one word; `<gap>` and
            `<long>`, up to 6 and 14 words of the same clause; `<p>`, an aside between commas, dashes or parentheses;
            `<id>`, an order's number; `<money>`, an amount
hints       without one of these in a sentence, no phrase of the kind can match; they only save time
conditions  before a claim in its clause: it speaks of a case that may not be given
cases       anywhere in the sentence of a promise, or before a state in the present: it holds only in that case
rules       behind a state in the present: it tells what happens in general
pins        what makes a pledge one to this customer, as an amount or an order's number does
denials     inside a claim or right before it: it is denied
bare        a whole sentence or clause that is nothing but a deed and the small words beside it: "It is refunded."
elided      a deed at a sentence's beginning without its subject, as in "Sent you a new one."
facts       before a claim in a question: what is claimed is not what is asked
tags        right before a question mark: nothing is asked
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from typing import Any, Literal, get_args

from bot.own_files import read_own

Kind = Literal["refunded", "cancelled", "changed", "resent", "transferred"]
"""What is claimed: money went back · an order or a part of it is off · something of an order or account is another ·
something is sent again · a person has been called."""
Form = Literal["done", "promised", "pledged", "stated"]
KINDS: tuple[Kind, ...] = get_args(Kind)
FORMS: tuple[Form, ...] = get_args(Form)

_CURRENCY = r"usd|eur|gbp|idr|sgd|jpy|chf|aud|cad|nzd|sek|nok|dkk|pln|mxn|myr|inr|cny|hkd|brl|zar"
MONEY = (
    rf"(?:(?:[$€£¥]|us\$|\brp\.?|{_CURRENCY}) ?\d[\d.,]{{0,20}}"
    rf"|\d[\d.,]{{0,20}} ?(?:[$€£¥]|(?:{_CURRENCY}|us dollars?|dollars?|dollar|euros?|pounds?|rupiah|yen|dolares)\b))"
)
ORDER_ID = rf"(?:# ?\d{{3,20}}|\b(?!(?:{_CURRENCY}|rp)\d)[a-z]{{2,6}}-?\d{{3,20}}(?:-\d{{1,20}}){{0,4}})"
_EVERYWHERE = {
    "w": r"[^ \n;!?]{0,40}[^ \n,;!?.:]",
    "gap": r"(?: <w>){0,6}?",
    "long": r"(?: <w>){0,14}?",
    "p": r"(?:, ?[^,;!?\n]{1,60},| ?\([^()\n]{1,80}\)| [-–—] [^–—;!?\n]{1,60}? [-–—])?",
    "money": MONEY,
    "id": ORDER_ID,
}
_NAME = re.compile(r"<([a-z]+)>")
_RUNS = {r"\W": 6, r"\w": 30, "[^.!?]": 200, "[^ ]": 40, r"\d": 20}
"""What may be repeated in a phrase, and how often."""


@dataclass(frozen=True)
class Pattern:
    """One way to claim one kind of deed."""

    kind: Kind
    form: Form
    expression: str

    @cached_property
    def regex(self) -> re.Pattern[str]:
        """Compiled when a hint has called for it: the five languages have some hundred, of which few are needed."""
        return re.compile(self.expression)


@dataclass(frozen=True, slots=True)
class Wording:
    """One language; see the module's text for the parts."""

    hints: Mapping[Kind, re.Pattern[str]]
    patterns: Mapping[Kind, tuple[Pattern, ...]]
    conditions: re.Pattern[str]
    cases: re.Pattern[str]
    rules: re.Pattern[str]
    pins: re.Pattern[str]
    denials: re.Pattern[str]
    facts: re.Pattern[str]
    tags: re.Pattern[str]
    bare: Mapping[Kind, re.Pattern[str]]
    beside: frozenset[str]
    """Words that may stand beside a bare deed."""
    elided: re.Pattern[str]
    subject: str
    """What such a sentence lacks at its beginning."""


@cache
def load_wordings() -> tuple[Wording, ...]:
    """All five languages."""
    folder = resources.files("bot") / "desk" / "claim_words"
    files = sorted((each for each in folder.iterdir() if each.name.endswith(".yml")), key=lambda each: each.name)
    return tuple(_wording(read_own(each)) for each in files)


def _wording(read: Mapping[str, Any]) -> Wording:
    words = {**_EVERYWHERE, **read["words"]}
    return Wording(
        hints={kind: re.compile(read["hints"][kind]) for kind in KINDS},
        patterns={kind: tuple(_patterns(read, kind, words)) for kind in KINDS},
        conditions=_any_of(read["conditions"]),
        cases=_any_of(read["cases"]),
        rules=_any_of(read["rules"]),
        pins=re.compile(rf"\b(?:{_bounded(read['pins'])})(?!\w)|{MONEY}|{ORDER_ID}"),
        denials=re.compile(_bounded(read["denials"])),
        facts=_any_of(read["facts"]),
        tags=re.compile(rf"(?:^|\W)(?:{read['tags']})\W{{0,6}}$"),
        bare={kind: re.compile(rf"(?<![\w'-])(?:{read['bare'][kind]})(?![\w'-])") for kind in KINDS},
        beside=frozenset(read["bare"]["beside"].split()),
        elided=re.compile(rf"(?:{read['elided']['words']}) (?:{read['elided']['before']})(?!\w)"),
        subject=read["elided"]["with"],
    )


def _any_of(words: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{_bounded(words)})(?!\w)")


def _patterns(read: Mapping[str, Any], kind: Kind, words: Mapping[str, str]) -> Iterator[Pattern]:
    for form in FORMS:
        for phrase in read[form].get(kind, ()):
            yield Pattern(kind, form, _filled(phrase, words))


def _filled(phrase: str, words: Mapping[str, str]) -> str:
    while _NAME.search(phrase):
        phrase = _NAME.sub(lambda name: f"(?:{words[name[1]]})", phrase)
    return _bounded(phrase)


def _bounded(expression: str) -> str:
    """The expression with an end to every run, so that no text takes it longer than another of its length."""
    for run, length in _RUNS.items():
        expression = expression.replace(f"{run}*", f"{run}{{0,{length}}}").replace(f"{run}+", f"{run}{{1,{length}}}")
    return expression
