"""What a turn's requests to models failed for, for people to read."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("turn", sa.Column("failures", sa.JSON(), nullable=True))
