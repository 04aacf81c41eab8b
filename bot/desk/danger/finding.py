"""What finds danger in a message at once: words first, then likeness to examples.

find_in       both together
DangerFinder  both as they are loaded
"""

import asyncio
import logging

from bot.desk.danger.lexicon import Danger, find_danger, load_lexicon
from bot.desk.danger.similarity import Similarity, open_similarity
from knowledge.errors import EmbedderFailed

logger = logging.getLogger(__name__)


def find_in(text: str, similarity: Similarity | None) -> Danger | None:
    """What the message shows by its words; by its likeness to examples where they show nothing."""
    return find_danger(text) or (similarity.find_danger(text) if similarity else None)


class DangerFinder:
    """Finds danger by words from the first message on, and by likeness once the examples are loaded."""

    def __init__(self) -> None:
        load_lexicon()
        self._similarity: Similarity | None = None

    def find(self, text: str) -> Danger | None:
        """What the message shows; None for an ordinary one. Some milliseconds at the most, whatever the message is."""
        return find_in(text, self._similarity)

    async def load(self) -> None:
        """Load the examples beside everything else. Without the built-in embedder it stays with the words."""
        try:
            self._similarity = await asyncio.to_thread(open_similarity)
        except EmbedderFailed:
            logger.exception("danger is found by words alone")
