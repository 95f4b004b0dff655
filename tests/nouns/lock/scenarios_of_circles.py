"""Paths of the search for circles of waits, and of those who have their turn where much is freed at once."""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.nouns import scenario as base
from tests.nouns.lock.scenarios_of_acquire import chain
from tests.nouns.lock.workbench import LockBench
from tests.nouns.scenario import AnyCall

scenario = partial(base.scenario, noun="lock")


def ask(bench: LockBench, owner: str, *wanted: str, rid: str = "q", **fields: Any) -> AnyCall:
    """Granted or in line, as it comes."""
    return bench.acquire_many(rid, owner, wanted, wait=600, **fields)


def asked(bench: LockBench, *requests: str, **fields: Any) -> list[str]:
    """Requests one after the other, each as `owner resource …`; their rids."""
    rids = []
    for request in requests:
        owner, *wanted = request.split()
        rids.append(f"{next(bench._numbers):04}/{owner}")
        bench.real(ask(bench, owner, *wanted, rid=rids[-1], **fields))
    return rids


def permits(bench: LockBench, resource: str, number: int) -> None:
    bench.real(bench.calls.set_capacity(resource, number))


# circles of locks


@scenario(70)
def acquire_a_deadlock_of_more_than_are_told(bench: LockBench, n: int) -> AnyCall:
    chain(bench, n)
    return bench.acquire("q", "r0", f"o{n}", wait=5)


@scenario(0)
def acquire_many_behind_one_who_would_share(bench: LockBench, _: int) -> AnyCall:
    asked(bench, "a k", "b k=shared", "a r", "c r=shared")
    return ask(bench, "d", "k", "r=shared", priority=0)


@scenario(0)
def acquire_many_beside_one_who_would_share(bench: LockBench, _: int) -> AnyCall:
    asked(bench, "a k=shared", "b r", "c r=shared k")
    return ask(bench, "a", "r=shared")


@scenario(0)
def acquire_many_ahead_of_two_who_depend_on_it(bench: LockBench, _: int) -> AnyCall:
    asked(bench, "a r", "b r s", "c k s")
    return ask(bench, "a", "s")


@scenario(0)
def acquire_many_behind_another_who_waits_for_two(bench: LockBench, _: int) -> AnyCall:
    asked(bench, "a r", "b r s")
    return ask(bench, "c", "s")


@scenario(0)
def detect_a_circle_that_another_is_to_pay_for(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.calls.configure(detect_visits=16, policy="priority"))
    asked(
        bench, "e r=shared", "f s=shared", "d r=shared", "b s r=shared", "e r", "f s", "e r=shared", "c r",
        "a s=shared", "d s=shared",
    )  # fmt: skip
    asked(bench, "f r=shared", priority=9)
    return bench.calls.detect(3, visits=100)


@scenario(0)
def acquire_many_at_the_end_and_not_ahead_of_one_who_depends_on_it(bench: LockBench, _: int) -> AnyCall:
    """By its priority p would stand ahead of o, and wait for o's lock."""
    asked(bench, "holder r", "o k", "o r")
    return ask(bench, "p", "k", "r", priority=0)


@scenario(0)
def detect_one_who_moves_ahead_of_others(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.calls.configure(detect_visits=16, policy="priority"))
    asked(bench, "a r", "a r=shared", *[f"a e{at}" for at in range(8)])
    asked(bench, "b r=shared s=shared", "c r=shared s", priority=0)
    asked(bench, "a r=shared s=shared")
    return bench.calls.detect(3, visits=100)


@scenario(20)
def detect_one_who_has_its_turn_by_then(bench: LockBench, n: int) -> AnyCall:
    """a and b are part of a circle; when one of them pays, c has what it waited for."""
    bench.real(bench.calls.configure(detect_visits=16))
    asked(bench, "a k", "b r=shared", "c l")
    asked(bench, *[f"k{at} k=shared" for at in range(n)], *[f"l{at} l=shared" for at in range(n)])
    asked(bench, "b k", "a r", "c r=shared")
    return bench.calls.detect(4)


