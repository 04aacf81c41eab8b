"""Amounts as people read them."""

from bot.shops.port import Money


def test_an_amount_is_written_with_the_digits_its_currency_has() -> None:
    table = [
        (12_998, "USD", "129.98 USD"),
        (5, "EUR", "0.05 EUR"),
        (-1_250, "EUR", "-12.50 EUR"),
        (0, "GBP", "0.00 GBP"),
        (13_600, "JPY", "13,600 JPY"),
        (185_000_000, "IDR", "1,850,000 IDR"),
        (185_000_050, "IDR", "1,850,000.50 IDR"),
        (1_234_567, "KWD", "1,234.567 KWD"),
    ]
    misses = [(minor, currency, got) for minor, currency, text in table if (got := str(Money(minor, currency))) != text]
    assert misses == []
