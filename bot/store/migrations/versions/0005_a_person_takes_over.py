"""What a case needs to be waited for, moved, ended and learned from."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
OPEN = "state in ('waiting', 'away', 'human')"


def upgrade() -> None:
    for column in (
        sa.Column("desk", sa.String(length=32), nullable=False, server_default=""),
        sa.Column("waiting_since", sa.Float(), nullable=True),
        sa.Column("due", sa.Float(), nullable=True),
        sa.Column("step", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("keeps_helping", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("replied_at", sa.Float(), nullable=True),
        sa.Column("reopened", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("last_owner", sa.String(length=32), nullable=True),
        sa.Column("outcome", sa.String(length=32), nullable=False, server_default=""),
        sa.Column("cause", sa.String(length=32), nullable=False, server_default=""),
        sa.Column("follows", ID, nullable=True),
        sa.Column("merged_into", ID, nullable=True),
    ):
        op.add_column("case_", column)
    op.execute("update case_ set waiting_since = opened_at")
    op.drop_index("uq_case_open_thread", table_name="case_")
    op.create_index(
        "uq_case_open_thread",
        "case_",
        ["thread"],
        unique=True,
        sqlite_where=sa.text(OPEN),
        postgresql_where=sa.text(OPEN),
    )
    op.create_index("ix_case_due", "case_", ["due"])
    op.create_table(
        "case_helper",
        sa.Column("case_id", ID, nullable=False),
        sa.Column("person", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=120), nullable=False),
        sa.Column("joined_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["case_id"], ["case_.id"], name=op.f("fk_case_helper_case_id")),
        sa.PrimaryKeyConstraint("case_id", "person", name=op.f("pk_case_helper")),
    )
    op.create_table(
        "suggestion",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("key", sa.String(length=160), nullable=False),
        sa.Column("case_id", ID, nullable=True),
        sa.Column("title", sa.String(length=160), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False, server_default="1"),
        sa.Column("close_to", sa.String(length=255), nullable=False, server_default=""),
        sa.Column("likeness", sa.Float(), nullable=False, server_default="0"),
        sa.Column("contradicts", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("asked_by", sa.String(length=32), nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.Column("decided_by", sa.String(length=32), nullable=True),
        sa.Column("decided_at", sa.Float(), nullable=True),
        sa.Column("reason", sa.String(length=64), nullable=False, server_default=""),
        sa.ForeignKeyConstraint(["case_id"], ["case_.id"], name=op.f("fk_suggestion_case_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_suggestion")),
        sa.UniqueConstraint("key", name=op.f("uq_suggestion_key")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "pause",
        sa.Column("channel", sa.String(length=32), nullable=False),
        sa.Column("by", sa.String(length=32), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("channel", name=op.f("pk_pause")),
    )
    op.create_table(
        "preference",
        sa.Column("person", sa.String(length=32), nullable=False),
        sa.Column("language", sa.String(length=8), nullable=False, server_default=""),
        sa.PrimaryKeyConstraint("person", name=op.f("pk_preference")),
    )
