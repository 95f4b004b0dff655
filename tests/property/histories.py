"""Random histories of a queue with limits, on a real server with a clock of its own, and a model beside them.

    python -m tests.property.histories --steps 500000 [--seed 1] [--engine redis-7.2] [--cluster] [--client] [--fork]

Each step is one call. Its answer and the keys of the queue are compared with the model. At the end of a history all
tasks get their turn, and the audit reads every fourth queue once more. What happens: limits of all kinds and policies
change; tasks are enqueued, delayed, claimed, completed, failed, released, cancelled, purged and retried; they expire or
wait for others; workers die or leave; fair shares are switched on and off.

ADEQ_TEST_SERVER names the server's binary, unless --engine does.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import redis

from pyadeq import Adeq
from pyadeq._core.kernel.call import Call
from pyadeq.embedded import EmbeddedServer
from tests.audit import audit
from tests.conftest import serve_all_slots, server_binary, start_cluster_node
from tests.engines.engine import Absent, engines
from tests.property.link import Link, Scripts, load_scripts
from tests.property.test_queue_limits import History

AUDITED = 4  # each fourth history
STEPS = 60  # of one history, at the most; then all tasks have their turn


class Counted(Link):
    """Counts the calls, and sends them through pyadeq's own client; else one trip reads the keys, too."""

    calls_made = 0
    began = time.monotonic()

    def __init__(self, client: redis.Redis, base: str, scripts: Scripts, adeq: Adeq | None = None) -> None:
        super().__init__(client, base, scripts)
        self.adeq = adeq
        self.found: Any = None  # what the keys hold after the last call

    def run(self, call: Call[Any]) -> Any:
        Counted.calls_made += 1
        if Counted.calls_made % 50_000 == 0:
            print(f"{Counted.calls_made:,} steps, {time.monotonic() - Counted.began:.0f} s", flush=True)
        if self.adeq:
            return self.adeq.send(call)
        verb, _, *rest = call.command()
        with self.client.pipeline(transaction=False) as pipe:
            send: Any = pipe.execute_command
            send(verb, self.scripts[call.script.id], *rest)
            send("EVALSHA", self.scripts["dump"], 0, self.base, "+")
            answer, self.found = pipe.execute()
        return call.decode(answer)

    def dump(self, events_from: str) -> Any:
        found, self.found = self.found, None
        return super().dump(events_from) if found is None else found


class Run:
    """Histories on one server, one after the other."""

    def __init__(self, server: EmbeddedServer, seed: int, adeq: Adeq | None = None) -> None:
        self.client, self.seed, self.adeq = redis.Redis.from_url(server.url), seed, adeq
        self.scripts = load_scripts(self.client)
        self.histories, self.seeds = 0, count(seed * 1_000_000)

    def play(self, steps: int) -> None:
        """Histories until there are so many steps."""
        enough = Counted.calls_made + steps
        while Counted.calls_made < enough:
            self.one(next(self.seeds))

    def one(self, seed: int) -> None:
        base = f"ade:{{queue:history-{seed}}}"
        link = Counted(self.client, base, self.scripts, self.adeq)
        try:
            history = History(link, Random(seed))
            history.go(Random(seed).randint(10, STEPS))
            problems = audit(self.client, base) if self.histories % AUDITED == 0 else []
            assert not problems, "\n".join(problems)
        except BaseException:
            print(f"the history of seed {seed} failed, after {Counted.calls_made:,} steps", file=sys.stderr)
            raise
        link.close()
        self.histories += 1

    def forked(self, steps: int) -> None:
        """Half of it by a child, with the client that the parent has used; and then the parent goes on."""
        self.play(steps // 3)
        before, self.seeds = next(self.seeds), count(self.seed * 1_000_000 + 500_000)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                self.play(steps // 3)
                code = 0
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        assert status == 0, "the child's history failed"
        Counted.calls_made += steps // 3
        self.seeds = count(before)
        self.play(steps // 3)


def binary_of(name: str | None) -> Path:
    if name is None:
        return server_binary()
    found = [one.binary for one in engines() if not isinstance(one, Absent) and one.name.startswith(name)]
    if not found:
        sys.exit(f"there is no engine {name!r}: python -m tests.engines lists them")
    return found[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--steps", type=int, default=500_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engine", help="one of those that python -m tests.engines lists")
    parser.add_argument("--cluster", action="store_true", help="on a cluster of one node")
    parser.add_argument("--client", action="store_true", help="through pyadeq's own client")
    parser.add_argument(
        "--fork", action="store_true", help="a third of it by a child process, with the parent's client"
    )
    arguments = parser.parse_args()
    binary, began = binary_of(arguments.engine), time.monotonic()
    with ExitStack() as stack:
        start = (
            start_cluster_node
            if arguments.cluster
            else lambda path: EmbeddedServer(binary=path, appendfsync="no").start()
        )
        server = stack.enter_context(start(binary))
        if arguments.cluster:
            serve_all_slots(server)
        adeq = Adeq.from_url(server.url) if arguments.client or arguments.fork else None
        run = Run(server, arguments.seed, adeq)
        (run.forked if arguments.fork else run.play)(arguments.steps)
        cpu = run.client.info("cpu")
        version = next(v for k, v in run.client.info("server").items() if k in ("valkey_version", "redis_version"))
    used = cpu["used_cpu_user"] + cpu["used_cpu_sys"] + time.process_time()
    print(
        f"{Counted.calls_made:,} steps in {run.histories:,} histories without a violation, in"
        f" {time.monotonic() - began:.0f} s, {used:.0f} s of one core; seed {arguments.seed},"
        f" {binary.name} {version}{', cluster' * arguments.cluster}{', client' * bool(adeq)}{', fork' * arguments.fork}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
