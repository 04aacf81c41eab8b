"""The words that claim actions: the section `claims` of each language's file, read into tables.

A claim has one of four forms. Done: "I have cancelled it". Promised: "I'll cancel it now". Pledged by the shop or by no
one: "it will be cancelled", which is a claim only if something ties it to this customer. Stated: "it was cancelled".
`claimed_actions.py` reads sentences with these lists. The section writes words as the language does, with a blank
between them; words that belong together have a `_` between, such as `called_off`. It has:

endings     form -> what is put around a stem to make it; `-` is the stem, `--` the stem and its last letter again. The
            forms are done ("cancelled"), do ("cancel"), now (a present that promises if the desk says it: "ich
            storniere"), and doing ("I'm cancelling"). Where the verb alone says who did it, there are did ("cancelé"),
            own ("I will": "cancelaré") and ours ("we will": "cancelaremos"). `men(t)-` takes the place of a stem's
            first letter t, and is for such stems alone. `things` is what is put around a thing and a person. `apart`
            are the prefixes that may leave their verb: the form done comes from the verb behind them
            ("weiter|geleitet"), and in the form now they come after it ("ich leite es weiter"). `irregular` are
            stem=done, with a comma between several: `tak=took,taken`
lists       words that several actions have. `+acts` is the list of that name. `+people` are the people of the marks,
            `+money` the signs and names of currencies
refunded, cancelled, changed, resent, transferred
            for each kind of action: stems that are the action by themselves, and pairs, which are stems that are it
            next to one of the things after the comma. Of a phrase the first word is the stem: `call_off`. `word=form`
            is one word or phrase as it is written, in that form. Besides the forms above there are active (done, but
            not as a state: "was put on hold" claims no action of ours) and bare (only in a sentence that has nothing
            else)
marks       what shows who did it, and whether it is done:
  us          a member of the desk; the first word is what a sentence lacks that begins with an action
  we          one who means more than the assistant
  people      the people who work there
  you         anyone else, and what leads to them; `beside`: the same, right before the verb only
  been, is    a state that has come, and one in the present; `behind`: right after the verb
  aspect      a state that has come, which makes a present one that is done
  will        it is to come; managed: it was possible, and is done; may: an ability, a wish, a duty
  yours, the  of the customer's; of something certain. `any`: of a rule
  now         makes a state in the present one of today
  det         if it is between a verb and a noun, the verb only describes that noun: "your cancelled order"
  small       may be next to an action in a sentence that has nothing else
  nothing     a phrase that means none of what its words mean

It also has phrases, which `bot/language/matching.py` says how to write:

cases       it is about a case that may come: before a claim, in a promise's sentence, or around a state in the present
conditions  the same, but only before a claim in its clause
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

from bot.errors import ConfigurationError
from bot.guard.letters import plain_letters
from bot.language.languages import Language, read_section
from bot.language.matching import compiled, phrases

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


_MONEY_WORDS = "$ € £ ¥ usd eur gbp dollar dollars dólares euro euros"
_LIST = re.compile(r"(?<!\S)\+(\w+)")
"""The name of a list, in place of its words."""
_IMPLIED: Mapping[str, tuple[str, ...]] = {"we": ("us",), "aspect": ("been",)}
"""Mark -> the other marks that each of its words has, too."""
_SPELLED = str.maketrans({"ä": "ae?", "ö": "oe?", "ü": "ue?", "ß": "ss"})


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
    """The words of all languages. Raises ConfigurationError."""
    return tuple(_checked(language, claims) for language, claims in read_section("claims").items())


def _checked(language: Language, read: Mapping[str, Any]) -> Wording:
    try:
        return _wording(read)
    except KeyError as error:
        raise ConfigurationError([f"{language}.yml: claims has no {error.args[0]}"]) from None
    except re.error as error:
        raise ConfigurationError([f"{language}.yml: claims: {error.pattern!s} is not a pattern: {error.msg}"]) from None


def _wording(read: Mapping[str, Any]) -> Wording:
    known = _words_of(read)
    behind: dict[str, list[tuple[tuple[str, ...], Roles]]] = {}
    for words in sorted((each for each in known if len(each) > 1), key=len, reverse=True):
        behind.setdefault(words[0], []).append((words[1:], known[words]))
    return Wording(
        roles={words[0]: roles for words, roles in known.items() if len(words) == 1},
        phrases=behind,
        verbs=frozenset(words[-1] for words, roles in known.items() if roles.verbs),
        subject=_folded(read["marks"]["us"])[0],
        conditions=_any_of(read["conditions"], read["cases"]),
        cases=_any_of(read["cases"]),
        rules=_any_of(read["rules"], read["cases"]),
        pins=re.compile(rf"{_any_of(read['pins']).pattern}|{MONEY}|{ORDER_ID}"),
        denials=_any_of(read["denials"]),
        facts=_any_of(read["facts"]),
        tags=re.compile(rf"{_any_of(read['tags']).pattern}\W{{0,6}}$"),
    )


def _words_of(read: Mapping[str, Any]) -> dict[tuple[str, ...], Roles]:
    """Each word and phrase of a language's file, with its roles."""
    endings = {form: _folded(words) for form, words in read["endings"].items()}
    irregular = dict(each.split("=") for each in endings.pop("irregular", ()))
    lists = {**read["lists"], "people": read["marks"]["people"], "money": _MONEY_WORDS}
    table = _Table()
    of_things, prefixes = endings.pop("things"), endings.pop("apart", ())
    for kind in KINDS:
        for entry in read[kind]:
            acts, objects = (entry, "") if isinstance(entry, str) else entry
            things = [*_nouns(_folded(_listed(objects, lists)), of_things)]
            for word, form, prefix in _forms(_folded(_listed(acts, lists)), endings, irregular, prefixes=prefixes):
                table.add_verb(word, kind, form, things=things or [prefix] if prefix else things)
                if prefix:
                    table.add_marks(prefix, "prefix")
    for mark, words in read["marks"].items():
        for word in _nouns(_folded(words), of_things if mark == "people" else ("-",)):
            table.add_marks(word, mark, *_IMPLIED.get(mark, ()))
    return table.roles()


