"""What a customer reads about files that were not read."""

from collections.abc import Sequence

from bot.images.formats import Unread
from bot.images.reader import ReadFiles
from bot.language.languages import Language
from bot.language.sentences import Sentences

FILES_NAMED = 4
"""How many files of a message a sentence names."""
FILE_NAME_LIMIT = 80
"""The number of characters of each file's name in a sentence."""

_REASONS: Sequence[tuple[str, frozenset[Unread]]] = (
    ("image_too_large", frozenset({"too_large"})),
    ("image_too_many", frozenset({"too_many"})),
    ("image_unopened", frozenset({"other_format", "too_many_pixels", "animated", "damaged", "not_fetched"})),
    ("file_beside", frozenset({"no_image"})),
)
"""The sentences in their order, each with its reasons. The last one leads over to the answer."""


def about_unread(sentences: Sentences, language: Language, files: ReadFiles) -> list[str]:
    """Return a sentence for each reason why files of a message were not read."""
    lines: list[str] = []
    for key, reasons in _REASONS:
        if names := [name for name, reason in files.unread if reason in reasons]:
            shown = ", ".join(f"`{name.replace('`', '')[:FILE_NAME_LIMIT]}`" for name in names[:FILES_NAMED])
            named = f"{shown} …" if len(names) > FILES_NAMED else shown
            lines.append(sentences.say(language, key, files=named))
    return lines
