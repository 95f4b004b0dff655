"""How calls are sent, as far as that needs no I/O: what goes out next, to which node, and what each reply means."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import Any, Final, Generic, TypeVar

from pyadeq._core.kernel.call import Call, Reply
from pyadeq._core.kernel.durability import Durability, confirm
from pyadeq._core.kernel.manifest import Script
from pyadeq._core.kernel.packing import pack
from pyadeq._core.kernel.refusals import (
    Loss,
    Refusal,
    is_passing,
    is_too_old,
    loss_error,
    refusal_error,
    too_old_error,
)
from pyadeq._core.kernel.routes import Node, OneServer, Routes
from pyadeq._core.kernel.server_info import Server
from pyadeq.errors import AdeqError, ConfigError, DamagedError, DurabilityError, TransportError, UnknownTask

T = TypeVar("T")
Outcome = Reply | AdeqError

BATCH_CALLS: Final = 100
BATCH_BYTES: Final = 4 * 1024 * 1024
MOST_REDIRECTS: Final = 4
_BACKOFF_S: Final = 0.02
_BACKOFF_CAP_S: Final = 1.0


@dataclass(slots=True, eq=False)
class Job:
    """A call, or the load of a script on a node, until it has an outcome."""

    script: Script
    packed: bytes
    call: Call[Any] | None
    node: Node
    outcome: Outcome | None = None
    maybe_applied: bool = False
    redirects: int = 0
    asking: bool = False
    """The slot is being migrated to this node: send ASKING before the call."""

    @property
    def subject(self) -> str:
        return self.script.id if self.call else f"SCRIPT LOAD {self.script.id}"


@dataclass(slots=True, eq=False)
class Parcel:
    """The commands of one exchange with one node, and a handler for the reply to each."""

    node: Node
    jobs: list[Job]
    durable: bool = False
    commands: list[bytes] = field(default_factory=list)
    takers: list[Callable[[Any], None]] = field(default_factory=list)
    loads: set[str] = field(default_factory=set)
    obstacle: Loss | Refusal | None = None
    open: set[Job] = field(default_factory=set)
    """The jobs whose reply is missing or not confirmed."""
    unconfirmed: list[tuple[Job, Reply]] = field(default_factory=list)
    confirmed: bool = False
    refused: Refusal | None = None
    """Why there was no confirming write."""

    def add(self, command: bytes, taker: Callable[[Any], None], asking: bool = False) -> None:
        if asking:
            self.add(_ASKING, _ignore)
        self.commands.append(command)
        self.takers.append(taker)


class Sending:
    """Sends calls until each has an outcome, and loads missing scripts.

    Exchange each of the `parcels`, pass the replies to `take`, and repeat until there are none. If `take` returns
    False, pause and repeat, or call `give_up`. Every call is replay-safe, so what got no reply goes out again as it is.
    A call that is sent again may run after later ones.
    """

    def __init__(
        self,
        calls: Iterable[Call[Any]],
        routes: Routes | None = None,
        durability: Durability | None = None,
        now_ms: int = 0,
    ) -> None:
        self._routes = routes or OneServer()
        self._durability = durability or Durability()
        self._now_ms = now_ms
        self._jobs = [Job(call.script, call.packed(), call, None) for call in calls]
        self._lines: dict[Node, deque[Job]] = {}
        self._missing: dict[Node, dict[str, Script]] = {}
        self._load_errors: dict[tuple[Node, str], AdeqError] = {}
        # For each failing node: the time of the first failure, and the last obstacle.
        self._failing: dict[Node, tuple[float, Loss | Refusal]] = {}
        self.too_old: set[Node] = set()
        """Servers that cannot run scripts; `name_too_old` adds their versions to the errors."""
        self.plan()

    @classmethod
    def loads(cls, scripts: Iterable[Script], nodes: Iterable[Node]) -> Sending:
        """SCRIPT LOAD all of them on all nodes."""
        sending = cls(())
        packed = [(script, pack("SCRIPT", "LOAD", script.text)) for script in scripts]
        sending._jobs = [Job(script, load, None, node) for node in nodes for script, load in packed]
        sending.plan()
        return sending

    @property
    def outcomes(self) -> list[Outcome]:
        """The outcomes so far, in the order of the calls: each is a raw reply, or the error that ended the call."""
        return [job.outcome for job in self._jobs if job.outcome is not None]

    @property
    def left(self) -> bool:
        """Whether something has no outcome yet."""
        return any(self._lines.values())

    def plan(self) -> None:
        """Queue all unfinished calls for their nodes. Call it again when the routes have changed."""
        self._lines = {}
        for job in self._jobs:
            if job.outcome is None:
                if job.call is not None:
                    job.node = self._routes.node_of(job.call.keys[0] if job.call.keys else "")
                    job.asking = False
                self._line(job.node).append(job)

    def parcels(self) -> list[Parcel]:
        """What to send next, one parcel to a node: loads, then at most 100 calls or 4 MiB of them, but at least one."""
        return [self._parcel(node, line) for node, line in self._lines.items() if line]

    def take(self, parcel: Parcel, replies: Sequence[Any], loss: Loss | None, began: float) -> bool:
        """Take the replies to a parcel, fewer after a loss; False if something is in the way at that node.

        began: the time at which the exchange began, in seconds of any clock.
        """
        parcel.obstacle = loss
        parcel.open = set(parcel.jobs)
        for taker, reply in zip(parcel.takers, replies, strict=False):
            taker(reply)
        if loss is not None and loss.sent:
            for job in parcel.open:
                job.maybe_applied = True
        elsewhere: dict[Node, list[Job]] = {}
        for job in parcel.jobs:
            if job.outcome is None:
                elsewhere.setdefault(job.node, []).append(job)
        for node, jobs in elsewhere.items():
            self._line(node).extendleft(reversed(jobs))
        if parcel.obstacle is None:
            # A redirection does not count as a success of this node.
            if parcel.loads or any(job.outcome is not None for job in parcel.jobs):
                self._failing.pop(parcel.node, None)
            return True
        hopeless = loss is not None and not loss.retryable
        since, _ = self._failing.get(parcel.node, (began, None))
        self._failing[parcel.node] = (-inf if hopeless else since, parcel.obstacle)
        return False

    def give_up(self, since: float) -> None:
        """Give up the calls for nodes that have been failing since this time or earlier. Each gets the last error."""
        for node, (failing, obstacle) in list(self._failing.items()):
            # Keep a node without queued calls: a call may alternate between two failing nodes.
            if failing <= since and self._lines.get(node):
                for job in self._lines.pop(node):
                    job.outcome = _obstacle_error(job, obstacle)
                del self._failing[node]

    def name_too_old(self, node: Node, server: Server | None) -> None:
        """Say in the errors of a server that is too old which one it is."""
        for job in self._jobs:
            if job.node == node and isinstance(job.outcome, ConfigError):
                job.outcome = too_old_error(job.subject, server)

    def _line(self, node: Node) -> deque[Job]:
        return self._lines.setdefault(node, deque())

    def _parcel(self, node: Node, line: deque[Job]) -> Parcel:
        parcel = Parcel(node, [])
        size = 0
        while line and len(parcel.jobs) < BATCH_CALLS:
            size += len(line[0].packed)
            if parcel.jobs and size > BATCH_BYTES:
                break
            parcel.jobs.append(line.popleft())
        for script in self._missing.get(node, {}).values():
            parcel.loads.add(script.id)
            parcel.add(pack("SCRIPT", "LOAD", script.text), partial(self._take_load, parcel, script))
        for job in parcel.jobs:
            parcel.add(job.packed, partial(self._take_answer, parcel, job), job.asking)
        if self._durability:
            self._add_confirms(parcel)
        return parcel

    def _add_confirms(self, parcel: Parcel) -> None:
        calls = {}
        for job in parcel.jobs:
            if job.call is not None and self._durability.covers(job.call):
                call = confirm(job.call, self._now_ms)
                calls[call.keys] = (call, job.asking)
        for call, asking in calls.values():
            parcel.add(call.packed(), partial(self._take_confirm, parcel, call.script), asking)
        if calls:
            parcel.durable = True
            parcel.add(pack(*self._durability.wait()), partial(self._take_wait, parcel))

    def _take_load(self, parcel: Parcel, script: Script, reply: Any) -> None:
        if isinstance(reply, Refusal) and is_passing(reply):
            parcel.obstacle = reply
            return
        del self._missing[parcel.node][script.id]
        self._note_too_old(parcel, reply)
        if error := _load_error(script, reply):
            self._load_errors[parcel.node, script.id] = error

    def _take_answer(self, parcel: Parcel, job: Job, reply: Any) -> None:
        parcel.open.discard(job)
        self._note_too_old(parcel, reply)
        if job.call is None and not (isinstance(reply, Refusal) and is_passing(reply)):
            job.outcome = _load_error(job.script, reply) or [reply]
        elif not isinstance(reply, Refusal):
            if parcel.durable and job.call is not None and self._durability.covers(job.call):
                parcel.open.add(job)
                parcel.unconfirmed.append((job, reply))
            else:
                job.outcome = reply
        elif reply.code == "NOSCRIPT":
            job.outcome = self._load(parcel, job.script, reply)
        elif (node := self._routes.follow(reply, parcel.node)) is not None:
            job.redirects += 1
            if job.redirects <= MOST_REDIRECTS:
                job.node, job.asking = node, reply.code == "ASK"
            else:  # redirected too often: try again after a pause, or give up here
                job.redirects = 0
                parcel.obstacle = reply
        elif is_passing(reply):
            parcel.obstacle = reply
        else:
            job.outcome = refusal_error(job.subject, reply, job.maybe_applied, job.script.role)

    def _take_confirm(self, parcel: Parcel, script: Script, reply: Any) -> None:
        if not isinstance(reply, Refusal):
            parcel.confirmed = True
        elif reply.code != "NOSCRIPT":
            parcel.refused = reply
        elif error := self._load(parcel, script, reply):
            parcel.refused = Refusal("ERR", str(error))  # for good, unlike NOSCRIPT

    def _take_wait(self, parcel: Parcel, reply: Any) -> None:
        """Take the reply to the confirming write: it confirms all earlier calls of the connection, in any base."""
        told = reply if parcel.confirmed else parcel.refused
        again = told is None or (isinstance(told, Refusal) and is_passing(told))
        if again and told is not None:
            parcel.obstacle = told
        lack = "" if again else self._durability.lack(told)
        for job, answer in parcel.unconfirmed:
            if again:
                job.maybe_applied = True
                continue
            parcel.open.discard(job)
            job.outcome = DurabilityError(f"{job.subject}: it was applied, but {lack}", answer) if lack else answer

    def _note_too_old(self, parcel: Parcel, reply: Any) -> None:
        if isinstance(reply, Refusal) and is_too_old(reply):
            self.too_old.add(parcel.node)

    def _load(self, parcel: Parcel, script: Script, refusal: Refusal) -> AdeqError | None:
        """Have a script loaded that the node does not have; or the error by which that failed."""
        if error := self._load_errors.get((parcel.node, script.id)):
            return error
        self._missing.setdefault(parcel.node, {})[script.id] = script
        if script.id in parcel.loads:
            parcel.obstacle = refusal
        return None


def _load_error(script: Script, reply: Any) -> AdeqError | None:
    if isinstance(reply, Refusal):
        return refusal_error(f"SCRIPT LOAD {script.id}", reply, False)
    if reply != script.sha1.encode():
        # Otherwise the calls of this script would get NOSCRIPT forever.
        return AdeqError(f"{script.id}: the sum is {reply!r}, the manifest says {script.sha1}; install pyadeq again")
    return None


def _obstacle_error(job: Job, obstacle: Loss | Refusal) -> AdeqError:
    if isinstance(obstacle, Loss):
        return loss_error(job.subject, obstacle, job.maybe_applied)
    if obstacle.code in ("MOVED", "ASK"):
        advice = "the nodes of the cluster send it from one to another; look at CLUSTER NODES on each"
        return TransportError(
            f"{job.subject}: {advice} ({obstacle.code} {obstacle.text})",
            retryable=True,
            may_have_applied=job.maybe_applied,
        )
    return refusal_error(job.subject, obstacle, job.maybe_applied)


def _ignore(reply: Any) -> None:
    """Ignore the reply to ASKING: the next reply shows errors."""


_ASKING: Final = pack("ASKING")


def backoff(failures: int, chance: float) -> float:
    """Seconds to wait after that many failures in a row; chance is a random number from 0 to 1."""
    return chance * min(_BACKOFF_CAP_S, _BACKOFF_S * 2.0 ** min(failures, 10))


def decoded(call: Call[T], outcome: Outcome) -> T:
    """What a call returns. Raises the error that ended it."""
    if isinstance(outcome, DurabilityError):
        try:
            outcome.answer = _read(call, outcome.answer)
        except UnknownTask as error:
            outcome.answer, outcome.__cause__ = error.receipts, error
    if isinstance(outcome, AdeqError):
        raise outcome
    return _read(call, outcome)


def _read(call: Call[T], reply: Reply) -> T:
    try:
        return call.decode(reply)
    except ValueError as error:
        what = f"{call.script.id}: the answer has a value that pyadeq never stores, so another program wrote it"
        raise DamagedError(f"{what} ({error})", retryable=False, may_have_applied=True) from error


class Deferred(Generic[T]):
    """The result of one call in a pipeline."""

    __slots__ = ("_call", "_error", "_value")

    def __init__(self, call: Call[T]) -> None:
        self._call = call
        self._value: list[T] = []
        self._error: AdeqError | None = AdeqError(
            f"{call.script.id}: no value yet; leave the pipeline's with block or call its execute() first"
        )

    @property
    def value(self) -> T:
        """What the call returned. Raises the error of the call, or AdeqError before the pipeline has run."""
        if self._error is not None:
            raise self._error
        return self._value[0]

    def settle(self, outcome: Outcome) -> None:
        """Take the outcome of the call; for the pipeline only."""
        try:
            self._value, self._error = [decoded(self._call, outcome)], None
        except AdeqError as error:
            self._error = error
