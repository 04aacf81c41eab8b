"""The words that claim actions: the section `claims` of each language's file, read into tables.

A claim has one of four forms. Done: "I have cancelled it". Promised: "I'll cancel it now". Pledged by the shop or by no
one: "it will be cancelled", which is a claim only if something ties it to this customer. Stated: "it was cancelled".
`claimed_actions.py` reads sentences with these lists. The section writes words as the language does, with a blank
between them; words that belong together have a `_` between, such as `called_off`. It has:

endings     form -> what is put around a stem to make it; `-` is the stem. The forms are done ("cancelled"), do
            ("cancel"), now (a present that promises if the desk says it: "ich storniere"), and doing ("I'm
            cancelling"). Where the verb alone says who did it, there are did ("cancelé"), own ("I will": "cancelaré")
            and ours ("we will": "cancelaremos"). `men(t)-` takes the place of a stem's first letter t, and is for such
            stems alone. `things` is what is put around a thing. `apart` are the prefixes that may leave their verb: the
            form done comes from the verb behind them ("weiter|geleitet")
irregular   stem=done, with a comma between several; `take=took,taken`
deeds       for each kind of action: stems that are the action by themselves, and pairs, which are stems that are it
            next to one of the things after the comma. `word=form` is one word as it is written, in that form. Besides
            the forms above there are active (done, but not as a state: "was put on hold" claims no action of ours) and
            bare (only in a sentence that has nothing else). `+people` are the people of the marks
marks       what shows who did it, and whether it is done:
  us, we      a member of the desk; the words among these that mean more than the assistant
  people      the people who work there
  you         anyone else, and what leads to them; `beside`: the same, right before the verb only
  been, is    a state that has come, and one in the present; `behind`: right after the verb
  will        it is to come; managed: it was possible, and is done; may: an ability, a wish, a duty; being: in progress
  aspect      makes a present one that is done
  yours, the  of the customer's; of something certain. `any`: of a rule
  now         makes a state in the present one of today
  det         if it is between a verb and a noun, the verb only describes that noun: "your cancelled order"
  small       may be next to an action in a sentence that has nothing else; `noun`: after a verb, described by it
  nothing     a phrase that means none of what its words mean
subject     what a sentence lacks that begins with an action

It also has patterns over folded text (claims.folded: small letters, no accents, one blank between words):

conditions  before a claim in its clause: it speaks of a case that may not be given
cases       anywhere in a promise's sentence, or before a state in the present: it holds only in that case
rules       after a state in the present: it says what happens in general
pins        what ties a pledge to this customer, like an amount or an order's number
denials     inside a claim or right before it: it is denied
facts       before a claim in a question: the question does not ask about what is claimed
tags        right before a question mark: nothing is asked
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, NamedTuple, get_args

from bot.guard.letters import plain_letters
from bot.language.languages import read_section

Kind = Literal["refunded", "cancelled", "changed", "resent", "transferred"]
"""The kind of action that is claimed: money went back · an order or a part of it is off · something of an order or
account is different now · something is sent again · a person has been called."""
Form = Literal["done", "promised", "pledged", "stated"]
KINDS: tuple[Kind, ...] = get_args(Kind)

_CURRENCY = r"usd|eur|gbp|idr|sgd|jpy|chf|aud|cad|nzd|sek|nok|dkk|pln|mxn|myr|inr|cny|hkd|brl|zar"
MONEY = (
    rf"(?:(?:[$€£¥]|us\$|\brp\.?|{_CURRENCY}) ?\d[\d.,]{{0,20}}"
    rf"|\d[\d.,]{{0,20}} ?(?:[$€£¥]|(?:{_CURRENCY}|us dollars?|dollars?|dollar|euros?|pounds?|rupiah|yen|dolares)\b))"
)
ORDER_ID = rf"(?:# ?\d{{3,20}}|\b(?!(?:{_CURRENCY}|rp)\d)[a-z]{{2,6}}-?\d{{3,20}}(?:-\d{{1,20}}){{0,4}})"
_RUNS = {r"\W": 6, r"\w": 30, "[^.!?]": 200, "[^ ]": 40, r"\d": 20}
"""What may be repeated in a condition, and how many times."""


class Roles(NamedTuple):
    """The roles that a word may have in one language."""

    marks: frozenset[str]
    verbs: tuple[tuple[Kind, str, int], ...]
    """Kind of action, form of the verb, and the group of things that it needs next to it. 0 if it needs none."""
    things: frozenset[int]


NOTHING = Roles(frozenset(), (), frozenset())
PASSED = Roles(frozenset({"small"}), (), frozenset())
"""The role of the words of a phrase, except for the last word."""
NUMBER = Roles(frozenset({"yours"}), (), frozenset())
"""The role of an order's number or an amount."""


@dataclass(frozen=True, slots=True)
class Wording:
    """One language. The module's docstring describes the parts."""

    roles: Mapping[str, Roles]
    phrases: Mapping[str, Sequence[tuple[tuple[str, ...], Roles]]]
    """First word -> the words that follow it, longest first, and the role of the last one."""
    verbs: frozenset[str]
    """Each sentence that claims an action has at least one of these words."""
    subject: str
    """What a sentence lacks that begins with an action."""
    conditions: re.Pattern[str]
    cases: re.Pattern[str]
    rules: re.Pattern[str]
    pins: re.Pattern[str]
    denials: re.Pattern[str]
    facts: re.Pattern[str]
    tags: re.Pattern[str]


