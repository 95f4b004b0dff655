"""Runs the tests on each mutant: one process collects them, and forks a child for each mutant with its texts in place.

A mutant is killed if a test fails on it that passes without it, each in a process where no other test has run.
"""

from __future__ import annotations

import gc
import json
import os
import pickle
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import redis
from _pytest.runner import runtestprotocol
from hypothesis import HealthCheck, Phase, settings

from pyadeq._core.kernel.manifest import library
from pyadeq.embedded import EmbeddedServer
from tests.conftest import server_binary
from tests.mutation import trace
from tests.mutation.child import Child, Write
from tests.mutation.operators import Mutant
from tests.mutation.order import Order, chance
from tests.mutation.report import Result
from tests.mutation.texts import holders, install, mutated, original
from tests.nouns.watched import Server, WatchedClient

BUSY = 2.0  # seconds that no script takes
PATIENCE = 2.0  # seconds of CPU for a test, and more for one that takes long
LONGEST = 300.0  # seconds for a test, whatever else runs on the machine
HANGS = 3  # tests of one mutant that may hang before it is given up
HISTORIES = 10  # random ones of locks; most that matters is noticed within these
FLUSH = 100  # mutants after which the server forgets their scripts
SHOW = os.environ.get("MUTANTS_SHOW") == "1"  # how each test failed


