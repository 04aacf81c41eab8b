"""What the claim guard lets through and what it withholds.

    python -m evals.claims               all files in this folder
    python -m evals.claims --misses      with every sentence that went the wrong way
    python -m evals.claims --only tuned  one file

Each answer goes through the gate as it does in a turn, once with what is kept of the episode and once by its wording
alone. The last line is one JSON object: for each file how many true answers there are and how many come through whole,
and how many false ones there are and are withheld; `by_wording` without looking at values.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import orjson
import yaml

from bot.agent.messages import AgentMessage, CustomerMessage, Message, StaffMessage, ToolResult
from bot.guard.claim_patterns import load_wordings
from bot.guard.claims import ClaimGate, Grounds
from bot.guard.grounding import EpisodeEvidence
from bot.guard.guardrails import OutputGate

FOLDER = Path(__file__).parent
HOSTS = frozenset({"help.shop.example", "docs.outdoor.example"})


@dataclass(frozen=True, slots=True)
class Judged:
    """One answer, and what became of it."""

    scene: str
    language: str
    text: str
    is_true: bool
    withheld: str
    """Why; empty when it came through whole."""
    by_wording: str
    """The same when nothing but the wording counts."""


def judge(scenes: Sequence[Mapping[str, Any]]) -> Iterator[Judged]:
    """Every answer of the scenes, put through the gate."""
    for scene in scenes:
        for is_true in (True, False):
            for language, texts in scene.get("true" if is_true else "false", {}).items():
                for text in texts:
                    with_values = _stopped(scene, text, with_values=True)
                    without = _stopped(scene, text, with_values=False)
                    yield Judged(scene["name"], language, text, is_true, with_values, without)


def load(path: Path) -> list[dict[str, Any]]:
    """The scenes of a file."""
    scenes: list[dict[str, Any]] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return scenes


def _stopped(scene: Mapping[str, Any], text: str, *, with_values: bool) -> str:
    results = [_result(each) for each in scene.get("results", ())]
    pages = [f"{each.get('heading', '')}\n{each['text']}\n{each.get('url', '')}" for each in scene.get("passages", ())]
    said: list[Message] = [StaffMessage(each) for each in scene.get("staff", ())]
    said += [AgentMessage(each) for each in scene.get("earlier_answers", ())]
    said += [CustomerMessage(each) for each in scene.get("asked", ())]
    today = date.fromisoformat(str(scene["today"])) if "today" in scene else None
    kept = EpisodeEvidence(lambda: results, lambda: pages, said, today=today, link_hosts=HOSTS) if with_values else None
    grounds = Grounds(results=lambda: results, passages=lambda: pages, kept=kept)
    gate = ClaimGate(load_wordings(), grounds, OutputGate(HOSTS))
    gate.feed(text)
    gate.settle()
    return gate.stopped.kind if gate.stopped is not None else ""


def _result(read: Mapping[str, Any]) -> ToolResult:
    content = read["content"] if isinstance(read["content"], str) else orjson.dumps(read["content"]).decode()
    return ToolResult("call_1", read["tool"], content, ok=read.get("ok", True), private=True)


def _figures(judged: Sequence[Judged]) -> dict[str, int]:
    true, false = [each for each in judged if each.is_true], [each for each in judged if not each.is_true]
    return {
        "true": len(true),
        "through": sum(not each.withheld for each in true),
        "through_by_wording": sum(not each.by_wording for each in true),
        "false": len(false),
        "withheld": sum(bool(each.withheld) for each in false),
        "withheld_by_wording": sum(bool(each.by_wording) for each in false),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the evaluation; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--misses", action="store_true", help="name every answer that went the wrong way")
    parser.add_argument("--only", default="", help="one file's name, without its ending")
    options = parser.parse_args(arguments)
    figures = {}
    for path in sorted(FOLDER.glob(f"{options.only or '*'}.yml")):
        judged = list(judge(load(path)))
        figures[path.stem] = _figures(judged)
        wrong = [each for each in judged if bool(each.withheld) == each.is_true]
        print(f"{path.stem}: {figures[path.stem]}")
        for language in dict.fromkeys(each.language for each in judged):
            own = _figures([each for each in judged if each.language == language])
            print(
                f"  {language}: {own['through']} of {own['true']} true ones through, "
                f"{own['withheld']} of {own['false']} false ones withheld"
            )
        for each in wrong if options.misses else ():
            print(
                f"  {'withheld' if each.is_true else 'let through'} [{each.scene}] {each.language}:",
                each.withheld,
                repr(each.text),
            )
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
