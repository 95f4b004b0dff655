# Generated from tests/integration/aio/test_partitioned_nouns.py by pyadeq/_unasync.py; do not edit.
"""A noun whose names have several bases. Its scripts are those of sessions."""

from __future__ import annotations

from typing import Any

from redis import Redis as Observer

from pyadeq._sync.kernel.partitions import PartitionedNoun
from pyadeq import Adeq


class Parted(PartitionedNoun):
    noun = "session"

    def count(self, tag: str) -> int:
        return int((self._call_at(tag, "stats")).sessions)


def test_each_call_goes_to_the_base_of_its_partition(url: str, base_name: str, client: Observer) -> None:
    with Adeq.from_url(url, prefix=base_name) as adeq:
        parted = Parted(adeq, "p", f"{base_name}:{{session:p}}", ["a", "b", "c"])
        assert parted.bases == tuple(f"{base_name}:{{session:p/{tag}}}" for tag in "abc")
        adeq.send(parted.part("b").build("create", hash="h", user="ann"))
        assert [parted.count(tag) for tag in "abc"] == [0, 1, 0]
        stored: list[Any] = list(client.scan_iter(f"{base_name}:{{session:*"))
        assert {key.decode().partition("}")[0] for key in stored} == {f"{base_name}:{{session:p/b"}
        assert [name for name in adeq.names("session")] == ["p"]
        assert [name for name in adeq.names("session", partitions=True)] == ["p/b"]


def test_settings_go_to_all_partitions_and_a_migration_passes_over_those_that_exist(
    url: str, base_name: str
) -> None:
    with Adeq.from_url(url, prefix=base_name) as adeq:
        parted: Any = Parted(adeq, "p", f"{base_name}:{{session:p}}", ["a", "b"])
        assert (parted.migrate()).layout == 0
        adeq.send(parted.part("a").build("configure", settings={"events_max": 7}))
        done = parted.migrate()
        assert done.layout == done.before > 0
        parted.configure(events_max=9)
        answers = [adeq.send(parted.part(tag).build("stats")) for tag in "ab"]
        assert [answer.settings["events_max"] for answer in answers] == [9, 9]
