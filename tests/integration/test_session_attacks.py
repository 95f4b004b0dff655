"""What somebody may try with sessions, and what races of honest requests may do. Each on real servers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest
import redis

from pyadeq import Adeq, EmbeddedServer, Session, Sessions
from pyadeq._core.session.ids import hash_of, tag_of
from pyadeq.errors import AdeqError, SessionChanged, SessionRefused
from tests.conftest import CLUSTER
from tests.integration.cli.run import adeq as command
from tests.quick import examples
from tests.waiting import wait_until

ROUNDS = examples(16, 40)
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def adeq(url: str, base_name: str) -> Iterator[Adeq]:
    with Adeq.from_url(url, prefix=base_name) as adeq:
        yield adeq


@pytest.fixture
def sessions(adeq: Adeq) -> Sessions:
    return adeq.sessions("web")


def at_once(*works: Callable[[], Any]) -> list[Any]:
    """Run these at the same time, each in a thread."""
    barrier = Barrier(len(works))

    def run(work: Callable[[], Any]) -> Any:
        barrier.wait(60)
        return work()

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(run, works))


def read(sessions: Sessions, id: str) -> Session:
    found = sessions.get(id)
    assert found
    return found


# 1. A late update


def test_an_update_after_a_revocation_does_not_revive(sessions: Sessions) -> None:
    for _ in range(ROUNDS):
        made = sessions.create("ann")
        updated, revoked = at_once(partial(sessions.update, made, data=b"x"), partial(sessions.revoke, made.id))
        assert revoked is True
        assert updated is None or isinstance(updated, Session)
        assert (sessions.get(made.id), sessions.update(made, data=b"y")) == (None, None)
    assert list(sessions.iterate("ann")) == []


# 2. A login and the revocation of all


def test_a_login_that_races_the_revocation_is_ended_refused_or_later(sessions: Sessions) -> None:
    sessions.create("ann")
    for _ in range(ROUNDS):
        seen = sessions.user("ann")

        def log_in(seen: Any = seen) -> Session | None:
            with suppress(SessionRefused):
                return sessions.create("ann", expect=seen)
            return None

        expecting, plain, _ = at_once(log_in, lambda: sessions.create("ann"), lambda: sessions.revoke_all("ann"))
        # With `expect`, the login was either before the revocation, and is ended, or after it, and was refused.
        assert expecting is None or sessions.get(expecting.id) is None
        assert {one.handle for one in sessions.iterate("ann")} <= {plain.handle}
        sessions.revoke_all("ann")
        assert sessions.get(plain.id) is None


# 3. Rotations at the same time


def test_twenty_rotations_make_one_new_id_and_nobody_is_logged_out(sessions: Sessions) -> None:
    for _ in range(max(ROUNDS // 5, 2)):
        made = sessions.create("ann")
        told = at_once(*[partial(sessions.rotate, made, grace=60)] * 20)
        assert all(told)
        new = [one for one in told if one and not one.rotated]
        older = [one for one in told if one and one.rotated]
        assert (len(new), len(older)) == (1, 19)
        assert {one.id for one in older} == {made.id}
        assert new[0].id != made.id
        seen = at_once(*[partial(read, sessions, made.id)] * 20)
        assert {(one.rotated, one.id, one.user) for one in seen} == {(True, made.id, "ann")}
        assert not any(new[0].id in repr(one) or new[0].id in one.model_dump_json() for one in seen)


def test_with_grace_0_the_former_id_is_dead_at_once(sessions: Sessions) -> None:
    made = sessions.create("ann")
    told = at_once(*[lambda: sessions.rotate(made, grace=0)] * 20)
    assert [one is not None for one in told].count(True) == 1
    assert sessions.get(made.id) is None


# 4. The id, in any place


@pytest.mark.slow
@pytest.mark.skipif(CLUSTER, reason="it looks into the files of a server of its own")
def test_no_id_is_in_any_place_outside_of_the_process(
    binary: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    config = {"slowlog-log-slower-than": "0", "slowlog-max-len": "10000", "rdbcompression": "no"}
    with EmbeddedServer(binary=binary, config=config) as server:
        url = f"unix://{server.socket_path}"
        heard: list[str] = []
        observer = redis.Redis.from_url(url)
        ear = Thread(target=listen, args=(redis.Redis.from_url(url), heard), daemon=True)
        ear.start()
        wait_until(lambda: any(one.get("cmd") == "monitor" for one in observer.client_list()))
        with Adeq.from_url(url, trace=lambda: TRACE) as adeq:
            issued, shown = live(adeq.sessions("web"))
        for words in (["ls"], ["ls", "ann"], ["realms"], ["revoke-all", "ann", "--yes"]):
            for form in ("json", "wide"):
                realm = [] if words == ["realms"] else ["--realm", "web"]
                ended = command("session", *words, *realm, "-o", form, "--url", url)
                shown += [ended.stdout, ended.stderr]
        shown.append(repr(observer.slowlog_get(10_000)))
        for key in observer.scan_iter(count=1000):
            shown.append(key.decode(errors="replace"))
            if b":events" in key:
                shown.append(repr(observer.xrange(key)))
        observer.save()
        folder = Path(str(observer.config_get("dir")["dir"]))
        files = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
        observer.set("the end", "1")
        wait_until(lambda: any("the end" in one for one in heard))
    everything = "\n".join([*shown, *heard, caplog.text]).encode() + files
    hashes = {hash_of("web", id) for id in issued}
    assert len(issued) > 5
    assert all(hash.encode() in everything for hash in hashes), "the search would find what is there"
    assert [id for id in issued if id.encode() in everything] == []
    secrets = [id.partition(".")[2] for id in issued]
    assert [secret for secret in secrets if secret.encode() in everything] == []


def listen(client: Any, heard: list[str]) -> None:
    """Note all commands of a server until it ends."""
    with suppress(redis.exceptions.RedisError, OSError, ValueError), client.monitor() as monitor:
        for one in monitor.listen():
            heard.append(repr(one))


def live(sessions: Sessions) -> tuple[list[str], list[str]]:
    """Make every call. Returns the ids, and what people may have seen of them."""
    first, second = sessions.create("ann", data=b"d"), sessions.create("ann", limit=2)
    third = sessions.create("ann", limit=2)
    new = sessions.rotate(second)
    last = sessions.rotate(new, grace=0) if new else None
    assert new
    assert last
    issued = [one.id for one in (first, second, third, new, last)]
    shown = [repr(sessions), repr(sessions.revoke_all("ann", keep=last.id)), repr(sessions.user("ann"))]
    for one in (first, second, third, new, last, sessions.get(last.id), *sessions.iterate("ann")):
        shown += [repr(one), str(one), one.model_dump_json() if one else "", repr(one and one.model_dump())]
    for work in (
        lambda: sessions.update(last, data=b"x" * 16_385),
        lambda: sessions.update(last.model_copy(update={"ver": 7}), data=b"x"),
        lambda: sessions.revoke_handles("ann", [last.id]),
        lambda: sessions.get(last.id.encode()),  # type: ignore[arg-type]
        lambda: sessions.create("ann", limit=1, when_full="refuse"),
        lambda: sessions.create("ann", expect=sessions.user("bob")),
        lambda: sessions.rotate(last, grace=61),
    ):
        with pytest.raises(AdeqError) as raised:
            work()
        shown += [str(raised.value), repr(raised.value), repr(raised.value.__cause__)]
    call = sessions.part(last.id[:2]).build("get", hash=hash_of("web", last.id))
    shown += [repr(call), repr(call.command())]
    for id in issued:
        sessions.revoke(id)
    issued += [sessions.create(f"user{at}").id for at in range(5)]
    return issued, shown


# 5. Ids that nobody has issued


def test_all_unknown_ids_get_one_answer_for_the_same_commands(url: str, base_name: str) -> None:
    with Adeq.from_url(url, prefix=base_name) as adeq:
        sessions = adeq.sessions("web")
        made = sessions.create("ann")
        tag, _, secret = made.id.partition(".")
        other = f"{int(tag, 16) ^ 1:02x}"
        elsewhere = adeq.sessions("other").create("ann")
        tags = {tag, other, elsewhere.id[:2]}
        for part in tags:  # a partition that exists, and one that does not, are asked in the same way
            adeq.send(sessions.part(part).build("configure"))
        tried = [
            f"{tag}.{'A' * 43}",  # unknown
            f"{tag}.{secret[::-1]}",
            f"{other}.{secret}",  # another prefix
            f"{tag.upper()}.{secret}" if tag.upper() != tag else f"{tag} .{secret}",
            elsewhere.id,  # of another realm
            "chosen-by-me",
            "",
            hash_of("web", made.id),  # what the server knows
            "x" * 100_000,
            "\ud800",
        ]
        read(sessions, made.id)  # the server may have to load the script
        for id in tried:  # the client adds the name of each partition to the registry, in the background
            sessions.get(id)
        wait_until(lambda: not adeq._registering.is_working)
        counted = []
        for id in tried:
            before = commands(adeq.client)
            assert sessions.get(id) is None
            counted.append(commands(adeq.client, before))
        assert {tuple(sorted(one.items())) for one in counted} == {tuple(sorted(counted[0].items()))}
        assert (sessions.revoke("chosen-by-me"), read(sessions, made.id).user) == (False, "ann")
        assert sessions.rotate(made.model_copy(update={"id": "chosen-by-me"})) is None
        assert sessions.get("chosen-by-me") is None


def commands(client: Any, before: dict[str, int] | None = None) -> dict[str, int]:
    """How often each command of `get` was run; since another count, if there is one."""
    stats = client.info("commandstats")
    names = [f"cmdstat_{name}" for name in ("evalsha", "time", "hgetall", "hmget", "hset", "pexpire")]
    return {name: stats.get(name, {"calls": 0})["calls"] - (before or {}).get(name, 0) for name in names}


# 6. More logins than allowed


@pytest.mark.parametrize("when_full", ["refuse", "end_oldest"])
def test_fifty_logins_at_once_leave_as_many_sessions_as_allowed(sessions: Sessions, when_full: Any) -> None:
    def log_in() -> Session | None:
        with suppress(SessionRefused):
            return sessions.create("ann", limit=3, when_full=when_full)
        return None

    made = [one for one in at_once(*[log_in] * 50) if one]
    alive = {one.handle for one in made if sessions.get(one.id)}
    assert len(alive) == 3
    assert {one.handle for one in sessions.iterate("ann")} == alive
    assert len(made) == (3 if when_full == "refuse" else 50)


# 8. The record of a user is lost. (7, idle time and lifetime: aio/test_sessions.py and the model.)


def test_a_lost_record_of_a_user_ends_all_sessions_and_revives_none(adeq: Adeq, sessions: Sessions) -> None:
    base = sessions.part(tag_of("web", "ann")).base
    for lost in ([f"{base}:u:ann"], [f"{base}:u:ann", f"{base}:of:ann"]):
        made = [sessions.create("ann") for _ in range(3)]
        adeq.client.delete(*lost)
        assert [sessions.get(one.id) for one in made] == [None] * 3
        assert list(sessions.iterate("ann")) == []
        after = sessions.create("ann")
        assert [sessions.get(one.id) for one in made] == [None] * 3
        assert [sessions.update(one, data=b"x") for one in made] == [None] * 3
        assert [one.handle for one in sessions.iterate("ann")] == [after.handle]
        sessions.revoke_all("ann")


def test_an_update_of_two_requests_is_not_lost(sessions: Sessions) -> None:
    made = sessions.create("ann")

    def add(word: str) -> None:
        while True:
            found = read(sessions, made.id)
            with suppress(SessionChanged):
                sessions.update(found, data=found.data + word.encode())
                return

    at_once(*[lambda word=word: add(word) for word in "abcdefgh"])
    assert sorted(read(sessions, made.id).data.decode()) == [*"abcdefgh"]
