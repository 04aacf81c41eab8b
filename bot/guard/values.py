"""The values in a text that can be right or wrong: amounts, percentages, dates, numbers, codes, links. In any language.

plain        a text as it is read here: digits as 0-9, no invisible characters, no emphasis, no accents
read_values  the values in a text, normalised: 1.299,00 and 1,299.00 are one amount, 22 Nov and 11/22/2026 one date
durations    the numbers of days, weeks or months that a text names: "within 30 days"

Only the form of a value decides, and no wording around it. `value_words.yml` lists the names of months, currencies and
units in many languages. Counts, sizes, times of day and model names are no values: "2 pairs", "24/7", "9:30", "A4",
"5 kg". Every pattern is bounded, so that the time grows no faster than the text.
"""

import html
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib import resources
from typing import Any, Literal

from bot.own_files import read_own

ValueKind = Literal["amount", "percentage", "date", "number", "code", "link"]
"""The kind of a value: a sum of money · a share · a day or a month · an order's, parcel's, case's or telephone number
and any other of four digits or more · a code that a customer types to pay less · the address of a page or a mailbox."""
Day = tuple[int, int, int]
"""Year, month and day. A part that is not given is 0."""
THOUSANDTHS = 1_000
"""Numbers are stored in whole thousandths."""

_MASK = "\x00"
"""A placeholder for what one pattern has read, so that no other pattern reads it. No text has it."""


@dataclass(frozen=True, slots=True)
class Value:
    """One value as a text names it."""

    kind: ValueKind
    start: int
    end: int
    numbers: frozenset[int] = frozenset()
    """The possible numbers of an amount or a percentage, in thousandths. "1.299" is read both ways."""
    currencies: frozenset[str] = frozenset()
    """The currencies that an amount may be in. Empty if it names none."""
    days: frozenset[Day] = frozenset()
    """The possible days of a date. 11/12/2026 is read both ways."""
    key: str = ""
    """A number, a code or a link without what makes no difference: case, blanks, dashes."""


@dataclass(frozen=True, slots=True)
class Duration:
    """A number of days, weeks, months or years."""

    count: int
    unit: Literal["days", "weeks", "months", "years"]


def plain(text: str) -> str:
    """The text with digits as 0-9, without invisible characters, emphasis and accents. Letters keep their case."""
    if "&" in text:
        text = html.unescape(text)
    if not text.isascii():
        apart = unicodedata.normalize("NFKD", text.translate(_SIGNS))
        kept = "".join(_digit(each) for each in apart if unicodedata.category(each) not in _UNSEEN)
        text = unicodedata.normalize("NFC", kept)
    text = _BETWEEN_FIGURES.sub(" - ", text.replace(_MASK, " "))
    return _EMPHASIS.sub("", text)


def read_values(text: str) -> list[Value]:
    """The values in a `plain` text."""
    return _Reader(text).read()


def durations(text: str) -> set[Duration]:
    """The spans of time that a `plain` text names. "5 to 7 days" gives both."""
    found: set[Duration] = set()
    for match in load_value_words().span.finditer(text):
        unit = load_value_words().units_of_time[match["unit"].casefold()]
        found |= {Duration(int(count), unit) for count in (match["from"], match["count"]) if count}
    return found


def numbers_in(figure: str) -> frozenset[int]:
    """What a figure may mean, in thousandths, however its thousands and decimals are marked. Empty if it means none."""
    figure = figure.strip(" .,'’")
    marks = [each for each in figure if each in ".,"]
    figure = figure.replace(" ", "").replace("'", "").replace("’", "")
    if not marks:
        return frozenset({int(figure) * THOUSANDTHS}) if figure.isdigit() else frozenset()
    head, _, tail = figure.rpartition(marks[-1])
    grouped = all(len(part) in (2, 3) for part in re.split("[.,]", head)[1:]) and head[:1].isdigit()
    readings: set[int] = set()
    whole = re.sub("[.,]", "", head)
    if len(tail) == 3 and grouped and len(set(marks)) == 1:
        readings.add(int(whole + tail) * THOUSANDTHS)
    if marks.count(marks[-1]) == 1 and grouped and 1 <= len(tail) <= 6:
        readings.add(int(whole) * THOUSANDTHS + int(tail[:3].ljust(3, "0")))
    return frozenset(readings)


# What is not seen or makes no difference

