"""Which preview and which card of an action stand, which case has the card, and who of the staff prepared it."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.add_column("action", sa.Column("shown", sa.Integer(), server_default="0", nullable=False))
    op.add_column("action", sa.Column("asked", sa.Integer(), server_default="0", nullable=False))
    op.add_column("action", sa.Column("case_id", ID, server_default="0", nullable=False))
    op.add_column("action", sa.Column("prepared_by", sa.String(32), server_default="", nullable=False))
