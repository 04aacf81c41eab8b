"""Where the title of a case is from."""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("case_", sa.Column("titled_by", sa.String(8), nullable=False, server_default=""))
    op.add_column("case_", sa.Column("titled_at", sa.Float(), nullable=True))
    op.execute("UPDATE case_ SET titled_by = 'rule'")
