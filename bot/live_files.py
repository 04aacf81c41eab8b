"""An operator's file in force, which is replaced while the process runs.

A file with a fault changes nothing: the one before stays in force, and `fault` says what is wrong until the file is
read without one.
"""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

from bot.errors import ConfigurationError

logger = logging.getLogger(__name__)

File = TypeVar("File")
T = TypeVar("T")


class LiveFile(Generic[File]):
    """What the file says at present, and what is built from it."""

    def __init__(self, path: Path | None, read: Callable[[Path], File], *, without: File, name: str) -> None:
        """Read the file; if there is no path, `without` is in force. Raises ConfigurationError, as `read` does."""
        self._path = path
        self._read = read
        self._name = name
        self._current = read(path) if path else without
        self._followers: list[_Follower[File, Any]] = []
        self.fault: str | None = None
        """What is wrong with the file since it was read last. None if it is the one in force."""

    def current(self) -> File:
        """The file in force."""
        return self._current

    def follow(self, build: Callable[[File], T]) -> Callable[[], T]:
        """What `build` makes of the file in force, built once for each file.

        Raises ConfigurationError, as `build` does, if it is not possible with the present file.
        """
        follower = _Follower(build, build(self._current))
        self._followers.append(follower)
        return follower.get

    async def reload(self) -> None:
        """Read the file again. It comes into force if it has no fault and everything can be built from it."""
        if self._path is None:
            return
        try:
            file = await asyncio.to_thread(self._read, self._path)
            built = [each.build(file) for each in self._followers]
        except ConfigurationError as error:
            self.fault = "; ".join(error.faults)
            logger.error(
                "a file of yours has a fault: the one before stays in force",
                extra={"file": self._name, "faults": error.faults},
            )
            return
        self._current, self.fault = file, None
        for follower, value in zip(self._followers, built, strict=True):
            follower.value = value
        logger.info("a file of yours was read again", extra={"file": self._name, "path": str(self._path)})


class _Follower(Generic[File, T]):
    """A value that is built from the file."""

    def __init__(self, build: Callable[[File], T], value: T) -> None:
        self.build = build
        self.value = value

    def get(self) -> T:
        return self.value
