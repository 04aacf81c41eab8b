"""The desk file in force, which is replaced while the process runs.

A file with a fault changes nothing: the one before stays in force, and `fault` says what is wrong until the file is
read without one.
"""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from bot.desk_file.model import DeskFile
from bot.desk_file.reading import read_desk_file
from bot.errors import ConfigurationError

logger = logging.getLogger(__name__)

T = TypeVar("T")


class LiveDesk:
    """What the desk file says at present, and what is built from it."""

    def __init__(self, path: Path | None) -> None:
        """Read the file. Without one, every default is in force. Raises ConfigurationError."""
        self._path = path
        self._current = read_desk_file(path) if path else DeskFile()
        self._followers: list[_Follower[object]] = []
        self.fault: str | None = None
        """What is wrong with the file since it was read last. None if it is the one in force."""

    def current(self) -> DeskFile:
        """The file in force."""
        return self._current

    def follow(self, build: Callable[[DeskFile], T]) -> Callable[[], T]:
        """What `build` makes of the file in force, built once for each file.

        Raises ConfigurationError, as `build` does, if it is not possible with the present file.
        """
        follower = _Follower(build, build(self._current))
        self._followers.append(follower)  # type: ignore[arg-type]
        return follower.get

    async def reload(self) -> None:
        """Read the file again. It comes into force if it has no fault and everything can be built from it."""
        if self._path is None:
            return
        try:
            desk = await asyncio.to_thread(read_desk_file, self._path)
            built = [each.build(desk) for each in self._followers]
        except ConfigurationError as error:
            self.fault = "; ".join(error.faults)
            logger.error("the desk file has a fault: the one before stays in force", extra={"faults": error.faults})
            return
        self._current, self.fault = desk, None
        for follower, value in zip(self._followers, built, strict=True):
            follower.value = value
        logger.info("the desk file was read again", extra={"path": str(self._path)})


class _Follower(Generic[T]):
    """A value that is built from the file."""

    def __init__(self, build: Callable[[DeskFile], T], value: T) -> None:
        self.build = build
        self.value = value

    def get(self) -> T:
        return self.value
