"""Where a person seems to be."""

import pytest

from bot.desk_file.countries import countries, country_of


@pytest.mark.parametrize(
    ("zone", "locale", "country"),
    [
        ("Europe/Berlin", "en-US", "DE"),
        ("Europe/Zurich", "de-DE", "CH"),
        ("Europe/Amsterdam", "", "NL"),
        ("Asia/Calcutta", "en-US", "IN"),
        ("US/Pacific", "", "US"),
        ("Asia/Jakarta", "id-ID", "ID"),
        ("UTC", "de-DE", ""),
        ("Nowhere/Town", "de-DE", ""),
        ("", "de-AT", "AT"),
        ("", "pt_BR", "BR"),
        ("", "en-US", ""),
        ("", "es-LA", ""),
        ("", "de", ""),
        ("", "", ""),
    ],
)
def test_the_time_zone_says_the_country_and_else_the_locale(zone: str, locale: str, country: str) -> None:
    assert country_of(zone, locale) == country


def test_all_countries_are_known() -> None:
    assert {"AT", "DE", "GB", "ID", "US", "ZA"} <= countries()
    assert len(countries()) > 240
