"""What became of the files that messages bring, when they are relayed."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "file_copy",
        sa.Column("post", sa.String(length=160), nullable=False),
        sa.Column("source", sa.String(length=32), nullable=False),
        sa.Column("copy", sa.String(length=32), nullable=False, server_default=""),
        sa.Column("refusal", sa.String(length=32), nullable=False, server_default=""),
        sa.Column("shared", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.PrimaryKeyConstraint("post", "source", name=op.f("pk_file_copy")),
    )
