"""A postal address, read from a customer's words in the forms that people use.

12 Oak Street, Portland, OR 97205, USA          Lindengasse 5, 8010 Graz, Austria
3 Weaver Court, Flat 6, Leeds LS1 4AP, UK       Jalan Kebun Teh 8, Bandung 40115, Indonesia

It stands on one line with commas, or on several lines. The name stands before the street.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

READ_LIMIT = 1_000
"""Characters of a message that are looked at."""
NAME_WORDS = 4
"""The most words of a name, or of a country."""
_PIECES = re.compile(r"[,\n?!]|(?<=\w\w)\.(?=\s|$)")
_CODES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("GB", re.compile(r"\b[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}\b")),
    ("NL", re.compile(r"\b\d{4} [A-Z]{2}\b(?! \d)")),
    ("US", re.compile(r"(?<=\b[A-Z]{2} )\d{5}(?:-\d{4})?\b")),
    ("CA", re.compile(r"\b[A-Z]\d[A-Z] \d[A-Z]\d\b")),
    ("", re.compile(r"(?<![\w-])\d{3}-\d{4}\b|(?<![\w-])\d{4,6}\b")),
)
"""Postal codes, with the country that writes them so and no other."""
_REGION = re.compile(r"\s([A-Z]{2,3})$")
_LEAD = re.compile(
    r"^.*(?::|\s(?:to|at|is|an|nach|auf|lautet|ist|ke|adalah|a|es|à|au|est)(?=\s))", re.IGNORECASE | re.DOTALL
)
"""What stands before an address on its line, such as "please send it to"."""
_NUMBER = re.compile(r"(?<![\w-])\d{1,5}[A-Za-z]?(?:[-/]\d{1,4}){0,2}\b")
"""A house number."""
_NO_NAME = re.compile(
    r"(?<!\w)(?:address|place|instead|office|work|please|order|it|my|new|adresse|anschrift|bitte|bestellung|direcci[oó]n"
    r"|pedido|oficina|commande|bureau|alamat|pesanan|kantor|tolong)(?!\w)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Address:
    """An address as the tools take it. What was not written is empty."""

    name: str = ""
    line1: str = ""
    line2: str = ""
    postal_code: str = ""
    city: str = ""
    region: str = ""
    country: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether a parcel finds its way to it."""
        return all((self.name, self.line1, self.city, self.postal_code, self.country))


def read_address(text: str, *, besides: Iterable[str] = ()) -> Address:
    """The address in a text, as far as it is written. The order numbers `besides` are no part of it."""
    text = text[:READ_LIMIT]
    for number in besides:
        text = text.replace(number, "").replace(number.removeprefix("ORD-"), "")
    pieces = [" ".join(piece.split()) for piece in _PIECES.split(text)]
    pieces = [bare for piece in pieces if (bare := _LEAD.sub("", piece, count=1).strip(" :;-"))]
    street = next((place for place, piece in enumerate(pieces) if _is_street(piece)), None)
    if street is None:
        return Address()
    name = pieces[street - 1] if street and _is_name(pieces[street - 1]) else ""
    codes = ((at, _code(pieces[at])) for at in range(street + 1, len(pieces)))
    at, found = next(((at, found) for at, found in codes if found), (0, None))
    if found is None:
        return Address(name=name, line1=pieces[street])
    country, code = found
    between = pieces[street + 1 : at]
    city = " ".join(pieces[at].replace(code, " ").split())
    region = ""
    if between and (not city or re.fullmatch(r"[A-Z]{2,3}", city)):
        region, city = city, between.pop()
    elif country in ("US", "CA") and (match := _REGION.search(city)):
        region, city = match[1], city[: match.start()]
    after = pieces[at + 1] if len(pieces) > at + 1 else ""
    return Address(
        name=name,
        line1=pieces[street],
        line2=", ".join(between),
        postal_code=code,
        city=city,
        region=region,
        country=after if _is_name(after) else country,
    )


def _code(piece: str) -> tuple[str, str] | None:
    """The postal code in a piece, with the country that it tells."""
    return next(((country, found[0]) for country, form in _CODES if (found := form.search(piece))), None)


def _is_street(piece: str) -> bool:
    """Whether it has a house number and a word beside it."""
    return bool(_NUMBER.search(piece) and re.search(r"[^\W\d_]{3}", piece))


def _is_name(piece: str) -> bool:
    return 0 < len(piece.split()) <= NAME_WORDS and not re.search(r"\d", piece) and not _NO_NAME.search(piece)
