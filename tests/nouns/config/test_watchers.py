"""Watchers of configs end with what a fresh reader has, whatever happens between their pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyadeq._core.config.copy import Copy
from pyadeq.models.config import ConfigValue
from tests.nouns.config.bench import Bench
from tests.nouns.script_bench import MakeAny, keys
from tests.quick import examples

DAY = 86_400_000
NAMES = "abcdefgh"
STEPS = 40


class Watcher:
    """A copy that is read page by page, with long pauses between the pages."""

    def __init__(self, bench: Bench, limit: int = 1000) -> None:
        self.bench, self.limit, self.copy = bench, limit, Copy()

    def step(self) -> bool:
        """Read one page. Whether the copy is current; then it is what the server has."""
        wanted = {**self.copy.wanted(), "limit": self.limit}
        if not self.copy.take(self.bench.put("read", **wanted)):
            return False
        assert plain(self.copy.content) == stored(self.bench)
        assert self.copy.rev == int(self.bench.ask("HGET", ":config", "rev") or 0)
        return True

    def finish(self) -> Mapping[str, ConfigValue]:
        for _ in range(100):
            if self.step():
                return self.copy.content
        raise AssertionError("it does not come to an end")


def plain(content: Mapping[str, ConfigValue]) -> dict[str, tuple[bytes, int]]:
    return {name: (one.value, one.version) for name, one in content.items()}


def stored(bench: Bench) -> dict[str, tuple[bytes, int]]:
    """What is there, as its keys say."""
    found = {}
    for name in [member.decode() for member in bench.ask("ZRANGE", ":changed", 0, -1)]:
        value, version = bench.ask("HMGET", f":value:{name}", "value", "version")
        if value is not None:
            found[name] = value, int(version)
    return found


def keep(bench: Bench) -> dict[bytes, bytes]:
    """All keys, to lose what is written later."""
    return {key: bench.ask("DUMP", key) for key in keys(bench.server, bench.base)}


def lose_writes(bench: Bench, kept: dict[bytes, bytes]) -> None:
    """A failover to a replica that had not got the last writes. It takes a moment."""
    for key in keep(bench):
        bench.ask("DEL", key)
    for key, value in kept.items():
        bench.ask("RESTORE", key, 0, value)
    bench.pass_time(1)


def test_watchers_end_with_what_a_fresh_reader_has(make_any: MakeAny) -> None:
    names = st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True)

    @settings(max_examples=examples(25, 150), deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def history(data: st.DataObject) -> None:
        bench: Any = make_any("config")
        if data.draw(st.booleans()):
            bench.put("configure", settings={"names_max": 8})
        watchers = [Watcher(bench, limit) for limit in (1, 2, 1000)]
        kept: list[dict[bytes, bytes]] = []
        for _ in range(data.draw(st.integers(1, STEPS))):
            match data.draw(st.sampled_from(["set", "set", "remove", "mixed", "read", "read", "read", "time", "rare"])):
                case "set":
                    bench.set(*data.draw(names), value=data.draw(st.binary(max_size=2)))
                case "remove":
                    bench.remove_names(*data.draw(names))
                case "mixed":
                    items = [{"name": name, "remove": data.draw(st.booleans())} for name in data.draw(names)]
                    bench.put("set", item=items)
                case "read":
                    data.draw(st.sampled_from(watchers)).step()
                case "time":
                    bench.pass_time(data.draw(st.sampled_from([1, 1000, DAY // 2, DAY])))
                case "rare":
                    match data.draw(st.sampled_from(["sweep", "new", "keep", "lose"])):
                        case "sweep":
                            bench.put("sweep", limit=data.draw(st.integers(1, 3)))
                        case "new":
                            watchers.append(Watcher(bench, data.draw(st.integers(1, 3))))
                        case "keep":
                            kept.append(keep(bench))
                        case "lose" if kept:
                            lose_writes(bench, data.draw(st.sampled_from(kept)))
                            kept = []
            bench.check()
        fresh = plain(Watcher(bench).finish())
        assert fresh == stored(bench)
        for watcher in watchers:
            assert plain(watcher.finish()) == fresh
        bench.remove()

    history()


def test_a_watcher_that_slept_through_many_changes(make_any: MakeAny) -> None:
    bench: Any = make_any("config")
    bench.fill(50)
    watcher = Watcher(bench)
    watcher.finish()
    for number in range(200):
        bench.set(f"n{number % 60:05}", value=b"%d" % number)
    bench.remove_names("n00001", "n00002")
    since = watcher.copy.wanted()["since"]
    assert bench.put("read", since=since).status == "ok"
    assert plain(watcher.finish()) == plain(Watcher(bench).finish())


def test_a_watcher_that_slept_until_a_removal_was_forgotten(make_any: MakeAny) -> None:
    bench: Any = make_any("config")
    bench.set("a", "b")
    watcher = Watcher(bench)
    watcher.finish()
    bench.remove_names("a")
    bench.pass_time(DAY)
    bench.set("c")
    assert "a" not in {member.decode() for member in bench.ask("ZRANGE", ":changed", 0, -1)}
    since = watcher.copy.wanted()["since"]
    assert bench.put("read", since=since).status == "full"
    assert [*watcher.finish()] == ["b", "c"]


def test_a_watcher_behind_more_revs_than_are_kept(make_any: MakeAny) -> None:
    bench: Any = make_any("config")
    watchers = [Watcher(bench) for _ in range(2)]
    bench.set("a")
    watchers[0].finish()
    bench.set("b")
    watchers[1].finish()
    for _ in range(999):
        bench.set("c")
    answers = [bench.put("read", since=watcher.copy.rev).status for watcher in watchers]
    assert answers == ["full", "ok"]
    assert [[*watcher.finish()] for watcher in watchers] == [["a", "b", "c"]] * 2


def test_a_watcher_of_writes_that_are_lost(make_any: MakeAny) -> None:
    bench: Any = make_any("config")
    bench.set("a", "b", value=b"1")
    kept = keep(bench)
    watcher = Watcher(bench)
    bench.set("a", value=b"2")
    watcher.finish()
    lose_writes(bench, kept)
    assert bench.put("read", since=watcher.copy.rev).status == "full"
    later = bench.set("b", value=b"3").rev
    assert later > watcher.copy.rev, "no rev is used twice"
    assert {name: value for name, (value, _) in plain(watcher.finish()).items()} == {"a": b"1", "b": b"3"}


def test_a_write_is_lost_while_a_watcher_reads_its_pages(make_any: MakeAny) -> None:
    """The write has moved a name behind those that are read first, and its loss moves the name back."""
    for steps in range(4):
        bench: Any = make_any("config")
        bench.set("a", "b", "c")
        watcher = Watcher(bench, 1)
        watcher.step()
        kept = keep(bench)
        bench.set("b")
        for _ in range(steps):
            watcher.step()
        lose_writes(bench, kept)
        assert plain(watcher.finish()) == stored(bench)


def test_a_removal_is_forgotten_while_a_watcher_reads_its_pages(make_any: MakeAny) -> None:
    for steps in range(3):
        bench: Any = make_any("config")
        bench.set("a", "b", "c")
        watcher = Watcher(bench, 1)
        watcher.step()
        bench.remove_names("a")
        for _ in range(steps):
            watcher.step()
        bench.pass_time(DAY)
        assert bench.put("sweep").forgotten == 1
        assert [*watcher.finish()] == ["b", "c"]


def test_a_watcher_of_constant_writes_comes_to_an_end(make_any: MakeAny) -> None:
    bench: Any = make_any("config")
    bench.fill(20)
    watcher = Watcher(bench, 5)
    for number in range(10):
        bench.set(f"n{number:05}", value=b"new")
        if watcher.step():
            break
    else:
        raise AssertionError("it does not come to an end")
    assert plain(watcher.copy.content) == stored(bench)
