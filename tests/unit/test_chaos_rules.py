"""Good histories are acquitted; and for each rule, what breaks it is convicted of just that."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyadeq.ext.prove.chaos import RULES, History, Op, Violation, judge
from tests.unit.bad_change_histories import BAD as BAD_CHANGES
from tests.unit.bad_change_histories import CHANGES
from tests.unit.bad_config_histories import BAD as BAD_CONFIGS
from tests.unit.bad_config_histories import CONFIGS
from tests.unit.bad_config_histories import LOST as LOST_CONFIGS
from tests.unit.bad_event_histories import BAD as BAD_EVENTS
from tests.unit.bad_event_histories import EVENTS
from tests.unit.bad_histories import BAD, LOCKS, TASKS, Bad
from tests.unit.bad_rate_histories import BAD as BAD_RATES
from tests.unit.bad_rate_histories import RATES
from tests.unit.bad_session_histories import BAD as BAD_SESSIONS
from tests.unit.bad_session_histories import SESSIONS
from tests.unit.chaos_story import edited, told, without


def convicted(history: History, **options: bool) -> set[str]:
    return {violation.rule for violation in judge(history, **options).violations}


def test_a_good_history_is_acquitted_and_every_rule_has_something_to_look_at() -> None:
    verdict = judge(told(TASKS, LOCKS, CHANGES, SESSIONS, RATES, CONFIGS, EVENTS))
    assert verdict.ok, verdict.violations
    assert [rule for rule in RULES if verdict.checks[rule] == 0] == []
    assert (verdict.lost, verdict.problems) == ({}, [])


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.what)
def test_a_bad_history_is_convicted_of_what_is_wrong(bad: Bad) -> None:
    assert convicted(told(edited(TASKS + LOCKS, *bad.edits), bad.more)) == bad.breaks


@pytest.mark.parametrize("bad", BAD_CHANGES, ids=lambda bad: bad.what)
def test_a_bad_history_of_changes_is_convicted_of_what_is_wrong(bad: Bad) -> None:
    verdict = judge(told(edited(CHANGES, *bad.edits), bad.more))
    assert {one.rule for one in verdict.violations} == bad.breaks, verdict.violations


@pytest.mark.parametrize("bad", BAD_SESSIONS, ids=lambda bad: bad.what)
def test_a_bad_history_of_sessions_is_convicted_of_what_is_wrong(bad: Bad) -> None:
    verdict = judge(told(edited(SESSIONS, *bad.edits), bad.more))
    assert {one.rule for one in verdict.violations} == bad.breaks, verdict.violations


@pytest.mark.parametrize("bad", BAD_CONFIGS, ids=lambda bad: bad.what)
def test_a_bad_history_of_configs_is_convicted_of_what_is_wrong(bad: Bad) -> None:
    verdict = judge(told(edited(CONFIGS, *bad.edits), bad.more))
    assert {one.rule for one in verdict.violations} == bad.breaks, verdict.violations


@pytest.mark.parametrize("bad", BAD_EVENTS, ids=lambda bad: bad.what)
def test_a_bad_history_of_events_is_convicted_of_what_is_wrong(bad: Bad) -> None:
    verdict = judge(told(edited(EVENTS, *bad.edits), bad.more))
    assert {one.rule for one in verdict.violations} == bad.breaks, verdict.violations


@pytest.mark.parametrize("bad", BAD_RATES, ids=lambda bad: bad.what)
def test_a_bad_history_of_rates_is_convicted_of_what_is_wrong(bad: Bad) -> None:
    verdict = judge(told(edited(RATES, *bad.edits), bad.more))
    assert {one.rule for one in verdict.violations} == bad.breaks, verdict.violations


def test_a_server_that_cannot_be_read_convicts_nobody() -> None:
    verdict = judge(History.unread(told(TASKS, LOCKS, CHANGES, SESSIONS, RATES, CONFIGS, EVENTS), "it is away"))
    assert (verdict.violations, verdict.problems) == ([], ["it is away"])


def test_every_rule_has_a_bad_history_of_its_own() -> None:
    assert {
        rule
        for bad in [*BAD, *BAD_CHANGES, *BAD_CONFIGS, *BAD_EVENTS, *BAD_SESSIONS, *BAD_RATES]
        if len(bad.breaks) == 1
        for rule in bad.breaks
    } == RULES.keys()


def test_a_violation_says_what_is_wrong() -> None:
    (violation,) = judge(told(edited(TASKS, ("ack c/t1/1", "ack c/t9/1")))).violations
    assert isinstance(violation, Violation)
    assert str(violation) == "stale_tokens: c: w1 was told 'completed' under a token that is not the lease's"


# What was lost, and may be


LOST = edited(TASKS, ("final a", "op 20.5 p1 enqueue id=z -> created z\nfinal a"))
RESTART = "mark 21.0 restart\n"


def test_a_loss_without_any_reason_is_convicted() -> None:
    assert convicted(told(LOST)) == {"acknowledged_kept"}
    assert convicted(told(LOST, "mark 20.4 restart")) == {"acknowledged_kept"}, "it came before the call"


@pytest.mark.parametrize(
    ("durability", "kind", "may_go"),
    [
        ("memory", "restart", True),
        ("memory", "power_cut", True),
        ("memory", "failover", True),
        ("memory", "clock_back", False),
        ("aof", "restart", False),
        ("aof", "power_cut", False),
        ("aof", "failover", True),
        ("replica", "failover", False),
        ("replica", "power_cut", True),
    ],
)
def test_what_was_confirmed_holds_and_the_rest_is_counted(durability: str, kind: str, may_go: bool) -> None:
    story = edited(LOST, ("-> created z", f"-> created z @{durability}"))
    verdict = judge(told(story, f"mark 21.0 {kind}"))
    assert verdict.lost == ({durability: {"enqueue": 1}} if may_go else {})
    assert verdict.ok is may_go


def test_an_answer_in_the_lost_tail_is_counted() -> None:
    """The server forgot an acknowledgement and a grant, and went on from what it knew."""
    story = edited(
        without(TASKS + LOCKS, "entry 18500 task.completed a", "lock.acquired q1", "lock.released q1"),
        ("entry 19000", "entry 33000 task.stalled a | crashes=2 worker=w2\nentry 33000 task.cancelled a\nentry 33500"),
        ("lock.queued q2 | owner=o2 locks=x/0=r\n", "lock.queued q2 | owner=o2 locks=x/0=r\nmark 22.5 power_cut\n"),
        ("-> q1 10 @aof", "-> q1 10"),
        ("final a completed", "final a cancelled"),
    )
    verdict = judge(told(story))
    assert verdict.ok, verdict.violations
    assert verdict.lost == {"memory": {"ack": 1, "take": 1, "release_lock": 1}}


# What is right, though it looks odd


@pytest.mark.parametrize(
    "lines",
    [
        "entry 1 task.enqueued a\nentry 2 task.cancelled a\nentry 3 task.enqueued a\nfinal a ready",
        "entry 1 task.enqueued a\nentry 2 task.expired a | reason=expired\nentry 3 task.removed a | reason=retention",
        "entry 1 task.enqueued a\nentry 2 task.dead a\nentry 3 task.retried a | reason=by_hand\nfinal a ready",
        "entry 1 task.enqueued a b\nentry 2 task.removed a b | reason=purged\nfinal a -\nfinal b -",
        "entry 1 task.enqueued a\nentry 2 task.alert a | reason=record_missing\nfinal a -",
        "entry 1 task.enqueued a\nentry 2 task.limited a\nentry 3 task.unblocked a\nfinal a ready",
        "entry 1 task.enqueued a\nentry 2 queue.draining -\nentry 3 worker.lost w1\nentry 4 schedule.fired s | task=a",
    ],
    ids=["reused", "expired", "by hand", "purged", "damaged", "limited", "others"],
)
def test_what_may_happen_to_tasks(lines: str) -> None:
    assert convicted(told(lines), drained=False) == set()


IN_LINE = """
op 1.0 p enqueue id=a -> created a
entry 1000 task.enqueued a
op 1.1 p enqueue id=b -> created b
entry 1100 task.enqueued b
"""
B_FIRST = "entry 9000 task.claimed b | worker=w fence=9 deadline_ms=24000"


@pytest.mark.parametrize(
    ("edits", "between", "in_order"),
    [
        ((), "", False),
        ((("id=b", "id=b lane=group/g"),), "", True),
        ((("id=a", "id=a priority=6"),), "", True),
        ((("id=a", "id=a delay=5"),), "", True),
        ((("id=a", "id=a delay=5"),), "entry 6000 task.promoted a", True),
        ((("id=a", "id=a delay=5"), ("id=b", "id=b priority=6")), "entry 6000 task.promoted a", False),
        ((("id=a", "id=a after=z"),), "", True),
        ((("id=a", "id=a after=z"),), "entry 2000 task.unblocked a", False),
        ((("id=a", "id=a after=z delay=5"),), "entry 2000 task.unblocked a", True),
        ((), "entry 2000 task.limited a | limit=user:*", True),
        ((), "entry 2000 task.limited a | limit=user:*\nentry 3000 task.unblocked a", False),
        ((), "entry 2000 task.cancelled a", True),
        ((), "entry 2000 task.moved a | lane=group/g", True),
        ((), "entry 2000 task.claimed a | worker=w fence=1 deadline_ms=17000\nentry 3000 task.released a", False),
        ((), "entry 2000 task.claimed a | worker=w fence=1 deadline_ms=17000\nentry 3000 task.snoozed a", True),
        (
            (),
            "entry 2000 task.claimed a | worker=w fence=1 deadline_ms=3000\nentry 3000 task.stalled a | crashes=1",
            False,
        ),
        (
            (),
            "entry 2000 task.claimed a | worker=w fence=1 deadline_ms=3000\nentry 3000 task.stalled a | crashes=2",
            True,
        ),
        ((), "entry 2000 task.dead a\nentry 3000 task.retried a | reason=by_hand", True),
        ((("op 1.0 p enqueue id=a -> created a", ""),), "", True),
        ((("id=a -> created a", "id=a -> created a\nop 1.0 q enqueue id=a priority=7 -> created a"),), "", True),
    ],
)
def test_the_order_of_claims(edits: tuple[tuple[str, str], ...], between: str, in_order: bool) -> None:
    history = told(edited(IN_LINE, *edits), between, B_FIRST)
    assert ("in_order" not in convicted(history, drained=False)) is in_order
    history.settings["fair"] = True
    assert "in_order" not in convicted(history, drained=False)


def test_a_lease_may_be_shortened_by_a_heartbeat() -> None:
    early = edited(TASKS, ("entry 18000 task.stalled", "entry 16999 task.stalled"))
    said = ("op 2.2 w1 heartbeat c/t1/1 -> renewed", "op 2.2 w1 heartbeat a/t2/2 extend=5000 -> renewed")
    assert convicted(told(edited(early, said))) == set()


def test_a_key_may_be_used_again_when_its_time_is_over() -> None:
    story = edited(TASKS, ("op 19.0 p2 enqueue id=d unique=u scope=s", "op 19.0 p2 enqueue id=d idempotency_key=k"))
    history = told(story)
    history.settings["idempotency"] = 17.9
    assert convicted(history) == set()


def test_nothing_follows_from_times_where_the_clock_stepped_back() -> None:
    early = edited(TASKS, ("entry 18000 task.stalled", "entry 16999 task.stalled"))
    twice = edited(TASKS, ("op 19.0 p2 enqueue id=d unique=u scope=s", "op 19.0 p2 enqueue id=d idempotency_key=k"))
    for story in (early, twice):
        assert convicted(told(story))
        assert convicted(told(edited(story, ("entry 3500 task", "entry 2900 task")))) == set()
        assert convicted(told(story, "mark 2.1 clock_back")) == set()


def test_the_same_call_made_again_makes_one_task() -> None:
    again = "op 1.05 p1 enqueue id=a unique=u rid=r -> created a"
    story = edited(TASKS, ("op 1.0 p1 enqueue id=a unique=u -> created a", f"{again.replace('1.05', '1.0')}\n{again}"))
    assert convicted(told(story)) == set()


def test_a_settlement_that_is_asked_for_again_is_answered_again() -> None:
    """The first was not answered, and somebody else had the task when the second was."""
    again = "op 3.5 w2 fail b/t3/3\nop 19.9 w2 fail b/t3/3 -> retried"
    assert convicted(told(edited(TASKS, ("op 3.5 w2 fail b/t3/3 -> retried", again)))) == set()


def test_a_pause_is_a_reason_to_wait() -> None:
    story = "entry 1 task.enqueued a\nfinal a ready"
    assert convicted(told(story)) == {"nothing_left"}
    assert convicted(told(story), drained=False) == set()
    assert convicted(told(story, "entry 2 queue.paused -")) == set()
    assert convicted(told(story, "entry 2 queue.paused -\nentry 3 queue.resumed -")) == {"nothing_left"}


@pytest.mark.parametrize(
    "lines",
    [
        # One that was downgraded, as its release shows; its owner's own; permits; a jump in line; one by force.
        """lock 1 lock.acquired q1 | owner=a locks=x/1=r
        lock 2 lock.acquired q2 | owner=b locks=s/2=r
        lock 3 lock.released q1 | owner=a locks=s/1=r""",
        """lock 1 lock.acquired q1 | owner=a locks=x/1=r
        lock 2 lock.acquired q2 | owner=b locks=s/2=r""",
        """lock 1 lock.acquired q1 | owner=a locks=s/1=r
        lock 2 lock.acquired q2 | owner=a locks=x+/2=r
        lock 3 lock.acquired q3 | owner=a locks=s/2=r""",
        """lock 1 lock.acquired q1 | owner=a locks=p2/1=r,s/1=other
        lock 2 lock.acquired q2 | owner=b locks=p1/2=r,s/2=other""",
        """lock 1 lock.acquired q1 | owner=a locks=x/1=r
        lock 2 lock.queued q2 | owner=b locks=x/0=r
        lock 3 lock.queued q2 | owner=b locks=x/0=r reason=moved
        lock 4 lock.deadlock q2 | owner=b locks=x/0=r cycle=b>x>r
        lock 5 lock.released q1 | owner=a locks=x/1=r by=force reason=stuck""",
    ],
    ids=["downgraded", "perhaps downgraded", "own", "permits", "others"],
)
def test_what_may_happen_to_locks(lines: str) -> None:
    assert convicted(told(lines), drained=False) == set()


def test_a_downgraded_lock_still_excludes_exclusive_ones() -> None:
    lines = """lock 1 lock.acquired q1 | owner=a locks=x/1=r
        lock 2 lock.acquired q2 | owner=b locks=x/2=r
        lock 3 lock.released q1 | owner=a locks=s/1=r"""
    assert convicted(told(lines), drained=False) == {"locks_exclude"}


@pytest.mark.parametrize(
    ("lines", "stranded"),
    [
        ("lock 6 lock.cancelled q3 | owner=c locks=x/0=r", True),
        ("lock 5 lock.promoted q2 | owner=b locks=x/2=r\nlock 6 lock.queued q4 | owner=d locks=x/0=r", False),
        ("lock 5 lock.promoted q3 | owner=c locks=x/2=r\nlock 6 lock.queued q4 | owner=d locks=x/0=r", False),
        ("lock 5 lock.queued q4 | owner=d locks=x/0=r", False),
    ],
    ids=["nobody has it", "the first has it", "the second has it", "the same step"],
)
def test_who_frees_a_lock_hands_it_over(lines: str, stranded: bool) -> None:
    before = """lock 1 lock.acquired q1 | owner=a locks=x/1=r
        lock 2 lock.queued q2 | owner=b locks=x/0=r
        lock 3 lock.queued q3 | owner=c locks=x/0=r
        lock 5 lock.released q1 | owner=a locks=x/1=r"""
    assert ("free_locks" in convicted(told(before, lines), drained=False)) is stranded


@pytest.mark.parametrize(
    "lines",
    [
        # Permits; one that waits for another lock as well; one behind such a one.
        "lock 3 lock.queued q2 | owner=b locks=p1/0=r",
        "lock 3 lock.queued q2 | owner=b locks=x/0=r,x/0=held",
        """lock 3 lock.queued q2 | owner=b locks=x/0=r,x/0=held
        lock 4 lock.queued q3 | owner=c locks=x/0=r""",
    ],
    ids=["permits", "for more", "behind one for more"],
)
def test_a_lock_may_be_free_for_a_while(lines: str) -> None:
    before = """lock 1 lock.acquired q1 | owner=a locks=x/1=r
        lock 2 lock.acquired q9 | owner=z locks=x/2=held"""
    after = """lock 5 lock.released q1 | owner=a locks=x/1=r
        lock 6 lock.acquired q8 | owner=y locks=s/3=other"""
    assert convicted(told(before, lines, after), drained=False) == set()


IN_TURN = """
op 0.1 a take a r shared -> q1 1
op 0.2 b take b r exclusive
op 0.3 c take c r shared -> q3 3
lock 1 lock.acquired q1 | owner=a locks=s/1=r
lock 2 lock.queued q2 | owner=b locks=x/0=r
lock 3 lock.acquired q3 | owner=c locks=s/3=r
lock 4 lock.cancelled q2 | owner=b locks=x/0=r
"""


@pytest.mark.parametrize(
    ("edits", "overtaken"),
    [
        ((), True),
        ((("queued q2 | owner=b locks=x/0=r", "queued q2 | owner=b locks=s/0=r"),), False),
        ((("queued q2 | owner=b", "queued q2 | owner=z"),), False),
        ((("acquired q3 | owner=c", "acquired q3 | owner=z"),), False),
        ((("queued q2 | owner=b locks=x/0=r", "queued q2 | owner=b locks=x/0=r,x/0=t"),), False),
        ((("lock 2", "lock 2 lock.acquired q9 | owner=c locks=x/2=t\nlock 2"),), False),
        ((("lock 3", "lock 2 lock.queued q2 | owner=b locks=x/0=r reason=moved\nlock 3"),), False),
    ],
    ids=["overtaken", "shared", "not recorded", "by one not recorded", "for two", "has another", "moved"],
)
def test_the_line_of_a_lock(edits: tuple[tuple[str, str], ...], overtaken: bool) -> None:
    history = told(edited(IN_TURN, *edits))
    assert ("locks_in_turn" in convicted(history, drained=False)) is overtaken
    history.ops[1].asked["priority"] = 9
    assert "locks_in_turn" not in convicted(history, drained=False)


NOT_TOLD = """
entry 1000 task.enqueued a b c | source=p
entry 2000 task.claimed a | worker=w fence=1 deadline_ms=4000
entry 3000 task.claimed b | worker=w fence=2 deadline_ms=5000
entry 4000 task.claimed c | worker=w fence=3 deadline_ms=6000
op 2.0 w claim -> a/t1/1
op 3.0 w claim ->
op 4.0 w claim -> c/t3/3
"""


@pytest.mark.parametrize(
    ("edits", "more", "known"),
    [
        ((), "", True),
        ((), "op 1.0 w claim", False),
        ((("claimed a", "claimed c"), ("a/t1/1", "c/t1/1"), ("c/t3/3", "c/t3/4")), "op 1.0 w claim", True),
        ((), "op 5.0 w claim", True),
        ((), "op 2.5 w claim", False),
        ((), "op 2.5-3.5 w claim ->", False),
        ((), "mark 2.5 restart", False),
        ((("fence=2 deadline_ms=5000", "fence=2 deadline_ms=3100"),), "", False),
        ((("task.claimed b | worker=w", "task.claimed b | worker=other"),), "", False),
    ],
    ids=[
        "all known",
        "one before",
        "one before, and two claims",
        "one after",
        "no answer",
        "slow",
        "restart",
        "short lease",
        "not recorded",
    ],
)
def test_a_lease_that_nobody_was_told_of(edits: tuple[tuple[str, str], ...], more: str, known: bool) -> None:
    history = told(edited(NOT_TOLD, *edits), more)
    assert ("leases_told" in convicted(history, drained=False)) is known


@pytest.mark.parametrize(
    ("more", "known"),
    [
        ("op 1.0 p enqueue id=a -> exists a", True),
        ("op 1.0 q enqueue id=a -> exists a", False),
        ("op 1.0 p enqueue id=a -> exists a\nop 2.0 q enqueue id=a -> created a", False),
        ("op 1.0 p enqueue id=a -> exists a\nop 0.5 p enqueue id=a", False),
        ("op 1.0 p enqueue id=a -> exists a\nmark 2.0 restart", False),
    ],
    ids=["all known", "another made it", "somebody was told", "no answer", "restart"],
)
def test_a_task_whose_maker_was_not_told(more: str, known: bool) -> None:
    assert ("creators_told" in convicted(told(NOT_TOLD, more), drained=False)) is known


# Where the stream begins late


@pytest.mark.parametrize("known", [True, False], ids=["known", "guessed"])
@pytest.mark.parametrize("gone", range(1, len(told(TASKS).entries)))
def test_a_trimmed_stream_convicts_nobody(gone: int, known: bool) -> None:
    history = told(TASKS)
    del history.entries[:gone]
    history.trimmed = gone if known else None
    verdict = judge(history)
    if known:
        assert verdict.ok, verdict.violations
        assert verdict.problems == ["the stream of the queue begins late: what came before was trimmed, or not read"]
    elif verdict.problems:
        assert verdict.ok, verdict.violations


@pytest.mark.parametrize("gone", range(1, len(told(LOCKS).lock_entries)))
def test_a_trimmed_stream_of_locks_convicts_nobody(gone: int) -> None:
    history = told(LOCKS)
    del history.lock_entries[:gone]
    history.lock_trimmed = gone
    verdict = judge(history)
    assert verdict.ok, verdict.violations
    assert verdict.problems == ["the stream of the lock domain begins late: what came before was trimmed, or not read"]


@pytest.mark.parametrize("gone", range(1, len(told(CHANGES).nouns["change"].entries)))
def test_a_trimmed_stream_of_changes_convicts_nobody(gone: int) -> None:
    history = told(CHANGES)
    del history.nouns["change"].entries[:gone]
    history.nouns["change"].trimmed = gone
    verdict = judge(history)
    assert verdict.ok, verdict.violations
    assert verdict.problems == ["the stream of the change domain begins late: what came before was trimmed"]


def test_a_call_may_comment_on_a_change_twice() -> None:
    """A reviewer was asked in two slots."""
    history = told(CHANGES)
    for op in history.ops:
        if op.asked.get("rid") == "r6":
            op.asked["item"] *= 2
            op.answer |= {"items": op.answer["items"] * 2} if op.answer else {}
    entries = history.nouns["change"].entries
    at = next(at for at, entry in enumerate(entries) if entry.event == "change.commented")
    entries.insert(at, entries[at])
    assert judge(history).ok
    entries.insert(at, entries[at])
    assert convicted(history) == {"one_effect"}


def test_a_run_whose_begin_had_no_answer_is_given_back() -> None:
    story = """
