"""The generator of the sync twins."""

from pathlib import Path

import pytest

from pyadeq import _unasync

SOURCE = '''"""Uses pyadeq.asyncio and redis.asyncio."""
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pyadeq._async.client import Adeq
from pyadeq._twins import aio_sleep

@asynccontextmanager
async def opened(adeq: Adeq) -> AsyncIterator[Adeq]:
    async with adeq as one:
        async for _ in one:
            await aio_sleep(1)
    await adeq.aclose()

async def ask(question: Callable[[str], Awaitable[list[str]]]) -> list[str]:
    return await question("?")

class Own:
    async def __aenter__(self): ...
    async def __aexit__(self): ...
'''
TWIN = '''# Generated from pyadeq/_async/client.py by pyadeq/_unasync.py; do not edit.
"""Uses pyadeq and redis."""
from collections.abc import Iterator, Callable
from contextlib import contextmanager
from pyadeq._sync.client import Adeq
from pyadeq._twins import sleep

@contextmanager
def opened(adeq: Adeq) -> Iterator[Adeq]:
    with adeq as one:
        for _ in one:
            sleep(1)
    adeq.close()

def ask(question: Callable[[str], list[str]]) -> list[str]:
    return question("?")

class Own:
    def __enter__(self): ...
    def __exit__(self): ...
'''


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(_unasync, "ROOT", tmp_path)
    monkeypatch.setattr(_unasync, "ASYNC_ONLY", frozenset({"worker.py"}))
    for folder in ("pyadeq/_async/queue", "tests/integration/aio"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "pyadeq/_async/client.py").write_text(SOURCE)
    (tmp_path / "pyadeq/_async/worker.py").write_text("async def work(): ...\n")
    (tmp_path / "pyadeq/_async/queue/base.py").write_text("async def base(): ...\n")
    (tmp_path / "tests/integration/aio/test_a.py").write_text("async def test_a() -> None: ...\n")
    (tmp_path / "tests/integration/aio/conftest.py").write_text("async def a_fixture() -> None: ...\n")
    return tmp_path


def test_twins_are_written(root: Path) -> None:
    assert _unasync.main([]) == 0
    assert (root / "pyadeq/_sync/client.py").read_text() == TWIN
    assert (root / "pyadeq/_sync/queue/base.py").read_text() == (
        "# Generated from pyadeq/_async/queue/base.py by pyadeq/_unasync.py; do not edit.\ndef base(): ...\n"
    )
    tests = root / "tests/integration/sync"
    assert (tests / "test_a.py").read_text().endswith("\ndef test_a() -> None: ...\n")
    assert (tests / "conftest.py").read_text().endswith("\ndef a_fixture() -> None: ...\n")
    assert not (root / "pyadeq/_sync/worker.py").exists()
    assert _unasync.main(["--check"]) == 0


def test_check_compares_whole_trees(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _unasync.main([])
    (root / "pyadeq/_sync/client.py").write_text(TWIN + "\n")
    (root / "pyadeq/_sync/old.py").write_text("")
    (root / "pyadeq/_sync/queue/old.py").write_text("")
    (root / "tests/integration/sync/test_a.py").unlink()
    capsys.readouterr()
    assert _unasync.main(["--check"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "different: pyadeq/_sync/client.py",
        "extra: pyadeq/_sync/old.py",
        "extra: pyadeq/_sync/queue/old.py",
        "missing: tests/integration/sync/test_a.py",
    ]
    assert _unasync.main([]) == 0
    assert _unasync.main(["--check"]) == 0
    assert not (root / "pyadeq/_sync/old.py").exists()


def test_a_rule_that_nothing_uses_is_an_error(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_unasync, "RULES", (*_unasync.RULES, (r"\bAsyncExitStack\b", "ExitStack")))
    with pytest.raises(SystemExit, match="AsyncExitStack"):
        _unasync.main(["--check"])


@pytest.mark.parametrize(
    "message",
    [
        '"allowed: a client for pyadeq.asyncio.Adeq"',
        'f"{kind}: allowed: a Redis of redis.asyncio"',
        '"close the asyncio client (`async with`)"',
        '"_async only"',
    ],
)
def test_so_is_a_message_on_asyncio_that_would_be_changed(root: Path, message: str) -> None:
    path = root / "pyadeq/_async/client.py"
    path.write_text(f"{SOURCE}\nkind = 'x'\nmessage = {message}\n")
    with pytest.raises(SystemExit, match=r"_async/client\.py:22'"):
        _unasync.main([])
    path.write_text(SOURCE + "\nmessage = 'async with locks.acquire(…) as grant, or await locks.take(…); aclose'\n")
    assert _unasync.main([]) == 0
    twin = (root / "pyadeq/_sync/client.py").read_text()
    assert "= 'with locks.acquire(…) as grant, or locks.take(…); close'" in twin


def test_so_is_a_name_without_a_file(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_unasync, "ASYNC_ONLY", frozenset({"worker.py", "gone.py"}))
    with pytest.raises(SystemExit, match=r"gone\.py"):
        _unasync.main([])


def test_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert _unasync.main(["--what"]) == 2
    assert "usage" in capsys.readouterr().err
