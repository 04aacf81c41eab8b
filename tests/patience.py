"""How long tests wait before they call something hung, on whatever machine they run.

patience   seconds, scaled by how slow the machine is at the moment
slowness   how much slower it is than the machine on which the seconds were chosen

A deadline in a test only guards against hanging: no test passes sooner because of it, so all of them are generous. The
speed is measured once, by the process that starts the session, and handed down to those that it starts.
"""

import hashlib
import os
import time

MARGIN = 2.0
"""What every deadline gets on top, since a machine may become busier after it was measured."""
MOST = 12.0
"""A machine that is slower than this is not waited for any longer."""
REFERENCE_SECONDS = 0.25
"""What `_work` takes on a quiet machine of the kind that the seconds were chosen on."""
VARIABLE = "FRONTDESK_TEST_SLOWNESS"


def patience(seconds: float) -> float:
    """`seconds` that are enough on a quiet machine, as many as are enough here."""
    return seconds * MARGIN * slowness()


def slowness() -> float:
    """From 1.0, a quiet machine of the kind that the seconds were chosen on, to MOST."""
    if VARIABLE not in os.environ:
        begun = time.perf_counter()
        _work()
        took = time.perf_counter() - begun
        os.environ[VARIABLE] = f"{min(MOST, max(1.0, took / REFERENCE_SECONDS)):.2f}"
    return float(os.environ[VARIABLE])


def _work() -> None:
    """A little of what Python mostly does; in wall time, so that waiting for a processor counts."""
    block = b"frontdesk"
    for _ in range(260_000):
        block = hashlib.blake2b(block, digest_size=32).digest()
