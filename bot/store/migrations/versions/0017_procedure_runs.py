"""Procedures that have begun, each with its place and what was collected."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
RUNNING = sa.text("ended_at is null")


def upgrade() -> None:
    op.create_table(
        "procedure_run",
        sa.Column("id", ID, nullable=False, autoincrement=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("thread", sa.String(128), nullable=False),
        sa.Column("customer", sa.String(32), nullable=False),
        sa.Column("procedure", sa.String(48), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("step", sa.String(40), nullable=False),
        sa.Column("collected", sa.JSON(), nullable=False),
        sa.Column("tries", sa.JSON(), nullable=False),
        sa.Column("turns", sa.JSON(), nullable=False),
        sa.Column("action", sa.String(40), server_default="", nullable=False),
        sa.Column("rounds", sa.Integer(), server_default="0", nullable=False),
        sa.Column("started_at", sa.Float(), nullable=False),
        sa.Column("touched_at", sa.Float(), nullable=False),
        sa.Column("ended_at", sa.Float()),
        sa.Column("why", sa.String(16), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_procedure_run"),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "uq_procedure_run_thread",
        "procedure_run",
        ["thread"],
        unique=True,
        sqlite_where=RUNNING,
        postgresql_where=RUNNING,
    )
    op.create_index("ix_procedure_run_customer", "procedure_run", ["customer"])
    op.create_index("ix_procedure_run_ended_at", "procedure_run", ["ended_at"])
