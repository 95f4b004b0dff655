# Generated from pyadeq/_async/change/apply.py by pyadeq/_unasync.py; do not edit.
"""Applying changes: from an approved revision to its end."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Callable, Sequence
from contextlib import suppress
from time import monotonic
from typing import Any, Protocol

from pyadeq._sync.change.base import closed
from pyadeq._sync.change.follow import Following
from pyadeq._sync.change.keeper import ChangeKeeper
from pyadeq._sync.change.run import Locked, Run
from pyadeq._sync.kernel.blocks import with_block
from pyadeq._sync.kernel.runner import Runner
from pyadeq._core.change.ending import ending
from pyadeq._core.change.people import Seen, revision
from pyadeq._core.kernel.nouncalls import Result
from pyadeq._core.kernel.options import unfit
from pyadeq._core.kernel.tracebacks import traceback_of
from pyadeq._twins import takes
from pyadeq.errors import (
    CannotApply,
    ChangeLost,
    ChangeStopped,
    DurabilityError,
    LeaseLost,
    OwnerWaits,
    PayloadError,
    ScriptError,
    TransportError,
)
from pyadeq.ids import new_ulid
from pyadeq.models.base import Seconds
from pyadeq.models.change import ChangeRef, RunResult

WAIT = 60.0


class LockDomain(Protocol):
    """The interface of a lock domain that runs use."""

    def take_many(self, wanted: Sequence[str], *, owner: str, agent: str, wait: Seconds, purpose: str) -> Any: ...


class Applying(Following):
    """The part of a change domain for applying changes."""

    def __init__(self, runner: Runner, name: str, base: str) -> None:
        super().__init__(runner, name, base)
        self._keeper = ChangeKeeper(runner, self.calls, self._here)

    @with_block("with changes.apply(change, agent=…) as run: …")
    def apply(
        self,
        seen: Seen | str,
        *,
        agent: str,
        lease: Seconds = 0.0,
        retry: bool = False,
        on_stop: Callable[[Run], object] | None = None,
        locks: LockDomain | None = None,
        wait: Seconds = WAIT,
    ) -> Iterator[Run]:
        """Apply an approved change in a with block. Its lease is renewed in the background.

        At the end of the block, the change is completed. If the block raises an error, the change has failed. If it
        raises ChangeStopped, by `run.check()`, the change is cancelled, or has failed with timeout. If it is
        interrupted (Ctrl-C, a cancelled task), the change is approved as before, and another may begin.

        Raises CannotApply if nothing can begin, and PayloadError if the content does not have the approved digest.
        Raises ChangeLost at the end if it was no longer applied here, or LockLost if one of its locks was lost, unless
        the block raised an error itself.

        seen: the revision that you want to apply; or an id, for the revision that is approved.
        agent: who applies it.
        lease: seconds; 0: the setting.
        retry: whether an error leaves the change approved, while attempts are left. The default is to fail for good.
        on_stop: called once with the run when it is cancelled, takes too long or is lost, from the background; in
        asyncio it may be a coroutine function.
        locks: a lock domain; None: that of the setting lock_domain, if it is set. The run holds exclusive locks on all
        resources of the change, as the owner `<domain>/<change>`. If the client has a slot, the server verifies the
        locks of the setting's domain: without them nothing begins, and the lease never ends later than the locks.
        wait: seconds to wait for these locks at most. The errors are those of `Locks.acquire`; but if another applier
        of this change waits for them already, it is CannotApply.
        """
        self._check_open()
        if on_stop is not None and not takes(on_stop):
            raise unfit("on_stop", on_stop, "a function that takes the run, a coroutine function only in asyncio")
        lock_domain = self._named("lock_domain")
        if locks is None and lock_domain:
            locks = self._runner.noun("lock", lock_domain)
        ref, resources = self._find(seen, locks is not None)
        grant = None
        if locks is not None and resources:
            owner, purpose = f"{self.name}/{ref.id}", f"change {ref.id} rev {ref.rev}"
            try:
                grant = locks.take_many(resources, owner=owner, agent=agent, wait=wait, purpose=purpose)
            except OwnerWaits as error:  # the owner is the change, so another applier waits for its locks
                raise CannotApply(ref.id, "held") from error
        try:
            bases = self._bases("lock", "lock_domain")
            run = self._start(ref, agent, lease, grant, bases, retry, on_stop)
            try:
                yield run
            except BaseException as error:
                self._end_failed(run, error)
                raise
            if not run.released and not run.foreign:
                run.finish("success")
            if run.outcome:
                self._follow_up(run.outcome.status)
        except BaseException:
            if grant is not None:
                with suppress(LeaseLost, TransportError):
                    grant.release()
            raise
        if grant is not None:
            with suppress(TransportError):  # the release is sent later, in the background
                grant.release()

    def begin(
        self,
        seen: Seen,
        *,
        agent: str,
        caller: str | None = None,
        lease: Seconds = 0.0,
        lock_rid: str | None = None,
        locks: str = "",
    ) -> Result:
        """Begin to apply an approved change: exactly this revision. `apply` does this, and all that follows.

        Returns `begun` with `token`, `fence`, `deadline`, `run` (how many seconds it may take), `content` and
        `parameters`; or `held` (another applier has it), `not_locked` with the first `resource` that is not locked as
        the setting lock_domain demands, `outdated`, `state` or `not_found`.

        agent: who applies it. caller: who has sent the call for the agent; None: the agent.
        lease: seconds of the lease; 0: the setting.
        lock_rid: the rid of the grant that has all resources of the change, for the owner `<domain>/<change>`.
        locks: the fences of locks elsewhere, for the record.
        """
        bases = self._bases("lock", "lock_domain")
        return self._call(
            "begin",
            **revision(seen),
            agent=agent,
            caller=caller,
            lease=lease,
            lock_rid=lock_rid,
            locks=locks,
            **bases,
        )

    def heartbeat(self, id: str, token: str) -> Result:
        """Renew the lease of a run.

        Returns `renewed`; `cancelling` (stop, the change was cancelled) or `timed_out` (stop, the run takes too long),
        each with the new `deadline`; or `lost` or `lock_lost`: another may apply it by now, stop at once.
        """
        return self._call("heartbeat", id=id, token=token, **self._bases("lock", "lock_domain"))

    def finish(
        self,
        id: str,
        token: str,
        result: RunResult,
        *,
        retry: bool = False,
        output: str | bytes = b"",
        output_key: str = "",
        error: str = "",
        error_details: str = "",
    ) -> Result:
        """End a run. Returns the new state of the change, or `lost` if the run was over.

        result: `success`; `failure`, `timeout` or `cancelled`; or `released`, to give the change back unapplied.
        retry: a failure leaves the change approved, while attempts are left.
        output: what the run has printed; the last 16 KiB are kept. output_key: where all of it is.
        error, error_details: what went wrong; the last 1 KiB and 4 KiB are kept.
        """
        how = ending(
            result, retry=retry, output=output, output_key=output_key, error=error, error_details=error_details
        )
        answer = self._call("finish", id=id, token=token, **how)
        self._follow_up(answer.status)
        return answer

    def close(self) -> None:
        """End the renewals; `Adeq.close` does this. Runs that are not finished end with their leases."""
        self._keeper.close()

    def _here(self) -> float:
        """Return a time in seconds that passes like the server's. Only differences have a meaning."""
        return self._runner.now_ms() / 1000 or monotonic()

    def _check_open(self) -> None:
        if self._keeper.closed or self._runner.closed:
            raise closed()

    def _find(self, seen: Seen | str, with_resources: bool) -> tuple[ChangeRef, Sequence[str]]:
        """Return which revision to apply, and its resources."""
        ref = None if isinstance(seen, str) else ChangeRef(**revision(seen))
        known = getattr(seen, "resources", None)
        if ref and (known is not None or not with_resources):
            return ref, known or ()
        id = seen if isinstance(seen, str) else seen.id
        (found,) = (self._call("get", item=[id])).items
        if found.status != "found":
            raise CannotApply(id, found.status, found)
        now = ChangeRef(id, found.change["rev"], found.change["digest"])
        return ref or now, found.change["resources"]

    def _start(
        self,
        ref: ChangeRef,
        agent: str,
        lease: Seconds,
        grant: Locked | None,
        bases: dict[str, str],
        retry: bool,
        on_stop: Callable[[Run], object] | None,
    ) -> Run:
        token = new_ulid()
        wanted: dict[str, Any] = {**ref._asdict(), "agent": agent, "lease": lease, **bases}
        if grant:
            wanted["lock_rid"] = grant.rid
            wanted["locks"] = " ".join(f"{name}={fence}" for name, fence in sorted(grant.fences.items()))
        call = self.calls.build("begin", rid=token, **wanted)
        sent = self._here()
        try:
            begun: Result = self._runner.send(call)
            if begun.status == "not_locked":
                self._known = None  # the setting may be new
            if begun.status != "begun":
                raise CannotApply(ref.id, begun.status, begun)
            run = Run(self._keeper, ref, agent, begun, sent, grant, bases, retry, on_stop)
            if not run.content.intact:
                raise PayloadError(f"the content of change {ref.id!r} is not the one that was approved: it was damaged")
            self._keeper.add(run)
        except (ScriptError, CannotApply):
            raise
        except BaseException:
            # In any case, and wherever this was interrupted: leave no lease that nobody renews.
            self._keeper.abandon(ref.id, token)
            raise
        return run

    def _end_failed(self, run: Run, error: BaseException) -> None:
        """End a run whose block has raised an error, which says more than what goes wrong here."""
        if run.released or run.foreign or isinstance(error, ChangeLost):
            self._keeper.drop(run)
            return
        result: RunResult = "failure" if isinstance(error, Exception) else "released"
        if isinstance(error, ChangeStopped):
            result = "timeout" if error.why == "timeout" else "cancelled"
        told = "" if result == "released" else "".join(traceback.format_exception_only(error)).strip()
        details = traceback_of(error) if result == "failure" else ""
        with suppress(ChangeLost, TransportError, DurabilityError):
            answer = run.finish(result, error=told, error_details=details)
            self._follow_up(answer.status)
