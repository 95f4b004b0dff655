"""What sessions store and answer, in the cases that tell the rules apart."""

from __future__ import annotations

from typing import Any

import pytest

from pyadeq._core.session.ids import handle_of
from tests.nouns.bench import NounBench
from tests.nouns.script_bench import START, MakeAny

HOUR, DAY = 3_600_000, 86_400_000  # ms
BEGUN = START * 1000  # not_before_us of a user who was unknown


@pytest.fixture
def bench(make_any: MakeAny) -> NounBench:
    found: NounBench = make_any("session")
    return found


def create(bench: NounBench, hash: str = "a", user: str = "ann", **about: Any) -> None:
    assert bench.run(bench.call("create", hash=hash, user=user, **about)).status == "created"


def is_valid(bench: NounBench, hash: str) -> bool:
    return bool(bench.run(bench.call("get", hash=hash, touch=False)).status == "ok")


def stored(bench: NounBench, key: str) -> dict[str, str]:
    found = bench.ask("HGETALL", key)
    return {name.decode(): value.decode() for name, value in zip(found[::2], found[1::2], strict=True)}


def left(bench: NounBench, key: str) -> int:
    """After how many hours the server deletes a key, rounded up."""
    return -(-int(bench.ask("PTTL", key)) // HOUR)


def payload(bench: NounBench) -> list[str]:
    return [one["payload"].decode() for one in bench.events()]


def test_what_is_stored_of_a_login(bench: NounBench) -> None:
    create(bench, roles=["r", "s"], permissions=["p"], name="Ann", address="::1", agent="x", data=b"\0")
    now = str(START)
    assert stored(bench, ":s:a") == {
        "user": "ann",
        "name": "Ann",
        "roles": "r,s",
        "permissions": "p",
        "address": "::1",
        "agent": "x",
        "data": "\0",
        "created_ms": now,
        "active_ms": now,
        "born_us": str(BEGUN + 1),
        "idle_ms": str(DAY),
        "ends_ms": str(START + 7 * DAY),
        "ver": "1",
        "authz_ver": "1",
    }
    assert stored(bench, ":u:ann") == {
        "not_before_us": str(BEGUN),
        "begun_us": str(BEGUN),
        "authz_ver": "1",
        "ends_ms": str(START + 7 * DAY),
    }
    assert bench.ask("ZRANGE", ":of:ann", 0, -1) == bench.ask("ZRANGE", ":all", 0, -1) == [b"a"]
    assert (bench.events()[0]["id"].decode(), payload(bench)) == (handle_of("a"), ["user=ann"])


def test_the_server_deletes_what_has_ended(bench: NounBench) -> None:
    create(bench, "idle", idle=10 * 3600, lifetime=100 * 3600)
    create(bench, "short", lifetime=5 * 3600)
    assert [left(bench, f":s:{hash}") for hash in ("idle", "short")] == [11, 6]
    assert [left(bench, key) for key in (":u:ann", ":of:ann")] == [124, 124]
    bench.pass_time(9 * HOUR)
    bench.run(bench.call("get", hash="idle"))
    assert left(bench, ":s:idle") == 11
    bench.run(bench.call("rotate", hash="idle", new_hash="new", grace=60))
    assert (left(bench, ":s:new"), left(bench, ":s:idle")) == (11, 2)
    bench.run(bench.call("set_user", user="new", renew_authz=True))
    assert left(bench, ":u:new") == 24
    bench.pass_time(200 * HOUR)
    bench.run(bench.call("set_user", user="ann", renew_authz=True))
    assert left(bench, ":u:ann") == 24


def test_a_session_is_valid_only_if_it_is_newer_than_the_last_revocation(bench: NounBench) -> None:
    create(bench)
    for not_before, valid in ((BEGUN, True), (BEGUN + 1, False), (BEGUN + 2, False)):
        bench.ask("HSET", ":u:ann", "not_before_us", not_before)
        assert is_valid(bench, "a") == valid
        assert len(bench.run(bench.call("list", user="ann")).items) == int(valid)
        assert len(bench.run(bench.call("list")).items) == int(valid)


def test_a_session_of_a_lost_user_is_gone(bench: NounBench) -> None:
    create(bench)
    bench.ask("DEL", ":u:ann")
    assert not is_valid(bench, "a")
    assert bench.run(bench.call("update", item=[{"hash": "a", "ver": 1}])).status == "gone"
    assert [bench.run(bench.call("list", **one)).items for one in ({}, {"user": "ann"})] == [[], []]


@pytest.mark.parametrize("ends", [{"idle": 10}, {"lifetime": 10}])
def test_lists_and_limits_know_when_a_session_ends(bench: NounBench, ends: dict[str, Any]) -> None:
    create(bench, **ends)
    create(bench, "b", "bob", **ends)
    bench.pass_time(9_999)
    assert [len(bench.run(bench.call("list", **one)).items) for one in ({}, {"user": "ann"})] == [2, 1]
    full = bench.call("create", hash="c", user="ann", limit=1, when_full="refuse")
    assert bench.run(full).sessions == 1
    bench.pass_time(1)
    assert [len(bench.run(bench.call("list", **one)).items) for one in ({}, {"user": "ann"})] == [0, 0]
    create(bench, "c", limit=1, when_full="refuse")
    assert bench.ask("ZRANGE", ":of:ann", 0, -1) == [b"c"]


def test_a_revocation_counts_up_even_if_the_clock_stands_still_or_goes_back(bench: NounBench) -> None:
    create(bench)
    bench.pass_time(1000)
    told = [bench.run(bench.call("set_user", user="ann", revoke=True)) for _ in range(3)]
    assert [one.not_before_us for one in told] == [(START + 1000) * 1000 + at for at in range(3)]
    bench.pass_time(-5000)
    create(bench, "b")
    assert is_valid(bench, "b")
    assert bench.run(bench.call("set_user", user="ann", revoke=True)).not_before_us == (START + 1000) * 1000 + 3
    assert not is_valid(bench, "b")


def test_a_revocation_keeps_one_and_says_how_many_it_has_ended(bench: NounBench) -> None:
    for hash in "abc":
        create(bench, hash)
    told = bench.run(bench.call("set_user", user="ann", revoke=True, keep="b"))
    assert (told.ended, told.kept) == (2, 1)
    assert [is_valid(bench, hash) for hash in "abc"] == [False, True, False]
    assert bench.ask("ZRANGE", ":of:ann", 0, -1) == bench.ask("ZRANGE", ":all", 0, -1) == [b"b"]
    told = bench.run(bench.call("set_user", user="ann", revoke=True, renew_authz=True))
    assert (told.ended, told.kept, told.authz_ver) == (1, 0, 2)
    bench.run(bench.call("set_user", user="ann", renew_authz=True))
    assert payload(bench)[-3:] == ["revoked=2 authz_ver=1", "revoked=1 authz_ver=2", "authz_ver=3"]


def test_a_sweep_says_whether_there_may_be_more(bench: NounBench) -> None:
    for number in range(3):
        create(bench, f"n{number}", lifetime=10)
    bench.pass_time(10_000)
    told = [bench.run(bench.call("sweep", limit=2)) for _ in range(2)]
    assert [(one.ended, one.more) for one in told] == [(2, 1), (1, 0)]


def test_a_record_of_a_user_is_kept_for_the_longest_session(bench: NounBench) -> None:
    create(bench, lifetime=3600)
    create(bench, "b", lifetime=7200)
    create(bench, "c", lifetime=3600)
    assert stored(bench, ":u:ann")["ends_ms"] == str(START + 2 * HOUR)
