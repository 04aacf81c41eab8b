"""Locks that keep two processes from the same files. The system lets go of them when their process ends.

locked     hold a lock, or refuse
owner_of   who holds it
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bot.errors import ConfigurationError

TRIES = 3
BETWEEN_TRIES = 0.02


@contextmanager
def locked(path: Path, variable: str, what: Path) -> Iterator[None]:
    """Hold the lock at `path`, which ends with the process. The file says which process owns `what`.

    Raises:
        ConfigurationError: another process holds it, or the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise ConfigurationError([f"{variable}: {error.filename} cannot be written ({error.strerror})"]) from None
    try:
        _take(lock)
        os.ftruncate(lock, os.pwrite(lock, str(os.getpid()).encode(), 0))
    except BlockingIOError:
        owner = os.pread(lock, 20, 0).decode(errors="replace").strip() or "unknown"
        os.close(lock)
        raise ConfigurationError([f"{variable}: another Frontdesk (process {owner}) runs on {what}"]) from None
    except OSError as error:
        os.close(lock)
        raise ConfigurationError([f"{variable}: {path} cannot be written ({error.strerror})"]) from None
    try:
        yield
    finally:
        os.close(lock)


def _take(lock: int) -> None:
    """Take the lock. `owner_of` can hold it for a moment."""
    for _ in range(TRIES):
        try:
            return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(BETWEEN_TRIES)
    return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def owner_of(path: Path) -> str | None:
    """The id of the process that holds the lock at `path`. None if nobody does."""
    try:
        lock = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return os.pread(lock, 20, 0).decode(errors="replace").strip() or "unknown"
    finally:
        os.close(lock)
    return None