_UNSEEN = frozenset({"Cf", "Cs", "Co", "Me", "Mn"})
_SIGNS = str.maketrans(
    {
        "٫": ".",
        "٬": ",",
        "٪": "%",
        "﹪": "%",
        "‐": "-",
        "‑": "-",
        "–": "-",
        "—": "-",
        "−": "-",
        "〜": "-",
        "～": "-",
        "’": "'",
        "×": " x ",
    }
)
_BETWEEN_FIGURES = re.compile(r"(?<=\d) ?~ ?(?=\d)")
"""A tilde that means "to"."""
_EMPHASIS = re.compile(r"[*~`]|(?<![^\W_])_|_(?![^\W_])")


def _digit(character: str) -> str:
    if character.isascii():
        return character
    value = unicodedata.decimal(character, None)
    return character if value is None else str(value)


# The forms of values

_NUM = r"\d{1,24}(?:[ '’]\d{3}(?!\d)){0,4}(?:[.,]\d{1,6}){0,5}"
_NOT_BEFORE = r"(?<![\d.,])(?<![.,]\d)"
_SCHEME = re.compile(r"(?<![a-zA-Z])(?:https?|ftp)://[^\s<>\"'()\[\]|\x00]{1,500}", re.IGNORECASE)
_NAME = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,62}[a-zA-Z0-9])?"
_DEFUSED = re.compile(
    rf"(?<![\w.-]){_NAME}(?:(?:\.|\[\.\]){_NAME}){{0,4}}\[\.\]{_NAME}(?:\[\.\]{_NAME}){{0,4}}(?:/[^\s<>()|\x00]{{0,300}})?"
)
_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\[?\.\]?[\w-]{1,63}){1,5}")
_BARE_NAME = re.compile(
    rf"(?<![\w.@-])(?:{_NAME}\.){{1,4}}(?:com|org|net|io|shop|example|info|app|dev|co|eu|de|uk|fr|es|id|me|ly|gg|xyz|top|site|store|online)(?![\w-])(?:/[^\s<>()|\x00]{{0,300}})?"
)
_ISO = re.compile(r"(?<![\d.])(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?!\d)")
_NUMERIC = re.compile(r"(?<![\d./-])(\d{1,2})([-/.]) ?(\d{1,2})\2 ?(\d{4}|\d{2})(?![\d-]|[./]\d)")
_EAST = re.compile(r"(?:(\d{4}) ?[年년] ?)?(?<!\d)(\d{1,2}) ?[月월](?: ?(\d{1,2}) ?[日号號일])?(?!間)")
_THANG = re.compile(r"(?<!\d)(\d{1,2}) thang (\d{1,2})(?:(?: nam|,|/)? ?(\d{4}))?(?!\d)", re.IGNORECASE)
_DAY_POINT = re.compile(r"(?<![\d.,])(\d{1,2})\.(\d{1,2})\.(?![\d])")
_DAY_SLASH = re.compile(r"(?<![\d/.,])(\d{2})/(\d{2})(?![\d/]|,\d)")
_SMALL = re.compile(r"(?<![\d.,/:#-])\d{1,2}(?!\d|[.,:]\d)")
_AFTER_DAY = re.compile(
    r"(?:st|nd|rd|th|er|ste|de|[ºª]|\.|\.?o)?[ \xa0-]{0,2}(?:(?:de|of|di|da|del|den|of the|ta') |(?:de )?(?:d|l)')?"
    r"(?P<name>[^\s\d.,;:!?()\[\]\"/\x00|-]{2,20})"
    r"(?P<rest>\.?(?:,|/|-| de| del| of|)? ?(?P<year>\d{4})(?!\d|[.,]\d))?",
    re.IGNORECASE,
)
_YEAR_AFTER = re.compile(r"(?:st|nd|rd|th)?(?:,| de| of)? {0,2}(\d{4})(?!\d|[.,]\d)")
_MONTH_YEAR = re.compile(
    r"(?P<name>[^\s\d.,;:!?()\[\]\"/\x00|-]{3,20})\.?(?: de| del)? (?P<year>(?:19|20)\d{2})(?!\d|[.,]\d)"
)
_HASH = re.compile(r"#\s?(\d{2,20})(?!\d)")
_PHONE = re.compile(r"(?<![\w.,-])(?:\+|\()?\d{1,16}(?:[ ()./-]{1,2}\d{1,16}){1,8}(?![\d%])")
_LETTER = "A-Za-zÀ-ɏͰ-ԯ"
_TOKEN = re.compile(
    rf"(?<![{_LETTER}0-9])[{_LETTER}0-9]{{1,40}}(?:[-_/][{_LETTER}0-9]{{1,40}}){{0,6}}(?![{_LETTER}0-9])"
)
_UNIT_LIKE = re.compile(
    r"\d{1,5}(?:st|nd|rd|th|er|[a-z]{1,4}|[A-Z]{1,2}|MAH|GHZ|MHZ|DPI|RPM)|\d{1,2}[hH]\d{0,2}|\d{1,4}(?:[x×]\d{1,4}){1,2}[a-z]{0,2}"
)
_MODEL_LIKE = re.compile(rf"[{_LETTER}]{{1,12}}\d{{1,2}}[{_LETTER}]{{0,2}}")
_MIXED = re.compile(r"(?=[A-Z0-9]{4})(?:[0-9]{1,4}[A-Z]{1,4}[0-9]|[A-Z]{1,4}[0-9]{1,4}[A-Z])[A-Z0-9]{1,20}")
_CODE_LIKE = re.compile(r"[A-Z]{4,20}\d{1,4}|[A-Z]{3,20}\d{2,4}|\d{1,3}[A-Z]{3,20}|[A-Z]{4,20}-\d{1,3}")
_FIGURE = re.compile(rf"{_NOT_BEFORE}{_NUM}(?![\d])")


