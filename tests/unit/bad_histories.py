"""A history in which all is well, and what would be wrong with it: a few edits each, and the rules that they break."""

from __future__ import annotations

from typing import NamedTuple

TASKS = """
op 1.0 p1 enqueue id=a unique=u -> created a
entry 1000 task.enqueued a
op 1.1 p2 enqueue id=b idempotency_key=k -> created b
entry 1100 task.enqueued b | source=p2
op 1.2 p1 enqueue id=c priority=2 scope=s -> created c @aof
entry 1200 task.enqueued c
op 1.15 p1 enqueue id=b -> exists b
op 1.3 p1 enqueue id=x idempotency_key=k -> deduplicated b
op 2.0 w1 claim -> c/t1/1 a/t2/2
entry 2000 task.claimed c a | worker=w1 fence=1 deadline_ms=17000
op 2.2 w1 heartbeat c/t1/1 -> renewed
op 2.5 w1 ack c/t1/1 -> completed @aof
entry 2500 task.completed c
op 3.0 w2 claim -> b/t3/3
entry 3000 task.claimed b | worker=w2 fence=3 deadline_ms=18000
op 3.5 w2 fail b/t3/3 -> retried
entry 3500 task.retried b | attempt=1 due_ms=4500
entry 18000 task.stalled a | crashes=1 worker=w1
entry 18000 task.promoted b
op 18.0 w2 claim -> a/t4/4
entry 18000 task.claimed a | worker=w2 fence=4 deadline_ms=33000
op 18.2 w1 ack a/t2/2 -> lease_lost
op 18.3 w1 heartbeat a/t2/2 -> lease_lost
op 18.5 w2 ack a/t4/4 -> completed
entry 18500 task.completed a
op 19.0 p2 enqueue id=d unique=u scope=s -> created d
entry 19000 task.enqueued d
op 19.5 w2 claim -> b/t5/5 d/t6/6
entry 19500 task.claimed b d | worker=w2 fence=5 deadline_ms=34500
op 20.0 w2 ack b/t5/5 d/t6/6 -> completed completed
entry 20000 task.completed b d
final a completed
final b completed
final c completed
final d completed
"""
LOCKS = """
op 21.0 o1 take o1 r exclusive -> q1 10 @aof
lock 21000 lock.acquired q1 | owner=o1 locks=x/10=r
op 21.5-22.6 o2 take o2 r exclusive -> q2 11
lock 21500 lock.queued q2 | owner=o2 locks=x/0=r
lock 21800 lock.queued q6 | owner=o6 locks=x/0=r,x/0=s
op 22.0 o1 release_lock q1 -> released
lock 22000 lock.released q1 | owner=o1 locks=x/10=r
lock 22000 lock.promoted q2 | owner=o2 locks=x/11=r
lock 22500 lock.acquired q2 | owner=o2 locks=x/11=r
lock 22700 lock.cancelled q6 | owner=o6 locks=x/0=r,x/0=s
op 23.0 o2 release_lock q2 -> released
lock 23000 lock.released q2 | owner=o2 locks=x/11=r
op 24.0 o3 take o3 r shared -> q3 12
lock 24000 lock.acquired q3 | owner=o3 locks=s/12=r
op 24.5 o4 take o4 r shared -> q4 13
lock 24500 lock.acquired q4 | owner=o4 locks=s/13=r
op 25.0 o3 release_lock q3 -> released
lock 25000 lock.released q3 | owner=o3 locks=s/12=r
op 25.5 o4 release_lock q4 -> released
lock 25500 lock.released q4 | owner=o4 locks=s/13=r
"""


class Bad(NamedTuple):
    """What is wrong, which rules that breaks, and the edits: (old, new), or lines to be put before the end."""

    what: str
    breaks: set[str]
    edits: tuple[tuple[str, str], ...] = ()
    more: str = ""