@cache
def load_wordings() -> tuple[Wording, ...]:
    """The words of all languages."""
    return tuple(_wording(claims) for claims in read_section("claims").values())


def _wording(read: Mapping[str, Any]) -> Wording:
    known = _words_of(read)
    phrases: dict[str, list[tuple[tuple[str, ...], Roles]]] = {}
    for words in sorted((each for each in known if len(each) > 1), key=len, reverse=True):
        phrases.setdefault(words[0], []).append((words[1:], known[words]))
    return Wording(
        roles={words[0]: roles for words, roles in known.items() if len(words) == 1},
        phrases=phrases,
        verbs=frozenset(words[-1] for words, roles in known.items() if roles.verbs),
        subject=read["subject"],
        conditions=_any_of(read["conditions"]),
        cases=_any_of(read["cases"]),
        rules=_any_of(read["rules"]),
        pins=re.compile(rf"\b(?:{_bounded(read['pins'])})(?!\w)|{MONEY}|{ORDER_ID}"),
        denials=re.compile(_bounded(read["denials"])),
        facts=_any_of(read["facts"]),
        tags=re.compile(rf"(?:^|\W)(?:{read['tags']})\W{{0,6}}$"),
    )


def _words_of(read: Mapping[str, Any]) -> dict[tuple[str, ...], Roles]:
    """Each word and phrase of a language's file, with its roles."""
    marks: dict[tuple[str, ...], set[str]] = {}
    verbs: dict[tuple[str, ...], dict[tuple[Kind, str, int], None]] = {}
    things: dict[tuple[str, ...], set[int]] = {}
    endings = {form: _folded(words) for form, words in read["endings"].items()}
    of_things = endings.pop("things", ("-",))
    prefixes = tuple(endings.pop("apart", ()))
    irregular = {stem: done.split(",") for stem, done in (each.split("=") for each in _folded(read["irregular"]))}
    group = 0
    for kind in KINDS:
        for entry in read["deeds"][kind]:
            acts, objects = (entry, "") if isinstance(entry, str) else entry
            group += 1
            for word, form in _forms(_folded(acts), endings, irregular, prefixes=prefixes):
                verbs.setdefault(_apart(word), {})[kind, form, group if objects else 0] = None
            for word in _folded(objects.replace("+people", read["marks"]["people"])):
                for ending in of_things:
                    things.setdefault(_apart(ending.replace("-", word)), set()).add(group)
    for mark, words in read["marks"].items():
        for word in _folded(words):
            marks.setdefault(_apart(word), set()).add(mark)
    return {
        word: Roles(frozenset(marks.get(word, ())), tuple(verbs.get(word, ())), frozenset(things.get(word, ())))
        for word in marks.keys() | verbs.keys() | things.keys()
    }


def _forms(
    words: Iterable[str],
    endings: Mapping[str, Sequence[str]],
    irregular: Mapping[str, Sequence[str]],
    *,
    prefixes: Sequence[str],
) -> Iterator[tuple[str, str]]:
    for word in words:
        stem, _, form = word.partition("=")
        if form:
            yield stem, form
            continue
        yield from ((each, "done") for each in irregular.get(stem, ()))
        for each, around in endings.items():
            yield from ((formed, each) for formed in _around(stem, around))
        for prefix in prefixes:
            verb = stem.removeprefix(prefix)
            if verb not in ("", stem):
                done = (*irregular.get(verb, ()), *_around(verb, endings["done"]))
                yield from ((prefix + each, "done") for each in done)


def _around(stem: str, endings: Iterable[str]) -> Iterator[str]:
    """The stem with each of the endings that fit it."""
    for ending in endings:
        before, dropped, after = ending.replace("(", ")").split(")") if "(" in ending else (ending, "", "")
        if stem.startswith(dropped):
            # Only an é that ends the word keeps its accent in a folded text.
            kept = stem.removeprefix(dropped)
            yield (before + after).replace("-", kept if ending.endswith("-") else kept.replace("é", "e"))


def _folded(words: str) -> list[str]:
    """The words in the form that folded texts have. ä, ö and ü are also written ae, oe and ue."""
    if words.isascii():
        return words.replace("_", "+").split()
    own = words.split()
    spelled = [each.replace("ä", "ae").replace("ö", "oe").replace("ü", "ue") for each in own]
    # A low line at the end of a word is markup to a reader of Markdown, a plus is not.
    return plain_letters(" ".join(dict.fromkeys([*own, *spelled])).replace("_", "+")).split()


def _apart(word: str) -> tuple[str, ...]:
    return tuple(word.split("+"))


def _any_of(words: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{_bounded(words)})(?!\w)")


def _bounded(expression: str) -> str:
    """The expression with a limit for every run, so that no text makes it slower than another text of its length."""
    for run, length in _RUNS.items():
        expression = expression.replace(f"{run}*", f"{run}{{0,{length}}}").replace(f"{run}+", f"{run}{{1,{length}}}")
    return expression
