"""A process for which a read-only file is read-only, also when root started it.

`python -m tests.doubles.without_rights MODULE ARGUMENT...` gives up the capabilities by which root passes over the
rights of files, and then becomes MODULE. Who is not root has none to give up.
"""

import ctypes
import os
import sys
from pathlib import Path

PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 24, 1, 2
"""From Linux's prctl.h and capability.h."""


def main() -> None:
    """Give up, and go on as the module that is named."""
    if os.geteuid() == 0:
        kernel = ctypes.CDLL(None, use_errno=True)
        for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
            if kernel.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0):
                raise OSError(ctypes.get_errno(), "a capability cannot be given up")
    os.execv(sys.executable, [sys.executable, "-m", *sys.argv[1:]])  # noqa: S606


def make_read_only(folder: Path) -> None:
    """Nothing in it can be changed, removed or added any more, but by root."""
    for place, _, files in os.walk(folder, topdown=False):
        for name in files:
            Path(place, name).chmod(0o444)
        Path(place).chmod(0o555)


def make_writable(folder: Path) -> None:
    """As it was; also for whoever clears up."""
    for place, _, files in os.walk(folder):
        Path(place).chmod(0o755)
        for name in files:
            Path(place, name).chmod(0o644)


if __name__ == "__main__":
    main()
