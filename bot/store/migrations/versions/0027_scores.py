"""What went wrong, beside the score of a case."""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("feedback", sa.Column("reason", sa.String(16), nullable=False, server_default=""))
    op.add_column("feedback", sa.Column("words", sa.Text(), nullable=False, server_default=""))