class _Reader:
    """Reads one text. What has been read is masked for the patterns that come after."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._found: list[Value] = []

    def read(self) -> list[Value]:
        if not _MAY_HOLD.search(self._text):
            return []
        words = load_value_words()
        if "." in self._text:
            for link in (_SCHEME, _MAIL, _DEFUSED, _BARE_NAME):
                self._each(link, _link)
        self._each(words.code_word, self._named_code)
        if _DIGIT.search(self._text):
            self._dates()
            self._each(words.percent_behind, self._percentage)
            self._each(words.percent_before, self._percentage)
            self._each(words.money_before, self._amount)
            self._each(words.money_behind, self._amount)
            self._each(_HASH, _hash_number)
            self._each(_PHONE, self._phone)
            self._each(_TOKEN, self._token)
            self._each(_FIGURE, self._figure)
        return sorted(self._found, key=lambda value: value.start)

    def _each(self, pattern: re.Pattern[str], read: Any) -> None:
        """Read what the pattern finds. `read` returns a value, or None if the match is none."""

        def masked(match: re.Match[str]) -> str:
            value = read(match)
            if value is None:
                return match[0]
            self._found.append(value)
            return _MASK * len(match[0])

        self._text = pattern.sub(masked, self._text)

    def _dates(self) -> None:
        self._each(_ISO, lambda match: _date(match, [(int(match[1]), int(match[3]), int(match[4]))]))
        self._each(_NUMERIC, _numeric_date)
        self._each(_EAST, _eastern_date)
        self._each(_THANG, lambda match: _date(match, [(int(match[3] or 0), int(match[2]), int(match[1]))]))
        self._each(_DAY_POINT, lambda match: _date(match, [(0, int(match[2]), int(match[1]))]))
        self._days_with_names()
        self._each(_MONTH_YEAR, self._month_and_year)
        self._each(
            _DAY_SLASH,
            lambda match: _date(match, [(0, int(match[1]), int(match[2])), (0, int(match[2]), int(match[1]))]),
        )

    def _days_with_names(self) -> None:
        """ "22 November", "November 22nd", "22 de noviembre de 2026"."""
        text, spans = self._text, []
        for small in _SMALL.finditer(text):
            number = int(small[0])
            if not 1 <= number <= 31:
                continue
            if (
                (after := _AFTER_DAY.match(text, small.end()))
                and (months := _months(after["name"], is_sure=bool(after["year"])))
                and not _begins_a_sentence(text, small.end(), after)
            ):
                start, end, year = small.start(), after.end(), int(after["year"] or 0)
            elif (name := _word_before(text, small.start())) and (months := _months(name, is_sure=False)):
                following = _YEAR_AFTER.match(text, small.end())
                start, end = text.rindex(name, 0, small.start()), following.end() if following else small.end()
                year = int(following[1]) if following else 0
            elif after and after["year"] and 1900 <= int(after["year"]) <= 2199 and not after["name"].isascii():
                # A month in a language that is not listed: the day and the year are still known.
                start, end, year, months = small.start(), after.end(), int(after["year"]), frozenset({0})
            else:
                continue
            days = [(year, month, number) for month in months]
            self._found.append(Value("date", start, end, days=frozenset(days)))
            spans.append((start, end))
        self._mask(spans)

    def _mask(self, spans: Iterable[tuple[int, int]]) -> None:
        parts, at = [], 0
        for start, end in sorted(spans):
            if end > at:
                parts += [self._text[at : max(at, start)], _MASK * (end - max(at, start))]
                at = end
        self._text = "".join([*parts, self._text[at:]])

    def _month_and_year(self, match: re.Match[str]) -> Value | None:
        months = _months(match["name"], is_sure=True)
        days = frozenset((int(match["year"]), month, 0) for month in months)
        return Value("date", *match.span(), days=days) if days else None

    def _percentage(self, match: re.Match[str]) -> Value | None:
        numbers = numbers_in(match["num"])
        if match["from"]:
            self._found.append(Value("percentage", *match.span("from"), numbers=numbers_in(match["from"])))
        return Value("percentage", *match.span(), numbers=numbers) if numbers else None

    def _amount(self, match: re.Match[str]) -> Value | None:
        words = load_value_words()
        factor = words.multipliers.get((match["many"] or "").casefold(), 1)
        sign = match["sign"].casefold()
        is_cents = sign in words.cents
        currencies = frozenset() if is_cents else words.currencies.get(sign, frozenset({sign.upper()}))
        parts = [("num", match["num"])]
        if match["from"]:
            parts.append(("from", match["from"]))
        values = []
        for name, figure in parts:
            numbers = frozenset(each * factor // (100 if is_cents else 1) for each in numbers_in(figure))
            span = match.span() if name == "num" else match.span(name)
            values.append(Value("amount", *span, numbers=numbers, currencies=currencies))
        self._found += values[1:]
        return values[0] if values[0].numbers else None

    def _phone(self, match: re.Match[str]) -> Value | None:
        digits = re.sub(r"\D", "", match[0])
        groups = re.findall(r"\d+", match[0])
        is_phone = match[0][0] in "+(0" or any(len(group) >= 4 for group in groups)
        if len(digits) < 7 or not is_phone:
            return None
        return Value("number", *match.span(), key=digits)

    def _token(self, match: re.Match[str]) -> Value | None:
        token = match[0]
        if token.isdigit() or not _DIGIT.search(token):
            return None
        span, key = match.span(), key_of(token)
        if _CODE_LIKE.fullmatch(token):
            return Value("code", *span, key=key)
        if _UNIT_LIKE.fullmatch(token) or _MODEL_LIKE.fullmatch(token):
            return None
        digits = sum(each.isdigit() for each in token)
        if "-" in token or "_" in token or "/" in token:
            is_named = bool(re.search(r"[A-Z]{2}", token)) and bool(re.search(r"\d{3}", token) or _MIXED.search(token))
            if not is_named and digits < 4:
                return None
            if not re.search(rf"[{_LETTER}]", token):
                return None
        elif digits < 3 and not _MIXED.fullmatch(token):
            return None
        return Value("number", *span, key=key)

    def _named_code(self, match: re.Match[str]) -> Value | None:
        code = match["code"]
        return Value("code", *match.span("code"), key=key_of(code)) if len(code) >= 4 or _DIGIT.search(code) else None

    def _figure(self, match: re.Match[str]) -> Value | None:
        """A number with nothing next to it. With cents it is an amount; otherwise it is a value from four digits on."""
        figure, words = match[0], load_value_words()
        digits = re.sub(r"\D", "", figure)
        if re.fullmatch(r"\d+", figure):
            is_year = len(figure) == 4 and 1900 <= int(figure) <= 2199
            return None if len(figure) < 4 or is_year else Value("number", *match.span(), key=figure)
        if not (numbers := numbers_in(figure)):
            return None
        if words.unit.match(match.string, match.end()) or _follows_clock(match):
            return None
        if re.search(r"[.,]\d\d$", figure):
            return Value("amount", *match.span(), numbers=numbers)
        if len(digits) >= 4 and re.search(r"[., '’]\d{3}", figure):
            return Value("number", *match.span(), numbers=numbers, key=digits)
        return None


_DIGIT = re.compile(r"\d")
_MAY_HOLD = re.compile(r"\d|://|\[\.\]|@|\.[a-z]|[A-Z]{4}")


def key_of(token: str) -> str:
    """A number or a code without case, blanks and dashes."""
    return re.sub(r"[\W_]", "", token).casefold()


def _link(match: re.Match[str]) -> Value:
    return Value("link", *match.span(), key=link_key(match[0]))


def _hash_number(match: re.Match[str]) -> Value:
    return Value("number", *match.span(), key=match[1])


def link_key(address: str) -> str:
    """A link without what makes no difference: its scheme, "www.", a fragment, a last slash."""
    address = address.replace("[.]", ".").replace("[:]", ":").rstrip(".,;:!?'\"*_~>)]")
    address = re.sub(r"^[a-zA-Z]{3,5}://", "", address)
    host, slash, rest = address.partition("/")
    return f"{host.casefold().removeprefix('www.')}{slash}{rest.partition('#')[0]}".rstrip("/")


def _begins_a_sentence(text: str, end: int, after: re.Match[str]) -> bool:
    """Whether the month's name is the first word of a question: "You have 30. May I help?" """
    return text[end : end + 1] == "." and after["name"] == "May" and not after["year"]


