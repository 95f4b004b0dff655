"""The worker: its options, its life from the registration to the end, and the requests to it."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import math
import signal
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from time import monotonic
from typing import Any, Literal, TypeAlias

from pyadeq._async.client.client import Adeq
from pyadeq._async.queue import Queue
from pyadeq._async.queue.partitions import PartitionedQueue
from pyadeq._core.kernel.options import checked_list
from pyadeq._core.queue.failures import FAILURES, Failures
from pyadeq._core.queue.items import MAX_ITEMS, checked_lanes
from pyadeq._tasks.executors import Executors
from pyadeq._tasks.functions import Tasks
from pyadeq._worker.ends import Ends
from pyadeq._worker.health import Health
from pyadeq._worker.listener import Listener
from pyadeq._worker.middleware import prepare
from pyadeq._worker.outage import LAST_CALL, Outage
from pyadeq._worker.partitions import Partitions, worker_queue
from pyadeq._worker.publishing import Publishing
from pyadeq._worker.renewal import renewal_class
from pyadeq._worker.renewal.base import SHORTEST_LEASE, Heard
from pyadeq._worker.runs import Runs
from pyadeq._worker.scheduling import Scheduler
from pyadeq._worker.settling import Claims, Pulse, Settling, Wanted
from pyadeq._worker.unknown import UNKNOWN_FOR, Unknown
from pyadeq._worker.watch import LEAST, PART, Watched, watched
from pyadeq.errors import AdeqError, ConfigError, TransportError, WorkerReplaced
from pyadeq.ids import default_worker_name
from pyadeq.keys import check_name
from pyadeq.models.base import Seconds, to_ms
from pyadeq.models.queue import Lease
from pyadeq.models.worker import WorkerMode

Hook: TypeAlias = Callable[[], Any]

CLEAN_UP = 5.0
SHORTEST_BLOCK = 0.1
# Seconds: after this time an idle worker asks what is wanted of it, though no token came.
LONGEST_SILENCE = 60.0
STOPPING = (signal.SIGTERM, signal.SIGINT)
log = logging.getLogger("pyadeq.worker")
# the queue and name of each worker that runs in this process
_running: set[tuple[Queue | PartitionedQueue, str]] = set()
_signalled: dict[asyncio.AbstractEventLoop, list[Worker]] = {}  # a signal stops all workers of a loop


class Worker:
    """Runs a handler for the tasks of a queue, up to `concurrency` at a time.

    Acks, fails and the next claim go to the server as one call.

    handler: an async function of one lease, which runs on this event loop; a plain function, which runs in threads; or
    the queue's tasks. Its return value is the result. An exception fails the attempt, as `failures` says. A run beyond
    the task's timeout is cancelled and fails too.
    group, instance: the worker is this instance of the group; an instance is unique in its group.
    name: unique in the queue, for instance `host:pid:uuid`. The default is `<group>:<instance>`. Without an instance,
    the name is also the instance.
    lanes: where it looks for tasks. The default is its own lane, its group's and `any`, or only `any` without a group.
    default_group: a worker without a group also serves the lane `group/default`.
    lane_first: tasks are ordered by lane, then by priority. The default is priority, then lane.
    timeout: seconds that one run may take, if neither the task nor the queue has a timeout; 0: no limit.
    lease: seconds; 0: the queue's setting.
    renew: what renews the leases, every third of the lease time. `thread`; `loop`: the event loop, which a handler may
    block; `process`: a helper process, which renews even while a handler holds the GIL.
    grace: seconds that running handlers have after `stop`. Then they are cancelled and their tasks are returned.
    unknown_for: seconds for which tasks of a kind or version that the handler, a `Tasks`, does not know are put aside
    for other workers. Then they are dead; 0: at once.
    blocked_after: seconds for which a handler may block the event loop until it is reported, with its stack. 0: never.
    The default is a third of the lease, but at least 1.5 s.
    middleware: functions that get the lease and the next function to call.
    on_start, on_stop: called before the first claim, and after all tasks are returned. If on_start raises an error,
    `run` does.
    """

    def __init__(
        self,
        queue: Queue | PartitionedQueue,
        handler: Any,
        *,
        name: str | None = None,
        group: str | None = None,
        instance: str | None = None,
        default_group: bool = False,
        capabilities: Sequence[str] = (),
        concurrency: int = 10,
        lanes: Sequence[str] | None = None,
        lane_first: bool = False,
        lease: Seconds = 0,
        timeout: Seconds = 0,
        grace: Seconds = 30.0,
        renew: Literal["thread", "loop", "process"] = "thread",
        failures: Failures = FAILURES,
        unknown_for: Seconds = UNKNOWN_FOR,
        blocked_after: Seconds | None = None,
        middleware: Sequence[Any] = (),
        on_start: Hook | None = None,
        on_stop: Hook | None = None,
    ) -> None:
        if not isinstance(queue, Queue | PartitionedQueue):
            raise ConfigError(
                f"queue: a {type(queue).__name__} is not accepted; allowed: a Queue of pyadeq.asyncio.Adeq"
            )
        asked = worker_queue(queue)
        if isinstance(handler, Queue):
            handler = handler.tasks
        prepared: Callable[[Lease], Awaitable[Any]] = prepare(handler, middleware)
        self._lease = to_ms("lease", lease) / 1000
        self.grace = _seconds("grace", grace, "0 s and more")
        if self._lease and self._lease < SHORTEST_LEASE:
            raise ConfigError(f"lease: {lease!r} is not accepted; allowed: 0 (the queue's setting), or 1 s and more")
        own_timeout = _seconds("timeout", timeout, "0 (no limit), or more seconds")
        unknown_limit = _seconds("unknown_for", unknown_for, "0 s (dead at once) and more")
        self._blocked_after = None
        if blocked_after is not None:
            allowed = f"0 (never), or {SHORTEST_BLOCK} s and more"
            self._blocked_after = _seconds("blocked_after", blocked_after, allowed, SHORTEST_BLOCK)
        for hook, called in (("on_start", on_start), ("on_stop", on_stop)):
            if called is not None and not callable(called):
                raise ConfigError(f"{hook}: {called!r} is not accepted; allowed: a function, or None")
        self.queue = queue
        self._queue = asked
        self.group = group if group is None else check_name("group", group)
        if instance is not None and group is None:
            raise ConfigError("instance: it goes with a group; name the group, too")
        self.named = name is not None or instance is not None
        name = name or (default_worker_name() if instance is None else f"{group}:{instance}")
        self.name = check_name("name", name, "id")
        self.instance = None if group is None else check_name("instance", instance or name)
        self._default_group = default_group
        self.capabilities = tuple(checked_list("capabilities", capabilities))
        self.lanes = tuple(self._own_lanes() if lanes is None else checked_lanes(lanes))
        self.restart_wanted = False
        self._wanted = Wanted(_checked_concurrency(concurrency))
        self._hooks = on_start, on_stop
        self._mode: WorkerMode = "run"
        self._heard = Heard()
        self._heard_at = 0.0  # monotonic
        self._started = False
        self._pulse = Pulse()
        self._outage = Outage()
        self._unknown = Unknown(unknown_limit)
        ends = Ends(asked.name, self.name, sealed=asked.calls.sealing.codec is not None)
        clean_up = max(CLEAN_UP, getattr(handler, "clean_up", 0.0))
        self._runs = Runs(
            asked,
            self.name,
            prepared,
            failures=failures,
            clean_up=clean_up,
            timeout=own_timeout,
            unknown=self._unknown,
            ends=ends,
            group=self.group,
            changed=self._pulse.beat,
        )
        self._renewal = renewal_class(renew)(asked, self.name, self._lease, lambda: self._runs.busy, self._hear)
        self._listener = Listener(
            asked, self.name, claim=self._claim, woken=self._go_on, asked=self._ask, broken=self._break
        )
        self._scheduler = Scheduler(asked, lambda: self._listener.awaits_work)
        self._publishing = Publishing(asked, handler if isinstance(handler, Tasks) else None)
        self._watched = Watched(self._longest_block, self._runs.lease_of)
        claims = Claims(self.name, self.lanes, lane_first, self._lease)
        self._settling = Settling(
            asked,
            claims,
            self._wanted,
            self._runs,
            self._outage,
            self._renewal,
            self._listener,
            self._scheduler,
            self._pulse,
            ends,
        )

    @property
    def concurrency(self) -> int:
        """How many tasks it runs at a time."""
        return self._wanted.concurrency

    @property
    def done(self) -> int:
        """How many attempts it has settled, including failed ones."""
        return self._settling.done

    @property
    def adeq(self) -> Adeq:
        """The client of its queue."""
        adeq = self._queue.adeq
        assert isinstance(adeq, Adeq)
        return adeq

    @property
    def cut_short(self) -> bool:
        """Whether a handler was cancelled. If it runs in a thread, it may run on after the end of the worker."""
        return self._runs.cut_short

    def stop(self) -> None:
        """Claim no more, let handlers finish within the grace time, return the rest. A second call ends the grace time.

        Call it on the worker's event loop, for instance from a signal handler. The same applies to the next three
        methods.
        """
        if self._wanted.stopping:
            self._end_grace()
            return
        self._wanted.stopping = True
        if self._mode != "restart":
            self._mode = "stop"
        holding = self._runs.busy or self._runs.unsettled
        grace = self.grace if holding else min(self.grace, LAST_CALL)
        asyncio.get_running_loop().call_later(grace, self._end_grace)
        self._give_way()

    def quiet(self) -> None:
        """Claim no more until `resume`. Running tasks continue."""
        self._wanted.quiet = True
        if not self._wanted.stopping:
            self._mode = "quiet"
        self._give_way()

    def resume(self) -> None:
        """Claim again."""
        self._wanted.quiet = False
        if not self._wanted.stopping:
            self._mode = "run"
        self._pulse.beat()

    def resize(self, concurrency: int) -> None:
        """Run another number of tasks at a time. Running tasks are not ended."""
        self._wanted.concurrency = _checked_concurrency(concurrency)
        if self._runs.busy >= concurrency:
            self._give_way()
        self._pulse.beat()

    def health(self) -> Health:
        """Return its health. It can be called from any thread."""
        now = monotonic()
        return Health(
            loop_age=now - self._watched.moved,
            server_age=now - self._settling.answered if self._settling.answered else math.inf,
            running=self._runs.busy,
            concurrency=self.concurrency,
            mode=self._mode,
            done=self._settling.done,
            failed=self._settling.failed,
            put_aside=self._settling.put_aside,
            ignored_arguments=self._unknown.ignored,
            loop_blocks=self._watched.blocks,
        )

    async def run(self, *, signals: bool = False, on_connect: Hook | None = None) -> None:
        """Work until `stop`. Raises WorkerReplaced if another process registers this worker's name.

        While the server is away, it waits with the tasks that are still to be settled. If the grace time ends without
        the server, leases run out by themselves.

        signals: SIGTERM and SIGINT call `stop` for all workers of this event loop that run with signals=True. A second
        signal ends the grace time. By default you handle signals yourself; without a handler, they end the program with
        its running tasks.
        on_connect: called when the server has registered the worker, before its first claim.
        """
        if self._started:
            raise ConfigError("a Worker runs once; make another")
        self._started = True
        on_start, on_stop = self._hooks
        with self._alone(), self._signals(signals), watched(self._watched):
            async with Executors():
                await _call(on_start)
                try:
                    if (tracing := self._queue.adeq.tracing) is None:
                        await self._live(on_connect)
                    else:
                        with tracing.quiet():
                            await self._live(on_connect)
                finally:
                    await _call(on_stop)

    def __repr__(self) -> str:
        return f"<Worker {self.name!r} of {self.queue!r}, {self._runs.busy} of {self.concurrency} running>"

    @contextlib.contextmanager
    def _signals(self, wanted: bool) -> Iterator[None]:
        if not wanted:
            yield
            return
        loop = asyncio.get_running_loop()
        workers = _signalled.setdefault(loop, [])
        workers.append(self)
        try:
            for number in STOPPING:
                loop.add_signal_handler(number, _stop_all, workers)
            yield
        finally:
            workers.remove(self)
            if not workers:
                del _signalled[loop]
                for number in STOPPING:
                    loop.remove_signal_handler(number)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Allow one worker of a name at a time: two in this process would share one identity on the server."""
        mine = self.queue, self.name
        if mine in _running:
            raise ConfigError(f"name: {self.name!r} runs on this queue already; give each worker a name of its own")
        _running.add(mine)
        try:
            yield
        finally:
            _running.discard(mine)

    async def _live(self, on_connect: Hook | None) -> None:
        try:
            await self._renewal.start()
            await self._outage.bear(self._register)
            await _call(on_connect)
            await self._ask_first()
            self._listener.start()
            self._scheduler.start()
            self._publishing.start()
            await self._settling.run()
            if await self._listener.rested():
                await self._settling.run()
            await self._leave()
        except BaseException as error:
            # The run ended early. The leases are still ours: their tokens are valid.
            at_the_end = self._wanted.stopping and isinstance(error, TransportError) and error.retryable
            self._wanted.stopping = True
            await self._listener.stop()
            with contextlib.suppress(AdeqError):
                leases = await self._close()
                await (self._release if isinstance(error, WorkerReplaced) else self._depart)(leases)
            if not at_the_end:
                raise
            log.warning("stopped without the server, %d results were not delivered: %s", self._runs.unsettled, error)
        finally:
            await self._publishing.stop()
            await self._scheduler.stop()
            await self._listener.stop()
            if isinstance(self._queue, Partitions):
                await self._queue.close()
            await self._renewal.stop()

    async def _register(self) -> str:
        return await self._queue.workers.register(
            self.name,
            capacity=self.concurrency,
            group=self.group,
            instance=self.instance,
            capabilities=self.capabilities,
            lanes=self.lanes,
        )

    async def _ask_first(self) -> None:
        """Hear, before the first claim, what a killed worker of this name was asked: its tasks may have killed it."""
        heard = await self._outage.bear(partial(self._queue.workers.beat, [], worker=self.name, busy=0))
        self._hear(Heard([], heard.mode, heard.capacity))

    async def _leave(self) -> None:
        """Settle ended tasks, return the held ones, and deregister."""
        await self._depart(await self._close())

    async def _depart(self, leases: list[Lease]) -> None:
        await self._release(leases[MAX_ITEMS:])
        leave = partial(self._queue.workers.deregister, self.name, leases=leases[:MAX_ITEMS])
        if await self._outage.bear(leave) != "deregistered":
            await self._release(leases[:MAX_ITEMS])

    async def _close(self) -> list[Lease]:
        """End the handlers, settle their outcomes, and return the leases whose tasks are to be returned."""
        self._end_grace()
        leases = await self._runs.close()
        try:
            await self._settling.finish()
        except BaseException:
            with contextlib.suppress(AdeqError):
                await self._release(leases)
            raise
        return leases

    async def _release(self, leases: Sequence[Lease]) -> None:
        if leases:
            await self._outage.bear(partial(self._queue.leases.release_many, leases))

    def _hear(self, heard: Heard) -> None:
        """Act on the answer to a heartbeat. A request stays in force until the next one."""
        self._settling.answered = self._heard_at = monotonic()
        for token, why in heard.interrupted:
            self._runs.interrupt(token, why)
        last, self._heard = self._heard, heard
        if heard.capacity and heard.capacity != last.capacity:
            self.resize(heard.capacity)
        if heard.mode != last.mode and not self._wanted.stopping:
            match heard.mode:
                case "run":
                    self.resume()
                case "quiet":
                    self.quiet()
                case "stop" | "restart":
                    self.restart_wanted = heard.mode == "restart"
                    self.stop()
                    self._mode = heard.mode

    def _give_way(self) -> None:
        """Stop waiting on the lanes: the next token is for another worker, and a token already taken is put back."""
        if self._listener.awaits_work:
            self._listener.rest()
        else:
            self._settling.look()

    async def _claim(self, seconds: float) -> str | None:
        heard = await self._settling.claim_when_woken(seconds)
        # Other partitions hear nothing of this claim. And a process that had this name before may have heard a request.
        if heard is None and (self._queue.base is None or monotonic() - self._heard_at >= LONGEST_SILENCE):
            self._renewal.ask()
        return heard

    def _go_on(self) -> None:
        self._settling.go_on()

    def _end_grace(self) -> None:
        self._outage.end()
        self._pulse.beat()

    def _ask(self) -> None:
        """Read the requests to this worker, and check with the next claim whether another worker has registered the
        name.
        """
        self._renewal.ask()
        self._settling.look()

    def _break(self, error: BaseException) -> None:
        self._settling.fail(error)

    def _longest_block(self) -> float:
        if self._blocked_after is None:
            return max(self._listener.lease * PART, LEAST)
        return self._blocked_after or math.inf

    def _own_lanes(self) -> list[str]:
        if self.group:
            return [f"group/{self.group}/inst/{self.instance}", f"group/{self.group}", "any"]
        return ["group/default", "any"] if self._default_group else ["any"]


def _seconds(name: str, value: Seconds, allowed: str, least: float = 0.0) -> float:
    seconds = to_ms(name, value) / 1000
    if seconds < 0 or 0 < seconds < least:
        raise ConfigError(f"{name}: {value!r} is not accepted; allowed: {allowed}")
    return seconds


def _stop_all(workers: list[Worker]) -> None:
    for worker in list(workers):
        worker.stop()


def _checked_concurrency(concurrency: Any) -> int:
    if not isinstance(concurrency, int) or concurrency < 1:
        raise ConfigError(f"concurrency: {concurrency!r} is not accepted; allowed: 1 and more tasks at a time")
    return concurrency


async def _call(hook: Hook | None) -> None:
    answer = hook() if hook else None
    if inspect.isawaitable(answer):
        await answer
