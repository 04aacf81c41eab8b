"""Files that no one else on the machine may read: the database, the index, copies of both.

OURS          the umask of every command, so that the files it makes are private
make_private  remove the access of others that an earlier release or a restored backup has left
"""

import logging
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

logger = logging.getLogger(__name__)

OURS = 0o077
OTHERS = 0o077
"""The permission bits of the group and of everyone else."""


def make_private(places: Iterable[Path]) -> None:
    """Give files 0600 and folders 0700, with everything inside. The target of a link stays as it is.

    If the file system or its owner refuses, a warning names the first path and the number of paths.
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
            # An operator has chosen this folder. Links below it lead to what belongs to others.
            place = place.resolve()
        yield place
        for folder, folders, files in os.walk(place):
            yield from (Path(folder, name) for name in (*folders, *files))


def _tighten(path: Path) -> bool:
    """Whether no one else can read it now. Also True if it is not ours to change."""
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