def _word_before(text: str, position: int) -> str:
    """The word before the position, with one blank, dash or "the" between them. Empty if there is none."""
    before = text[max(0, position - 30) : position]
    if before[-1:] not in (" ", "-"):
        return ""
    words = before[:-1].removesuffix(" the").removesuffix(".").split(" ")
    name = words[-1].rpartition("\n")[2].lstrip("(\"'-")
    return name if name and not _DIGIT.search(name) else ""


def _date(match: re.Match[str], readings: Iterable[Day]) -> Value | None:
    days = frozenset(day for day in readings if is_day(day))
    return Value("date", *match.span(), days=days) if days else None


def _numeric_date(match: re.Match[str]) -> Value | None:
    one, other, year = int(match[1]), int(match[3]), int(match[4])
    year += 2000 if len(match[4]) == 2 else 0
    readings = {(year, other, one), (year, one, other)}
    if len(match[4]) == 2:
        readings |= {(2000 + one, other, int(match[4]))}
    return _date(match, readings)


def _eastern_date(match: re.Match[str]) -> Value | None:
    if not match[1] and not match[3]:
        return None
    return _date(match, [(int(match[1] or 0), int(match[2]), int(match[3] or 0))])


def is_day(day: Day) -> bool:
    """Whether the day exists. Without a year, whether it exists in any year."""
    year, month, number = day
    try:
        date(year or 2024, month, number or 1)
    except ValueError:
        return False
    return True


