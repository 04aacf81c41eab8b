"""Files that nobody else on the machine may read: the database, the index, copies of both.

OURS          the umask under which every command runs, so that what it makes is private
make_private  take away from others what an earlier release, or a restored backup, has left open to them
"""

import logging
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

logger = logging.getLogger(__name__)

OURS = 0o077
OTHERS = 0o077
"""The rights of the group and of everybody else."""


def make_private(places: Iterable[Path]) -> None:
    """Give files 0600 and folders 0700, with all that is in them; what a link leads to stays as it is.

    Where the file system or its owner refuses, a warning names the first place and how many there are.
    """
    refused = [path for path in _all_in(places) if not _tighten(path)]
    if refused:
        logger.warning(
            "others on this machine can read our data, and the file system does not let us change that",
            extra={"file": str(refused[0]), "files": len(refused)},
        )


def _all_in(places: Iterable[Path]) -> Iterator[Path]:
    for place in places:
        if place.is_symlink() and place.is_dir():
            # The folder that an operator has chosen; links below it are somebody else's.
            place = place.resolve()
        yield place
        for folder, folders, files in os.walk(place):
            yield from (Path(folder, name) for name in (*folders, *files))


def _tighten(path: Path) -> bool:
    """Whether nobody else can read it now, or it is not ours to change."""
    try:
        mode = path.lstat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) or not mode & OTHERS:
            return True
        path.chmod(stat.S_IMODE(mode) & ~OTHERS)
        return not path.lstat().st_mode & OTHERS
    except FileNotFoundError:
        return True
    except OSError:
        return False