class Runner:
    """A plugin of pytest, which runs the tests in its own way.

    folder: where it keeps which lines each test runs, and notes what becomes of each mutant. jobs: processes at work,
    each with a server of its own and whole sources, so that what is learned of one does not depend on their number.
    noun: only tests whose parameters begin with it run, and those in its folder; all, if it is empty.
    """

    def __init__(self, mutants: Sequence[Mutant], folder: Path, jobs: int, noun: str = "") -> None:
        self.mutants, self.jobs = mutants, jobs
        self.is_asked = re.compile(rf"\[{noun}\b|/nouns/{noun}/test_" if noun else "").search
        self.file = folder / f"mutation-trace{noun and '-'}{noun}.pickle"
        self.log = folder / "mutants.jsonl"
        self.results: list[Result] = []
        self.sound: dict[str, bool] = {}  # whether a test that failed on a mutant passes without

    def pytest_collection(self) -> None:
        """Hypothesis is only asked whether something fails, not why."""
        settings.register_profile(
            "mutation",
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.generate],
            report_multiple_bugs=False,
            print_blob=False,
            suppress_health_check=list(HealthCheck),
        )
        settings.load_profile("mutation")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        for mutant in self.mutants:  # the texts are read now, whatever becomes of the files
            holders(mutant)
        install({script_id: original(script_id) for script_id in library()})
        asked = [item for item in session.items if chance(item.nodeid) and self.is_asked(item.nodeid)]
        self.items: dict[str, Any] = {item.nodeid: item for item in asked}
        self.shared: Any = session  # the next item of each: only what all tests share is not taken down
        self._open(session)
        self.order = Order(self._traces())
        gc.collect()
        gc.freeze()
        self.log.write_text("")
        workers = [Child(partial(self._work, share)) for share in shares(self.mutants, self.jobs)]
        with ThreadPoolExecutor() as pool:
            results = {one.mutant.name: one for text in pool.map(Child.all, workers) for one in told(text)}
        self.results = [results[mutant.name] for mutant in self.mutants]
        say("\n")
        return True

    def _open(self, session: pytest.Session) -> None:
        """Make what all tests share, by running one that uses it."""
        first: Any = next(item for item in session.items if "tests/nouns/queue/test_stats.py" in item.nodeid)
        reports = runtestprotocol(first, log=False, nextitem=self.shared)
        assert all(report.passed for report in reports), "\n".join(report.longreprtext for report in reports)
        fixtures = first._fixtureinfo.name2fixturedefs
        self.watched: WatchedClient = fixtures["watched"][-1].cached_result[0]
        self.watched.compile()
        # Those of tests/nouns and of tests/property are not the same.
        self.fixtures = {name: set[Any]() for name in ("server", "url", "pool")}
        for item in self.items.values():
            for name, found in self.fixtures.items():
                found.update(item._fixtureinfo.name2fixturedefs.get(name, ()))
        self._use(fixtures["server"][-1].cached_result[0])
        histories: Any = sys.modules["tests.property.locks.test_histories"]
        histories.shrink = lambda client, scripts, steps, error: steps
        histories.HISTORIES = HISTORIES * histories.PARTS

    def _use(self, server: EmbeddedServer) -> None:
        """Let this be the server of all tests of this process."""
        self.server = server
        self.client = redis.Redis.from_url(server.url)
        values = {"server": server, "url": server.url, "pool": self.client.connection_pool}
        for name, fixtures in self.fixtures.items():
            for fixture in fixtures:
                fixture.cached_result = (values[name], None, None)
        self.watched.server = Server(self.client)
        self._set_up_server()

    def _set_up_server(self) -> None:
        self.client.config_set("appendonly", "no")
        self.client.config_set("busy-reply-threshold", int(BUSY * 1000))

    def _work(self, mutants: Sequence[Mutant], write: Write) -> None:
        """Judge these, with a server of one's own."""
        with EmbeddedServer(binary=server_binary()) as server, self.log.open("a") as log:
            self._use(server)
            for number, mutant in enumerate(mutants, 1):
                if number % FLUSH == 0:
                    self.client.script_flush()
                result = self.judge(mutant)
                write(pickle.dumps(result).hex())
                print(json.dumps([mutant.name, *result.told()]), file=log, flush=True)
                say(f"{number} of {len(mutants)} mutants: {result.outcome}, {result.seconds:.1f} s")

    # which tests run which lines

    def _traces(self) -> dict[str, trace.Traced]:
        key = trace.fingerprint(list(self.items))
        if (found := trace.load(self.file, key)) is None:
            found = pickle.loads(bytes.fromhex(Child(self._trace).all()))
            trace.store(self.file, key, found)
        return {name: one for name, one in found.items() if name in self.items}

    def _trace(self, write: Write) -> None:
        self._begin()
        recorder = trace.Recorder()
        with recorder.watching():
            for number, (name, item) in enumerate(self.items.items(), 1):
                if not trace.unseen(name):
                    runtestprotocol(item, log=False, nextitem=self.shared)
                    recorder.end(name)
                if number % 100 == 0:
                    say(f"which lines each test runs: {number} of {len(self.items)}")
        say("\n")
        write(pickle.dumps(recorder.complete(self.items)).hex())

    # mutants

    def judge(self, mutant: Mutant) -> Result:
        began = time.monotonic()
        result = Result(mutant)
        texts = mutated(mutant)
        todo = [name for name in self.order.tests(mutant) if self.sound.get(name, True)]
        while todo and result.hung < HANGS:
            done, end = self.run(todo, texts)
            todo = todo[len(done) :] if end else []
            result.ran += len(done)
            result.hung += end == "hung" and self._is_sound(done[-1])
            killed = end == "killed" and self._is_sound(done[-1]) and (len(done) == 1 or self._kills(done[-1], texts))
            self.order.note(mutant, done, killed)
            if killed:
                result.outcome, result.by = "killed", done[-1]
                break
        if result.outcome != "killed" and result.hung:
            result.outcome = "timeout"
        result.seconds = round(time.monotonic() - began, 2)
        return result

    def _is_sound(self, name: str) -> bool:
        if name not in self.sound:
            self.sound[name] = self.run([name], {})[1] == ""
        return self.sound[name]

    def _kills(self, name: str, texts: dict[str, bytes]) -> bool:
        return self.run([name], texts)[1] == "killed"

    def run(self, names: Sequence[str], texts: dict[str, bytes]) -> tuple[list[str], str]:
        """Up to the first that fails or hangs: those that were begun, and `killed`, `hung` or nothing."""
        self.client.config_set("maxmemory", 0)
        self.client.flushall()
        child = Child(lambda write: self._run(names, texts, write))
        done: list[str] = []
        while line := child.line(LONGEST, self._is_busy):
            if line.startswith("!"):
                child.end()
                return done, line[1:]
            done.append(line)
        if line is None:
            child.kill()
            self._free()
        elif (code := child.end()) != -signal.SIGPROF:
            raise RuntimeError(f"the process of {done[-1:]} has ended with {code}")
        return done, "hung"

    def _run(self, names: Sequence[str], texts: dict[str, bytes], write: Write) -> None:
        gc.disable()  # all memory is given back at its end, which is soon
        self._begin()
        install(texts)
        for name in names:
            write(name)
            signal.setitimer(signal.ITIMER_PROF, PATIENCE + 4e-6 * self.order.cost[name])  # ends this process
            reports = runtestprotocol(self.items[name], log=False, nextitem=self.shared)
            if failed := [report.longreprtext for report in reports if report.failed]:
                if SHOW:
                    print(*failed, sep="\n", file=sys.stderr)
                write("!killed")
                return
        write("!")

    def _begin(self) -> None:
        """In a child: a connection of its own."""
        self.watched.server = Server(self.client)

    def _is_busy(self) -> bool:
        try:
            self.client.ping()
        except redis.ResponseError:
            return True
        return False

    def _free(self) -> None:
        """Let the server do no more what a child asked for."""
        try:
            self.client.script_kill()
        except redis.ResponseError as error:
            if "UNKILLABLE" in str(error):
                self.server.kill()
                self.server.restart()
                self._set_up_server()


def shares(mutants: Sequence[Mutant], number: int) -> list[list[Mutant]]:
    """Of one size, about; a source is in one of them."""
    found: list[list[Mutant]] = [[] for _ in range(number)]
    sizes = Counter(mutant.source for mutant in mutants)
    for source, _ in sizes.most_common():
        min(found, key=len).extend(mutant for mutant in mutants if mutant.source == source)
    return found


def told(text: str) -> Iterator[Result]:
    for line in text.splitlines():
        result = pickle.loads(bytes.fromhex(line))
        assert isinstance(result, Result)
        yield result


def say(text: str) -> None:
    print(f"\r{text}", end="", file=sys.stderr, flush=True)
