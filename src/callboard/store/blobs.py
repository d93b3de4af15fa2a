"""Results that are too large for a record."""

import hashlib
import json
import time
from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert

from callboard.errors import StoreError
from callboard.store.database import Database
from callboard.store.tables import blobs

MAX_BLOB = 50_000_000  # characters of one result
MAX_RUN = 500_000_000  # characters of all large results of one run

Principal = Sequence[str | None] | None


class Blobs:
    """Texts by a handle made of their content, each kept once per run and principal.

    They go when their run goes. The run of calls outside of runs is the empty text.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, text: str, *, run: str, principal: Principal) -> str:
        """Keep a text; returns its handle.

        Raises:
            StoreError: it is too large, or the run has too many.
        """
        if len(text) > MAX_BLOB:
            raise StoreError(f"a result of {len(text)} characters is too large to be kept ({MAX_BLOB})")
        handle = f"result-{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
        row = {"run": run, "principal": _whose(principal), "handle": handle, "length": len(text)}
        row |= {"created_at": time.time(), "text": text}
        identity = ["run", "handle", "principal"]
        held = sa.select(sa.func.coalesce(sa.func.sum(blobs.c.length), 0)).where(blobs.c.run == run)
        with self._database.write() as connection:
            if run and connection.execute(held).scalar_one() + len(text) > MAX_RUN:
                raise StoreError(f"the large results of run {run} have more than {MAX_RUN} characters")
            kept = insert(blobs).values(row)
            # one that is there is as young as its newest call: it goes when that goes
            again = {"created_at": kept.excluded.created_at}
            connection.execute(kept.on_conflict_do_update(index_elements=identity, set_=again))
        return handle

    def get(self, handle: str, *, run: str, principal: Principal) -> str | None:
        """The text of that handle, for this principal of this run; None where there is none for them."""
        return self._found(handle, run, blobs.c.principal == _whose(principal))

    def look(self, handle: str, *, run: str) -> str | None:
        """The text of that handle in this run, for the operator: whoever's it is."""
        return self._found(handle, run, sa.true())

    def _found(self, handle: str, run: str, whose: sa.ColumnElement[bool]) -> str | None:
        query = sa.select(blobs.c.text).where(blobs.c.run == run, blobs.c.handle == handle, whose)
        with self._database.read() as connection:
            return connection.execute(query.limit(1)).scalar()


def _whose(principal: Principal) -> str:
    return "" if principal is None else json.dumps(list(principal))
