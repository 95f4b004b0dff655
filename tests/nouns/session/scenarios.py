"""Paths of the scripts of sessions."""

from __future__ import annotations

from typing import Any

from pyadeq._core.session.ids import handle_of
from tests.nouns.bench import NounBench
from tests.nouns.scenario import AnyCall, scenario, sent

WHOLE: dict[str, Any] = {
    "name": "Ann",
    "roles": [f"role{number}" for number in range(64)],
    "permissions": [f"may{number}" for number in range(256)],
    "address": "2001:db8::1",
    "agent": "a" * 512,
    "data": b"x" * 16_384,
}


def log_in(bench: NounBench, hash: str = "a", user: str = "ann", **about: Any) -> str:
    assert bench.put("create", hash=hash, user=user, **about).status == "created"
    return hash


def fill(bench: NounBench, n: int, user: str = "ann", **about: Any) -> None:
    for number in range(n):
        log_in(bench, f"n{number}", user, **about)


# create


@scenario(0)
def create_a_session(bench: NounBench, _: int) -> AnyCall:
    return bench.call("create", rid="r", hash="a", user="ann", idle=60, lifetime=3600)


@scenario(0)
def create_with_all_there_is(bench: NounBench, _: int) -> AnyCall:
    return bench.call("create", rid="r", hash="a", user="ann", **WHOLE)


@scenario(0, clock="server")
def create_the_first(bench: NounBench, _: int) -> AnyCall:
    return bench.call("create", rid="r", hash="a", user="ann")


@scenario(0)
def create_again(bench: NounBench, _: int) -> AnyCall:
    return sent(bench, bench.call("create", rid="r", hash="a", user="ann"))


@scenario(0)
def create_again_after_it_was_revoked(bench: NounBench, _: int) -> AnyCall:
    call = sent(bench, bench.call("create", rid="r", hash="a", user="ann"))
    bench.put("revoke", item=["a"])
    bench.real(call)
    assert bench.put("get", hash="a").status == "gone"
    return bench.call("create", rid="r", hash="a", user="ann")


@scenario(0)
def create_one_that_exists(bench: NounBench, _: int) -> AnyCall:
    log_in(bench)
    return bench.call("create", rid="r", hash="a", user="bob")


@scenario(0)
def create_after_the_sessions_were_revoked(bench: NounBench, _: int) -> AnyCall:
    log_in(bench)
    seen = bench.put("list", user="ann").not_before_us
    bench.put("set_user", user="ann", revoke=True)
    return bench.call("create", rid="r", hash="b", user="ann", expect_us=seen)


@scenario(0)
def create_after_the_first_login_was_revoked(bench: NounBench, _: int) -> AnyCall:
    bench.put("set_user", user="ann", revoke=True)
    return bench.call("create", rid="r", hash="b", user="ann", expect_us=0)


@scenario(0)
def create_where_the_user_is_as_it_was_read(bench: NounBench, _: int) -> AnyCall:
    bench.put("set_user", user="ann", revoke=True)
    seen = bench.put("list", user="ann")
    return bench.call("create", rid="r", hash="b", user="ann", expect_us=seen.not_before_us, authz_ver=seen.authz_ver)


@scenario(0)
def create_beside_another_first_login(bench: NounBench, _: int) -> AnyCall:
    log_in(bench)
    return bench.call("create", rid="r", hash="b", user="ann", expect_us=0)


@scenario(0)
def create_for_a_user_who_is_new(bench: NounBench, _: int) -> AnyCall:
    return bench.call("create", rid="r", hash="b", user="ann", expect_us=0)


@scenario(0)
def create_where_the_record_of_the_user_is_lost(bench: NounBench, _: int) -> AnyCall:
    log_in(bench)
    seen = bench.put("list", user="ann").not_before_us
    bench.ask("DEL", ":u:ann")
    return bench.call("create", rid="r", hash="b", user="ann", expect_us=seen)


