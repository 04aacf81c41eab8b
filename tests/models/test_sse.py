"""The reader of server-sent events."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.models.sse import EVENT_LIMIT, SseReader


def read(*blocks: bytes) -> list[bytes]:
    """All payloads of a stream that came in these blocks."""
    reader = SseReader()
    return [payload for block in blocks for payload in reader.feed(block)] + reader.close()


def test_a_stream_is_read_as_the_standard_says() -> None:
    table = [
        (b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
        (b"data:a\r\n\r\ndata:  b\r\n\r\n", [b"a", b" b"]),
        (b"data: a\r\rdata: b\r\r", [b"a", b"b"]),
        (b": keep-alive\n\ndata: a\n\n: keep-alive\n\n", [b"a"]),
        (b"event: x\nid: 7\nretry: 3000\ndata: a\n\nretry: 10\n\nid: 8\n\n", [b"a"]),
        (b"data: a\ndata: b\n\n", [b"a\nb"]),
        (b"\xef\xbb\xbfdata: a\n\n", [b"a"]),
        (b"data: a", [b"a"]),
        (b"data: a\n", [b"a"]),
        (b"data\n\ndatabase: no\n\n", [b""]),
        (b"<html><body>busy</body></html>", []),
        (b"", []),
    ]
    misses = [(stream, got) for stream, payloads in table if (got := read(stream)) != payloads]
    assert misses == []


LINES = st.sampled_from(
    [b'data: {"a": "\xc3\xa9"}', b"data:x", b"data: ", b": ping", b"id: 1", b"event: e", b"", b"", b"\xf0\x9f\x99\x8f"]
)
ENDINGS = st.sampled_from([b"\n", b"\r\n", b"\r"])


def test_a_line_end_of_two_characters_may_be_cut_in_two() -> None:
    assert read(b"data: a\r", b"\ndata: b\r\n\r", b"\n") == [b"a\nb"]


@given(st.lists(st.tuples(LINES, ENDINGS)), st.lists(st.integers(0, 300)))
def test_however_a_stream_is_cut_into_blocks_it_says_the_same(
    lines: list[tuple[bytes, bytes]], cuts: list[int]
) -> None:
    stream = b"".join(line + ending for line, ending in lines)
    places = [0, *sorted(cuts), len(stream)]
    blocks = [stream[start:end] for start, end in pairwise(places)]
    assert read(*blocks) == read(stream)


@pytest.mark.parametrize("ending", [b"", b"\n"])
def test_an_event_without_end_is_refused(ending: bytes) -> None:
    part = b"data: " + b"x" * (EVENT_LIMIT // 2) + ending
    reader = SseReader()
    reader.feed(part)
    with pytest.raises(ValueError, match="longer than"):
        reader.feed(part)