def _months(name: str, *, is_sure: bool) -> frozenset[int]:
    """The months that a word may name. Short names that are words as well need a capital or a year next to them."""
    names, bare = load_value_words().months, name.casefold().strip("'’.")
    if is_sure or name[:1].isupper() or not name[:1].isascii() or (len(bare) > 3 and bare not in ("mars", "mart")):
        for length in range(len(bare), max(2, len(bare) - 5), -1):
            if length < len(bare) and length < 5:
                break
            if months := names.get(bare[:length]):
                return months
        # A preposition may precede it without a blank, as in Hebrew.
        return names.get(bare[1:], frozenset()) if not bare.isascii() else frozenset()
    return names.get(bare, frozenset()) if bare not in _WORDS_TOO else frozenset()


_WORDS_TOO = frozenset(
    [
        "may",
        "out",
        "set",
        "mar",
        "des",
        "ago",
        "dis",
        "gen",
        "mag",
        "ott",
        "dec",
        "sep",
        "sen",
        "lis",
        "led",
        "dub",
        "bal",
        "mac",
        "jan",
        "jun",
        "mart",
        "mars",
        "mai",
    ]
)


def _follows_clock(match: re.Match[str]) -> bool:
    before = match.string[max(0, match.start() - 12) : match.start()].split()
    is_time = re.fullmatch(r"(?:[01]?\d|2[0-4])[.,][0-5]\d", match[0]) is not None
    if not is_time:
        return False
    joint = match.string[match.end() : match.end() + 3].strip()[:1]
    return bool(before and before[-1].casefold() in load_value_words().clock) or joint in ("-", ":")


# The words of many languages


@dataclass(frozen=True, slots=True)
class _Words:
    months: Mapping[str, frozenset[int]]
    currencies: Mapping[str, frozenset[str]]
    cents: frozenset[str]
    multipliers: Mapping[str, int]
    units_of_time: Mapping[str, Any]
    clock: frozenset[str]
    percent_behind: re.Pattern[str]
    percent_before: re.Pattern[str]
    money_before: re.Pattern[str]
    money_behind: re.Pattern[str]
    span: re.Pattern[str]
    unit: re.Pattern[str]
    code_word: re.Pattern[str]