class _Table:
    """Words and what they are, while a file is read."""

    def __init__(self) -> None:
        self._marks: dict[str, set[str]] = {}
        self._verbs: dict[str, dict[tuple[Kind, str, int], None]] = {}
        self._things: dict[str, set[int]] = {}
        self._groups: dict[tuple[str, ...], int] = {}

    def add_verb(self, word: str, kind: Kind, form: str, *, things: Sequence[str]) -> None:
        """A verb's form, and the things of which it needs one next to it."""
        group = self._groups.setdefault((kind, *things), len(self._groups) + 1) if things else 0
        self._verbs.setdefault(word, {})[kind, form, group] = None
        for each in things:
            self._things.setdefault(each, set()).add(group)

    def add_marks(self, word: str, *marks: str) -> None:
        """What a word shows about the verbs near it."""
        self._marks.setdefault(word, set()).update(marks)

    def roles(self) -> dict[tuple[str, ...], Roles]:
        """Each word and phrase with its roles."""
        return {
            tuple(word.split("+")): Roles(
                frozenset(self._marks.get(word, ())),
                tuple(self._verbs.get(word, ())),
                frozenset(self._things.get(word, ())),
            )
            for word in self._marks.keys() | self._verbs.keys() | self._things.keys()
        }


def _listed(words: str, lists: Mapping[str, str]) -> str:
    """The words, with those of a list in place of its name."""
    return _LIST.sub(lambda name: _listed(lists[name[1]], lists), words)


def _forms(
    words: Iterable[str],
    endings: Mapping[str, Sequence[str]],
    irregular: Mapping[str, str],
    *,
    prefixes: Sequence[str],
) -> Iterator[tuple[str, str, str]]:
    """Each word with its form, and the prefix that has left it: "ich leite es weiter"."""
    for word in words:
        written, _, form = word.partition("=")
        if form:
            yield written, form, ""
            continue
        # The first word of a phrase is the verb: "call off", "called off".
        stem, joint, rest = written.partition("+")
        yield from ((each + joint + rest, "done", "") for each in _done(stem, irregular))
        for each, around in endings.items():
            yield from ((formed + joint + rest, each, "") for formed in _around(stem, around))
        for prefix in prefixes:
            verb = stem.removeprefix(prefix)
            if verb not in ("", stem):
                done = (*_done(verb, irregular), *_around(verb, endings["done"]))
                yield from ((prefix + each, "done", "") for each in done)
                yield from ((each, "now", prefix) for each in _around(verb, endings["now"]))


def _done(stem: str, irregular: Mapping[str, str]) -> Sequence[str]:
    return irregular[stem].split(",") if stem in irregular else ()


def _nouns(words: Iterable[str], endings: Sequence[str]) -> Iterator[str]:
    """The words with each of the endings. A sign, such as $, has none."""
    for word in words:
        yield from _around(word, endings if word[-1].isalpha() else ("-",))


def _around(stem: str, endings: Iterable[str]) -> Iterator[str]:
    """The stem with each of the endings that fit it."""
    for ending in endings:
        before, dropped, after = ending.replace("(", ")").split(")") if "(" in ending else (ending, "", "")
        if stem.startswith(dropped):
            # Only an é that ends the word keeps its accent in a folded text.
            kept = stem.removeprefix(dropped)
            kept = kept if ending.endswith("-") else kept.replace("é", "e")
            yield (before + after).replace("--", kept + kept[-1:]).replace("-", kept)


def _folded(words: str) -> list[str]:
    """The words in the form that folded texts have. ä, ö and ü are also written ae, oe and ue."""
    if words.isascii():
        return words.replace("_", "+").split()
    own = words.split()
    spelled = [each.replace("ä", "ae").replace("ö", "oe").replace("ü", "ue") for each in own]
    # A low line at the end of a word is markup to a reader of Markdown, a plus is not.
    return plain_letters(" ".join(dict.fromkeys([*own, *spelled])).replace("_", "+")).split()


def _any_of(*sections: str) -> re.Pattern[str]:
    """Any of the phrases of these sections, as a folded text has them. Of two that fit, the first counts."""
    entries = [_bounded(compiled(entry.translate(_SPELLED), {})) for part in sections for entry in phrases(part)]
    try:
        return re.compile(rf"\b(?:{'|'.join(entries)})(?!\w)")
    except re.error:
        for entry in entries:
            re.compile(entry)  # names the one that is no pattern
        raise


def _bounded(expression: str) -> str:
    """The expression with a limit for every run, so that no text makes it slower than another text of its length."""
    for run, length in _RUNS.items():
        expression = expression.replace(f"{run}*", f"{run}{{0,{length}}}").replace(f"{run}+", f"{run}{{1,{length}}}")
    return expression
