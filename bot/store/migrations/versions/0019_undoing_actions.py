"""Which action an action undoes, and that one is undone once."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

UNDOING = "undoes <> '' and state in ('executing', 'unknown', 'stuck', 'partly', 'done')"


def upgrade() -> None:
    op.add_column("action", sa.Column("undoes", sa.String(40), server_default="", nullable=False))
    op.create_index(
        "uq_action_undoes",
        "action",
        ["undoes"],
        unique=True,
        sqlite_where=sa.text(UNDOING),
        postgresql_where=sa.text(UNDOING),
    )
