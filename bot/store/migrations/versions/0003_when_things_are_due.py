"""When something that is done now and then is due next."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "schedule",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("rule", sa.String(length=120), nullable=False),
        sa.Column("due", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_schedule")),
    )
