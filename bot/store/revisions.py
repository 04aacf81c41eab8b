"""The revisions of the schema: which one a database has, and bringing it up to date.

current   the revision of this release
older     those before it
present   the revision that a database has
upgrade   change the schema of a database to the current one
"""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection, text

from bot.errors import ConfigurationError

PRELIMINARY = "0010"
"""The last revision before the migrations were joined into one. The joined migration upgrades it."""
NEWER = "the database was made by a newer Frontdesk: run that version"


def current() -> str:
    """The revision of this release."""
    return ScriptDirectory.from_config(_scripts()).get_current_head() or ""


def older() -> list[str]:
    """The revisions before the current one."""
    revisions = [each.revision for each in ScriptDirectory.from_config(_scripts()).walk_revisions()]
    return [*revisions[1:], PRELIMINARY]


def present(connection: Connection) -> str | None:
    """The revision of the database's schema. None if it has no tables of ours."""
    return MigrationContext.configure(connection).get_current_revision()


def upgrade(connection: Connection) -> None:
    """Make the tables, or change them to the current schema, in the transaction of the connection.

    Raises:
        ConfigurationError: the schema is of a newer release, or of one that is too old.
    """
    revision = present(connection)
    if revision == PRELIMINARY:
        connection.execute(text("delete from alembic_version"))
    elif revision is not None and revision < PRELIMINARY:
        raise ConfigurationError(
            ["the database is of a preliminary version that can no longer be upgraded: begin with a new one"]
        )
    config = _scripts()
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        if "Can't locate revision" in str(error):
            raise ConfigurationError([NEWER]) from None
        raise


def _scripts() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    return config
