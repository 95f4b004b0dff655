"""All errors that pyadeq raises.

AdeqError
├─ ConfigError                      a setting cannot work; raised before anything runs
├─ ScriptError                      a script refused the call and wrote nothing (code, script, message)
│  ├─ BadArgument    (ValueError)   ADEQ_ARG       an argument is not what the contract accepts
│  ├─ LayoutError                   ADEQ_LAYOUT    the stored data needs a newer pyadeq
│  ├─ ClockError                    ADEQ_CLOCK     now_ms was sent to a base that uses the server's time
│  ├─ ConflictError                 ADEQ_CONFLICT  the call contradicts what is stored
│  │  └─ StaleError                 ADEQ_STALE     what is stored is not what `expect` says
│  ├─ QueueDraining                 ADEQ_DRAINING  the queue takes no new tasks
│  └─ PartitionsChanged             ADEQ_EPOCH     the queue has other partitions now
├─ LeaseLost                        the lease ran out, or the task was settled under another lease
│  ├─ LockLost                      a lock is no longer held: it ran out, or was taken away
│  └─ ChangeLost                    a change is no longer applied here: its lease ran out, or was taken away
├─ TaskDead                         the awaited task failed for good (.id, .reason, .error)
├─ TaskCancelled                    the awaited task was cancelled
├─ TaskGone                         the awaited task has no result
├─ PayloadError                     stored data cannot be read: the codec has other keys, or the data was changed
├─ UnknownTask                      a task waits for a task that does not exist (.id, .missing, .receipts)
├─ WaitTimeout       (TimeoutError) the lock, or the end of the task, did not come in time
├─ DeadlockError                    owners wait for each other, and this request was ended (.cycle)
├─ OwnerWaits                       the owner waits for another lock already (.rid)
├─ LockUnavailable                  the resource gives no permits now (.reason)
├─ RateLimited                      the agent acquires too often (.retry_after)
├─ CannotApply                      the change cannot be applied now (.status, .answer)
├─ ChangeStopped                    the run of a change has to stop (.why)
├─ SessionRefused                   no session was created (.status)
├─ SessionChanged                   the session was not updated: another request was first (.status)
├─ ConfigConflict                   a name has another version than expected: nothing was set (.versions)
├─ ConfigFull                       the namespace would have too many names: nothing was set
├─ UnknownGroup                     no such group of readers of events is registered (.base, .group)
├─ WorkerReplaced                   another process has registered the worker's name
├─ DurabilityError                  the call was applied, but is not yet as safe as `durability` requires (.answer)
└─ TransportError                   no script answered (.retryable, .may_have_applied)
   ├─ ClientClosed                  the client was closed
   └─ DamagedError                  what is stored has another form than pyadeq stores
"""

from __future__ import annotations

import typing

LockMode = typing.Literal["exclusive", "shared", "permit"]


class AdeqError(Exception):
    """The base of all errors of pyadeq. pickle can send it to another process, with its attributes and notes."""

    def __reduce__(self) -> tuple[typing.Any, ...]:
        # The default calls the constructor with `args`, and so fails where the constructor takes more than the message.
        return _rebuilt, (type(self), self.args), self.__dict__


def _rebuilt(kind: type[BaseException], args: tuple[typing.Any, ...]) -> BaseException:
    """Return an unpickled exception whose attributes are set next."""
    error = kind.__new__(kind, *args)
    error.args = args
    return error


class ConfigError(AdeqError):
    """A setting, a name or a combination of them cannot work. Raised before anything runs."""


class ScriptError(AdeqError):
    """A script refused the call: this try wrote nothing.

    code: the first word of the error reply, for instance `ADEQ_ARG`.
    script: the id of the script, for instance `queue.ack.v1`.
    may_have_applied: whether an earlier try, whose answer was lost, may have been applied.
    """

    def __init__(self, code: str, script: str, message: str) -> None:
        super().__init__(code, script, message)
        self.code = code
        self.script = script
        self.message = message
        self.may_have_applied = False

    def __str__(self) -> str:
        earlier = "; an earlier try, whose answer was lost, may have been applied" if self.may_have_applied else ""
        return f"{self.script}: {self.message} ({self.code}){earlier}"


class BadArgument(ScriptError, ValueError):
    """An argument is not what the contract accepts. Correct the call; sending it again cannot help."""


class LayoutError(ScriptError):
    """The stored data has a layout that these scripts must not change. Upgrade pyadeq."""


class ClockError(ScriptError):
    """The call has `now_ms` and the base uses the server's time, or it lacks `now_ms` and the base has `clock=test`."""


class ConflictError(ScriptError):
    """The call contradicts what is stored. Read the state, then decide again."""


class StaleError(ConflictError):
    """What is stored is not what `expect` says, so nothing was changed. Read it again, and decide anew."""


class QueueDraining(ScriptError):
    """The queue is draining and takes no new tasks. Send them to another queue, or resume this one."""


class PartitionsChanged(ScriptError):
    """The queue has other partitions than the caller knows. `adeq.partitioned(name)` finds the right ones."""


