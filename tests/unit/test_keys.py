"""Bases, slots and names."""

import pytest
from redis.crc import key_slot

from pyadeq.errors import ConfigError
from pyadeq.keys import base_of, check_name, hash_slot, lock_base, part_base, partition_base, queue_base


def test_the_tag_of_a_partition_is_in_the_hash_tag_unless_a_slot_is_named() -> None:
    assert part_base(queue_base("a"), "t") == partition_base("a", "t") == "ade:{queue:a/t}"
    assert part_base(base_of("session", "web", "x", "prod"), "7f") == "x:{prod}:session:web/7f"
    with pytest.raises(ConfigError, match="tag: 'a/b' is not accepted"):
        part_base(queue_base("a"), "a/b")


@pytest.mark.parametrize(
    "key",
    ["123456789", "", "{a}b", "x{a}y{b}", "{}a", "{a", "a}", "}{a}", "{{a}}", "a{}{b}", "ключ", "ade:{queue:x}:config"],
)
def test_hash_slot_is_that_of_a_cluster(key: str) -> None:
    assert hash_slot(key) == key_slot(key.encode())


def test_a_base_is_a_slot() -> None:
    assert queue_base("default") == "ade:{queue:default}"
    assert queue_base("a", "x", "prod") == "x:{prod}:queue:a"
    assert lock_base("default") == "ade:{lock:default}"
    assert lock_base("a", "x", "prod") == "x:{prod}:lock:a"
    assert hash_slot(queue_base("a", slot="prod")) == hash_slot(lock_base("b", slot="prod")) == hash_slot("prod")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("",), "queue: ''"),
        (("a:b",), "queue: 'a:b'"),
        (("a}b",), "queue: 'a}b'"),
        (("a\n",), r"queue: 'a\\n'"),
        (("a" * 101,), "queue: 'aaa"),
        (("a", "p:"), "prefix: 'p:'"),
        (("a", "p", ""), "slot: ''"),
        (("a", "p", "{s}"), "slot: '{s}'"),
    ],
)
def test_a_bad_name_is_refused_by_field_and_value(arguments: tuple[str, ...], told: str) -> None:
    with pytest.raises(ConfigError, match=f"^{told}.*allowed: 1 to 100 of A-Z"):
        queue_base(*arguments)


def test_a_bad_name_of_a_domain_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^domain: 'a:b' is not accepted"):
        lock_base("a:b")


@pytest.mark.parametrize("lane", ["any", "group/a", "group/a/inst/b"])
def test_lanes(lane: str) -> None:
    assert check_name("lane", lane, "lane") == lane


@pytest.mark.parametrize("lane", ["", "all", "group/", "group/a/", "group/a/b", "group/a/inst/", "anyway", "any\n"])
def test_no_lanes(lane: str) -> None:
    with pytest.raises(ConfigError, match=r"^lane: .*allowed: any, group/<name> or"):
        check_name("lane", lane, "lane")


@pytest.mark.parametrize("key", ["all", "user:*", "user:a/b:c", "tag:*", "key:" + "x" * 200])
def test_keys_of_limits(key: str) -> None:
    assert check_name("key", key, "limit") == key


@pytest.mark.parametrize(
    "key",
    ["", "*", "any", "all:", "all:a", "user", "user:", "user:**", "lane:a", "tag:a b", "key:" + "x" * 201, "all\n"],
)
def test_no_keys_of_limits(key: str) -> None:
    with pytest.raises(ConfigError, match=r"^key: .*allowed: all, or user: or tag: and a label"):
        check_name("key", key, "limit")


def test_an_id_may_hold_what_a_name_may_not() -> None:
    assert check_name("id", "a/b:c@d+e-f._" + "x" * 187, "id")
    with pytest.raises(ConfigError, match="1 to 200"):
        check_name("id", "x" * 201, "id")
