"""What a desk file can say: every key, with its meaning, its bounds and its defaults.

A key that is left out keeps its default, so an empty file changes nothing. docs/reference/desk-file.md is held to this.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from bot.checked_files import Part
from bot.desk_file.countries import countries
from bot.language.languages import DEFAULT, Language, languages

ELSEWHERE = "elsewhere"
"""In place of a country: for everyone whose country has no lines of its own, or is not known."""
BUILT_IN_OUTCOMES = frozenset({"solved", "elsewhere", "spam", "assistant_could_have", "other", "erased"})
"""The outcomes of cases that the code decides by. They stay, whatever outcomes a shop adds."""
BUILT_IN_CAUSES = frozenset({"delivery", "returns", "payment", "product", "account", "other"})
"""The causes of cases, unless a shop lists its own."""
OTHER_CAUSE = "other"
"""The cause of a case that is in every list."""
MAX_TAGS = 10
"""The most tags that one case can have."""


def _line(value: str) -> str:
    line = " ".join(value.split())
    if not line:
        raise ValueError("must not be empty")
    if "<" in line or ">" in line:
        raise ValueError("must not have < or >, because markup is not possible here")
    if any(unicodedata.category(sign) == "Cc" for sign in line):
        raise ValueError("must not have control characters")
    return line


def _phrase(value: str) -> str:
    phrase = _line(value)
    if not _PHRASE.fullmatch(phrase):
        raise ValueError("must be words as customers write them; a * is possible at the end of a word")
    if sum(map(str.isalnum, phrase)) < PHRASE_LENGTH:
        raise ValueError(f"must have at least {PHRASE_LENGTH} letters or digits")
    return phrase


def _by_language(value: object) -> object:
    return {DEFAULT: value} if isinstance(value, str) else value


def _language(value: str) -> str:
    if value not in languages():
        raise ValueError(f"must be one of the languages {', '.join(languages())}")
    return value


def _country(value: str) -> str:
    if value != ELSEWHERE and value not in countries():
        raise ValueError(f"must be a country's two letters, such as DE, or {ELSEWHERE}")
    return value


def _has_texts(value: Mapping[Language, str]) -> Mapping[Language, str]:
    if not value:
        raise ValueError("must have a text for at least one language")
    return value


def _own_outcome(value: str) -> str:
    if value in BUILT_IN_OUTCOMES:
        raise ValueError("is a built-in outcome, which stays in the list")
    return value


def _reply(value: str) -> str:
    lines = [line.rstrip() for line in value.strip().splitlines()]
    for line in filter(None, lines):
        _line(line)
    if not any(lines):
        raise ValueError("must not be empty")
    unknown = [name for name in PLACEHOLDER.findall("\n".join(lines)) if name not in PLACEHOLDERS]
    if unknown:
        known = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
        raise ValueError(f"has the unknown placeholder {{{unknown[0]}}}; there are {known}")
    return "\n".join(lines)


PLACEHOLDERS = ("customer", "order", "person")
"""What a saved reply can leave open: the customer's name, the number of their order, and the name of who sends it."""
PLACEHOLDER = re.compile(r"\{([^{}\n]*)\}")
PHRASE_LENGTH = 3
"""The least number of letters and digits of a phrase. Shorter ones are in too many messages."""
_PHRASE = re.compile(r"[\w'’&./+-]+\*?(?: [\w'’&./+-]+\*?)*")

Line = Annotated[str, AfterValidator(_line)]
Sentence = Annotated[Line, Field(max_length=600)]
Phrase = Annotated[str, Field(max_length=80), AfterValidator(_phrase)]
Sentences = Annotated[
    Mapping[Annotated[Language, AfterValidator(_language)], Sentence],
    BeforeValidator(_by_language),
    AfterValidator(_has_texts),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "maxLength": 600},
                {"type": "object", "additionalProperties": {"type": "string", "maxLength": 600}},
            ]
        }
    ),
]
"""A text for all customers, or one for each language."""
Replies = Annotated[
    Mapping[
        Annotated[Language, AfterValidator(_language)], Annotated[str, Field(max_length=2_000), AfterValidator(_reply)]
    ],
    BeforeValidator(_by_language),
    AfterValidator(_has_texts),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "maxLength": 2_000},
                {"type": "object", "additionalProperties": {"type": "string", "maxLength": 2_000}},
            ]
        }
    ),
]
"""A reply for all customers, or one for each language. It can have several lines."""
Topic = Annotated[Line, Field(max_length=80)]
Phrases = Annotated[tuple[Phrase, ...], Field(max_length=60)]
Id = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,30}$")]
Label = Annotated[Line, Field(max_length=70)]


class Assistant(Part):
    """How the assistant appears."""

    name: Annotated[Line, Field(max_length=40)] = ""
    """What the assistant calls itself. Its name in Slack is set where the app is configured."""
    tone: Annotated[Line, Field(max_length=300)] = ""
    """How it sounds, in a sentence or two."""
    address: Annotated[Line, Field(max_length=300)] = ""
    """How it addresses people, such as by first name, or with "Sie" in German."""


class RefusedTopic(Part):
    """A topic that the assistant does not speak about."""

    topic: Topic
    """What it is, in a few words. The model reads it too, so that it recognizes other wordings."""
    phrases: Phrases = ()
    """Words of customers that are about nothing else. The code recognizes these, without a model."""
    say: Sentences
    """What the customer reads in place of an answer."""

    def sentence(self, language: Language) -> str:
        """What a customer of the language reads."""
        return in_language(self.say, language)


