"""The text of a file or page, whatever encoding it is in.

`decode` takes, in this order: a byte order mark, UTF-8, an encoding that the page or its server names, UTF-16 without
a mark. What is left is in one of the older encodings, and `_detect` finds out which. It asks in which language the
text makes sense: each pair of an encoding and a language is refused if a letter or a sign doesn't belong there. Among
what remains, small words decide. If two encodings make different texts that are about as good, the file is left out.

charset-normalizer 3.5 alone gave wrong letters for more than a third of short pages in older encodings.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from knowledge.sources.files import Unfit
from knowledge.sources.languages import LANGUAGES, Language

SAMPLE_BYTES = 32_768
"""Bytes of the lines from which the encoding is detected."""
FOREIGN = 0.02
"""The share of characters that may not belong to the language, such as those of a foreign name."""
CLEAR = 0.5
"""What the second best text scores at most, as a share of the best one's score."""
TOUCHING = 0.25
"""The share of characters of a script without spaces that may be next to an ASCII letter."""
SURE_LETTERS = 3
"""Letters of a small word that count fully. Shorter ones occur in other languages."""
SURE = 3
"""Bytes beyond ASCII from which the small words of a text can decide."""
FEW = 16
"""Bytes beyond ASCII below which a text may be UTF-8 by chance."""

_DECLARED = frozenset(
    {
        *(f"iso-8859-{part}" for part in (1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 15)),
        *(f"windows-{page}" for page in (1250, 1251, 1252, 1253, 1254, 1255, 1256, 1257, 1258)),
        *("koi8-r", "koi8-u", "shift_jis", "euc-jp", "iso-2022-jp", "euc-kr", "gb2312", "gbk", "gb18030", "big5"),
        *("utf-16", "utf-16le", "utf-16be", "macintosh", "windows-874", "tis-620"),
    }
)
"""The encodings that the web uses, by the names that pages and servers give them."""
_SUPERSETS = {
    "iso-8859-1": "cp1252",
    "us-ascii": "cp1252",
    "ascii": "cp1252",
    "latin1": "cp1252",
    "iso-8859-9": "cp1254",
    "shift_jis": "cp932",
    "x-sjis": "cp932",
    "shift-jis": "cp932",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "cp950",
    "euc-kr": "cp949",
    "windows-874": "cp874",
    "tis-620": "cp874",
    "macintosh": "mac_roman",
}
"""The encoding that a declared one stands for on the web, https://encoding.spec.whatwg.org/#names-and-labels."""
_DOUBLE = frozenset({"cp932", "euc-jp", "gb18030", "cp949", "cp950"})
_RARE = frozenset({"mac_roman", "cp850", "cp852", "cp866", "iso8859-5", "iso8859-6", "iso8859-8"})
"""Encodings of old systems, which a text must have known words to be in."""
_MARKUP = re.compile(rb"<[^<>]{0,300}>|&#?\w{1,10};")
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]")
_TOUCHING = re.compile(r"[A-Za-z](?=[^\W\d_a-zA-Z])|(?<=[^\W\d_a-zA-Z])[A-Za-z]")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f]")
_WORD = re.compile(r"[^\W\d_]+")
_INSIDE = frozenset("’–—…\u00ad\u00a0\u200e\u200f→、。「」『』【】（）！？：；，．・ー～％“”«»")
"""Signs that may be between two letters."""
_BESIDE = frozenset("„‟‘‚‹›€™®°²³ºª")
"""Signs that may be on one side of a letter."""
_APART = frozenset("·•£¥§©×½¼¾±´¿¡")
"""Signs that have no letter before them."""
_SIGNS = _INSIDE | _BESIDE | _APART


def decode(content: bytes, *, declared: Sequence[str] = ()) -> str:
    """The text. `declared` are the encodings that are named for it, the most trusted first. Raises Unfit."""
    text = _decoded(content, [name.strip().lower() for name in declared])
    if "\x00" in text:
        raise Unfit("binary, not text")
    if not text.strip():
        raise Unfit("empty")
    return text


def _decoded(content: bytes, declared: Sequence[str]) -> str:
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        text = _strict(content, "utf-16")
        if text is None:
            raise Unfit("damaged UTF-16 text")
        return text
    text = _strict(content, "utf-8-sig")
    named = [read for name in declared if (read := _as_declared(content, name))]
    if text is not None and not (named and _may_be(content, text, named[0].encoding)):
        return text
    if named:
        return named[0].text
    if text is not None:
        return text
    if b"\x00" in content:
        return _wide(content)
    return _detect(content)


def _may_be(content: bytes, text: str, encoding: str) -> bool:
    """Whether content that is valid UTF-8 may be in another encoding that is named for it.

    Nearly all text beyond ASCII that is valid UTF-8 is UTF-8. Only a few characters of a script with two bytes each may
    be so by chance, and some encodings are made of ASCII bytes.
    """
    if text.isascii():
        return "\x1b" in text or "\x00" in text
    return encoding in _DOUBLE and len(_BEYOND_ASCII.findall(content[:SAMPLE_BYTES])) < FEW


def _as_declared(content: bytes, name: str) -> "_Reading | None":
    """The text in an encoding that is named for it. None if the name is unknown, or the content doesn't fit it."""
    known = _SUPERSETS.get(name, name if name in _DECLARED else "")
    text = _strict(content, known) if known else None
    return _Reading(known, text, 1.0) if text is not None else None


