"""What can go wrong with a knowledge base.

KnowledgeError
├── SourcesFaulty      the file that lists the sources has faults
├── SourceUnreadable   a whole source cannot be read; none of its documents may be deleted
├── BuildRefused       the builder will not replace what is served (busy, empty, too much would be removed)
├── BuildFailed        the builder stopped halfway; what is served is untouched
│   └── BuildStopped   the build was told to stop, for example at the end of the program
├── IndexBroken        a generation on disk cannot be opened, or its parts do not agree
│   ├── TextsDamaged   an opened generation's database no longer has what was written
│   └── VectorsAway    the server that holds its vectors does not answer; nothing is broken
└── EmbedderFailed     the embedder gave no usable vectors

Messages are sentences for an operator. Searching raises none of these: see `KnowledgeBase.search`.
"""


class KnowledgeError(Exception):
    """The root of everything that this library raises on purpose."""


class SourcesFaulty(KnowledgeError):
    """The YAML file of the sources has faults; `faults` has a sentence for each."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__(" ".join(faults))
        self.faults = faults


class SourceUnreadable(KnowledgeError):
    """A folder or file that should hold the documents is missing, unreadable or of an unknown kind."""


class BuildRefused(KnowledgeError):
    """The build would do harm, or another one is running. `reason` is one stable word, the message says why."""

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason
        super().__init__(message)


class BuildFailed(KnowledgeError):
    """The builder ended without a new generation. The old one is still served."""


class BuildStopped(BuildFailed):
    """The build was ended on purpose, for example with the program. Nothing is wrong."""


class IndexBroken(KnowledgeError):
    """A generation is missing parts, is damaged, or was made for another embedder."""


class TextsDamaged(IndexBroken):
    """The database of a generation in use is damaged or gone. It has to be built again from its sources."""


class VectorsAway(IndexBroken):
    """The Chroma server does not answer, or refuses. A rebuild would not help."""


class EmbedderFailed(KnowledgeError):
    """There are no vectors: the table is missing, or the service is unreachable, refuses, or answers nonsense."""
