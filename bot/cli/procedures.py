"""`frontdesk procedures`: check the procedures, play one by a script, and print the schema of a file."""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from bot.checked_files import FileFaulty
from bot.cli.desk import untranslated
from bot.cli.policy import described
from bot.cli.rehearsal import play
from bot.errors import ConfigurationError
from bot.procedures.file import Procedure, Step, json_schema, read_procedure, read_procedures
from bot.settings import Settings


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Check the procedures, play one, or print the schema. The exit status is 2 if one has a fault."""
    if given.verb == "schema":
        print(json.dumps(json_schema(), indent=2, ensure_ascii=False))
        return 0
    if given.verb == "try":
        return play(read_procedure(given.file), given.script)
    path: Path | None = given.path or settings.procedures_path
    if path is None:
        raise ConfigurationError(["procedures check: name a folder or a file, or set PROCEDURES_PATH"])
    try:
        found = [*read_procedures(path).values()] if path.is_dir() else [read_procedure(path)]
    except FileFaulty as error:
        for fault in error.found:
            print(f"wrong: {path}: {fault}")
        return 2
    except ConfigurationError as error:
        for sentence in error.faults:
            print(f"wrong: {sentence.partition(': ')[2]}")
        return 2
    for procedure in found:
        print(f"{procedure.name}, version {procedure.file.version}: {procedure.file.when}")
        for step in procedure.file.steps:
            print(f"  {step.id}: {_described(procedure, step)}")
        for note in notes(procedure):
            print(f"note: {procedure.name}: {note}")
    print(f"{path} has no fault.")
    return 0


def notes(procedure: Procedure) -> Iterator[str]:
    """What is worth knowing about a procedure, and is no fault."""
    for key, texts in procedure.file.sentences.items():
        yield from untranslated(f"sentences: {key}", texts)
    said = {step.say for step in procedure.file.steps}
    for key in sorted(procedure.file.sentences.keys() - said):
        yield f"sentences: no step says {key}"


def _described(procedure: Procedure, step: Step) -> str:
    """What a step does, and what follows."""
    following = procedure.following(step.id)
    if step.needs:
        needed = [name + (" (optional)" if procedure.file.collect[name].optional else "") for name in step.needs]
        ways = [f"{value} -> {target}" for steps in step.next.values() for value, target in steps.items()]
        return f"asks for {', '.join(needed)}; {', '.join(ways) or f'then {following}'}"
    if step.check:
        checked = " and ".join(described(each) for each in step.check)
        return f"checks that {checked}; then {following}, otherwise {step.otherwise}; people if nobody knows"
    if step.hand_over:
        return f"calls a person ({step.hand_over.reason}, {step.hand_over.priority})"
    kind, _ = step.action
    ends = step.when.model_dump(by_alias=True) if step.when else {}
    ways = [f"{end} -> {target}" for end, target in ends.items() if target]
    return f"prepares {kind}; {', '.join(ways)}"