def _wide(content: bytes) -> str:
    """UTF-16 without a byte order mark, as some programs save Western text: every other byte is zero."""
    half = len(content) // 2
    for encoding, zeros in (("utf-16-le", content[1::2].count(0)), ("utf-16-be", content[::2].count(0))):
        if zeros > half / 2 and (text := _strict(content, encoding)) is not None:
            return text
    raise Unfit("binary, not text")


@dataclass(frozen=True, slots=True)
class _Reading:
    """A text that an encoding makes of the content, in a language in which it makes sense."""

    encoding: str
    text: str
    score: float


def _detect(content: bytes) -> str:
    """The text in an older encoding. Raises Unfit if it is not clear which."""
    sample = _sample(content)
    readings = sorted(_readings(sample), key=lambda reading: -reading.score)
    if len(_BEYOND_ASCII.findall(sample)) >= SURE:
        readings = [reading for reading in readings if reading.score or reading.encoding not in _RARE]
        clear = [other for other in readings[1:] if other.text != readings[0].text]
        is_clear = bool(readings) and all(other.score < CLEAR * readings[0].score for other in clear)
    else:
        # With so few characters to judge by, all encodings that make sense must make the same text.
        is_clear = len({reading.text for reading in readings}) == 1
    text = _strict(content, readings[0].encoding) if is_clear else None
    if text is not None:
        return text
    first = _BEYOND_ASCII.search(content)
    where = f"byte {first.start() if first else 0:,}"
    raise Unfit(f"not UTF-8 text ({where}), and no other encoding fits it clearly: save it as UTF-8")


def _readings(sample: bytes) -> Iterator[_Reading]:
    for encoding in dict.fromkeys(encoding for language in LANGUAGES for encoding in language.encodings):
        text = _strict(sample, encoding)
        if text is None or _CONTROL.search(text):
            continue
        beyond = Counter(_NOT_ASCII.findall(text))
        for language in LANGUAGES:
            if encoding in language.encodings and _knows(language, beyond) and _makes_sense(text, language):
                yield _Reading(encoding, text, _score(text, language))


def _knows(language: Language, beyond: Mapping[str, int]) -> bool:
    """Whether a language has these characters, counted, wherever they are."""
    foreign = sum(times for character, times in beyond.items() if not (language.has(character) or character in _SIGNS))
    return foreign <= FOREIGN * sum(beyond.values())


def _makes_sense(text: str, language: Language) -> bool:
    """Whether the characters beyond ASCII are at places where the language has them."""
    places = list(_NOT_ASCII.finditer(text))
    foreign = sum(
        1
        for place in places
        if not _belongs(
            place[0], text[place.start() - 1 : place.start()], text[place.end() : place.end() + 1], language
        )
    )
    if foreign > FOREIGN * len(places):
        return False
    if language.is_latin:
        native = sum(1 for place in places if place[0].isalpha())
        return native <= sum(map(len, _WORD.findall(text))) / 2
    return _is_whole(text, language)


def _belongs(character: str, before: str, after: str, language: Language) -> bool:
    if not language.has(character):
        is_beside = character in _BESIDE and not (before.isalpha() and after.isalpha())
        return character in _INSIDE or is_beside or (character in _APART and not before.isalpha())
    # A capital inside a word of small letters is a letter of another encoding.
    return not (language.has_case and character.isupper() and before.isalpha() and before.islower())


def _is_whole(text: str, language: Language) -> bool:
    """Whether words are wholly in the language's script, and its commonest letters are common."""
    words = _WORD.findall(text)
    native = [word for word in words if not word.isascii()]
    if language.has_spaces:
        mixed = sum(1 for word in native if any(letter.isascii() for letter in word))
        if mixed > 0.05 * len(native):
            return False
    elif len(_TOUCHING.findall(text)) > TOUCHING * sum(map(len, native)):
        return False
    letters = [letter for word in native for letter in word if not letter.isascii()]
    common = sum(1 for letter in letters if letter.lower() in language.common)
    return bool(letters) and common >= language.common_share * len(letters)


def _score(text: str, language: Language) -> float:
    """How much of a text is the commonest of the language: small words, or characters if it has no spaces."""
    if not language.has_spaces:
        letters = [letter for letter in text if letter.isalpha() and not letter.isascii()]
        return sum(1 for letter in letters if letter in language.common) / max(1, len(letters))
    words = [word.lower() for word in _WORD.findall(text)]
    return sum(min(len(word), SURE_LETTERS) for word in words if word in language.words) / max(1, len(words))


def _sample(content: bytes) -> bytes:
    """Lines with characters beyond ASCII, up to SAMPLE_BYTES, without markup. No older encoding has line ends in it."""
    kept: list[bytes] = []
    size = 0
    for line in content.splitlines(keepends=True):
        if not line.isascii():
            kept.append(_MARKUP.sub(b" ", line[:SAMPLE_BYTES]))
            size += len(kept[-1])
            if size >= SAMPLE_BYTES:
                break
    return b"".join(kept)


def _strict(content: bytes, encoding: str) -> str | None:
    try:
        return content.decode(encoding)
    except UnicodeDecodeError:
        return None
