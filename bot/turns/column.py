"""Answers to several questions that are written at the same time and read one below the other.

Column    the answers in the order of their questions, each a paragraph
Section   the part of one answer: a page for its reply
"""

from bot.slack.stream import StreamWriter, TaskStatus


class Column:
    """Sections that are written at the same time and read one below the other."""

    def __init__(self, writer: StreamWriter) -> None:
        self.writer = writer
        self.spoke = False
        self._beside: list[str] = []

    def say_beside(self, sentence: str) -> None:
        """Say a sentence that makes sense beside an answer: now, or as soon as there is one."""
        self._beside.append(sentence)
        if self.spoke:
            self.close()

    def begin_paragraph(self) -> None:
        """What comes next stands by itself."""
        self.close()
        self._break()

    def close(self) -> None:
        """Say what waits for an answer to stand beside."""
        for sentence in self._beside:
            self._break()
            self.writer.text(sentence)
        self._beside.clear()

    def _break(self) -> None:
        if self.spoke:
            self.writer.text("\n\n")
        self.spoke = True


class Section:
    """The page of one reply among several; its words wait until it is their turn, its cards do not."""

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

    def task(self, task_id: str, *, title: str, status: TaskStatus) -> None:
        """Implements Page.task."""
        self._column.writer.task(task_id, title=title, status=status)

    def open(self) -> None:
        """Those above are complete."""
        self._is_open = True
        self.text("")

    def drop(self) -> str:
        """Forget the words that nobody has read; those that were."""
        self._waiting = ""
        return self._said
