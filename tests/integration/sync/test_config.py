# Generated from tests/integration/aio/test_config.py by pyadeq/_unasync.py; do not edit.
"""Configs as their users see them: values, versions, history, and copies that stay current."""

import pytest

from pyadeq import ConfigVersion
from pyadeq import Adeq, Config
from pyadeq.errors import BadArgument, ConfigConflict, ConfigError, ConfigFull


@pytest.fixture
def config(adeq: Adeq, base_name: str) -> Config:
    return adeq.config(base_name)


def test_a_value_is_bytes_or_json(config: Config) -> None:
    version = config.set("limit", {"most": 3}, actor="ann", reason="müde")
    found = config.get("limit")
    assert found is not None
    assert (found.name, found.value, found.version) == ("limit", b'{"most":3}', version)
    assert (found.json(), found.actor, found.reason) == ({"most": 3}, "ann", "müde")
    config.set("raw", b"\xff\x00")
    assert {name: one.value for name, one in (config.list()).items()} == {
        "limit": b'{"most":3}',
        "raw": b"\xff\x00",
    }
    assert config.get("other") is None
    with pytest.raises(BadArgument, match="the value of x must be bytes or JSON"):
        config.set("x", object())
    with pytest.raises(BadArgument, match="65536"):
        config.set("x", b"x" * 65_537)


def test_many_names_are_set_and_read(config: Config) -> None:
    names = [f"n{number}" for number in range(120)]
    for start in (0, 60):
        config.set_many({name: name for name in names[start : start + 60]})
    assert [*config.get_many([*names, "other"])] == names
    assert len(config.list()) == 120
    version = config.set_many({"n0": 1}, remove=["n1", "n2"])
    found = config.get_many(["n0", "n1", "n2", "n3"])
    assert [*found] == ["n0", "n3"]
    assert found["n0"].version == version


def test_the_version_that_was_seen_is_expected(config: Config) -> None:
    version = config.set("a", 1, expect=0)
    later = config.set("a", 2, expect=version)
    assert later > version
    with pytest.raises(ConfigConflict, match="a has ") as conflict:
        config.set("a", 3, expect=version)
    assert conflict.value.versions == {"a": later}
    with pytest.raises(ConfigConflict):
        config.remove("a", expect=version)
    with pytest.raises(ConfigConflict, match="b has no value") as conflict:
        config.set_many({"a": 3, "b": 3}, remove=["c"], expect={"a": later, "b": 7})
    assert conflict.value.versions == {"b": 0}
    with pytest.raises(BadArgument, match="expect: 'c'"):
        config.set_many({"a": 3}, expect={"c": 7})
    assert {name: one.json() for name, one in (config.list()).items()} == {"a": 2}


def test_a_name_is_removed_once(config: Config) -> None:
    version = config.set("a", 1)
    assert config.remove("a", expect=version, actor="ann")
    assert not config.remove("a")
    assert config.get("a") is None
    config.set("a", 1)  # a value that was made again is another one
    with pytest.raises(ConfigConflict):
        config.set("a", 2, expect=version)


def test_history_and_revert(config: Config) -> None:
    first = config.set("a", "one", actor="ann")
    second = config.set("a", "two", reason="more")
    config.revert("a", first)
    assert [one.json() for one in (config.list()).values()] == ["one"]
    config.remove("a")
    history = [one for one in config.history("a")]
    assert [(one.value, one.actor, one.reason) for one in history] == [
        (None, "", ""),
        (b'"one"', "", f"revert to {first}"),
        (b'"two"', "", "more"),
        (b'"one"', "ann", ""),
    ]
    assert history[2] == ConfigVersion(second, b'"two"', history[2].at, "", "more")
    assert config.revert("a", second, actor="bob") > history[0].version
    config.revert("a", history[0].version)  # which was a removal
    assert config.get("a") is None
    with pytest.raises(BadArgument, match="version: 7 is not in the history of 'a'"):
        config.revert("a", 7)
    with pytest.raises(ConfigConflict):
        config.revert("a", first, expect=first)


def test_records_of_a_service_are_not_reverted(adeq: Adeq, base_name: str) -> None:
    config = adeq.config(f"_{base_name}")
    version = config.set("a", 1)
    with pytest.raises(ConfigError, match="records of a service"):
        config.revert("a", version)


def test_a_namespace_may_be_full(config: Config) -> None:
    config.configure(names_max=2)
    config.set_many({"a": 1, "b": 1})
    with pytest.raises(ConfigFull, match="has 2 names"):
        config.set("c", 1)
    config.set_many({"c": 1}, remove=["a"])
    assert [*config.list()] == ["b", "c"]


def test_a_removed_name_is_forgotten(config: Config) -> None:
    config.configure(removed=1.0)
    config.set("a", 1)
    config.remove("a")
    assert config.sweep() == 0


def test_a_flag_is_checked_before_it_is_set(config: Config) -> None:
    flag = {"state": "ENABLED", "variants": {"on": True, "off": False}, "defaultVariant": "on"}
    config.set_many({"flag:a": flag, "flag:b": "disabled", "flag": 7, "a/flag:b": 7})
    wrong = {**flag, "targeting": {"substr": ["on", 1]}}
    with pytest.raises(BadArgument, match="targeting: operator 'substr' is not accepted; allowed: var, ==, !=, "):
        config.set_many({"other": 1, "flag:a": wrong})
    with pytest.raises(BadArgument, match="allowed: an object in flagd's format"):
        config.set("flag:a", b"\x00")
    found = config.list()
    assert found["flag:a"].json() == flag
    assert "other" not in found
