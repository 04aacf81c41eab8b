"""How often a thread changed hands, and what the assistant may say in it only as long as it has not again."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("thread", sa.Column("hands", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("outbox", sa.Column("conversation", sa.String(length=128)))
    op.add_column("outbox", sa.Column("hands", sa.Integer()))
