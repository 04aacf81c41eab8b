"""How `/kb` is read."""

from handlers.commands import USAGE, Command, read_command


def test_commands_are_read_as_people_type_them() -> None:
    table = [
        ("status", Command("status")),
        ("  STATUS ", Command("status")),
        ("refresh", Command("refresh")),
        ("refresh help", Command("refresh", "help")),
        ("refresh help --force", Command("refresh", "help", {"force": "yes"})),
        ("refresh —force", Command("refresh", "", {"force": "yes"})),
        ("search how do I  return it?", Command("search", "how do I return it?")),
        ("search returns &amp; refunds", Command("search", "returns & refunds")),
        ("search --source help boots", Command("search", "boots", {"source": "help"})),
        (
            'search boots --category "after sale" –language=de',
            Command("search", "boots", {"category": "after sale", "language": "de"}),
        ),
        ("search boots --category “after sale”", Command("search", "boots", {"category": "after sale"})),
        ("search what does --help do", Command("search", "what does --help do")),
        ("rollback", Command("rollback")),
        ("rollback internal", Command("rollback", "internal")),
        ("gaps", Command("gaps")),
        ("gaps 7", Command("gaps", "7")),
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
