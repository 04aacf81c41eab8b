"""Decides whether a reply in a channel's thread is for the assistant if it does not mention the app.

Other people may talk to each other in the thread.

concerns_us       The reply of the person who was answered last continues their matter.
calls_for_people  It asks for a person, or needs one.
asks              It is a question.
names_matter      It names what the conversation is about.
says_unsettled    It says that something still does not work.

The words are those of the five languages. A reply that these rules exclude is neither answered nor shown to anyone.
"""

import re
from collections.abc import Iterable

from bot.desk.policy import asks_for_person, needs_person
from bot.language.rhetoric import tells_nothing

READ_LIMIT = 2_000
"""The number of characters of a text that are read."""
STEM = 5
"""Two words count as the same if this many of their first letters are equal."""
SHORTEST = 4
"""The least number of letters of a word that can name a matter."""

_QUOTED = re.compile(r"`[^`\n]*`|https?://\S+|^[ \t]*(?:>|&gt;)[^\n]*", re.MULTILINE)
_ASKS = re.compile(r"[?？]")
_BEGINS_QUESTION = re.compile(
    r"(?:^|[.;\n])[^\S\n]{0,9}(?:(?:and|but|so|ok|okay|also|then|und|aber|oder|y|pero|et|mais|dan|tapi|kalau)\s{1,9})?(?:"
    r"(?:what(?!\s+an?\b)|when|where|which|who|why|how)(?:'s|s)?\b"
    r"|(?:can|could|will|would|do|does|did|is|are|was|has|have|may|should)\s+(?:i|you|it|they|we|my|the|there|this|that)\b"
    r"|(?:apa|apakah|bagaimana|gimana|kapan|di ?mana|kenapa|mengapa|berapa|bisakah|bolehkah|apa bisa)\b"
    r"|(?:was|wann|wo|woher|wohin|warum|wieso|wie|welche[rsmn]?|wer|wem)\b"
    r"|(?:kann|können|darf|ist|sind|gibt|geht|habt|haben|wird)\s+(?:ich|sie|ihr|man|es|das|die|der|mein\w*|du)\b"
    r"|(?:qué\s+(?:es|hay|pasa|hago|tengo|debo|puedo|significa)|cuándo|cuando|dónde|donde|cuál|cuáles|cómo)\b"
    r"|(?:cuánto|cuánta|por qué|puedo|pueden?|puedes|tienen?|hay)\b"
    r"|(?:quand|où|pourquoi|comment|combien|quel(?:le)?s?|est-ce|qu'est-ce|puis-je|pouvez-vous|peux-tu|avez-vous)\b"
    r")",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\b[A-Za-z]{2,8}[-#]?\d{3,}\b|#\d{3,}\b|\b\d{5,}\b")
_WORD = re.compile(r"[^\W\d_]+")
_UNSETTLED = re.compile(
    r"\bstill\b|\bagain\b|\b(?:not|isn't|isnt) (?:solved|fixed|working|resolved|there|here)\b"
    r"|\b(?:does|did)(?:n't|nt| not) work\b"
    r"|\bmasih\b|\bbelum\b|\blagi\b|\btidak (?:bisa|berfungsi|jalan)\b"
    r"|\bimmer noch\b|\bnoch immer\b|\bwieder\b|\b(?:geht|funktioniert|klappt) (?:\w+ )?nicht\b|\bnoch nicht\b"
    r"|\bsigue\b|\btodavía\b|\baún\b|\botra vez\b|\bno funciona\b"
    r"|\btoujours\b|\bencore\b|\bne (?:marche|fonctionne) (?:\w+ )?pas\b|\bpas (?:réglé|résolu)\b",
    re.IGNORECASE,
)


def concerns_us(text: str, *, matter: Iterable[str], is_asked_back: bool = False) -> bool:
    """Whether a reply without a mention, by the person who was answered last, is for the assistant.

    `matter` are the texts of the conversation so far, whoever wrote them. With `is_asked_back` the assistant has asked
    the person something, so any reply is an answer to it.
    """
    return is_asked_back or asks(text) or calls_for_people(text) or names_matter(text, matter)


def calls_for_people(text: str) -> bool:
    """Whether the text asks for a person, or needs one."""
    return asks_for_person(text) or needs_person(text)


def asks(text: str) -> bool:
    """Whether the text contains a question, with or without a question mark."""
    said = _QUOTED.sub(" ", text[:READ_LIMIT])
    return bool(_ASKS.search(said) or _BEGINS_QUESTION.search(said))


def names_matter(text: str, matter: Iterable[str]) -> bool:
    """Whether the text names an order or another number, or shares a significant word with the matter."""
    said = _QUOTED.sub(" ", text[:READ_LIMIT])
    if _NUMBER.search(said):
        return True
    words = _telling(said)
    return bool(words) and any(words & _telling(each[:READ_LIMIT]) for each in matter)


def says_unsettled(text: str) -> bool:
    """Whether the text says that something still does not work, or happens again."""
    return bool(_UNSETTLED.search(text[:READ_LIMIT]))


def _telling(text: str) -> set[str]:
    """The first letters of the words that say what a text is about."""
    words = (word.casefold() for word in _WORD.findall(text))
    return {word[:STEM] for word in words if len(word) >= SHORTEST and not tells_nothing(word)}
