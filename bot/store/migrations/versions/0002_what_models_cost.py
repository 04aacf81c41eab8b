"""What models cost, summaries of long conversations, drafts for staff."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TS = sa.String(length=32).with_variant(sa.String(length=32, collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "spending",
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("purpose", sa.String(length=16), nullable=False),
        sa.Column("team", sa.String(length=32), nullable=False),
        sa.Column("thread", sa.String(length=128), nullable=False),
        sa.Column("customer", sa.String(length=32), nullable=False),
        sa.Column("models", sa.String(length=255), nullable=False),
        sa.Column("input_tokens", sa.Integer(), nullable=False),
        sa.Column("cached_tokens", sa.Integer(), nullable=False),
        sa.Column("output_tokens", sa.Integer(), nullable=False),
        sa.Column("cost", sa.Float(), nullable=False),
        sa.Column("estimated", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_spending")),
    )
    op.create_index("ix_spending_customer", "spending", ["customer", "at"], unique=False)
    op.create_index("ix_spending_at", "spending", ["at"], unique=False)
    op.create_index("ix_spending_thread", "spending", ["thread"], unique=False)
    op.create_table(
        "pace",
        sa.Column("key", sa.String(length=128), nullable=False),
        sa.Column("until", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_pace")),
    )
    op.add_column("turn", sa.Column("trace", sa.JSON(), nullable=True))
    op.create_table(
        "summary",
        sa.Column("thread", sa.String(length=128), nullable=False),
        sa.Column("episode", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("through", TS, nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("thread", "episode", "through", name=op.f("pk_summary")),
    )
    op.create_table(
        "draft",
        sa.Column("case_id", ID, autoincrement=False, nullable=False),
        sa.Column("asked", ID, autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["case_id"], ["case_.id"], name=op.f("fk_draft_case_id_case_")),
        sa.PrimaryKeyConstraint("case_id", "asked", "number", name=op.f("pk_draft")),
    )
