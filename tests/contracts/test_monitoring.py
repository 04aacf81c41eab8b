"""docs/monitoring against the code: every metric and label that rules and panels name is served, and links lead on."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from bot.telemetry import Metrics
from tests.contracts.tree import ROOT, read

pytestmark = pytest.mark.contract

ALERTS, DASHBOARD = "docs/monitoring/alerts.yml", "docs/monitoring/dashboard.json"
NAME = re.compile(r"\b(?:frontdesk|process)_\w+|\bup\b")
SUFFIXES = {"counter": ("_total",), "histogram": ("_bucket", "_count", "_sum"), "gauge": ("",)}


def rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(read(ALERTS))["groups"] for rule in group["rules"]]


def expressions() -> Iterator[tuple[str, str]]:
    """What each rule and each panel asks Prometheus."""
    for rule in rules():
        yield rule["alert"], rule["expr"]
    for panel in json.loads(read(DASHBOARD))["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"]


def served() -> set[str]:
    """The names of all series, and `up`, which Prometheus adds."""
    families = text_string_to_metric_families(Metrics().text().decode())
    return {"up"} | {family.name + suffix for family in families for suffix in SUFFIXES.get(family.type, ())}


@pytest.mark.parametrize(("where", "expression"), list(expressions()))
def test_every_metric_that_is_asked_for_is_served(where: str, expression: str) -> None:
    names = set(NAME.findall(expression))
    assert names, where
    assert names <= served(), where


@pytest.mark.parametrize(("where", "expression"), list(expressions()))
def test_every_label_that_is_asked_for_is_one_of_the_metric(where: str, expression: str) -> None:
    metrics = Metrics()
    known = {"le", "instance", "job"}
    for name in NAME.findall(expression):
        for collector, names in metrics._registry._collector_to_names.items():
            if name in names:
                known.update(getattr(collector, "_labelnames", ()))
    asked = set(re.findall(r"(\w+)=\"", expression))
    asked.update(label for by in re.findall(r"by \(([^)]*)\)", expression) for label in by.split(", "))
    assert asked <= known, where


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule["alert"])
def test_a_rule_says_how_urgent_it_is_and_what_to_do(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in ("page", "ticket")
    assert rule["annotations"]["summary"].endswith(".")
    document, _, heading = rule["annotations"]["runbook"].partition("#")
    headings = re.findall(r"^#+ (.+)$", (ROOT / document).read_text("utf-8"), re.MULTILINE)
    assert heading in {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}


def test_panels_do_not_overlap() -> None:
    panels = json.loads(read(DASHBOARD))["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    places = {(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels}
    assert len(places) == len(panels)