call 52.5 a1 begin id=f rev=1 digest=f1 agent=a1 rid=k3
change 52500 change.applying f | rev=1 round=1 by=a1 fence=9
call 52.6 a1 finish id=f token=k3 result=released rid=u6 -> approved
change 52600 change.released f | rev=1 round=1 by=a1 why=released
call 52.7 a1 begin id=f rev=1 digest=f1 agent=a1 rid=k4 -> begun token=k4 fence=10 deadline=54 content_digest=f1
change 52700 change.applying f | rev=1 round=1 by=a1 fence=10
call 52.8 a1 finish id=f token=k4 result=released rid=u7 -> approved
change 52800 change.released f | rev=1 round=1 by=a1 why=released
"""
    assert judge(told(CHANGES, story)).ok


def test_a_change_in_the_lost_tail_is_counted() -> None:
    """The server forgot a vote and an approval, and the reviewers voted again."""
    lost = without(CHANGES, "change 41600 change.answered c", "change 41600 change.approved c")
    story = edited(
        lost,
        (
            "call 42.0",
            "mark 41.8 restart\n"
            "call 41.9 v1 respond actor=bob id=c rev=2 digest=d2 action=approve rid=r11 -> approved\n"
            "change 41900 change.answered c | rev=2 round=2 by=bob slot=1 action=approve for=bob\n"
            "change 41900 change.approved c | rev=2 round=2 by=bob\ncall 42.0",
        ),
    )
    verdict = judge(told(story))
    assert verdict.ok, verdict.violations
    assert verdict.lost == {"memory": {"change.respond": 1}}


@pytest.mark.parametrize(("mark", "may_be"), [("mark 59.5 failover", True), ("mark 58.5 failover", False)])
def test_a_task_is_delivered_after_its_step_was_lost(mark: str, may_be: bool) -> None:
    """Who delivers has read the outbox before the failover, and enqueues the task after it."""
    items = [{"status": "follow", "id": "c", "seq": 99, "task_id": "d/c/99"}]
    late = "entry 60000 task.enqueued d/c/99 | source=x\nentry 60000 task.cancelled d/c/99"
    history = told(CHANGES, mark, late)
    answer = {"status": "ok", "items": items}
    history.ops.append(Op("x", "change.outbox", {"item": []}, 59.0, 59.1, "ok", answer))
    verdict = judge(history)
    assert ("followed_by_tasks" in {one.rule for one in verdict.violations}) is not may_be


LOSSES = [
    ("hash=b2 -> gone now=72.2", "hash=b2 -> ok now=72.2 session.ver=1 session.ends=80", "session.revoke", "72.1"),
    ("hash=b3 -> gone now=73.2", "hash=b3 -> ok now=73.2 session.ver=1 session.ends=80", "session.set_user", "73.15"),
    ("now=62.8 session.ver=2 session.data=red", "now=62.8 session.ver=1", "session.update", "62.3"),
]


@pytest.mark.parametrize(("old", "new", "verb", "at"), LOSSES, ids=[verb for _, _, verb, _ in LOSSES])
@pytest.mark.parametrize(("kind", "may_go"), [("failover", True), ("restart", False)])
def test_what_a_server_forgot_of_sessions_is_counted(
    old: str, new: str, verb: str, at: str, kind: str, may_go: bool
) -> None:
    """They were confirmed on the disk, which a failover does not ask."""
    verdict = judge(told(edited(SESSIONS, (old, new)), f"mark {at} {kind}"))
    assert verdict.ok is may_go, verdict.violations
    assert verdict.lost == ({"aof": {verb: 1}} if may_go else {})


@pytest.mark.parametrize(("rotations", "is_found"), [(5, True), (6, False)])
def test_an_older_id_is_followed_through_five_rotations(rotations: int, is_found: bool) -> None:
    lines = ["call 59.0 v1 session.create user=ann hash=a0 rid=r -> created now=59 created=59 ends=700"]
    for turn in range(rotations):
        at, ids = f"60.{turn + 1}", f"hash=a{turn} new_hash=a{turn + 1} grace_ms=60000 rid=r{turn}"
        lines.append(f"call {at} v1 session.rotate {ids} -> ok now={at}")
    lines.append("call 61.0 v1 session.get hash=a0 -> gone now=61")
    assert convicted(told(*lines)) == ({"created_sessions_found"} if is_found else set())


@pytest.mark.parametrize(("durability", "kind", "may_go"), [
    ("memory", "failover", True), ("memory", "restart", True), ("aof", "restart", False), ("aof", "failover", True),
    ("replica", "failover", False), ("replica", "restart", True),
])  # fmt: skip
@pytest.mark.parametrize("what", ["a log", "gcra", "leases"])
def test_what_a_server_forgot_of_rates_may_be_allowed_again(
    what: str, durability: str, kind: str, may_go: bool
) -> None:
    bad = {bad.what: bad for bad in BAD_RATES}
    case = bad[{"a log": "a log allows more than its limit in a period", "gcra": "gcra allows a hit too early",
                "leases": "a third lease is given"}[what]]  # fmt: skip
    at = {"a log": "82.35 failover 82.3", "gcra": "83.24 failover 83.23", "leases": "85.35 failover 85.3"}[what]
    story = edited(RATES, *case.edits).replace("@aof", "" if durability == "memory" else f"@{durability}")
    told_of_it = judge(told(story, f"mark {at.replace('failover', kind)}"))
    broken = {one.rule for one in told_of_it.violations}
    assert ("rates_kept" in broken or "leases_kept" in broken) is not may_go, told_of_it.violations


@pytest.mark.parametrize(("kind", "may_go"), [("failover", True), ("restart", False)])
def test_a_rule_that_a_server_forgot_is_counted(kind: str, may_go: bool) -> None:
    """It was confirmed on the disk, which a failover does not ask."""
    (bad,) = (bad for bad in BAD_RATES if bad.breaks == {"rules_found"})
    verdict = judge(told(edited(RATES, *bad.edits), f"mark 84.4 {kind}"))
    assert ("rules_found" in {one.rule for one in verdict.violations}) is not may_go
    assert verdict.lost == ({"aof": {"rate.set_rules": 1}} if may_go else {})


@pytest.mark.parametrize(("kind", "may_go"), [("failover", True), ("restart", False)])
def test_what_a_server_forgot_of_configs_is_counted(kind: str, may_go: bool) -> None:
    """The write was confirmed on the disk. Who has seen it may see older versions after a failover."""
    story = edited(CONFIGS, *LOST_CONFIGS)
    seen = "config 94.7 r1 read a -> ok 9500 a/9500/red\nconfig 94.8 r1 seen s -> ok 9500 a/9500/red c/9400/green"
    seen_late = "config 95.3 r1 seen s until=9500 -> ok 9500 a/9500/red c/9400/green"  # it has not asked since
    later = "config 95.4 r1 read a -> ok 9400 a/9200/blue\nconfig 95.5 r1 seen s -> ok 9400 a/9200/blue c/9400/green"
    verdict = judge(told(story, seen, f"mark 95.0 {kind}", seen_late, later))
    assert verdict.ok is may_go, verdict.violations
    assert verdict.lost == ({"aof": {"config.set": 2}} if may_go else {})


@pytest.mark.parametrize("gone", range(1, len(told(CONFIGS).nouns["config"].entries)))
def test_a_trimmed_stream_of_configs_convicts_nobody(gone: int) -> None:
    history = told(CONFIGS)
    del history.nouns["config"].entries[:gone]
    history.nouns["config"].trimmed = gone
    verdict = judge(history)
    assert verdict.ok, verdict.violations
    assert verdict.problems == ["the stream of the config namespace begins late: what came before was trimmed"]


def test_the_history_of_a_name_begins_after_a_removal_that_was_forgotten() -> None:
    edits = [("of b 9300 9200/blue", "of b"), ("by=w1.4\n", "by=w1.4\nconfigs 94700 config.set b | version=9700\n")]
    story = edited(CONFIGS, *edits, ("rev 9500", "rev 9700 b/9700/red")).replace("of b", "of b 9700/red")
    verdict = judge(told(story, "config 94.7 w4 set w4.1 b=red -> ok 9700 set"))
    assert verdict.ok, verdict.violations


# As a file


def test_a_history_survives_being_saved(tmp_path: Path) -> None:
    history = told(TASKS, LOCKS, CHANGES, SESSIONS, RATES, CONFIGS, RESTART)
    history.problems.append("one")
    history.settings["fair"] = False
    history.final["e"] = None
    history.save(tmp_path / "history")
    assert History.load(tmp_path / "history") == history


def test_what_is_no_history_is_refused(tmp_path: Path) -> None:
    (tmp_path / "history").write_text('{"kind": "other"}\n')
    with pytest.raises(ValueError, match="'other' is no line of a history"):
        History.load(tmp_path / "history")
