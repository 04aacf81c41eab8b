"""When things happen, and how long they took."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")


async def paced(items: Iterable[T], pause: float, *, first: float = 0.0) -> AsyncIterator[T]:
    """One every `pause` seconds, the first after `first`, by a clock of their own: late ones do not add up."""
    now = asyncio.get_running_loop().time
    due = now() + first
    for item in items:
        if (wait := due - now()) > 0:
            await asyncio.sleep(wait)
        yield item
        due += pause


def quantile(values: Sequence[float], share: float) -> float:
    """The value that so large a share of them does not pass; 0 of none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


async def watch(lags: list[float], tick: float) -> None:
    """Add to `lags`, in ms, how late a timer of `tick` seconds comes, again and again."""
    now = asyncio.get_running_loop().time
    while True:
        due = now() + tick
        await asyncio.sleep(tick)
        lags.append((now() - due) * 1e3)
