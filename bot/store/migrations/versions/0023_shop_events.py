"""What the shop says by itself: of which order to look again."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "shop_event",
        sa.Column("id", sa.String(200), nullable=False),
        sa.Column("subject", sa.String(160), nullable=False),
        sa.Column("received_at", sa.Float(), nullable=False),
        sa.Column("due", sa.Float(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_shop_event"),
    )
    op.create_index("ix_shop_event_due", "shop_event", ["due"])
