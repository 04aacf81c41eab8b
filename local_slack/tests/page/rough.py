"""Blocks that no validator would let pass, and words that somebody might wish to slip through."""

from typing import Any

from local_slack.tests.page import gallery
from local_slack.tests.page.gallery import plain
from local_slack.tests.page.scene import actions, button, section

HOSTILE = (
    *("javascript:alert(1)", "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "[x](javascript:alert(1))"),
    *("&lt;b&gt;", "<@U1|<b>>", "\x00\ud800", "```" * 9, "*" * 300, "> " * 300, "# " * 200, "|a|b|\n|-|-|\n" * 50),
)
LONG = "Donaudampfschifffahrtsgesellschaft" * 60


def deep(times: int) -> dict[str, Any]:
    """Containers within containers."""
    inner = section("the innermost")
    for _ in range(times):
        inner = {"type": "container", "title": plain("within"), "child_blocks": [inner]}
    return inner


BARE = ("section", "actions", "table", "data_table", "data_visualization", "plan", "input", "image", "hologram")
AXES = {"categories": [LONG] * 30, "x_label": LONG}

ROUGH: list[list[Any]] = [
    [{"type": kind} for kind in BARE],
    [{"type": "section", "text": 7, "accessory": []}, {"type": "actions", "elements": {"a": 1}}, None, "x", [[]], 3.5],
    [deep(60), {"type": "carousel", "elements": [deep(9)] * 4}],
    [section(each) for each in HOSTILE],
    [{"type": "markdown", "text": each} for each in HOSTILE],
    [{"type": "header", "text": plain(LONG)}, section(LONG), {"type": "markdown", "text": LONG}],
    [actions(*(button(f"b{at}", LONG[:300]) for at in range(40)))],
    [{"type": "table", "rows": [gallery.cells(*[LONG[:90]] * 30)] * 130}],
    [
        {
            "type": "data_table",
            "caption": LONG,
            "page_size": -3,
            "rows": [gallery.cells("a", "b"), gallery.cells(*"abc"), []],
        }
    ],
    [gallery.chart(LONG, {"type": "bar", "axis_config": AXES, "series": [{"name": LONG}] * 30})],
    [gallery.labelled(LONG, {"type": "static_select", "options": [{}] * 200}), gallery.labelled("x", {"type": LONG})],
]
