"""Without its extra, `adeq` says how to install it."""

import subprocess
import sys

import pytest

from tests.waiting import DEADLINE

WITHOUT = """
import sys
sys.modules[sys.argv.pop(1)] = None
from pyadeq.ext.cli import main
main()
"""


def run_without(module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT, module, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, check=False)


@pytest.mark.parametrize("module", ["typer", "rich", "rich.console"])
@pytest.mark.parametrize("arguments", [[], ["--version"], ["worker", "run", "jobs:run"]])
def test_it_names_the_extra(module: str, arguments: list[str]) -> None:
    ended = run_without(module, *arguments)
    assert ended.returncode == 2
    assert ended.stderr == "adeq needs its command line extra: pip install 'pyadeq[cli]'\n"
    assert ended.stdout == ""


def test_what_else_is_missing_is_not_hidden() -> None:
    ended = run_without("redis", "queue", "ls")
    assert ended.returncode == 1
    assert "ModuleNotFoundError: import of redis halted" in ended.stderr


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["queues"]])
def test_what_asks_no_server_needs_no_client(arguments: list[str]) -> None:
    ended = run_without("redis", *arguments)
    assert ended.returncode == (2 if arguments == ["queues"] else 0), ended.stderr
