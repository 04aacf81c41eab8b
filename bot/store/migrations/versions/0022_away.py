"""Members of the team who are away, and whom each desk gave its last case."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "away",
        sa.Column("person", sa.String(32), nullable=False),
        sa.Column("since", sa.Float(), nullable=False),
        sa.Column("until", sa.Float(), nullable=True),
        sa.PrimaryKeyConstraint("person", name="pk_away"),
    )
    op.add_column("desk", sa.Column("assigned", sa.String(32), nullable=False, server_default=""))
    op.add_column("desk", sa.Column("assignments", sa.Integer(), nullable=False, server_default="0"))
