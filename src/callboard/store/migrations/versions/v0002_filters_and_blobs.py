"""Columns that calls are looked for by, and large results."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_COLUMNS = {"code": sa.Text, "user": sa.Text, "tenant": sa.Text, "simulated": sa.Boolean}
_INDEXED = ("agent", "started_ns", "duration_ns")
_RARE = {
    "code": "code IS NOT NULL",
    "user": "user IS NOT NULL",
    "tenant": "tenant IS NOT NULL",
    "simulated": "simulated IS 1",
}
# what an older record says; one that is damaged says nothing
_FILLING = """
UPDATE calls SET
    code = json_extract(record, '$.failure.code'),
    user = json_extract(record, '$.principal[0]'),
    tenant = json_extract(record, '$.principal[1]'),
    simulated = json_extract(record, '$.simulated')
WHERE json_valid(record)
"""


def upgrade() -> None:
    """Add them."""
    for name, kind in _COLUMNS.items():
        op.add_column("calls", sa.Column(name, kind))
    op.execute(sa.text(_FILLING))
    for name in _INDEXED:
        op.create_index(f"ix_calls_{name}", "calls", [name])
    for name, which in _RARE.items():
        op.create_index(f"ix_calls_{name}", "calls", [name], sqlite_where=sa.text(which))
    op.create_table(
        "blobs",
        sa.Column("seq", sa.Integer, primary_key=True),
        sa.Column("run", sa.Text, nullable=False),
        sa.Column("principal", sa.Text, nullable=False),
        sa.Column("handle", sa.Text, nullable=False),
        sa.Column("created_at", sa.Float, nullable=False),
        sa.Column("length", sa.Integer, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.UniqueConstraint("run", "handle", "principal", name="blobs_identity"),
        sqlite_autoincrement=True,
    )
