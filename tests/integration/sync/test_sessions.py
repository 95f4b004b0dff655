# Generated from tests/integration/aio/test_sessions.py by pyadeq/_unasync.py; do not edit.
"""Sessions, as their users see them: with ids, on all partitions. The scripts have tests of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pyadeq._core.session.ids import tag_of
from pyadeq import Adeq, Sessions
from pyadeq.errors import BadArgument, SessionChanged, SessionRefused


class Clock:
    """A virtual clock, in milliseconds."""

    def __init__(self) -> None:
        self.now = 1_700_000_000_000

    def __call__(self) -> int:
        return self.now

    def pass_time(self, seconds: float) -> None:
        self.now += round(seconds * 1000)


@pytest.fixture
def adeq(url: str, base_name: str) -> Iterator[Adeq]:
    with Adeq.from_url(url, prefix=base_name) as adeq:
        yield adeq


@pytest.fixture
def sessions(adeq: Adeq) -> Sessions:
    return adeq.sessions("web")


def virtual(adeq: Adeq, clock: Clock, *users: str) -> Sessions:
    """A realm on a virtual clock, in the partitions of these users."""
    sessions = adeq.sessions("virtual")
    for user in users:
        adeq.send(sessions.part(tag_of("virtual", user)).build("configure", clock="test"))
    return sessions


def test_a_login_is_valid_until_it_is_revoked(sessions: Sessions) -> None:
    made = sessions.create("ann", name="Ann", roles=["editor"], permissions=["x", "y"], data="d", agent="a")
    found = sessions.get(made.id)
    assert found == made
    assert (made.user, made.roles, made.permissions, made.data) == ("ann", ("editor",), ("x", "y"), b"d")
    assert made.id.partition(".")[0] == tag_of("web", "ann")
    assert (made.ends - made.created, made.idle) == (604_800, 86_400)
    assert sessions.handle(made.id) == made.handle
    assert [sessions.revoke(made.id) for _ in range(2)] == [True, False]
    assert sessions.get(made.id) is None


def test_idle_time_and_lifetime_end_a_session_on_the_clock_of_the_server(url: str, base_name: str) -> None:
    clock = Clock()
    with Adeq.from_url(url, prefix=base_name, clock=clock) as adeq:
        sessions = virtual(adeq, clock, "ann")
        made = sessions.create("ann", idle=100, lifetime=1000)
        unused = sessions.create("ann", idle=100, lifetime=1000)
        for _ in range(11):
            clock.pass_time(90)
            assert sessions.get(made.id)
        assert sessions.get(unused.id) is None
        clock.pass_time(10)
        assert sessions.get(made.id) is None
        early = sessions.create("ann", idle=100)
        clock.pass_time(10)  # a tenth of the idle time: this use is not written
        sessions.get(early.id)
        clock.pass_time(89.999)
        assert sessions.get(early.id, touch=False)
        clock.pass_time(0.001)
        assert sessions.get(early.id) is None


def test_an_update_compares_the_version(sessions: Sessions) -> None:
    made = sessions.create("ann")
    changed = sessions.update(made, roles=["reader"], data=b"x", name="Ann")
    assert changed
    assert changed == sessions.get(made.id)
    with pytest.raises(SessionChanged, match="another request has changed it"):
        sessions.update(made, data=b"y")
    assert sessions.revoke(made.id)
    assert sessions.update(changed, data=b"z") is None
    assert sessions.get(made.id) is None


def test_a_rotated_session_has_a_new_id_and_the_former_one_only_reads(sessions: Sessions) -> None:
    made = sessions.create("ann")
    new = sessions.rotate(made)
    assert new
    assert (new.rotated, new.id == made.id, new.ver) == (False, False, made.ver)
    older = sessions.get(made.id)
    assert older
    assert (older.rotated, older.id, older.user) == (True, made.id, "ann")
    with pytest.raises(SessionChanged, match="another request has rotated it"):
        sessions.update(older, data=b"x")
    again = sessions.rotate(made)
    assert again
    assert (again.rotated, again.id) == (True, made.id)
    last = sessions.rotate(new, grace=0)
    assert last
    assert [sessions.get(one.id) for one in (made, new)] == [None, None]
    assert sessions.update(last, data=b"x")
    assert sessions.rotate(new) is None


def test_revoke_all_ends_what_was_created_before(sessions: Sessions) -> None:
    before = [sessions.create("ann") for _ in range(3)]
    other = sessions.create("bob")
    seen = sessions.user("ann")
    told = sessions.revoke_all("ann", keep=before[1].id)
    assert (told.ended, told.kept) == (2, True)
    after = sessions.create("ann")
    alive = [one.handle for one in [*before, after, other] if sessions.get(one.id)]
    assert alive == [before[1].handle, after.handle, other.handle]
    with pytest.raises(SessionRefused, match="no session was created for 'ann': revoked_since"):
        sessions.create("ann", expect=seen)
    assert sessions.create("ann", expect=sessions.user("ann"))
    with pytest.raises(BadArgument, match="expect: 'bob' is not accepted; allowed: the facts of 'ann'"):
        sessions.create("ann", expect=sessions.user("bob"))


def test_a_limit_refuses_or_ends_the_oldest(sessions: Sessions) -> None:
    first, second = [sessions.create("ann", lifetime=1000 + at) for at in range(2)]
    with pytest.raises(SessionRefused, match="full"):
        sessions.create("ann", limit=2, when_full="refuse")
    third = sessions.create("ann", limit=2)
    assert [bool(sessions.get(one.id)) for one in (first, second, third)] == [False, True, True]


def test_rights_that_have_changed_are_read_again(sessions: Sessions) -> None:
    seen = sessions.user("ann")
    made = sessions.create("ann", roles=["admin"], expect=seen)
    assert not made.authz_stale
    version = sessions.renew_authz("ann")
    found = sessions.get(made.id)
    assert found
    assert found.authz_stale
    late = sessions.create("ann", roles=["admin"], expect=seen)
    assert late.authz_stale
    changed = sessions.update(found, roles=[], authz_ver=version)
    assert changed
    assert changed == sessions.get(made.id)
    assert (changed.roles, changed.authz_stale) == ((), False)


def test_lists_show_handles_and_revoke_takes_them(sessions: Sessions) -> None:
    mine = [sessions.create("ann", lifetime=60 + at, address=f"::{at}") for at in range(3)]
    other = sessions.create("bob")
    shown = [one for one in sessions.iterate("ann")]
    assert [(one.handle, one.address) for one in shown] == [(one.handle, f"::{at}") for at, one in enumerate(mine)]
    assert {one.handle for one in sessions.iterate()} == {one.handle for one in [*mine, other]}
    assert sessions.count() == 4
    handles = [mine[0].handle, other.handle, "0" * 16]
    assert sessions.revoke_handles("ann", handles) == [True, False, False]
    assert sessions.get(mine[0].id) is None
    with pytest.raises(BadArgument, match="handles: one is not accepted; allowed: 16 hex digits"):
        sessions.revoke_handles("ann", [mine[1].id])


def test_a_realm_in_a_slot_has_its_partitions_there(url: str, base_name: str) -> None:
    with Adeq.from_url(url, prefix=base_name, slot="s") as adeq:
        sessions = adeq.sessions("web")
        assert sessions.bases[255] == f"{base_name}:{{s}}:session:web/ff"
        made = [sessions.create(user) for user in ("ann", "bob")]
        assert [(sessions.get(one.id) or one).user for one in made] == ["ann", "bob"]
        assert [name for name in adeq.session_realms()] == ["web"]


def test_sessions_past_their_lifetime_are_swept(url: str, base_name: str) -> None:
    clock = Clock()
    with Adeq.from_url(url, prefix=base_name, clock=clock) as adeq:
        sessions = adeq.sessions("web")
        sessions.configure(clock="test")
        for at in range(20):
            sessions.create(f"user{at}", lifetime=10)
        clock.pass_time(10)
        assert (sessions.sweep(), sessions.count(), sessions.sweep()) == (20, 0, 0)


@pytest.mark.parametrize("id", [None, b"x", 7])
def test_what_is_no_text_is_refused_and_not_shown(sessions: Sessions, id: object) -> None:
    with pytest.raises(BadArgument, match=rf"id: {type(id).__name__} is not accepted; allowed: the text of an id"):
        sessions.get(id)  # type: ignore[arg-type]


def test_a_user_is_a_label(sessions: Sessions) -> None:
    with pytest.raises(BadArgument, match="user: 'a b' is not accepted; allowed: 1 to 200 bytes"):
        sessions.create("a b")
