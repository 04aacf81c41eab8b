"""Each desk's list of things to fix, and what is done of them."""

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("desk", sa.Column("begun_at", sa.Float(), nullable=False, server_default="0"))
    op.create_table(
        "fix_list",
        sa.Column("channel", sa.String(32), primary_key=True),
        sa.Column("number", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("ts", sa.String(32).with_variant(sa.String(32, collation="C"), "postgresql")),
        sa.Column("shown", sa.String(64), nullable=False, server_default=""),
        sa.Column("edited_at", sa.Float(), nullable=False, server_default="0"),
        sa.Column("begun_at", sa.Float(), nullable=False, server_default="0"),
    )
    op.create_table(
        "fixed",
        sa.Column("channel", sa.String(32), primary_key=True),
        sa.Column("subject", sa.String(64), primary_key=True),
        sa.Column("person", sa.String(32), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
    )
    op.create_index("ix_fixed_at", "fixed", ["at"])
