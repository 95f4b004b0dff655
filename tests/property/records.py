"""What the model keeps: tasks, leases, workers and stubs. Times are milliseconds."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import floor
from typing import Any, NamedTuple

Answer = tuple[Any, ...]
LOST: Answer = ("lease_lost",)
BAND = 2**48  # between the scores of two priorities
ENDED = ("completed", "cancelled", "dead")


@dataclass(frozen=True)
class Backoff:
    base: int = 1000
    multiplier: float = 2.0
    cap: int = 300_000
    jitter: float = 0.1

    def before(self, retry: int, ppm: int) -> int:
        """ppm: 0 to 1,000,000 of the jitter's range; 500,000 is its middle."""
        growth = self.multiplier ** min(retry - 1, 150)  # the cap has come long before, or never comes
        plain = min(self.base * growth, self.cap)
        return floor(min(plain * (1 + self.jitter * (ppm / 500_000 - 1)), self.cap))


@dataclass(frozen=True)
class Spec:
    """What a producer says of a task. run_after and expires are points in time, 0 is none."""

    id: str
    payload: bytes = b""
    lane: str = "any"
    priority: int = 5
    delay: int = 0
    run_after: int = 0
    expires: int = 0
    timeout: int | None = None
    fallback: tuple[str, ...] = ()  # lanes in turn, of which the last may be `fail`
    fallback_after: int = 0
    reply: bool = False
    kind: str | None = None
    user: str | None = None
    tags: tuple[str, ...] = ()
    parent: str | None = None
    key: str | None = None
    unique: str | None = None
    scope: str | None = None
    coalesce: str = "first"
    result_ttl: int | None = None
    max_attempts: int | None = None
    backoff: Backoff | None = None
    after: tuple[str, ...] = ()
    after_any: bool = False
    after_when: str = "completed"
    gather: int = 0
    order: str | None = None


@dataclass
class Lease:
    token: str
    worker: str
    started: int
    cancelling: bool = False


@dataclass
class Task:
    id: str
    spec: Spec
    stamp: str  # rid and index of the call that made it
    place: int
    created: int
    payload: bytes
    lane: str
    fallback: tuple[str, ...]  # what is left of it
    expires: int
    timeout: int | None
    key: str | None  # its idempotency key, or one of a call that was answered with it
    state: str = "new"  # blocked, ready, delayed, running, completed, cancelled or dead
    since: int = 0  # when it last became ready
    waits_from: int = 0  # from when its wait for the fallback lane counts
    at: int = 0  # due time, deadline or time of the end
    attempts: int = 0
    crashes: int = 0
    deliveries: int = 0
    holds_scope: bool = True
    awaits: int = 0  # how many ends it still waits for
    awaited: bool = False  # whether somebody waits for its end
    gathered: int | None = None  # the place of its parent, which waits for its children
    pruned: int | None = None  # the number of the cancelled tree that it was in last
    stood: tuple[int, int] = (0, 0)  # when it is due after a second crash, and its score before
    lease: Lease | None = None
    last: Lease | None = None  # the current lease, or the one before
    settled: tuple[str, Answer] = ("", LOST)  # the last settlement's token and answer
    settled_earlier: tuple[str, Answer] = ("", LOST)  # the same, of an older task of this id
    reason: str | None = None
    error: str | None = None
    exit_code: int | None = None
    progress: int | None = None  # of a million
    text: str | None = None
    earlier: tuple[str, ...] = ()  # stamps of older tasks of this id, whose calls may be sent again
    keys: int = 0  # until when keys stand for it that it does not know
    log: list[str] = field(default_factory=list)
    runs: list[Answer] = field(default_factory=list)  # outcome, number, attempt, worker, start, end, reason, error
    result: bytes | None = None
    result_ends: int | None = None  # when a result that is kept for a time is shown no more

    def has(self, index: str) -> tuple[str, ...]:
        """Its entries in an index: user, tag or parent."""
        if index == "tag":
            return self.spec.tags
        value = self.spec.user if index == "user" else self.spec.parent
        return (value,) if value else ()

    def end_run(
        self, now: int, outcome: str, attempt: int, reason: str | None = None, error: str | None = None
    ) -> None:
        """Note how a run has ended that did not complete it. The last 20 are kept."""
        assert self.last
        run = (outcome, self.deliveries, attempt, self.last.worker, self.last.started, now, reason, error)
        self.runs = [*self.runs, run][-20:]

    @property
    def waiting(self) -> bool:
        return self.state in ("blocked", "ready", "delayed")

    @property
    def score(self) -> int:
        return self.spec.priority * BAND + self.place

    @property
    def expires_at(self) -> int | None:
        """Once leased, a task expires no more."""
        return self.expires if self.expires and not self.deliveries else None

    @property
    def deadline(self) -> int | None:
        """When a waiting task expires or goes over to its fallback lane, whichever is first."""
        timed = self.fallback and self.state != "blocked"
        falls_back = self.waits_from + self.spec.fallback_after if timed else None
        times = [time for time in (self.expires_at, falls_back) if time is not None]
        return min(times) if self.waiting and times else None


@dataclass(frozen=True)
class Stub:
    """What is remembered of a task that was removed inside the replay window, or whose children are not removed.

    parent: of a link to such children, which is among those of the parent, at its score.
    """

    stamp: str
    settled: tuple[str, Answer]
    until: int
    earlier: tuple[str, ...] = ()
    parent: str | None = None
    score: int = 0
    pruned: int | None = None


class Note(NamedTuple):
    """What is still to be told: an end, `c` for completed, `f` for failed; whose turn has come, `o`; or whose tree is
    cancelled, `t`.

    other and at: the parent that gathers it, and its place; or the last child that was cancelled, and its time. upto:
    the last place of those who waited for it; or when the tree was cancelled.
    """

    how: str
    id: str
    other: str = "-"
    at: int = 0
    upto: int = 0

    @property
    def text(self) -> str:
        return " ".join(map(str, self))


@dataclass(frozen=True)
class Reply:
    """What is left for those who wait for a task: how it ended, with its result or its error."""

    how: Answer
    value: bytes
    since: int
    until: int


@dataclass
class Worker:
    incarnation: str = ""
    seen: int = 0
    mode: str = "run"  # what is wanted of it
    wanted: int | None = None  # tasks at a time
    heard: bool = True
    busy: int | None = None
    # By slot: the last n, when presence was noted last, and the ids and tokens that were given.
    slots: dict[int, tuple[int, int, list[tuple[str, str]]]] = field(default_factory=dict)