@cache
def load_value_words() -> _Words:
    """The names of months, currencies and units as patterns. The first call takes some tenths of a second, so an app
    loads them before it serves."""
    read = read_own(resources.files("bot").joinpath("guard", "value_words.yml"))
    months: dict[str, frozenset[int]] = {}
    for number, names in read["months"].items():
        for name in _split(names):
            months[name] = months.get(name, frozenset()) | {number}
    currencies: dict[str, frozenset[str]] = {}
    for signs, codes in read["currencies"].items():
        for sign in _split(signs):
            currencies[sign] = currencies.get(sign, frozenset()) | frozenset(codes.split())
    codes = read["codes"].split()
    for code in codes:
        currencies.setdefault(code.casefold(), frozenset({code}))
    cents = _split(read["cents"])
    multipliers = {plain(name).casefold(): factor for name, factor in read["multipliers"].items()}
    # No plane after the second has signs of currencies.
    signs = sorted({chr(code) for code in range(0x20000) if unicodedata.category(chr(code)) == "Sc"})
    any_sign = [*currencies, *signs]
    short = [each for each in any_sign if _may_stand_before(each)]
    percent = "|".join(["%", *(_bounded(each.replace("-", " ")) for each in _split(read["percent"]))])
    many = "|".join(map(_bounded, sorted(multipliers, key=len, reverse=True)))
    up_to = rf"(?:{_NOT_BEFORE}(?P<from>{_NUM}) ?- ?)?"
    sign_before = _any_of(short)
    # Languages add endings to the names of their money: "25 euroa".
    long = [each for each in (*currencies, *cents) if len(each) >= 4 and each[-1].isalpha() and ord(each[-1]) < 0x0E00]
    sign_behind = rf"(?:{'|'.join(sorted(long, key=len, reverse=True))})(?=[^\W\d_]{{0,3}}(?![^\W\d_]))"
    sign_behind = f"{_any_of(each for each in (*any_sign, *cents))}|{sign_behind}"
    spans = {word: unit for unit, words in read["spans"].items() for word in _split(words)}
    return _Words(
        months,
        currencies,
        frozenset(cents),
        multipliers,
        spans,
        frozenset(_split(read["clock"])),
        re.compile(rf"{up_to}(?:{_NOT_BEFORE})(?P<num>{_NUM}) ?(?:{percent})", re.IGNORECASE),
        re.compile(rf"(?P<from>(?!))?[%] ?(?P<num>{_NUM})(?![\d%])"),
        re.compile(
            rf"(?<![^\W\d_])(?P<sign>{sign_before}) {{0,2}}(?:(?P<from>{_NUM}) ?- ?)?(?P<num>{_NUM})"
            rf"(?:[.,]-)?(?: ?(?P<many>{many}))?",
            re.IGNORECASE,
        ),
        re.compile(
            rf"{up_to}{_NOT_BEFORE}(?P<num>{_NUM})(?:,-)?(?: ?(?P<many>{many}))? ?(?P<sign>{sign_behind})",
            re.IGNORECASE,
        ),
        re.compile(
            rf"(?<![\d.,])(?:(?P<from>\d{{1,3}})(?: ?- ?| \w{{1,6}} ))?(?P<count>\d{{1,3}})[ -]?(?:(?!\d)\w{{1,12}} )?"
            rf"(?P<unit>{_any_of(spans)})",
            re.IGNORECASE,
        ),
        re.compile(rf" ?(?:{_any_of(_split(read['units']))})", re.IGNORECASE),
        re.compile(rf"(?i:{_any_of(_split(read['code_words']))})\W{{1,4}}(?P<code>[A-Z][A-Z0-9_-]{{2,30}})(?![\w])"),
    )


_NO_PREFIX = frozenset(["lei", "leu", "yen", "yens", "tl", "dong", "peso", "lira", "baht", "evro"])


def _may_stand_before(sign: str) -> bool:
    """Whether the sign is also written before its number: "Rp 500", "kr 89". Words are not."""
    is_sign = not sign[-1].isalpha() or (sign[0].isascii() and len(sign) <= 4)
    return is_sign and sign not in _NO_PREFIX


def _split(words: str) -> list[str]:
    return [plain(word).casefold() for word in words.split()]


def _any_of(words: Iterable[str]) -> str:
    return "|".join(_bounded(each) for each in sorted(set(words), key=len, reverse=True))


def _bounded(word: str) -> str:
    """The word as a pattern that must not go on with a letter, in scripts with blanks between words."""
    expression = re.escape(word)
    is_spaced = word[-1].isalpha() and ord(word[-1]) < 0x0E00
    return rf"{expression}(?![^\W\d_])" if is_spaced else expression
