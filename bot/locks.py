"""Locks that keep two processes from the same files. The system lets go of them when their process ends."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bot.errors import ConfigurationError


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
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
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
