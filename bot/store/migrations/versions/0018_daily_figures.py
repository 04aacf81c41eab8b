"""The figures of days whose words are no longer kept, and an index on the end of cases."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "daily",
        sa.Column("day", sa.String(10), nullable=False),
        sa.Column("name", sa.String(16), nullable=False),
        sa.Column("figures", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("day", "name", name="pk_daily"),
    )
    op.create_index("ix_case_ended", "case_", ["ended_at"])
