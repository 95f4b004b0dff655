"""A noun whose names have several bases. Its scripts are those of sessions."""

from __future__ import annotations

from typing import Any

from redis import Redis as Observer

from pyadeq._async.kernel.partitions import PartitionedNoun
from pyadeq.asyncio import Adeq


class Parted(PartitionedNoun):
    noun = "session"

    async def count(self, tag: str) -> int:
        return int((await self._call_at(tag, "stats")).sessions)


async def test_each_call_goes_to_the_base_of_its_partition(url: str, base_name: str, client: Observer) -> None:
    async with Adeq.from_url(url, prefix=base_name) as adeq:
        parted = Parted(adeq, "p", f"{base_name}:{{session:p}}", ["a", "b", "c"])
        assert parted.bases == tuple(f"{base_name}:{{session:p/{tag}}}" for tag in "abc")
        await adeq.send(parted.part("b").build("create", hash="h", user="ann"))
        assert [await parted.count(tag) for tag in "abc"] == [0, 1, 0]
        stored: list[Any] = list(client.scan_iter(f"{base_name}:{{session:*"))
        assert {key.decode().partition("}")[0] for key in stored} == {f"{base_name}:{{session:p/b"}
        assert [name async for name in adeq.names("session")] == ["p"]
        assert [name async for name in adeq.names("session", partitions=True)] == ["p/b"]


async def test_settings_go_to_all_partitions_and_a_migration_passes_over_those_that_exist(
    url: str, base_name: str
) -> None:
    async with Adeq.from_url(url, prefix=base_name) as adeq:
        parted: Any = Parted(adeq, "p", f"{base_name}:{{session:p}}", ["a", "b"])
        assert (await parted.migrate()).layout == 0
        await adeq.send(parted.part("a").build("configure", settings={"events_max": 7}))
        done = await parted.migrate()
        assert done.layout == done.before > 0
        await parted.configure(events_max=9)
        answers = [await adeq.send(parted.part(tag).build("stats")) for tag in "ab"]
        assert [answer.settings["events_max"] for answer in answers] == [9, 9]
