"""Everything pyadeq raises.

AdeqError
├─ ConfigError                      a setting cannot work; raised before anything runs
├─ ScriptError                      a script refused the call and wrote nothing (code, script, message)
│  ├─ BadArgument    (ValueError)   ADEQ_ARG       an argument is outside what the contract accepts
│  ├─ LayoutError                   ADEQ_LAYOUT    the stored data needs a newer pyadeq
│  ├─ ClockError                    ADEQ_CLOCK     now_ms was sent to a base that uses the server's time
│  ├─ ConflictError                 ADEQ_CONFLICT  the call contradicts what is stored
│  ├─ QueueDraining                 ADEQ_DRAINING  the queue takes no new tasks
│  └─ PartitionsChanged             ADEQ_EPOCH     the queue has other partitions now
├─ LeaseLost                        the lease ran out, or somebody else settled the task
│  └─ LockLost                      a lock is not held any more: it ran out, or was taken away
├─ TaskDead                         the task that was waited for failed for good (.id, .reason, .error)
├─ TaskCancelled                    the task that was waited for was cancelled
├─ TaskGone                         there is no result to be had of the task that was waited for
├─ PayloadError                     what is stored cannot be read with this codec: it was sealed by another, or changed
├─ UnknownTask                      a task was to come after one that there is not (.id, .missing, .receipts)
├─ WaitTimeout       (TimeoutError) what was waited for, a lock or a task's end, did not come in time
├─ DeadlockError                    owners wait for each other, and this one has to give way (.cycle)
├─ OwnerWaits                       the owner waits for another lock already (.rid)
├─ LockUnavailable                  the resource gives no permits now (.reason)
├─ RateLimited                      the agent acquires too often (.retry_after)
├─ WorkerReplaced                   the worker's name was registered again elsewhere
├─ DurabilityError                  the call was applied, but is not yet where `durability` wants it (.answer)
└─ TransportError                   no script answered (.retryable, .may_have_applied)
   └─ ClientClosed                  the client was closed
"""

from __future__ import annotations

import typing

LockMode = typing.Literal["exclusive", "shared", "permit"]


class AdeqError(Exception):
    """The base of every error that pyadeq raises on its own."""


class ConfigError(AdeqError):
    """A setting, a name or a combination of them cannot work. Raised before anything runs."""


class ScriptError(AdeqError):
    """A script refused the call: this try wrote nothing.

    code: the word that opens the error reply, `ADEQ_ARG` for instance.
    script: the id of the script, `queue.ack.v1` for instance.
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
    """An argument is outside what the contract accepts. Correct the call; sending it again cannot help."""


class LayoutError(ScriptError):
    """The stored data has a layout that these scripts must not touch. Upgrade pyadeq."""


class ClockError(ScriptError):
    """`now_ms` goes to bases that were created with `clock=test`, always, and to no others."""


class ConflictError(ScriptError):
    """The call contradicts what is stored. Read the state before you decide again."""


class QueueDraining(ScriptError):
    """The queue is being drained and takes no new tasks. Send them elsewhere, or resume the queue."""


class PartitionsChanged(ScriptError):
    """The queue has other partitions than the caller knows. `adeq.partitioned(name)` puts tasks where they belong."""


class LeaseLost(AdeqError):
    """The lease ran out, or the task was settled under another token. Nothing was changed: stop the work."""


class TaskDead(AdeqError):
    """The task ran out of attempts, or failed for good, and is in the dead set. Look at the error; retry or abandon it.

    id: the task's. reason: one word. error: the end of what the worker said, as text.
    """

    def __init__(self, id: str, reason: str, error: str = "") -> None:
        super().__init__(id, reason, error)
        self.id = id
        self.reason = reason
        self.error = error

    def __str__(self) -> str:
        return f"task {self.id!r} is dead: {self.reason}"


class TaskCancelled(AdeqError):
    """The task was cancelled: there will be no result."""


class TaskGone(AdeqError):
    """There is no result to be had: the task was deleted, its result was not kept, or it never was."""


class UnknownTask(AdeqError):
    """A task was to come after one that there is not, or no longer, or to be gathered by one. It was not made; all
    others of the call were.

    id: of the task that was not made, the first if there are more. missing: the id that there is not.
    receipts: the answers to all tasks of the call in their order, None for each that was not made.
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
            "no longer; enqueue that one first, or leave it out of `after`, and make the call again with the same rid"
        )


class LockLost(LeaseLost):
    """A lock is not held any more: its lease ran out, or somebody took it away. Stop what it protected."""


class WaitTimeout(AdeqError, TimeoutError):
    """What was waited for did not come in time. Of a lock, nothing is left behind in its line; a task goes on."""


class CycleEdge(typing.NamedTuple):
    """One step of a deadlock: `owner` waits for `resource` in `mode`, which the owner of the next step has.

    Or the next is ahead of it in line. The last step waits for the first.
    """

    owner: str
    mode: LockMode
    resource: str
    permits: int = 1


class DeadlockError(AdeqError):
    """Owners wait for each other, and this request was ended for it. Release what the owner holds, then try again.

    cycle: each owner waits for a resource that the next one has, or is ahead for in line; the last waits for the first.
    born: when the work began (epoch, the domain's clock). Give it to the next try, so that under the policy `youngest`
    it does not stay the youngest for ever. cycle_cut: the number of owners of a long cycle that `cycle` does not name.
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
    """The owner waits for another lock, and can wait for one at a time. Give each flow of work an owner of its own.

    rid: the request that waits.
    """

    def __init__(self, message: str, rid: str) -> None:
        super().__init__(message)
        self.rid = rid


class LockUnavailable(AdeqError):
    """The resource gives no permits.

    reason: `no_capacity`, none was set; `too_many`, more than there are; `draining`, it takes no new work.
    """

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class RateLimited(AdeqError):
    """The agent acquires locks more often than the domain's settings allow. retry_after: seconds until it may again."""

    def __init__(self, message: str, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class WorkerReplaced(AdeqError):
    """The worker's name was registered again elsewhere (status `stale`). Nothing was changed."""


class TransportError(AdeqError):
    """No script answered the call: the connection failed, or the server refused to run it.

    retryable: the same call, the same rid in it, may succeed later.
    may_have_applied: False only if the call surely never reached a script.
    """

    def __init__(self, message: str, *, retryable: bool, may_have_applied: bool) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.may_have_applied = may_have_applied


class ClientClosed(TransportError):
    """The client was closed, and everything that was made from it sends no more: queues, locks, mailboxes, pipelines.

    Make another client.
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
    """What is stored cannot be read with this client's codec: its keys are others, or somebody has changed it."""


class DurabilityError(AdeqError):
    """The call was applied, but it is not known to be where the client's `durability` wants it.

    answer: what the script behind the call answered, as its Call decodes it (a list where it takes many); what it says
    holds unless the primary is lost now.
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
    "ADEQ_DRAINING": QueueDraining,
    "ADEQ_EPOCH": PartitionsChanged,
}


def script_error(code: str, script: str, message: str) -> ScriptError:
    """The error for a code; a code that this release does not know is a plain ScriptError."""
    return SCRIPT_ERRORS.get(code, ScriptError)(code, script, message)
