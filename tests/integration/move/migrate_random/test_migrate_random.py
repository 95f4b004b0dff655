"""Random histories of migrations, in which each call of a producer must run once.

A command ends, is killed at any call that it sends or reply that it reads, or freezes at one of its steps while others
run. Meanwhile producers and workers of both sides are at work, jobs change, pyadeq deletes records, and a day passes.
A seed decides everything. A failure names it, and says what happened.

ADEQ_MIGRATE_SEEDS: `first:count`, the seeds for each old system; `0:8` by default. This repeats one:

    ADEQ_MIGRATE_SEEDS=17:1 make test ARGS='tests/integration/move/migrate_random -k celery'
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import ExitStack, contextmanager, nullcontext
from functools import cache, partial
from itertools import chain
from pathlib import Path
from random import Random
from threading import get_ident
from types import SimpleNamespace
from typing import Any

import pytest
from redis import Redis
from redis.connection import AbstractConnection

from pyadeq import Adeq
from pyadeq.embedded import EmbeddedServer
from pyadeq.errors import AdeqError
from pyadeq.ext.move.migrate import Migration, escrow, move
from pyadeq.ext.move.migrate.source import id_of
from tests.integration.move.migrate_random.old import SYSTEMS, Old

pytestmark = pytest.mark.any_engine
FIRST, COUNT = map(int, os.environ.get("ADEQ_MIGRATE_SEEDS", "0:8").split(":"))
DAY_MS, BATCH, LANES = 86_400_000, 3, ("any", "group/g")
UNSURE = {"move": ("done", "enqueue"), "cutover": ("done", "enqueue"), "rollback": ("done", "back"), "": ("", "")}


class Killed(BaseException):
    """In place of a kill."""


class Executor(futures.Executor):
    """Runs a job in the thread of the test: at once, or when its result is needed."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def submit(self, call: Any, *arguments: Any, **options: Any) -> Any:  # type: ignore[override]
        result = cache(partial(call, *arguments, **options))
        if self._random.random() < 0.5:
            result()
        return SimpleNamespace(result=result)


