"""What the service that tracks parcels calls a tracking number, so that it is asked to track each number once."""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "tracker",
        sa.Column("number", sa.String(40), nullable=False),
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("order_id", sa.String(40), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_tracker"),
    )
    op.create_index("ix_tracker_id", "tracker", ["id"])
    op.create_index("ix_tracker_created_at", "tracker", ["created_at"])
