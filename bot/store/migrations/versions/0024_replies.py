"""When the next reply to a customer is due, and cases that a person has put aside."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("case_", sa.Column("reply_due", sa.Float(), nullable=True))
    op.add_column("case_", sa.Column("reply_missed", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("case_", sa.Column("snoozed_until", sa.Float(), nullable=True))