class LeaseLost(AdeqError):
    """The lease ran out, or the task was settled with another token. Nothing was changed. Stop the work."""


class TaskDead(AdeqError):
    """The task has no attempts left, or failed for good, and is in the dead set. Read the error, then retry or abandon
    it.

    id: of the task.
    reason: one word.
    error: the end of the worker's error text.
    """

    def __init__(self, id: str, reason: str, error: str = "") -> None:
        super().__init__(id, reason, error)
        self.id = id
        self.reason = reason
        self.error = error

    def __str__(self) -> str:
        return f"task {self.id!r} is dead: {self.reason}"


class TaskCancelled(AdeqError):
    """The task was cancelled. It has no result."""


class TaskGone(AdeqError):
    """There is no result: the task was deleted, its result was not kept, or the task never existed."""


class UnknownTask(AdeqError):
    """A task names a task in `after`, or a gathering parent, that does not exist. The task was not created. Or it is to
    come after its own parent, which gathers it: each would wait for the other for ever.

    All other tasks of the call were.

    id: of the task that was not created, the first if there are several.
    missing: the id that does not exist, or that of the gathering parent.
    receipts: the answers to all tasks of the call, in order; None for each task that was not created.
    """

    def __init__(self, id: str, missing: str, receipts: typing.Sequence[typing.Any] = ()) -> None:
        super().__init__(id, missing, receipts)
        self.id = id
        self.missing = missing
        self.receipts = list(receipts)

    def __str__(self) -> str:
        others = self.receipts.count(None) - 1
        more = f" ({others} more were not, either)" if others > 0 else ""
        return (
            f"task {self.id!r} was not made{more}: it is to come after {self.missing!r}, and there is no such task, or "
            "no longer, or it is the parent that gathers this task and so waits for it; enqueue that one first, or "
            "leave it out of `after`, and make the call again with the same rid"
        )


class LockLost(LeaseLost):
    """A lock is no longer held: its lease ran out, or it was taken away. Stop the work that it protected."""


class ChangeLost(LeaseLost):
    """A change is no longer applied here: its lease ran out, or it has ended. Another may apply it: stop the work."""


class CannotApply(AdeqError):
    """The change cannot be applied now. Nothing has begun.

    id: of the change.
    status: `held`, `not_locked`, `outdated`, `state` or `not_found`; what `Changes.begin` answers.
    answer: this answer, with its fields; None if another applier waits for the locks of the change (`held`).
    """

    def __init__(self, id: str, status: str, answer: typing.Any = None) -> None:
        super().__init__(id, status, answer)
        self.id = id
        self.status = status
        self.answer = answer

    @property
    def retry_after(self) -> float | None:
        """Seconds until the lease of the other applier ends, if it does not renew it; None if not `held`."""
        told = getattr(self.answer, "fields", {})
        return max(0.0, told["deadline"] - told["now"]) if self.status == "held" and "deadline" in told else None

    def __str__(self) -> str:
        told = getattr(self.answer, "fields", {})
        more = ", ".join(f"{name}={value}" for name, value in told.items() if name != "now")
        return f"change {self.id!r} cannot be applied now: {self.status}{f' ({more})' if more else ''}"


class SessionRefused(AdeqError):
    """No session was created.

    user: whose login it was.
    status: `full`: the user has as many sessions as allowed. `revoked_since`: the sessions of the user were revoked
    after the login began. Read the user and check the password again.
    """

    def __init__(self, user: str, status: str) -> None:
        super().__init__(user, status)
        self.user = user
        self.status = status

    def __str__(self) -> str:
        return f"no session was created for {self.user!r}: {self.status}"


class SessionChanged(AdeqError):
    """The session was not updated, because another request has changed it (`changed`) or rotated it (`rotated`).

    handle: of the session.
    status: `changed`: read it again, and repeat the update. `rotated`: only the newer id can update it.
    """

    def __init__(self, handle: str, status: str) -> None:
        super().__init__(handle, status)
        self.handle = handle
        self.status = status

    def __str__(self) -> str:
        return f"session {self.handle} was not updated, because another request has {self.status} it"


class ConfigConflict(AdeqError):
    """Nothing was set, because a name has another version than the one that was expected.

    versions: the present version of each such name; 0: it has no value. Read them again, and repeat the call.
    """

    def __init__(self, versions: typing.Mapping[str, int]) -> None:
        super().__init__(versions)
        self.versions = versions

    def __str__(self) -> str:
        told = ", ".join(f"{name} has {version or 'no value'}" for name, version in self.versions.items())
        return f"nothing was set, because of other versions than expected: {told}"


class ConfigFull(AdeqError):
    """Nothing was set, because the namespace would have more names with values than its setting `names_max`.

    names: how many it has.
    """

    def __init__(self, names: int) -> None:
        super().__init__(names)
        self.names = names

    def __str__(self) -> str:
        return f"nothing was set: the namespace has {self.names:,} names, as many as its `names_max` allows"


class UnknownGroup(AdeqError):
    """There is no such group of readers of events, or it was dropped. Register it.

    base: whose events it should read. group: its name.
    """

    def __init__(self, base: str, group: str) -> None:
        super().__init__(base, group)
        self.base = base
        self.group = group

    def __str__(self) -> str:
        return f"{self.base} has no group {self.group!r} that reads its events; register it first"


