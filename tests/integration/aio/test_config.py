"""Configs as their users see them: values, versions, history, and copies that stay current."""

import pytest

from pyadeq import ConfigVersion
from pyadeq.asyncio import Adeq, Config
from pyadeq.errors import BadArgument, ConfigConflict, ConfigError, ConfigFull


@pytest.fixture
async def config(adeq: Adeq, base_name: str) -> Config:
    return adeq.config(base_name)


async def test_a_value_is_bytes_or_json(config: Config) -> None:
    version = await config.set("limit", {"most": 3}, actor="ann", reason="müde")
    found = await config.get("limit")
    assert found is not None
    assert (found.name, found.value, found.version) == ("limit", b'{"most":3}', version)
    assert (found.json(), found.actor, found.reason) == ({"most": 3}, "ann", "müde")
    await config.set("raw", b"\xff\x00")
    assert {name: one.value for name, one in (await config.list()).items()} == {
        "limit": b'{"most":3}',
        "raw": b"\xff\x00",
    }
    assert await config.get("other") is None
    with pytest.raises(BadArgument, match="the value of x must be bytes or JSON"):
        await config.set("x", object())
    with pytest.raises(BadArgument, match="65536"):
        await config.set("x", b"x" * 65_537)


async def test_many_names_are_set_and_read(config: Config) -> None:
    names = [f"n{number}" for number in range(120)]
    for start in (0, 60):
        await config.set_many({name: name for name in names[start : start + 60]})
    assert [*await config.get_many([*names, "other"])] == names
    assert len(await config.list()) == 120
    version = await config.set_many({"n0": 1}, remove=["n1", "n2"])
    found = await config.get_many(["n0", "n1", "n2", "n3"])
    assert [*found] == ["n0", "n3"]
    assert found["n0"].version == version


async def test_the_version_that_was_seen_is_expected(config: Config) -> None:
    version = await config.set("a", 1, expect=0)
    later = await config.set("a", 2, expect=version)
    assert later > version
    with pytest.raises(ConfigConflict, match="a has ") as conflict:
        await config.set("a", 3, expect=version)
    assert conflict.value.versions == {"a": later}
    with pytest.raises(ConfigConflict):
        await config.remove("a", expect=version)
    with pytest.raises(ConfigConflict, match="b has no value") as conflict:
        await config.set_many({"a": 3, "b": 3}, remove=["c"], expect={"a": later, "b": 7})
    assert conflict.value.versions == {"b": 0}
    with pytest.raises(BadArgument, match="expect: 'c'"):
        await config.set_many({"a": 3}, expect={"c": 7})
    assert {name: one.json() for name, one in (await config.list()).items()} == {"a": 2}


async def test_a_name_is_removed_once(config: Config) -> None:
    version = await config.set("a", 1)
    assert await config.remove("a", expect=version, actor="ann")
    assert not await config.remove("a")
    assert await config.get("a") is None
    await config.set("a", 1)  # a value that was made again is another one
    with pytest.raises(ConfigConflict):
        await config.set("a", 2, expect=version)


async def test_history_and_revert(config: Config) -> None:
    first = await config.set("a", "one", actor="ann")
    second = await config.set("a", "two", reason="more")
    await config.revert("a", first)
    assert [one.json() for one in (await config.list()).values()] == ["one"]
    await config.remove("a")
    history = [one async for one in config.history("a")]
    assert [(one.value, one.actor, one.reason) for one in history] == [
        (None, "", ""),
        (b'"one"', "", f"revert to {first}"),
        (b'"two"', "", "more"),
        (b'"one"', "ann", ""),
    ]
    assert history[2] == ConfigVersion(second, b'"two"', history[2].at, "", "more")
    assert await config.revert("a", second, actor="bob") > history[0].version
    await config.revert("a", history[0].version)  # which was a removal
    assert await config.get("a") is None
    with pytest.raises(BadArgument, match="version: 7 is not in the history of 'a'"):
        await config.revert("a", 7)
    with pytest.raises(ConfigConflict):
        await config.revert("a", first, expect=first)


async def test_records_of_a_service_are_not_reverted(adeq: Adeq, base_name: str) -> None:
    config = adeq.config(f"_{base_name}")
    version = await config.set("a", 1)
    with pytest.raises(ConfigError, match="records of a service"):
        await config.revert("a", version)


async def test_a_namespace_may_be_full(config: Config) -> None:
    await config.configure(names_max=2)
    await config.set_many({"a": 1, "b": 1})
    with pytest.raises(ConfigFull, match="has 2 names"):
        await config.set("c", 1)
    await config.set_many({"c": 1}, remove=["a"])
    assert [*await config.list()] == ["b", "c"]


async def test_a_removed_name_is_forgotten(config: Config) -> None:
    await config.configure(removed=1.0)
    await config.set("a", 1)
    await config.remove("a")
    assert await config.sweep() == 0


async def test_a_flag_is_checked_before_it_is_set(config: Config) -> None:
    flag = {"state": "ENABLED", "variants": {"on": True, "off": False}, "defaultVariant": "on"}
    await config.set_many({"flag:a": flag, "flag:b": "disabled", "flag": 7, "a/flag:b": 7})
    wrong = {**flag, "targeting": {"substr": ["on", 1]}}
    with pytest.raises(BadArgument, match="targeting: operator 'substr' is not accepted; allowed: var, ==, !=, "):
        await config.set_many({"other": 1, "flag:a": wrong})
    with pytest.raises(BadArgument, match="allowed: an object in flagd's format"):
        await config.set("flag:a", b"\x00")
    found = await config.list()
    assert found["flag:a"].json() == flag
    assert "other" not in found