@scenario(0)
def create_and_end_those_of_a_lost_user(bench: NounBench, _: int) -> AnyCall:
    log_in(bench)
    bench.ask("DEL", ":u:ann")
    bench.pass_time(1)
    call = bench.call("create", rid="r", hash="b", user="ann")
    return call


@scenario(0)
def create_with_older_rights(bench: NounBench, _: int) -> AnyCall:
    bench.put("set_user", user="ann", renew_authz=True)
    return bench.call("create", rid="r", hash="a", user="ann", authz_ver=1)


@scenario(1, 1000)
def create_and_end_the_oldest(bench: NounBench, n: int) -> AnyCall:
    fill(bench, n)
    return bench.call("create", rid="r", hash="b", user="ann", limit=1)


@scenario(2)
def create_where_another_has_ended_by_idleness(bench: NounBench, n: int) -> AnyCall:
    log_in(bench, "idle", idle=10)
    fill(bench, n)
    bench.pass_time(20_000)
    return bench.call("create", rid="r", hash="b", user="ann", limit=3, when_full="refuse")


@scenario(1, 1000)
def create_one_too_many(bench: NounBench, n: int) -> AnyCall:
    fill(bench, n)
    return bench.call("create", rid="r", hash="b", user="ann", limit=n, when_full="refuse")


@scenario(1, 10)
def create_and_delete_some_that_have_ended(bench: NounBench, n: int) -> AnyCall:
    fill(bench, n, lifetime=10)
    bench.pass_time(10_000)
    return bench.call("create", rid="r", hash="b", user="bob")


@scenario(0)
def create_and_delete_those_of_the_user(bench: NounBench, _: int) -> AnyCall:
    fill(bench, 2, lifetime=10)
    bench.pass_time(10_000)
    return bench.call("create", rid="r", hash="b", user="ann")


@scenario(0)
def create_without_events(bench: NounBench, _: int) -> AnyCall:
    bench.put("configure", settings={"events_max": 0})
    return bench.call("create", rid="r", hash="a", user="ann")


# get


@scenario(0)
def get_without_a_touch(bench: NounBench, _: int) -> AnyCall:
    log_in(bench)
    bench.pass_time(60_000)
    return bench.call("get", hash="a")


@scenario(0)
def get_with_a_touch(bench: NounBench, _: int) -> AnyCall:
    log_in(bench, **WHOLE)
    bench.pass_time(60_001)
    return bench.call("get", hash="a")


@scenario(0)
def get_with_a_touch_of_a_short_idle_time(bench: NounBench, _: int) -> AnyCall:
    log_in(bench, idle=10)
    bench.pass_time(1001)
    return bench.call("get", hash="a")


@scenario(0)
def get_and_do_not_touch(bench: NounBench, _: int) -> AnyCall:
    log_in(bench)
    bench.pass_time(60_001)
    return bench.call("get", hash="a", touch=False)


@scenario(0)
def get_by_an_older_id(bench: NounBench, _: int) -> AnyCall:
    log_in(bench)
    bench.put("rotate", hash="a", new_hash="b")
    bench.pass_time(9_999)
    return bench.call("get", hash="a")


@scenario(0)
def get_by_an_older_id_after_its_grace(bench: NounBench, _: int) -> AnyCall:
    log_in(bench)
    bench.put("rotate", hash="a", new_hash="b")
    bench.pass_time(10_000)
    return bench.call("get", hash="a")


@scenario(1, 4, 5, 6)
def get_through_rotations(bench: NounBench, n: int) -> AnyCall:
    log_in(bench, "h0")
    for number in range(n):
        bench.put("rotate", hash=f"h{number}", new_hash=f"h{number + 1}", grace=60)
    bench.pass_time(59_999)
    return bench.call("get", hash="h0")


@scenario(0)
def get_after_the_new_id_was_rotated_at_once(bench: NounBench, _: int) -> AnyCall:
    log_in(bench)
    bench.put("rotate", hash="a", new_hash="b")
    bench.put("rotate", hash="b", new_hash="c", grace=0)
    return bench.call("get", hash="a")


