"""The loop bench, in its smallest form."""

import json
import subprocess
import sys


def test_the_bench_checks_every_answer_and_ends_with_its_figures_as_json() -> None:
    command = [sys.executable, "-m", "bench.loop", "--pairs", "1", "--turns", "1"]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=100).stdout
    figures = json.loads(printed.splitlines()[-1])
    assert {"a_ratio", "b_ratio", "b_cpu_ms", "floor_cpu_ms", "t2r_ms"} <= set(figures)
    assert all(figure > 0 for figure in figures.values())