@scenario(0)
def acquire_many_too_much_to_search_ahead_of_others(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.calls.configure(detect_visits=16, policy="priority"))
    asked(bench, "a k=shared r", "b k=shared", "c k=shared r=shared", "d r=shared")
    asked(bench, "e k=shared r=shared", priority=0)
    asked(bench, "a k")
    return ask(bench, "b", "k")


# circles of permits


@scenario(0)
def acquire_many_permits_that_come_back(bench: LockBench, _: int) -> AnyCall:
    permits(bench, "p", 3)
    permits(bench, "u", 4)
    asked(bench, "a p=shared", "b r")
    asked(bench, "a r=shared u=1", priority=0)
    asked(bench, "c s u=1")
    return ask(bench, "b", "p=2", "s")


@scenario(0)
def acquire_many_permits_just_ahead_of_another(bench: LockBench, _: int) -> AnyCall:
    permits(bench, "p", 4)
    asked(bench, "a r")
    asked(bench, "b r=shared p=1", priority=0)
    asked(bench, "c p=1")
    return ask(bench, "a", "p=1")


@scenario(0)
def acquire_many_where_permits_and_what_is_shared_meet(bench: LockBench, _: int) -> AnyCall:
    permits(bench, "p", 3)
    asked(bench, "a p=3", "b p=2", "b r=shared", "c s r")
    return ask(bench, "a", "r=shared", "s")


@scenario(0)
def acquire_many_more_of_what_drains(bench: LockBench, _: int) -> AnyCall:
    permits(bench, "p", 2)
    permits(bench, "u", 4)
    asked(bench, "a u=3 r", "b u=3 p=1")
    bench.real(bench.calls.drain("u"))
    asked(bench, "a p=2", priority=0)
    return ask(bench, "a", "p=2", "r=shared")


@scenario(0)
def acquire_many_permits_while_others_want_more_than_there_will_be(bench: LockBench, _: int) -> AnyCall:
    permits(bench, "p", 4)
    permits(bench, "u", 4)
    asked(bench, "a u=1", "b p=1", "a p=1", "a p=3")
    bench.real(bench.calls.drain("p"))
    asked(bench, "b u=2")
    return ask(bench, "b", "u=2")


@scenario(0)
def acquire_many_permits_of_one_who_waits_for_permits(bench: LockBench, _: int) -> AnyCall:
    permits(bench, "p", 2)
    asked(bench, "a r", "b p=2", "a p=2")
    return ask(bench, "b", "r=shared")


@scenario(0)
def acquire_many_behind_the_first_of_several(bench: LockBench, _: int) -> AnyCall:
    permits(bench, "p", 2)
    asked(bench, "a p=1", "b r=shared", "c p=1", "c s=shared", "d s", "e p=2", "a s=shared")
    return ask(bench, "c", "s", "p=1")


@scenario(0)
def acquire_many_permits_with_too_much_to_tell(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.calls.configure(detect_visits=20, policy="priority"))
    permits(bench, "p", 3)
    asked(bench, "a p=2 r", "b s=shared", "c r=shared s", "d s p=2")
    return ask(bench, "b", "p=2")


@scenario(0)
def detect_one_who_goes_to_another_place(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.calls.configure(detect_visits=17, policy="priority"))
    permits(bench, "p", 3)
    asked(bench, "a p=2 r", "b s=shared", "c r=shared s", "d s p=2", "b p=2")
    return bench.calls.detect(1)


@scenario(0)
def detect_as_many_as_there_are(bench: LockBench, _: int) -> AnyCall:
    bench.real(bench.calls.configure(detect_visits=20))
    permits(bench, "p", 3)
    asked(bench, "a r=shared", "a r=shared p=3", "b p=2", "c p=1", "a p=3")
    return bench.calls.detect(1)


@scenario(0)
def acquire_many_permits_and_what_is_free(bench: LockBench, _: int) -> AnyCall:
    permits(bench, "p", 1)
    asked(bench, "a p=1", "b r", "a r")
    return ask(bench, "b", "p=1", "free")


