"""What can go wrong with a knowledge base.

KnowledgeError
├── SourcesFaulty      the file that lists the sources does not say what it should
├── SourceUnreadable   a source as a whole cannot be read; nothing of it may be deleted
├── BuildRefused       the builder will not replace what is served (busy, empty, too much would vanish)
├── BuildFailed        the builder stopped halfway; what is served is untouched
│   └── BuildStopped   somebody told it to, as at the end of the program
├── IndexBroken        a generation on disk cannot be opened or does not add up
│   ├── TextsDamaged   what an opened generation reads from its database is no longer what was written
│   └── VectorsAway    the server that holds its vectors does not answer; nothing is broken
└── EmbedderFailed     the embedder gave no usable vectors

Messages are sentences for an operator. Searching raises none of these: see `KnowledgeBase.search`.
"""


class KnowledgeError(Exception):
    """The root of everything this library raises on purpose."""


class SourcesFaulty(KnowledgeError):
    """The YAML file of the sources; `faults` has a sentence for each."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__(" ".join(faults))
        self.faults = faults


class SourceUnreadable(KnowledgeError):
    """A folder or file that should hold the documents is missing, unreadable or of no known kind."""


class BuildRefused(KnowledgeError):
    """The build would do harm or is already running; `reason` is one stable word, the message says why."""

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason
        super().__init__(message)


class BuildFailed(KnowledgeError):
    """The builder ended without a new generation. The old one is served as before."""


class BuildStopped(BuildFailed):
    """The build was ended on purpose, as with the program; nothing is wrong."""


class IndexBroken(KnowledgeError):
    """A generation is missing parts, damaged, or made for another embedder."""


class TextsDamaged(IndexBroken):
    """The database of a generation in use is damaged or gone; it has to be built again, from its sources."""


class VectorsAway(IndexBroken):
    """The Chroma server is away, or refuses. Making anything anew would not help."""


class EmbedderFailed(KnowledgeError):
    """No vectors: the table is missing, the service is unreachable, refuses, or answers nonsense."""