@scenario(0)
def get_what_is_unknown(bench: NounBench, _: int) -> AnyCall:
    return bench.call("get", hash="a")


@scenario(0)
def get_after_the_idle_time(bench: NounBench, _: int) -> AnyCall:
    log_in(bench, idle=10)
    bench.pass_time(10_000)
    return bench.call("get", hash="a")


@scenario(0)
def get_directly_before_the_idle_time(bench: NounBench, _: int) -> AnyCall:
    log_in(bench, idle=10)
    bench.pass_time(9_999)
    return bench.call("get", hash="a")


@scenario(0)
def get_after_the_lifetime(bench: NounBench, _: int) -> AnyCall:
    log_in(bench, lifetime=10)
    bench.pass_time(10_000)
    return bench.call("get", hash="a")


@scenario(0)
def get_directly_before_the_lifetime(bench: NounBench, _: int) -> AnyCall:
    log_in(bench, lifetime=10)
    bench.pass_time(9_999)
    return bench.call("get", hash="a")


@scenario(0)
def get_where_the_record_of_the_user_is_lost(bench: NounBench, _: int) -> AnyCall:
    log_in(bench)
    bench.ask("DEL", ":u:ann")
    return bench.call("get", hash="a")


@scenario(0)
def get_an_older_one_after_the_user_was_lost_and_made_again(bench: NounBench, _: int) -> AnyCall:
    log_in(bench)
    bench.ask("DEL", ":u:ann", ":of:ann")
    bench.pass_time(1)
    log_in(bench, "b")
    return bench.call("get", hash="a")


# update


@scenario(0)
def update_all_there_is(bench: NounBench, _: int) -> AnyCall:
    log_in(bench)
    return bench.call("update", rid="r", item=[{"hash": "a", "ver": 1, "authz_ver": 2, **WHOLE}])


@scenario(0)
def update_nothing(bench: NounBench, _: int) -> AnyCall:
    log_in(bench)
    return bench.call("update", rid="r", item=[{"hash": "a", "ver": 1}])


@scenario(0)
def update_again(bench: NounBench, _: int) -> AnyCall:
    log_in(bench)
    return sent(bench, bench.call("update", rid="r", item=[{"hash": "a", "ver": 1, "name": "A"}]))


@scenario(0)
def update_what_was_changed(bench: NounBench, _: int) -> AnyCall:
    log_in(bench)
    bench.put("update", item=[{"hash": "a", "ver": 1, "name": "A"}])
    return bench.call("update", rid="r", item=[{"hash": "a", "ver": 1, "name": "B"}])


@scenario(0)
def update_by_an_older_id(bench: NounBench, _: int) -> AnyCall:
    log_in(bench)
    bench.put("rotate", hash="a", new_hash="b")
    return bench.call("update", rid="r", item=[{"hash": "a", "ver": 1, "name": "B"}])


@scenario(0)
def update_what_was_revoked(bench: NounBench, _: int) -> AnyCall:
    log_in(bench)
    bench.put("revoke", item=["a"])
    return bench.call("update", rid="r", item=[{"hash": "a", "ver": 1, "name": "B"}])


@scenario(0, clock="server")
def update_where_nothing_is(bench: NounBench, _: int) -> AnyCall:
    return bench.call("update", rid="r", item=[{"hash": "a", "ver": 1}])


# rotate


@scenario(0)
def rotate_with_a_grace(bench: NounBench, _: int) -> AnyCall:
    log_in(bench)
    return bench.call("rotate", rid="r", hash="a", new_hash="b")


@scenario(0)
def rotate_at_once(bench: NounBench, _: int) -> AnyCall:
    log_in(bench, **WHOLE)
    return bench.call("rotate", rid="r", hash="a", new_hash="b", grace=0)


@scenario(0)
def rotate_again(bench: NounBench, _: int) -> AnyCall:
    log_in(bench)
    return sent(bench, bench.call("rotate", rid="r", hash="a", new_hash="b"))