@scenario(0)
def acquire_many_more_permits_than_there_are_beside_ones_own(bench: LockBench, _: int) -> AnyCall:
    """A circle of one: nobody else is there to pay for it."""
    bench.real(bench.calls.configure(policy="priority"))
    permits(bench, "p", 2)
    asked(bench, "a p=2")
    return ask(bench, "a", "p=1")


VISITS = 5_490  # what the search leaves of them is enough to load the lines below, and too little to play through them


@scenario(100)
def acquire_many_permits_with_too_many_steps_to_tell(bench: LockBench, n: int) -> AnyCall:
    permits(bench, "p", 2)
    asked(bench, "w0 p=1", "free p=1", "q z", *[f"w{at} r=shared z=shared" for at in range(n)])
    bench.real(bench.calls.configure(detect_visits=VISITS))
    return ask(bench, "q", "p=2")


# whose turn it is


@scenario(0)
def release_to_one_who_wants_two_of_what_is_freed(bench: LockBench, _: int) -> AnyCall:
    rids = asked(bench, "a r", "b r s", "c r s", "d s")
    return bench.calls.release(rids[1:2])


@scenario(0)
def release_what_another_shares_beside_one_who_wants_it_alone(bench: LockBench, _: int) -> AnyCall:
    rids = asked(bench, "a r", "b r=shared", "c r=shared")
    return bench.calls.release(rids[1:2])


@scenario(0)
def release_to_one_who_would_share_behind_another(bench: LockBench, _: int) -> AnyCall:
    rids = asked(bench, "a r=shared", "b r", "c s", "d r=shared s=shared")
    return bench.calls.release(rids[2:3])


@scenario(0)
def release_to_one_after_another_had_a_turn(bench: LockBench, _: int) -> AnyCall:
    rids = asked(bench, "a r s", "b k", "c s", "d r s k")
    return bench.calls.release(rids[:1])


@scenario(64)
def release_to_as_many_as_have_a_turn_but_want_more(bench: LockBench, n: int) -> AnyCall:
    rids = asked(bench, "a r", "b k", *[f"w{at} r=shared k=shared" for at in range(n)])
    return bench.calls.release(rids[:1])


@scenario(63)
def release_to_one_and_to_as_many_as_want_more(bench: LockBench, n: int) -> AnyCall:
    rids = asked(bench, "a g r", "b k", "w g", *[f"w{at} r=shared k=shared" for at in range(n)])
    return bench.calls.release(rids[:1])


@scenario(80)
def release_to_more_than_are_looked_at(bench: LockBench, n: int) -> AnyCall:
    """64 in the one line and the others in the next, each with as many locks as it may."""
    more = " ".join(f"m{at}=shared" for at in range(30))
    lines = [f"w{at} {'r' if at < 64 else 's'}=shared k=shared {more}" for at in range(n)]
    rids = asked(bench, "a r s t", "b k", *lines, "w t=shared k=shared")
    return bench.calls.release(rids[:1])


# what a wait rests on


@scenario(0)
def release_one_of_two_holds_that_a_wait_rests_on(bench: LockBench, _: int) -> AnyCall:
    rids = asked(bench, "a r", "b s", "a r s", "a r")
    return bench.calls.release(rids[3:])


@scenario(0)
def release_of_what_a_shared_wait_rests_on(bench: LockBench, _: int) -> AnyCall:
    rids = asked(bench, "a r", "b s=shared", "a s r=shared", "a r=shared")
    return bench.calls.release(rids[:1])


@scenario(0)
def release_beside_a_wait_that_rests_on_nothing(bench: LockBench, _: int) -> AnyCall:
    permits(bench, "p", 3)
    rids = asked(bench, "a r=shared", "a r=shared", "b p=2", "c p=1", "a p=3")
    return bench.calls.release(rids[1:2])


@scenario(0)
def downgrade_what_a_wait_rests_on(bench: LockBench, _: int) -> AnyCall:
    rids = asked(bench, "a r", "b s", "a s r")
    return bench.calls.downgrade(rids[0])
