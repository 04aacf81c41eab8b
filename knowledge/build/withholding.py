"""Which chunks of a document are served, and what its authors should know about the others."""

from collections import Counter
from collections.abc import Sequence

from knowledge.audience import Audience
from knowledge.build.secrets import Secret, find_secrets
from knowledge.chunking import Chunk
from knowledge.documents import Document, Notice


def withhold(document: Document, chunks: Sequence[Chunk], *, audience: Audience) -> tuple[list[Chunk], list[Notice]]:
    """The chunks of a document that are served, and what its authors should know.

    A chunk with a secret is left out of a public base. A base for staff has all chunks.
    """
    secrets = find_secrets(document.text)
    kinds = Counter(secret.kind for secret in secrets)
    notices = [Notice(document.id, kind, times) for kind, times in document.hidden.items()]
    kinds.update(secret.kind for secret in find_secrets(document.title))
    if not kinds:
        return list(chunks), notices
    found = {kind: [chunk for chunk in chunks if _holds(chunk, kind, secrets)] for kind in kinds}
    is_public = audience == "public"
    notices += [Notice(document.id, kind, kinds[kind], len(found[kind]) if is_public else 0) for kind in kinds]
    withheld = [chunk for each in found.values() for chunk in each] if is_public else []
    return [chunk for chunk in chunks if chunk not in withheld], notices


def _holds(chunk: Chunk, kind: str, secrets: Sequence[Secret]) -> bool:
    """Whether a secret of this kind, or a part of one, is in a chunk or in the headings above it."""
    if any(each.kind == kind and each.start < chunk.end and chunk.start < each.end for each in secrets):
        return True
    return any(each.kind == kind for each in find_secrets(chunk.heading))
