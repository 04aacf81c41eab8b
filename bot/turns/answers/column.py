"""Answers to several questions that are written at the same time and shown one below the other.

Column    the answers in the order of their questions, each a paragraph
Section   one of these answers: the page of its reply
"""

from bot.slack.stream import StreamWriter


class Column:
    """Sections that are written at the same time and shown one below the other."""

    def __init__(self, writer: StreamWriter) -> None:
        self.writer = writer
        self.spoke = False
        self._beside: list[str] = []

    def say_beside(self, sentence: str) -> None:
        """Say a sentence that makes sense only next to an answer: now, or as soon as there is an answer."""
        self._beside.append(sentence)
        if self.spoke:
            self.close()

    def begin_paragraph(self) -> None:
        """Begin a new paragraph, after the waiting sentences."""
        self.close()
        self._break()

    def close(self) -> None:
        """Say the sentences that wait for an answer."""
        for sentence in self._beside:
            self._break()
            self.writer.text(sentence)
        self._beside.clear()

    def _break(self) -> None:
        if self.spoke:
            self.writer.text("\n\n")
        self.spoke = True


class Section:
    """The page of one reply among several. Its words wait for their turn."""

    def __init__(self, column: Column) -> None:
        self._column = column
        self._is_open = False
        self._waiting = ""
        self._said = ""

    @property
    def stopped(self) -> bool:
        """Implements Page.stopped."""
        return self._column.writer.stopped

    def text(self, delta: str) -> None:
        """Implements Page.text."""
        self._waiting += delta
        if self._is_open and self._waiting and (self._said or self._waiting.strip()):
            words, self._waiting = self._waiting, ""
            if not self._said:
                words = words.lstrip()
                self._column.begin_paragraph()
            self._said += words
            self._column.writer.text(words)

    def open(self) -> None:
        """Show the words, because the sections above are complete."""
        self._is_open = True
        self.text("")

    def drop(self) -> str:
        """Drop the words that were not shown. Return those that were."""
        self._waiting = ""
        return self._said
