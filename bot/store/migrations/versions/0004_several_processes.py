"""What several processes must know of each other, and what becomes of a message after it was stored."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("inbox", sa.Column("wish", sa.String(length=16), nullable=False, server_default=""))
    op.add_column("inbox", sa.Column("fence", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("inbox", sa.Column("handed", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("turn", sa.Column("posts", sa.JSON(), nullable=True))
    op.add_column("outbox", sa.Column("lane", sa.String(length=200), nullable=False, server_default=""))
    op.create_index("ix_outbox_lane", "outbox", ["channel", "lane", "state", "id"])
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