E = "entry 20000 task.enqueued e\n"
E_LEASED = E + "entry 20100 task.claimed e | worker=w fence=7 deadline_ms=35100\n"
F_LEASED = """entry 19600 task.enqueued f
entry 19700 task.claimed f | worker=w1 fence=7 deadline_ms=34700
entry 19800 task.cancelled f
"""
OVERTAKEN = """
lock 26000 lock.acquired q7 | owner=o1 locks=s/14=r
lock 26100 lock.queued q8 | owner=o2 locks=x/0=r
lock 26200 lock.acquired q9 | owner=o3 locks=s/15=r
lock 26300 lock.cancelled q8 | owner=o2 locks=x/0=r
lock 26400 lock.released q7 | owner=o1 locks=s/14=r
lock 26500 lock.released q9 | owner=o3 locks=s/15=r
"""
BAD = [
    Bad(
        "an acknowledged task is lost",
        {"acknowledged_kept"},
        more="op 20.5 p1 enqueue id=e -> created e",
    ),
    Bad(
        "a task is taken for one that is lost",
        {"acknowledged_kept"},
        (("-> deduplicated b", "-> deduplicated e"),),
    ),
    Bad(
        "a task that waits is gone",
        {"acknowledged_kept"},
        more=E + "final e -",
    ),
    Bad(
        "a task is deleted while it is leased",
        {"acknowledged_kept"},
        more=E_LEASED + "entry 20200 task.removed e | reason=purged\nfinal e -",
    ),
    Bad(
        "an acknowledgement left no trace",
        {"answers_kept", "nothing_left"},
        more=E_LEASED + "op 20.2 w ack e/t7/7 -> completed\nfinal e running",
    ),
    Bad(
        "a lease left no trace",
        {"answers_kept"},
        more="op 20.2 w claim -> c/t7/7",
    ),
    Bad(
        "a grant left no trace",
        {"answers_kept"},
        (("-> q3 12", "-> q9 12"),),
    ),
    Bad(
        "a release left no trace",
        {"answers_kept"},
        (("lock 25000 lock.released", "lock 25000 lock.expired"),),
    ),
    Bad(
        "the state is not what the stream tells",
        {"stream_agrees"},
        (("final c completed", "final c cancelled"),),
    ),
    Bad(
        "a task was never enqueued",
        {"stream_agrees"},
        more="entry 20000 task.cancelled e",
    ),
    Bad(
        "a request was never made",
        {"stream_agrees"},
        more="lock 26000 lock.cancelled q9 | owner=o9 locks=x/0=r",
    ),
    Bad(
        "a task is settled twice",
        {"settles_once"},
        (("entry 19000 task", "entry 18600 task.completed a\nentry 19000 task"),),
    ),
    Bad(
        "a task that has ended is leased again",
        {"settles_once"},
        more="entry 20100 task.claimed c | worker=w fence=7 deadline_ms=35100\nentry 20200 task.completed c",
    ),
    Bad(
        "leases overlap by the server's time",
        {"leases_apart"},
        (("entry 18000 task.stalled a | crashes=1 worker=w1\n", ""),),
    ),
    Bad(
        "a lease is taken back before its deadline",
        {"leases_apart"},
        (("entry 18000 task.stalled", "entry 16999 task.stalled"),),
    ),
    Bad(
        "two held a task at one time, and both settled it",
        {"leases_apart", "stale_tokens"},
        (("op 18.2 w1 ack a/t2/2 -> lease_lost", "op 18.2 w1 ack a/t2/2 -> completed"),),
    ),
    Bad(
        "a stale token settles",
        {"stale_tokens"},
        (("op 3.5 w2 fail b/t3/3 -> retried", "op 3.5 w2 ack b/t3/3 -> completed"),),
    ),
    Bad(
        "a task is settled that nobody holds",
        {"stale_tokens"},
        (("entry 18000 task.promoted b", "entry 17999 task.released b\nentry 18000 task.promoted b"),),
    ),
    Bad(
        "a result under the wrong token",
        {"stale_tokens"},
        (("ack c/t1/1", "ack c/t9/1"),),
    ),
    Bad(
        "a stale lease is prolonged",
        {"stale_tokens"},
        (("heartbeat a/t2/2 -> lease_lost", "heartbeat a/t2/2 -> renewed"),),
    ),
    Bad(
        "the fences of a queue fall",
        {"task_fences_rise"},
        (
            ("-> a/t4/4", "-> a/t4/1"),
            ("claimed a | worker=w2 fence=4", "claimed a | worker=w2 fence=1"),
            ("ack a/t4/4", "ack a/t4/1"),
        ),
    ),
    Bad(
        "a client is given a lower fence",
        {"task_fences_rise", "answers_kept"},
        more="op 20.2 w3 claim -> a/t9/1",
    ),
    Bad(
        "nobody was told of a lease",
        {"leases_told"},
        (("entry 20000 task.completed b d", f"{F_LEASED}op 20.5 w1 claim ->\nentry 20000 task.completed b d"),),
    ),
    Bad(
        "who made a task was told that it was there",
        {"creators_told"},
        (("op 1.1 p2 enqueue id=b idempotency_key=k -> created b", "op 1.1 p2 enqueue id=b -> exists b"),),
    ),
    Bad(
        "two tasks with one id",
        {"one_per_id"},
        (("op 1.3 p1", "entry 1250 task.enqueued b\nop 1.3 p1"),),
    ),
    Bad(
        "two calls have made one task",
        {"one_per_id"},
        (("op 1.3 p1", "op 1.25 p3 enqueue id=b idempotency_key=k -> created b\nop 1.3 p1"),),
    ),
    Bad(
        "two tasks with one idempotency key",
        {"one_per_key"},
        (("id=d unique=u scope=s", "id=d idempotency_key=k"),),
    ),
    Bad(
        "two live tasks with one unique key",
        {"one_per_unique"},
        (("id=c priority=2 scope=s", "id=c priority=2 unique=u"),),
    ),
    Bad(
        "two tasks that wait with one scope",
        {"one_per_scope"},
        (("id=b idempotency_key=k -> created", "id=b scope=s -> created"),),
    ),
    Bad(
        "a claim passes over a task",
        {"in_order"},
        (("id=b idempotency_key=k -> created", "id=b priority=1 -> created"),),
    ),
    Bad(
        "a claim is not in order itself",
        {"in_order"},
        (
            ("claim -> c/t1/1 a/t2/2", "claim -> a/t2/1 c/t1/2"),
            ("claimed c a", "claimed a c"),
            ("heartbeat c/t1/1", "heartbeat c/t1/2"),
            ("ack c/t1/1", "ack c/t1/2"),
            ("ack a/t2/2", "ack a/t2/1"),
            ("heartbeat a/t2/2", "heartbeat a/t2/1"),
        ),
    ),
    Bad(
        "two holders of an exclusive lock",
        {"locks_exclude"},
        (
            ("lock 22000 lock.released q1 | owner=o1 locks=x/10=r\n", ""),
            ("lock 22500 lock", "lock 22400 lock.released q1 | owner=o1 locks=x/10=r\nlock 22500 lock"),
        ),
    ),
    Bad(
        "an exclusive lock beside a shared one",
        {"locks_exclude"},
        (
            ("lock.acquired q4 | owner=o4 locks=s/13=r", "lock.acquired q4 | owner=o4 locks=x/13=r"),
            ("lock.released q4 | owner=o4 locks=s/13=r", "lock.released q4 | owner=o4 locks=x/13=r"),
        ),
    ),
    Bad(
        "a shared lock beside an exclusive one",
        {"locks_exclude"},
        (
            ("lock.acquired q3 | owner=o3 locks=s/12=r", "lock.acquired q3 | owner=o3 locks=x/12=r"),
            ("lock.released q3 | owner=o3 locks=s/12=r", "lock.released q3 | owner=o3 locks=x/12=r"),
        ),
    ),
    Bad(
        "two clients had an exclusive lock to the end",
        {"locks_exclude"},
        (("op 21.5-22.6 o2", "op 21.5-21.6 o2"),),
    ),
    Bad(
        "the fences of a lock fall",
        {"lock_fences_rise"},
        (
            ("-> q3 12", "-> q3 9"),
            ("lock.acquired q3 | owner=o3 locks=s/12=r", "lock.acquired q3 | owner=o3 locks=s/9=r"),
        ),
    ),
    Bad(
        "a request that has ended is granted again",
        {"requests_end_once"},
        more="lock 26000 lock.promoted q2 | owner=o2 locks=x/14=r\nlock 26500 lock.released q2 | owner=o2 locks=x/14=r",
    ),
    Bad(
        "a lock is free, and somebody waits for it",
        {"free_locks"},
        (
            (
                "lock 22000 lock.promoted q2",
                "lock 22100 lock.acquired q7 | owner=o7 locks=x/11=z\nlock 22200 lock.promoted q2",
            ),
            ("lock 23000", "lock 22900 lock.released q7 | owner=o7 locks=x/11=z\nlock 23000"),
        ),
    ),
    Bad(
        "somebody is overtaken in the line of a lock",
        {"locks_in_turn"},
        more=OVERTAKEN,
    ),
    Bad(
        "a lease is left behind",
        {"nothing_left"},
        more=E_LEASED + "final e running",
    ),
    Bad(
        "a lease is left behind, as the stream tells",
        {"nothing_left"},
        more=E_LEASED,
    ),
    Bad(
        "nobody took a task",
        {"nothing_left"},
        more=E + "final e ready",
    ),
    Bad(
        "nobody took a task that was due",
        {"nothing_left"},
        more=E + "final e overdue",
    ),
    Bad(
        "a task is blocked by what has ended",
        {"nothing_left"},
        more="op 20.0 p1 enqueue id=e after=a,b -> created e\n" + E + "final e blocked",
    ),
    Bad(
        "a lock is left behind",
        {"nothing_left"},
        more="lock 26000 lock.acquired q9 | owner=o9 locks=x/14=r",
    ),
    Bad(
        "somebody waits for a lock",
        {"nothing_left"},
        more="lock 26000 lock.queued q9 | owner=o9 locks=x/0=r",
    ),
]
