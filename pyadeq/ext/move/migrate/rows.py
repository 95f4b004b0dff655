"""Hashes of the old system, many with one call: a pipeline would cost this program five times as much CPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from redis import Redis

from pyadeq.ext.move.migrate.escrow import BYTES, MOST, source_of


class Row(NamedTuple):
    """A hash.

    values: of the fields that were asked for, None for each that it does not have; or all fields and values in turn, if
    none were asked for. None if the key is no hash. ttl_ms: -1 without one. other: whether the other key exists.
    """

    values: list[bytes | None] | None
    ttl_ms: int
    other: int


def read_rows(client: Redis, keys: Sequence[str], fields: Sequence[str] = (), others: Sequence[str] = ()) -> list[Row]:
    """Return hashes. others: one more key for each hash; the row says whether it exists."""
    script, rows = client.register_script(source_of("rows")), list[Row]()
    while len(rows) < len(keys):
        part = slice(len(rows), len(rows) + MOST)
        found: Any = script([*keys[part], *others[part]], [BYTES, int(bool(others)), *fields])
        rows += [Row(*row) for row in found]
    return rows


def read_whole(client: Redis, keys: Sequence[str]) -> list[dict[bytes, bytes]]:
    """Return hashes with all their fields; {} for a key that is no hash."""
    flat: list[Any] = [row.values or () for row in read_rows(client, keys)]
    return [dict(zip(row[::2], row[1::2], strict=True)) for row in flat]