@scenario(0)
def rotate_an_older_id(bench: NounBench, _: int) -> AnyCall:
    log_in(bench)
    bench.put("rotate", hash="a", new_hash="b")
    return bench.call("rotate", rid="r", hash="a", new_hash="c")


@scenario(0)
def rotate_to_an_id_that_exists(bench: NounBench, _: int) -> AnyCall:
    log_in(bench)
    log_in(bench, "b")
    return bench.call("rotate", rid="r", hash="a", new_hash="b")


@scenario(0)
def rotate_what_is_gone(bench: NounBench, _: int) -> AnyCall:
    return bench.call("rotate", rid="r", hash="a", new_hash="b")


# revoke


@scenario(1, 100)
def revoke_some(bench: NounBench, n: int) -> AnyCall:
    fill(bench, n)
    return bench.call("revoke", rid="r", item=[f"n{number}" for number in range(n)])


@scenario(1, 100)
def revoke_by_handle(bench: NounBench, n: int) -> AnyCall:
    fill(bench, 1000 if n > 1 else n)
    return bench.call("revoke", rid="r", user="ann", item=[handle_of(f"n{number}") for number in range(n)])


@scenario(0)
def revoke_a_handle_of_another_user(bench: NounBench, _: int) -> AnyCall:
    log_in(bench)
    return bench.call("revoke", rid="r", user="bob", item=[handle_of("a")])


@scenario(0)
def revoke_again(bench: NounBench, _: int) -> AnyCall:
    log_in(bench)
    return sent(bench, bench.call("revoke", rid="r", item=["a", "b"]))


@scenario(0)
def revoke_what_another_has_revoked(bench: NounBench, _: int) -> AnyCall:
    log_in(bench)
    bench.put("revoke", item=["a"])
    return bench.call("revoke", rid="r", item=["a", "a"])


@scenario(0)
def revoke_by_an_older_id(bench: NounBench, _: int) -> AnyCall:
    log_in(bench)
    bench.put("rotate", hash="a", new_hash="b")
    return bench.call("revoke", rid="r", item=["a"])


@scenario(0, clock="server")
def revoke_where_nothing_is(bench: NounBench, _: int) -> AnyCall:
    return bench.call("revoke", rid="r", item=["a"])


# set_user


@scenario(1, 1000)
def set_user_and_revoke_all(bench: NounBench, n: int) -> AnyCall:
    fill(bench, n)
    return bench.call("set_user", rid="r", user="ann", revoke=True)


@scenario(0)
def set_user_again(bench: NounBench, _: int) -> AnyCall:
    log_in(bench)
    return sent(bench, bench.call("set_user", rid="r", user="ann", revoke=True, renew_authz=True))


@scenario(0)
def set_user_and_keep_one(bench: NounBench, _: int) -> AnyCall:
    fill(bench, 3)
    return bench.call("set_user", rid="r", user="ann", revoke=True, keep="n1")


@scenario(0)
def set_user_and_keep_by_an_older_id(bench: NounBench, _: int) -> AnyCall:
    fill(bench, 2)
    bench.put("rotate", hash="n1", new_hash="b")
    return bench.call("set_user", rid="r", user="ann", revoke=True, keep="n1")


@scenario(0)
def set_user_and_keep_one_of_another(bench: NounBench, _: int) -> AnyCall:
    log_in(bench)
    log_in(bench, "b", "bob")
    return bench.call("set_user", rid="r", user="ann", revoke=True, keep="b")


@scenario(0)
def set_user_and_keep_what_is_gone(bench: NounBench, _: int) -> AnyCall:
    log_in(bench)
    return bench.call("set_user", rid="r", user="ann", revoke=True, keep="b")


@scenario(0)
def set_user_with_other_rights(bench: NounBench, _: int) -> AnyCall:
    log_in(bench)
    return bench.call("set_user", rid="r", user="ann", renew_authz=True)


@scenario(0)
def set_user_twice_in_a_millisecond(bench: NounBench, _: int) -> AnyCall:
    log_in(bench)
    bench.put("set_user", user="ann", revoke=True)
    log_in(bench, "b")
    return bench.call("set_user", rid="r", user="ann", revoke=True)