class PeopleTopic(Part):
    """A topic that always goes to a person."""

    topic: Topic
    """What it is, in a few words. The model reads it too, and the case's card shows it."""
    phrases: Phrases = ()
    """Words of customers that are about nothing else. The code recognizes these, without a model."""
    say: Sentences | None = None
    """What the customer reads first. The sentence that the case was passed on follows it."""

    def sentence(self, language: Language) -> str:
        """What a customer of the language reads first. Empty if the file has no sentence."""
        return in_language(self.say or {}, language)


class Helplines(Part):
    """Who helps at once, in a country. Read after the sentence with which a case of danger begins."""

    emergency: Annotated[Line, Field(max_length=60)] = ""
    """The number to call if somebody is in danger."""
    crisis: Sentences = Field(default={})
    """Who listens to a person who thinks of suicide: a name and a number, and when somebody answers."""


class Tag(Part):
    """A tag that staff give to cases."""

    label: Label
    """What staff read."""
    phrases: Phrases = ()
    """Words of customers for which the tag is proposed. Staff decide."""
    cause: Id | Literal[""] = ""
    """What a case with this tag is about, so that nobody is asked when they resolve it."""


class Cases(Part):
    """What staff choose from for a case."""

    causes: Annotated[Mapping[Id, Label], Field(max_length=30)] = {}
    """What cases are about, id and label, in place of the built-in causes. `other` is added if it is not there."""
    outcomes: Annotated[Mapping[Annotated[Id, AfterValidator(_own_outcome)], Label], Field(max_length=5)] = {}
    """More ways in which a case can end, id and label, beside the built-in outcomes."""
    tags: Annotated[Mapping[Id, Tag], Field(max_length=30)] = {}
    """The tags that staff can give to a case."""

    @property
    def known_causes(self) -> frozenset[str]:
        """The ids of all causes that staff can choose."""
        return frozenset((*self.causes, OTHER_CAUSE)) if self.causes else BUILT_IN_CAUSES

    def labels_of(self, tags: Iterable[str]) -> list[str]:
        """The labels of tags. One that the file no longer has is shown by its id."""
        return [self.tags[tag].label if tag in self.tags else tag for tag in tags]

    def cause_of(self, tags: Iterable[str]) -> str:
        """What a case with these tags is about. Empty if they do not say, or disagree."""
        causes = {self.tags[tag].cause for tag in tags if tag in self.tags} - {""}
        return causes.pop() if len(causes) == 1 else ""


class SavedReply(Part):
    """A reply that staff choose, edit and send."""

    name: Label
    """What staff choose it by. No two replies have the same name."""
    text: Replies
    """The words, with placeholders such as `{customer}`."""

    def words(self, language: Language) -> str:
        """The text for a customer of the language, with its placeholders."""
        return in_language(self.text, language)


class Tools(Part):
    """What the agents can do."""

    without: Annotated[tuple[Id, ...], Field(max_length=50)] = ()
    """The names of tools that the agents do not get. `escalate_to_human` always stays."""


class DeskFile(Part):
    """What a shop says about its desk."""

    shop: Annotated[Line, Field(max_length=80)] = "our shop"
    """What the assistant calls the shop."""
    assistant: Assistant = Assistant()
    """The assistant's name and voice."""
    rules: Annotated[tuple[Annotated[Line, Field(max_length=300)], ...], Field(max_length=20)] = ()
    """House rules that the model follows, one sentence each."""
    refuse: Annotated[tuple[RefusedTopic, ...], Field(max_length=20)] = ()
    """Topics that the assistant does not speak about, each with the sentence to say."""
    people: Annotated[tuple[PeopleTopic, ...], Field(max_length=20)] = ()
    """Topics that always go to a person."""
    glossary: Annotated[
        Mapping[Annotated[Line, Field(max_length=60)], Annotated[Line, Field(max_length=200)]], Field(max_length=40)
    ] = {}
    """The business's own words, each with what it means."""
    helplines: Mapping[Annotated[str, AfterValidator(_country)], Helplines] = {}
    """Country, or `elsewhere` -> who helps there."""
    duty_contact: Annotated[str, Field(pattern=r"^[SUW][A-Z0-9]{5,}$")] = ""
    """Who is mentioned at once, day and night, when somebody is in danger: a user group's id (`S…`) or a person's."""
    cases: Cases = Cases()
    """What staff choose from for a case."""
    saved_replies: Annotated[tuple[SavedReply, ...], Field(max_length=100)] = ()
    """Replies that staff choose on a card, edit and send."""
    tools: Tools = Tools()
    """What the agents can do."""

    def emergency_number(self, country: str) -> str:
        """The number to call in a country. Empty if the file names none."""
        return self._lines(country).emergency

    def crisis_line(self, country: str, language: Language) -> str:
        """Who listens in a country to a person in a crisis. Empty if the file names no one."""
        return in_language(self._lines(country).crisis, language)

    def _lines(self, country: str) -> Helplines:
        return self.helplines.get(country) or self.helplines.get(ELSEWHERE) or Helplines()


def in_language(texts: Mapping[Language, str], language: Language) -> str:
    """The text in a language, or else the English one, or else the first. Empty if there is none."""
    return texts.get(language) or texts.get(DEFAULT) or next(iter(texts.values()), "")


def json_schema() -> dict[str, Any]:
    """The JSON schema, with which an editor completes and checks the file."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **DeskFile.model_json_schema()}
