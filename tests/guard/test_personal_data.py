"""What is somebody's own is taken out of texts that others read."""

from bot.guard.personal_data import names_in, without_personal


def test_addresses_numbers_and_links_go_and_rules_stay() -> None:
    table = [
        ("Send it to 12 Elm Street, please.", "Send it to [address], please."),
        ("I live at 221B Old Kent Road", "I live at [address]"),
        ("Lindenstraße 5, 10115 Berlin ist richtig", "[address] ist richtig"),
        ("Am Alten Platz 17b", "[address]"),
        ("8 bis, rue de la Paix", "[address]"),
        ("Calle de Alcalá 45", "[address]"),
        ("Jl. Merdeka No. 3", "[address]"),
        ("Mail sally.o@example.co.uk or call +44 20 7946 0958", "Mail [e-mail address] or call [number]"),
        ("ORD-1001 and 1Z999AA10123456784", "[number] and [number]"),
        ("See https://shop.example/o/1?token=x now", "See [link] now"),
        ("<@U0CUST> pays by 4111 1111 1111 1111", "[person] pays by [card number]"),
        (
            "Within 30 days, 2 items, 129.98 EUR until 17 Oct 2026.",
            "Within 30 days, 2 items, 129.98 EUR until 17 Oct 2026.",
        ),
        ("We are open 14 days a week on every street.", "We are open 14 days a week on every street."),
    ]
    misses = [(text, got) for text, left in table if (got := without_personal(text)) != left]
    assert misses == []


def test_names_go_however_they_are_written() -> None:
    table = [
        ("Dear sally o'neil, SALLY!", "Dear [name], [name]!"),
        ("Mrs O'Neil's tent", "Mrs [name]'s tent"),
        ("@Sally  O'Neil said so", "[name] said so"),
        ("The customer asked Customer A", "The customer asked [name]"),
        ("Salty marshes will stay", "Salty marshes will stay"),
        ("王小明さんの注文", "[name]さんの注文"),
    ]
    misses = [
        (text, got)
        for text, left in table
        if (got := without_personal(text, names=["Sally O'Neil", "Customer A", "王小明"])) != left
    ]
    assert misses == []


def test_a_part_of_a_name_that_is_an_everyday_word_is_no_name_by_itself() -> None:
    assert names_in(["Will Support", "J"]) == ["Will Support"]
