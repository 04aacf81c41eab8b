"""What a process has used so far, as its last line."""

import json
import os
import resource
import time


def tell(imported: float, *, chunks: int) -> None:
    """What this process has used: CPU seconds, and peak memory."""
    used = os.times()
    figures = {
        "cpu_s": round(used.user + used.system, 2),
        "beyond_imports_s": round(time.process_time() - imported, 2),
        "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1_024,
        "chunks": chunks,
    }
    print(json.dumps(figures), flush=True)
