"""How `/kb` is read."""

from handlers.commands import USAGE, KbCommand, read_command


def test_commands_are_read_as_people_type_them() -> None:
    table = [
        ("status", KbCommand("status")),
        ("  STATUS ", KbCommand("status")),
        ("refresh", KbCommand("refresh")),
        ("refresh help", KbCommand("refresh", "help")),
        ("refresh help --force", KbCommand("refresh", "help", {"force": "yes"})),
        ("refresh —force", KbCommand("refresh", "", {"force": "yes"})),
        ("search how do I  return it?", KbCommand("search", "how do I return it?")),
        ("search returns &amp; refunds", KbCommand("search", "returns & refunds")),
        ("search --source help boots", KbCommand("search", "boots", {"source": "help"})),
        (
            'search boots --category "after sale" –language=de',
            KbCommand("search", "boots", {"category": "after sale", "language": "de"}),
        ),
        ("search boots --category “after sale”", KbCommand("search", "boots", {"category": "after sale"})),
        ("search what does --help do", KbCommand("search", "what does --help do")),
        ("rollback", KbCommand("rollback")),
        ("rollback internal", KbCommand("rollback", "internal")),
        ("gaps", KbCommand("gaps")),
        ("gaps 7", KbCommand("gaps", "7")),
    ]
    misses = [(text, got) for text, command in table if (got := read_command(text)) != command]
    assert misses == []


def test_anything_else_asks_for_the_usage() -> None:
    table = [
        "",
        "help",
        "status now",
        "status --force",
        "search",
        "search --source help",
        "search boots --source",
        "search boots --force",
        "refresh a b",
        "refresh --source help",
        "rollback 3",
        "gaps soon",
        "gaps 0",
        "gaps 367",
        "gaps 9999999999",
        "gaps -1",
        "gaps ٣",
    ]
    misses = [(text, got) for text in table if (got := read_command(text).verb) != "usage"]
    assert misses == []


def test_the_usage_fits_into_one_message() -> None:
    assert len(USAGE) < 3_000
