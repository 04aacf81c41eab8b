"""The tags of a case."""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("case_", sa.Column("tags", sa.String(400), nullable=False, server_default=""))