class History:
    """The history of a seed. urls: of the old and the new server."""

    def __init__(self, system: type[Old], seed: int, urls: tuple[str, str], patches: pytest.MonkeyPatch) -> None:
        self.random = random = Random(f"{system.name} {seed}")
        self.log, self.urls, self.stack, self.left = list[str](), urls, ExitStack(), 0
        self.adeq, self.client = self.stack.enter_context(self._process("", 0))
        for client in (self.client, self.adeq.client):
            client.flushall()
            client.script_flush()  # a script that a server does not have costs further calls
        self.old, self.escrow = system(self.client, random), escrow.Escrow(self.client, system.name)
        self.queues, self.verbs = [self.adeq.queue(name) for name in system.queues], random.choice(system.verbs)
        self.purges, self.forgets, self.again = (self.old.is_(chance) for chance in (0.5, 0.3, 0.5))
        for queue in self.queues if self.purges else ():
            queue.configure(finished_max=random.choice([0, 0, 2]))
        self.ids: list[str] = []  # of all calls, by their numbers
        self.order: dict[str, list[int]] = {key: [] for key in system.places}
        # mixed: producers have come since tasks began to move. late: a mirror has copied tasks after others have run.
        self.moving = self.mixed = self.cleaned = self.late = False
        self.ran: list[int] = []
        self.begun: list[tuple[Any, Any]] = []  # queues and leases
        self.maybe: set[int] = set()  # calls whose producers were killed
        self.changed: dict[str, str] = {}  # jobs, and how: `deleted` if they ever were
        self.forgotten = Counter[str]()  # ids of messages that may be unsure
        self.frozen: list[str] = []  # the steps at which commands are frozen now
        self.options: dict[str, Any] = {}
        patches.setattr(move, "ThreadPoolExecutor", lambda _: Executor(random))
        patches.setattr(move, "LEASE", 600.0)  # a killed command's lock is released by the test
        patches.setattr(escrow, "MOST", BATCH)
        for name in ("send_packed_command", "read_response"):
            patches.setattr(AbstractConnection, name, self._counted(getattr(AbstractConnection, name), get_ident()))

    def _counted(self, plain: Callable[..., Any], thread: int) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            if self.left and get_ident() == thread:  # other threads renew locks
                self.left = max(self.left - 1, 1)
                if self.left == 1:
                    raise Killed
            return plain(*arguments, **options)

        return call

    @contextmanager
    def _process(self, about: str, kill: int) -> Iterator[tuple[Adeq, Redis]]:
        """Clients of a process, and its end. kill: the number of calls and replies at which it is killed, 0: never."""
        with Redis.from_url(self.urls[0]) as client, Adeq.from_url(self.urls[1]) as adeq:
            self.left = kill and kill + 1
            try:
                yield adeq, client
            except Killed:
                self.left = 0
                self._tell(f"{about}: killed at {kill}")
                self.adeq.locks(move.DOMAIN).admin.force_release(self.old.name, "its lease has ended")
            finally:
                self.left = 0

    def run(self) -> None:
        """Run it, end the migration, and judge it."""
        for _ in range(self.random.randint(6, 18)):
            self._act()
        phase = self.escrow.about().get("phase", "")
        back = phase == "rollback" or (phase != "done" and self.old.is_(0.4))
        for settles in (False, True):
            for verb in ["rollback"] if back else ["move"] if phase == "done" else self.verbs:
                self._command(verb, settles=settles)
        self._judge()

    def _act(self) -> None:
        old, frozen = self.old, self.frozen
        acts = {self._put: 6, self._work: 3, self._work_old: 2, self._any_command: 9, self._trim: int(self.purges)}
        acts |= {self._write: 3 * (old.write is not None), self._reuse: 4 * old.reuses}
        # No later command stops one that is frozen between its calls to the old server and to pyadeq.
        acts |= {self._change: 3 * (old.hash != "" and "sent" not in frozen)}
        acts |= {self._pass_day: int(self.forgets and not frozen)}
        self.random.choices([*acts], [*acts.values()])[0]()

    def _tell(self, text: str) -> None:
        self.log.append("  " * len(self.frozen) + text)

    def _new(self, id: str = "") -> tuple[int, str, str]:
        """Return the number of a call, the id of its task, and its place."""
        number, key = len(self.ids), self.random.choice([*self.order])
        self.ids.append(id or f"t{number}")
        self.old.latest[self.ids[number]] = number
        self.mixed |= self.moving
        self.order[key].insert(0 if self.old.places[key] == "newest" else number, number)
        self._tell(f"call {number}: {self.ids[number]} into {key!r}")
        return number, self.ids[number], key

    def _put(self) -> None:
        for _ in range(self.random.randint(1, 6)):
            self.old.put(*self._new())

    def _reuse(self) -> None:
        ended = {id for number, id in enumerate(self.ids) if number in self.ran and self.old.latest[id] == number}
        if ids := sorted(ended - self.forgotten.keys()):
            self.old.put(*self._new(self.random.choice(ids)))

    def _write(self) -> None:
        call = self._new()
        self.maybe.add(call[0])
        with self._process("writer", self.random.choice([0, self.random.randint(1, 16)])) as clients:
            self.old.write(*clients, *call)
            self.maybe.remove(call[0])
            self._tell("writer: ended")

    def _work(self, limit: int = 2, ends: tuple[str, ...] = ("ack", "ack", "release", "")) -> None:
        for queue in self.queues:
            self.begun += [(queue, lease) for lease in queue.claim(limit=limit, lanes=LANES)]
        for queue, lease in self.begun[:]:
            if end := self.random.choice(ends):
                self.begun.remove((queue, lease))
                answer = getattr(queue, end)(lease)
                self.ran += [number_of(lease)] * (answer == "completed")
                self._tell(f"worker: call {number_of(lease)}, {lease.id}: {answer}")

    def _work_old(self) -> None:
        if (number := self.old.take()) is not None:
            self.ran.append(number)
            self._tell(f"old worker: call {number}")

    def _change(self) -> None:
        for id in self.random.sample(self.ids, min(3, len(self.ids))):
            how = self.old.change(id)
            self.changed[id] = how if how == "deleted" else self.changed.get(id, how)
            self._tell(f"job {id}: {how}")

    def _trim(self) -> None:
        self._tell(f"{[queue.admin.trim() for queue in self.queues]} records deleted")

    def _pass_day(self) -> None:
        """Let pyadeq forget all idempotency keys, and set the times that the escrow compares back."""
        about = f"{self.escrow.base}:about"
        times = [(about, name) for name in self.escrow.about() if name == "begun_ms" or name.startswith("taken_ms:")]
        for place in self.escrow.places():
            states, messages = self.escrow.states(place), f"{self.escrow.base}:{place.key}:messages"
            keyed = [n for n in range(len(states)) if states[n] in "twu" and self.escrow.keys_of(place, [n])]
            found = [one for n in keyed for one in self.escrow.read(place, [n])]
            self.forgotten.update(map(id_of, self.old.source(self.client).read(place, found)))
            assert [states[n] for n in keyed].count("t") <= BATCH
            times += [(messages, f"{n} ms") for n in range(len(states)) if self.client.hexists(messages, f"{n} ms")]
        for key, name in times:
            self.client.hincrby(key, name, -DAY_MS)
        for queue in self.queues:
            self.adeq.client.delete(f"{queue.base}:once", f"{queue.base}:once:due")
        self._tell(f"a day passes; these may be unsure: {[*self.forgotten]}")

    def _any_command(self) -> None:
        verb = self.random.choice([*self.verbs * 6, *["rollback"] * 4, "move", "cleanup"])
        fate = self.random.choice(["ends", "killed", "killed", *["frozen"] * (len(self.frozen) < 2)])
        self._command(verb, fate, settles=self.old.is_(0.3))

    def _command(self, verb: str, fate: str = "ends", *, settles: bool) -> None:
        steps, woken, ended, error = self.random.randint(1, 12), False, False, ""

        def at(step: str) -> None:
            nonlocal steps, woken
            steps -= 1
            # A rollback that is frozen before it cancels tasks may cancel those of a later move, if another one has
            # cancelled the same ones and their records were deleted. This is known and accepted.
            if fate == "frozen" and steps <= 0 and not woken and not (step == "rollback marked" and self.purges):
                woken = True
                self._tell(f"{verb}: frozen at {step!r}")
                self.frozen.append(step)
                for _ in range(self.random.randint(1, 3)):
                    self._act()
                self.frozen.pop()

        if "sent" not in self.frozen:
            self.options = {name: self.random.choice(values) for name, values in self.old.choices.items()}
        unsure = UNSURE[verb if settles and self.forgotten and verb in UNSURE else ""][self.again]
        about, before = f"{verb} {self.options or ''}{unsure}", self.old.waiting()
        self.moving |= verb in ("move", "cutover")
        self.cleaned |= verb == "cleanup"
        kill = self.random.randint(1, self.random.choice([60, 200])) if fate == "killed" else 0
        with self._process(about, kill) as (adeq, client):
            command = Migration(adeq, self.old.source(client, **self.options), to="here", at=at)
            if fate == "frozen":
                command._lock = nullcontext  # type: ignore[assignment,method-assign]  # its lease has ended
            try:
                getattr(command, verb)(**({"unsure": unsure} if unsure else {}))
                self._tell(f"{about}: ended")
                ended = not woken
            except AdeqError as refused:
                error = str(refused)
                self._tell(f"{about}: {error}")
        self.late |= woken and verb == "mirror"
        fine = ["is not possible now", "messages are only in the escrow", *[escrow.OVERTAKEN] * woken]
        assert not error or any(text in error for text in fine), error
        if ended and verb == "rollback" and self.escrow.about() and not self.forgotten:
            self._check_places(before)

    def _check_places(self, before: dict[str, list[int]]) -> None:
        """Check that everything is back in its place in the old order. before: what waited before the rollback."""
        uses = Counter(self.ids)  # messages of RQ with the same id are the same
        for key, found in self.old.waiting().items():
            kind, order = self.old.places[key], self.order[key]
            there = before[key] if kind == "stream" else []  # what comes back is behind them
            back = [number for number in found if number not in there and uses[self.ids[number]] == 1]
            if kind not in ("newest", "stream") or not self.mixed:
                assert back == [number for number in order if number in back], (key, found, order)
            assert {*found} <= {*order}, (key, found, order)
            self.order[key] = found + [number for number in order if number not in found]
        self.moving = self.mixed = False
        stayed = {self.ids[number_of(one)] for one in self._pending() if not one.deliveries}
        assert self.cleaned or stayed <= self.changed.keys(), f"they stayed in pyadeq: {stayed - self.changed.keys()}"

    def _pending(self) -> list[Any]:
        rows = [(queue, one.id) for queue in self.queues for lane in LANES for one in queue.iterate("ready", lane=lane)]
        rows += [(queue, one.id) for queue in self.queues for one in queue.iterate("delayed")]
        return [queue.get_many([id])[0] for queue, id in rows]

    def _judge(self) -> None:
        status = Migration(self.adeq, self.old.source(self.client), to="here").status()
        assert status is None or not status.count(*escrow.IN_ESCROW), status
        assert [queue.stats().mode for queue in self.queues] == ["running"] * len(self.queues)
        copies = [self.adeq.queue(f"{queue.name}.mirror").stats().pending for queue in self.queues]
        assert self.late or not any(copies), "copies are left"
        self._command("cleanup", settles=False)
        assert not [key for end in ("places", "states", "messages") for key in self.client.scan_iter(f"adeq:*:{end}")]
        while self.begun or any(one.state == "ready" for one in self._pending()):
            self._work(100, ("ack",))
        runs = Counter(chain(self.ran, *self.old.waiting().values(), map(number_of, self._pending())))
        for number, id in enumerate(self.ids):
            removed = self.old.name == "bullmq" and self.changed.get(id) == "deleted"  # such a job is not put back
            maybe = number in self.maybe or removed or (id in self.forgotten and not self.again)
            most = 1 + self.forgotten[id] * self.again
            assert (not maybe) <= runs[number] <= most, f"call {number}, {id}: it runs {runs[number]} times"


def number_of(task: Any) -> int:
    """Return the number of a task in pyadeq."""
    found = task.payload.get("job", task.payload)
    return int(found["args"][0] if "args" in found else found["n"])


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_each_call_runs_once(system: type[Old], binary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with EmbeddedServer(binary=binary) as old, EmbeddedServer(binary=binary) as new:
        for seed in range(FIRST, FIRST + COUNT):
            with monkeypatch.context() as patches:
                history = History(system, seed, (old.url, new.url), patches)
                try:
                    with history.stack:
                        history.run()
                except Exception as error:
                    pytest.fail(f"{system.name}, seed {seed}: {error!r}\n" + "\n".join(history.log))