class ChangeStopped(AdeqError):
    """The run of a change has to stop. Undo or finish what is half done, and let this error leave the block.

    why: `cancelled`, or `timeout`: the run takes longer than it may.
    """

    def __init__(self, id: str, why: str) -> None:
        super().__init__(id, why)
        self.id = id
        self.why = why

    def __str__(self) -> str:
        words = "it was cancelled" if self.why == "cancelled" else "it takes longer than it may"
        return f"the run of change {self.id!r} has to stop: {words}"


class WaitTimeout(AdeqError, TimeoutError):
    """The wait took too long. A lock request is removed. A task that you waited for continues."""


class CycleEdge(typing.NamedTuple):
    """One step of a deadlock: `owner` waits for `resource` in `mode`. The owner of the next step holds the resource, or
    waits for it at an earlier place.

    The last step waits for the first.
    """

    owner: str
    mode: LockMode
    resource: str
    permits: int = 1


class DeadlockError(AdeqError):
    """Owners wait for each other, and this request was ended. Release what the owner holds, then try again.

    cycle: each owner waits for a resource. The next owner holds it, or waits for it at an earlier place. The last waits
    for the first.
    born: when the work began (since the epoch, on the domain's clock). Pass it as `born` to the next try. Then, with
    the policy `youngest`, this owner is not ended again and again.
    cycle_cut: how many owners of a long cycle `cycle` does not name.
    """

    def __init__(self, cycle: typing.Sequence[CycleEdge], born: float | None = None, cycle_cut: int = 0) -> None:
        super().__init__(cycle, born, cycle_cut)
        self.cycle = list(cycle)
        self.born = born
        self.cycle_cut = cycle_cut

    def __str__(self) -> str:
        waits = [f"{edge.owner} waits for {edge.resource} ({edge.mode})" for edge in self.cycle]
        if self.cycle_cut:
            waits.append(f"and {self.cycle_cut} more owners wait")
        return f"deadlock: {', '.join(waits)}; release what the owner holds, then try again"


class OwnerWaits(AdeqError):
    """The owner waits for another lock, and can wait for one at a time. Use a separate owner for each flow of work.

    rid: the request that waits.
    """

    def __init__(self, message: str, rid: str) -> None:
        super().__init__(message)
        self.rid = rid


class LockUnavailable(AdeqError):
    """The resource gives no permits.

    reason: `no_capacity`: none was set; `too_many`: more were asked for than exist; `draining`: no more are granted.
    """

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class RateLimited(AdeqError):
    """The agent acquires locks more often than the domain's settings allow.

    retry_after: seconds until it may acquire again.
    """

    def __init__(self, message: str, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class WorkerReplaced(AdeqError):
    """Another process has registered the worker's name (status `stale`). Nothing was changed."""


class TransportError(AdeqError):
    """No script answered the call: the connection failed, or the server refused to run it.

    retryable: the same call, with the same rid, may succeed later.
    may_have_applied: False: the call certainly did not run. True: it may have run.
    """

    def __init__(self, message: str, *, retryable: bool, may_have_applied: bool) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.may_have_applied = may_have_applied


class DamagedError(TransportError):
    """What is stored under a name is not what pyadeq stores there: a key of another type, or a value of another form.

    So another program wrote it. Other names are not affected.
    """

    code = "DAMAGED"


class ClientClosed(TransportError):
    """The client was closed. Its queues, locks, mailboxes and pipelines send no more calls.

    Create another client.
    """

    def __init__(
        self,
        message: str = "this client is closed; make another",
        *,
        retryable: bool = False,
        may_have_applied: bool = False,
    ) -> None:
        super().__init__(message, retryable=retryable, may_have_applied=may_have_applied)


class PayloadError(AdeqError):
    """Stored data cannot be read with this client's codec: it has other keys, or the data was changed."""


class DurabilityError(AdeqError):
    """The call was applied, but it is not known to be as safe as the client's `durability` requires.

    answer: the decoded answer of the script, a list if the call takes many. It is correct, unless the primary fails
    before the data is confirmed.
    retryable: True. The same call, with the same rid, changes nothing and waits for the confirmation again.
    """

    retryable = True
    may_have_applied = True

    def __init__(self, message: str, answer: typing.Any = None) -> None:
        super().__init__(message)
        self.answer = answer


SCRIPT_ERRORS: dict[str, type[ScriptError]] = {
    "ADEQ_ARG": BadArgument,
    "ADEQ_LAYOUT": LayoutError,
    "ADEQ_CLOCK": ClockError,
    "ADEQ_CONFLICT": ConflictError,
    "ADEQ_STALE": StaleError,
    "ADEQ_DRAINING": QueueDraining,
    "ADEQ_EPOCH": PartitionsChanged,
}


def script_error(code: str, script: str, message: str) -> ScriptError:
    """Return the error for a code. A code that this release does not know is a plain ScriptError."""
    return SCRIPT_ERRORS.get(code, ScriptError)(code, script, message)
