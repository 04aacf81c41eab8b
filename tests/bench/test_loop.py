"""The loop bench in its smallest form, and its picture."""

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from bench.figures import COLUMNS, Client, Spread, keep, load, table
from bench.plot import picture
from tests.patience import patience

SMALL = ("--pairs", "1", "--turns", "1", "--few", "2", "--many", "3", "--pieces", "12", "--clients", "typed")


@pytest.mark.long
def test_the_bench_checks_every_answer_keeps_its_figures_and_ends_with_them_as_json(tmp_path: Path) -> None:
    kept, plot = tmp_path / "figures.json", tmp_path / "loop.svg"
    command = [sys.executable, "-m", "bench.loop", *SMALL, "--figures", str(kept), "--plot", str(plot)]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=patience(100)).stdout
    figures = json.loads(printed.splitlines()[-1])
    assert {*COLUMNS, "floor_cpu_ms", "t2r_ms", "floor_t2r_ms"} == set(figures)
    assert all(figure > 0 for name, figure in figures.items() if name != "c_rss_growth_mb")
    assert {*load(kept)} == {"ours", "typed"}
    assert {"Frontdesk", "openai, typed"} <= {*ET.fromstring(plot.read_text()).itertext()}  # noqa: S314 - our own


def client(ratio: float) -> Client:
    return Client("2026-11-20", {figure: Spread.of([ratio, ratio + 1, ratio + 3]) for figure in COLUMNS})


def test_figures_of_an_earlier_run_stay_until_their_client_is_measured_again(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    keep(path, {"ours": client(1.0), "agno": client(8.0)})
    assert keep(path, {"ours": client(2.0)}) == load(path) == {"ours": client(2.0), "agno": client(8.0)}


def test_the_table_and_the_picture_have_the_cheapest_client_first() -> None:
    clients = {"agno": client(8.0), "ours": client(1.0)}
    rows = [line.split()[1] for line in table(clients).splitlines()[2:]]
    assert rows == ["Frontdesk", "agno"]
    assert picture(clients).index("Frontdesk") < picture(clients).index("agno")
