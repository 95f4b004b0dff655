"""The line of a lock, told again from its stream: what is right is accepted, and what is wrong refused."""

from __future__ import annotations

import pytest

from pyadeq.ext.prove.chaos.lock_line import BrokenLine, LockLine, inversions
from tests.unit.chaos_story import edited, told

LINE = """
lock 1 lock.acquired q1 | owner=a locks=x/1=r
lock 2 lock.queued q2 | owner=b locks=s/0=r
lock 3 lock.queued q3 | owner=c locks=s/0=r
lock 4 lock.queued q4 | owner=d locks=x/0=r
lock 5 lock.released q1 | owner=a locks=x/1=r
lock 5 lock.promoted q2 | owner=b locks=s/2=r
lock 5 lock.promoted q3 | owner=c locks=s/3=r
lock 6 lock.acquired q2 | owner=b locks=s/2=r
lock 8 lock.acquired q3 | owner=c locks=s/3=r
lock 9 lock.released q2 | owner=b locks=s/2=r
lock 9 lock.expired q3 | owner=c locks=s/3=r
lock 9 lock.promoted q4 | owner=d locks=x/4=r
lock 9 lock.acquired q4 | owner=d locks=x/4=r
lock 10 lock.released q4 | owner=d locks=x/4=r
"""
CIRCLE = """
lock 1 lock.acquired q1 | owner=a locks=x/1=r
lock 2 lock.acquired q2 | owner=b locks=x/2=s
lock 3 lock.queued q3 | owner=a locks=x/0=s
"""
CLOSED = "lock 4 lock.deadlock q4 | owner=b locks=x/0=r cycle=b>x>r_a>x>s"


def line(*parts: str) -> LockLine:
    history = told(*parts)
    for entry in history.lock_entries:
        if "cycle" in entry.words:
            entry.words["cycle"] = entry.words["cycle"].replace("_", " ")
    return LockLine.of(history.lock_entries)


def test_a_line_is_told_again() -> None:
    seen = line(LINE)
    assert seen.idle
    assert (seen.grants, seen.deadlocks, seen.jumps, seen.handed) == (4, 0, 0, [1, 3, 0])
    assert inversions(told(LINE).lock_entries) == 0


def test_a_deadlock_is_one() -> None:
    seen = line(CIRCLE, CLOSED)
    assert (seen.deadlocks, seen.idle) == (1, False)


@pytest.mark.parametrize(
    ("edits", "what"),
    [
        ((("x/4=r\nlock 9 lock.acq", "x/3=r\nlock 9 lock.acq"),), "its fence does not come after 3"),
        ((("lock 9 lock.expired q3 | owner=c locks=s/3=r\n", ""),), "it is granted what"),
        ((("promoted q3 | owner=c locks=s/3=r", "promoted q4 | owner=d locks=x/3=r"),), "granted"),
        ((("promoted q3", "queued q9 | owner=z locks=x/0=r\nlock 5 lock.promoted q3"),), "not handed"),
        ((("lock 10 lock.released q4", "lock 10 lock.released q1"),), "it had ended before"),
        ((("lock 10 lock.released q4", "lock 10 lock.cancelled q4"),), "this cannot happen to"),
        ((("lock 3 lock.queued q3 | owner=c", "lock 3 lock.queued q3 | owner=b"),), "its owner waits already"),
        ((("lock 1 lock.acquired q1 | owner=a locks=x/1=r\n", ""),), "it waits for nothing"),
    ],
    ids=["fence", "held", "overtaken", "free", "ended", "held one is cancelled", "two waits", "waits for nothing"],
)
def test_what_is_wrong_in_a_line_is_refused(edits: tuple[tuple[str, str], ...], what: str) -> None:
    with pytest.raises(BrokenLine, match=what):
        line(edited(LINE, *edits))


@pytest.mark.parametrize(
    ("last", "what"),
    [
        ("lock 4 lock.queued q4 | owner=b locks=x/0=r", "it waits in a deadlock that was not found"),
        (CLOSED.replace("q4 | owner=b", "q4 | owner=c"), "who had to give way is not in the circle"),
        (CLOSED.replace("owner=b locks=x/0=r", "owner=b locks=s/0=r"), "it does not wait, and is not the first"),
        (CLOSED.replace("a>x>s", "a>s>s"), "there is no such circle"),
        (CLOSED.replace("a>x>s", "b>x>s"), "somebody is in the circle twice"),
        ("lock 4 lock.deadlock q4 | owner=c locks=x/0=r cycle=c>x>r_a>x>s", "at place 1 it could have waited"),
    ],
    ids=["not found", "not in it", "not the first", "other mode", "twice", "none"],
)
def test_what_is_wrong_of_a_deadlock_is_refused(last: str, what: str) -> None:
    with pytest.raises(BrokenLine, match=what):
        line(CIRCLE, last)
