"""What finds danger in a message at once: words first, then likeness to examples."""

import asyncio
import logging

from bot.desk.danger.lexicon import Danger, find_danger, load_lexicon
from bot.desk.danger.similarity import Similarity, open_similarity
from knowledge.errors import EmbedderFailed

logger = logging.getLogger(__name__)


class DangerFinder:
    """Finds danger by words from the first message on, and by likeness once the examples are loaded."""

    def __init__(self) -> None:
        load_lexicon()
        self._similarity: Similarity | None = None

    def find(self, text: str) -> Danger | None:
        """What the message shows; None for an ordinary one. Some milliseconds at the most, whatever the message is."""
        if danger := find_danger(text):
            return danger
        return self._similarity.find_danger(text) if self._similarity else None

    async def load(self) -> None:
        """Load the examples beside everything else. Without the built-in embedder it stays with the words."""
        try:
            self._similarity = await asyncio.to_thread(open_similarity)
        except EmbedderFailed:
            logger.exception("danger is found by words alone")
