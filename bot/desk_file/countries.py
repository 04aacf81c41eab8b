"""The country that a person is in, as far as a Slack profile shows it.

country_of  From the profile's time zone, or else from its locale.
countries   The codes that there are.

Which zones and codes there are is data of the package tzdata, so that no table has to be kept here.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources

_FAR_AND_WIDE = frozenset({"en-US", "es-LA"})
"""Slack's default locale, and its Spanish for all of Latin America. They say nothing about the country."""


def country_of(zone: str, locale: str) -> str:
    """The country's code, such as `DE`. Empty if neither says one.

    Slack takes the time zone from the person's device, so it follows them to where they are. A locale only says which
    language they chose. It counts only without a time zone, and only if it is in no use elsewhere.
    """
    if zone:
        return _countries_of_zones().get(zone, "")
    locale = locale.replace("_", "-")
    region = locale.partition("-")[2].upper()
    return region if region in countries() and locale not in _FAR_AND_WIDE else ""


@cache
def countries() -> frozenset[str]:
    """The two-letter codes of all countries, in capitals."""
    return frozenset(code for code, _ in _rows("iso3166.tab"))


@cache
def _countries_of_zones() -> Mapping[str, str]:
    """Time zone -> country. A former name of a zone counts like the present one."""
    zones = {name: code for code, _, name, *_ in _rows("zone.tab")}
    for line in _lines("tzdata.zi"):
        kind, *names = line.split()
        if kind == "L" and names[0] in zones:
            zones.setdefault(names[1], zones[names[0]])
    return zones


def _rows(name: str) -> Iterator[list[str]]:
    return (line.split("\t") for line in _lines(name) if line and not line.startswith("#"))


def _lines(name: str) -> list[str]:
    return (resources.files("tzdata") / "zoneinfo" / name).read_text("utf-8").splitlines()
