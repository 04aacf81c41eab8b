"""What the cheap model made of a question before the pages were searched again."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("turn", sa.Column("rewrites", sa.JSON(none_as_null=True), nullable=True))
