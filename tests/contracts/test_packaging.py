"""What is installed: the wheel holds the product whole and nothing else; the locks pin everything by hash."""

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.contracts.tree import PRODUCT, ROOT, product_files, read
from tests.patience import patience

pytestmark = pytest.mark.contract

LOCKS = ("requirements.lock", "requirements-dev.lock")
PIN = re.compile(r"^([a-z0-9][a-z0-9._-]*)==([^\s;\\]+)(?: ; [^\\]+)? \\$")
HASH = re.compile(r"^    --hash=sha256:[0-9a-f]{64}(?: \\)?$")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel, built from this tree without the network."""
    folder = tmp_path_factory.mktemp("wheel")
    options = [
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        str(folder),
    ]
    built = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", *options, str(ROOT)],
        capture_output=True,
        text=True,
        check=False,
        timeout=patience(90),
    )
    assert built.returncode == 0, built.stderr
    (path,) = Path(folder).glob("frontdesk-*.whl")
    return zipfile.ZipFile(path)


def test_the_wheel_holds_three_packages_and_its_own_description(wheel: zipfile.ZipFile) -> None:
    top = {name.partition("/")[0] for name in wheel.namelist()}
    assert {name for name in top if not name.endswith(".dist-info")} == set(PRODUCT)
    assert len(top) == len(PRODUCT) + 1


def test_the_wheel_holds_every_file_of_the_packages(wheel: zipfile.ZipFile) -> None:
    packed = {name for name in wheel.namelist() if name.partition("/")[0] in PRODUCT}
    assert packed == set(product_files())


@pytest.mark.parametrize(
    "pattern",
    [
        *("bot/language/locales/*.yml", "bot/models/*.yml", "bot/desk/instructions/*.md"),
        *("bot/reporting/templates/*", "bot/store/migrations/**/*.py"),
    ],
)
def test_files_that_are_not_imported_are_packed_too(wheel: zipfile.ZipFile, pattern: str) -> None:
    present = {path.relative_to(ROOT).as_posix() for path in ROOT.glob(pattern)}
    assert present
    assert present <= set(wheel.namelist())


def test_the_wheel_brings_the_command_and_the_licence(wheel: zipfile.ZipFile) -> None:
    described = {name.partition("/")[2]: name for name in wheel.namelist() if ".dist-info/" in name}
    assert "frontdesk = bot.cli.main:main" in wheel.read(described["entry_points.txt"]).decode()
    assert "licenses/LICENSE" in described
    assert "Classifier: Private :: Do Not Upload" in wheel.read(described["METADATA"]).decode()


@pytest.mark.parametrize("lock", LOCKS)
def test_each_line_of_a_lock_is_a_pin_a_hash_or_a_comment(lock: str) -> None:
    odd = [
        line
        for line in read(lock).splitlines()
        if line.strip() and not line.strip().startswith("#") and not PIN.match(line) and not HASH.match(line)
    ]
    assert odd == []


@pytest.mark.parametrize("lock", LOCKS)
def test_each_pin_has_a_hash(lock: str) -> None:
    lines = [line for line in read(lock).splitlines() if not line.strip().startswith("#")]
    bare = [
        line
        for line, following in zip(lines, [*lines[1:], ""], strict=True)
        if PIN.match(line) and not HASH.match(following)
    ]
    assert bare == []


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_names_no_address(lock: str) -> None:
    assert not re.search(r"://|--(?:extra-)?index-url|--find-links|--trusted-host", read(lock))


def test_the_locks_pin_what_the_project_asks_for_and_agree_with_each_other() -> None:
    project = tomllib.loads(read("pyproject.toml"))
    groups = project["dependency-groups"]
    runtime, development = pins("requirements.lock"), pins("requirements-dev.lock")
    assert names(project["project"]["dependencies"] + groups["build"] + groups["demo"]) <= runtime.keys()
    assert names(groups["dev"]) <= development.keys()
    assert {name: development.get(name) for name in runtime} == runtime


def pins(lock: str) -> dict[str, set[str]]:
    """Name -> versions; a package may be pinned differently for different Pythons."""
    found: dict[str, set[str]] = {}
    for line in read(lock).splitlines():
        if match := PIN.match(line):
            found.setdefault(match[1], set()).add(match[2])
    return found


def names(requirements: list[str]) -> set[str]:
    return {re.sub(r"[-_.]+", "-", re.split(r"[\[<>=~! ;]", requirement)[0]).lower() for requirement in requirements}