@scenario(0, clock="server")
def set_user_who_is_new(bench: NounBench, _: int) -> AnyCall:
    return bench.call("set_user", rid="r", user="ann", revoke=True)


@scenario(0)
def set_user_where_the_clock_went_back(bench: NounBench, _: int) -> AnyCall:
    log_in(bench)
    bench.pass_time(-5_000)
    bench.put("set_user", user="ann", revoke=True)
    assert bench.put("get", hash="a").status == "gone"
    return bench.call("set_user", rid="r", user="ann", revoke=True)


# list, stats, sweep


@scenario(1, 100)
def list_those_of_a_user(bench: NounBench, n: int) -> AnyCall:
    fill(bench, n, name="Ann", address="::1", agent="b")
    return bench.call("list", user="ann", limit=100)


@scenario(1, 100)
def list_all(bench: NounBench, n: int) -> AnyCall:
    for number in range(n):
        log_in(bench, f"n{number}", f"user{number}")
    return bench.call("list", limit=100)


@scenario(0)
def list_the_next_page(bench: NounBench, _: int) -> AnyCall:
    fill(bench, 5)
    return bench.call("list", user="ann", limit=2, cursor=bench.put("list", user="ann", limit=2).cursor)


@scenario(0)
def list_only_what_is_valid(bench: NounBench, _: int) -> AnyCall:
    log_in(bench, "lost")
    bench.ask("DEL", ":s:lost")
    log_in(bench, "old", lifetime=5)
    log_in(bench, "idle", idle=5)
    log_in(bench, "other", "bob")
    bench.ask("DEL", ":u:bob")
    log_in(bench, "fine")
    bench.pass_time(5_000)
    assert [one.handle for one in bench.put("list").items] == [handle_of("fine")]
    return bench.call("list", user="ann")


@scenario(0)
def list_of_all_only_what_is_valid(bench: NounBench, _: int) -> AnyCall:
    log_in(bench, "lost")
    bench.ask("DEL", ":s:lost")
    log_in(bench, "other", "bob")
    bench.ask("DEL", ":u:bob")
    log_in(bench, "fine", "cleo")
    return bench.call("list")


@scenario(0)
def list_of_a_user_whose_sessions_were_revoked(bench: NounBench, _: int) -> AnyCall:
    log_in(bench)
    bench.ask("HINCRBY", ":u:ann", "not_before_us", 1)
    return bench.call("list", user="ann")


@scenario(0)
def list_where_nothing_is(bench: NounBench, _: int) -> AnyCall:
    return bench.call("list", user="ann")


@scenario(0)
def list_from_a_bad_cursor(bench: NounBench, _: int) -> AnyCall:
    return bench.call("list", cursor="x")


@scenario(0)
def stats_of_a_partition(bench: NounBench, _: int) -> AnyCall:
    fill(bench, 2)
    log_in(bench, "short", lifetime=10)
    bench.pass_time(10_000)
    return bench.call("stats")


@scenario(0, clock="server")
def stats_where_nothing_is(bench: NounBench, _: int) -> AnyCall:
    return bench.call("stats")


@scenario(1, 1000)
def sweep_some(bench: NounBench, n: int) -> AnyCall:
    fill(bench, n, lifetime=10)
    bench.pass_time(10_000)
    return bench.call("sweep", limit=1000)


@scenario(0)
def sweep_as_many_as_wanted(bench: NounBench, _: int) -> AnyCall:
    fill(bench, 3, lifetime=10)
    bench.pass_time(10_000)
    return bench.call("sweep", limit=2)


@scenario(0)
def sweep_what_the_server_has_deleted(bench: NounBench, _: int) -> AnyCall:
    fill(bench, 1, lifetime=10)
    bench.ask("DEL", ":s:n0")
    bench.pass_time(10_000)
    return bench.call("sweep")


@scenario(0)
def sweep_nothing(bench: NounBench, _: int) -> AnyCall:
    return bench.call("sweep")
