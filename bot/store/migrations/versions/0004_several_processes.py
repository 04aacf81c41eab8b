"""What several processes must know of each other, and what becomes of a message after it was stored."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("inbox", sa.Column("wish", sa.String(length=16), nullable=False, server_default=""))
    op.create_table(
        "member",
        sa.Column("id", sa.String(length=96), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("started_at", sa.Float(), nullable=False),
        sa.Column("until", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_member")),
    )
    op.create_table(
        "claim",
        sa.Column("name", sa.String(length=160), nullable=False),
        sa.Column("owner", sa.String(length=96), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_claim")),
    )
    op.create_table(
        "alias",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("target", sa.String(length=160), nullable=False),
        sa.Column("set_by", sa.String(length=96), nullable=False),
        sa.Column("set_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_alias")),
    )
