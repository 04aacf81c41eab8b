"""Small windows of a chunk. Their vectors sharpen its cosine; see `fuse.cosines`."""


def windows(heading: str, text: str, *, words: int) -> list[str]:
    """The text in pieces of about `words` words, each below the last heading. Empty if `words` is 0."""
    if not words:
        return []
    parts = text.split()
    pieces = max(1, round(len(parts) / words))
    size = -(-len(parts) // pieces)
    last = heading.rsplit(" > ", 1)[-1]
    return [f"{last}\n{' '.join(parts[at : at + size])}" for at in range(0, len(parts), max(size, 1))]
