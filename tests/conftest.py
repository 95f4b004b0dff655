"""One real server for each test process, and what every layer of tests needs of it.

ADEQ_TEST_SERVER   the server's binary; the first if there are several; otherwise what pyadeq.embedded finds
ADEQ_TEST_CLUSTER  1: a cluster of one node that serves all slots
DAY                the number of a day: a part of the slow tests is left to other days; see rotation.py
ADEQ_TEST_ENGINES  1: the tests run on one engine after another; scenarios check only what depends on the server
HYPOTHESIS_PROFILE dev (default), quick (an eighth of the examples), ci (more), or soak (as many, others each time)
"""

import gc
import itertools
import os
import re
import signal
import socket
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest
import redis
import redis.utils
from hypothesis import settings

from pyadeq import Adeq, Queue
from pyadeq.embedded import EmbeddedServer, find_binary
from pyadeq.errors import ConfigError
from tests import rotation
from tests.audit import audit_server
from tests.engines.engine import named_servers
from tests.quick import PROFILE
from tests.waiting import wait_until

pytest_plugins = ["pyadeq.testing.plugin"]
pytest.register_assert_rewrite("tests.nouns.queue.checks")  # other layers use it, too
# redis-py reads the metadata of its own package for each connection, which takes longer than to connect.
redis.utils.get_lib_version = cache(redis.utils.get_lib_version)
# A shell ignores SIGINT for what it starts in the background, and so would the programs that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

CLUSTER = os.environ.get("ADEQ_TEST_CLUSTER") == "1"
BUS_OFFSET = 10_000  # a cluster node's second port, above its first
count = itertools.count(1)
# `make test-web`, `make test-frameworks` and `make test-migrate` run these in environments of their own.
NEEDS = (("browser", "playwright"), ("web", "schemathesis"), ("frameworks", "django"), ("migrate", "celery"))
collect_ignore = [folder for folder, needs in NEEDS if not find_spec(needs)]
DAMAGED: set[str] = set()  # bases that tests have broken on purpose

for profile in ("dev", "quick", "ci"):
    settings.register_profile(profile, deadline=None, derandomize=True)
settings.register_profile("soak", deadline=None, print_blob=True)
settings.load_profile(PROFILE)


def server_binary() -> Path:
    named = named_servers(os.environ.get("ADEQ_TEST_SERVER", ""))
    return named[0] if named else find_binary()


def pytest_report_header() -> str:
    binary = server_binary()
    version = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    return f"engine: {version} ({binary}), {'one-node cluster' if CLUSTER else 'standalone'}"


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """What cannot be collected ends the run: workers would go on without it."""
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        pytest.exit(f"{report.nodeid} cannot be collected:\n{report.longreprtext}", pytest.ExitCode.INTERRUPTED)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """After a long run, tell which files took the most seconds, waiting included: what to look at first."""
    took: defaultdict[str, float] = defaultdict(float)
    for report in itertools.chain(*terminalreporter.stats.values()):
        if isinstance(report, pytest.TestReport):
            took[report.nodeid.partition("::")[0]] += report.duration
    if len(took) > 100:
        longest = sorted(took, key=lambda file: -took[file])[:10]
        shown = ", ".join(f"{file} {took[file]:.0f}" for file in longest)
        terminalreporter.write_line(f"seconds, of {sum(took.values()):.0f} in all: {shown}")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """What is collected stays until the end. To look for garbage in it would take as long as to collect it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The sync tests are generated from aio, and the server sees no difference: all but one of a module are slow.

    Then leave out the tests that rotate, if it is not their day.
    """
    modules = set()
    sync = [item for item in items if "/integration/sync/" in item.nodeid]
    for item in sorted(sync, key=lambda item: item.location[1] or 0):
        item.add_marker(pytest.mark.any_engine)
        if item.path in modules:
            item.add_marker(pytest.mark.slow)
        elif not item.get_closest_marker("slow"):
            modules.add(item.path)
    if rotation.DAY is not None:
        due = [item for item in items if rotation.is_test_due(item, rotation.DAY)]
        config.hook.pytest_deselected(items=list(set(items).difference(due)))
        items[:] = due


@pytest.fixture(scope="session")
def binary() -> Path:
    """The server under test."""
    return server_binary()


@pytest.fixture(scope="session")
def server(binary: Path) -> Iterator[EmbeddedServer]:
    """The server of this test process; that of tests/nouns and tests/property is another."""
    with audited(binary) as server:
        yield server


@contextmanager
def audited(binary: Path) -> Iterator[EmbeddedServer]:
    """A server whose queues and lock domains must be sound at the end."""
    started = start_cluster_node(binary) if CLUSTER else EmbeddedServer(binary=binary).start()
    with started:
        if CLUSTER:
            serve_all_slots(started)
        yield started
        with redis.Redis.from_url(started.url) as client:
            problems = audit_server(client, DAMAGED)
        assert not problems, "\n".join(["what the tests left on the server:", *problems])


@pytest.fixture(scope="session")
def url(server: EmbeddedServer) -> str:
    return server.url


@pytest.fixture
def client(url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(url) as client:
        client.ping()  # now: clients with a greater id are of this test
        yield client


@pytest.fixture
def base_name(request: pytest.FixtureRequest) -> str:
    """A name for a queue or a lock domain that no other test uses."""
    test = re.sub(r"[^A-Za-z0-9._-]+", "-", request.node.name)[:80]
    return f"{test}-{next(count)}"


@pytest.fixture
def queue(url: str, base_name: str) -> Iterator[Queue]:
    with Adeq.from_url(url) as adeq:
        yield adeq.queue(base_name)


@pytest.fixture
def damaged() -> Callable[[str], None]:
    """Say that a base is broken on purpose, so that nobody wonders at the end."""
    return DAMAGED.add


def start_cluster_node(binary: Path) -> EmbeddedServer:
    for attempts_left in reversed(range(10)):
        try:
            return EmbeddedServer(binary=binary, port=free_port(), config={"cluster-enabled": "yes"}).start()
        except ConfigError:  # somebody else may have been given the port in the meantime
            if not attempts_left:
                raise
    raise AssertionError


def serve_all_slots(server: EmbeddedServer) -> None:
    with redis.Redis.from_url(server.url) as client:
        client.execute_command("CLUSTER ADDSLOTSRANGE", 0, 16383)
        wait_until(lambda: client.execute_command("CLUSTER INFO")["cluster_state"] == "ok")


def free_port() -> int:
    """A free port of 127.0.0.1 whose cluster bus port is free as well."""
    while True:
        with socket.socket() as first, socket.socket() as bus:
            first.bind(("127.0.0.1", 0))
            port: int = first.getsockname()[1]
            try:
                bus.bind(("127.0.0.1", port + BUS_OFFSET))
                return port
            except (OSError, OverflowError):
                continue
