"""What is shown in each desk's channel."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

TS = sa.String(32).with_variant(sa.String(32, collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "desk",
        sa.Column("channel", sa.String(32), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("ts", TS, nullable=True),
        sa.Column("shown", sa.String(64), nullable=False, server_default=""),
        sa.Column("edited_at", sa.Float(), nullable=False, server_default="0"),
        sa.Column("rang_at", sa.Float(), nullable=False, server_default="0"),
        sa.PrimaryKeyConstraint("channel", name="pk_desk"),
    )
