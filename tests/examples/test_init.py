"""What `adeq init` writes is a project that works, by the commands that it prints."""

import re
import subprocess
from pathlib import Path

import pytest

from pyadeq.embedded import EmbeddedServer
from pyadeq.ext.cli.operate.init import FILES
from tests.integration.cli.run import adeq, answer, environment, error

pytestmark = pytest.mark.any_engine


def test_the_printed_commands_work(tmp_path: Path, binary: Path) -> None:
    folder = tmp_path / "hello"
    answered = answer("init", str(folder))
    assert sorted(path.name for path in folder.iterdir()) == sorted(answered["files"]) == sorted(FILES)
    test, worker, program = answered["commands"]
    script = f"set -e\n{test}\n{worker}\n{program}\nkill %1\nwait\n"
    with EmbeddedServer(binary=binary) as server:
        ended = subprocess.run(
            ["bash", "-c", script],
            cwd=folder,
            env=environment(ADEQ_URL=server.url),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "1 passed" in ended.stdout
    assert ended.stdout.splitlines()[-1] == "4"
    assert "worker stopped" in ended.stderr


def test_it_replaces_nothing_unless_asked(tmp_path: Path) -> None:
    (tmp_path / "tasks.py").write_text("mine")
    (tmp_path / "AGENTS.md").write_text("mine")
    assert error(2, "init", str(tmp_path)) == (
        f"adeq: FOLDER: {str(tmp_path)!r} has tasks.py, AGENTS.md already; name another, or give --force"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["AGENTS.md", "tasks.py"]
    ended = adeq("init", str(tmp_path), "--force")
    assert ended.stdout.startswith(f"{tmp_path}: tasks.py, worker.py, test_tasks.py, AGENTS.md\n")
    assert "mine" not in (tmp_path / "tasks.py").read_text()


def test_the_commands_for_agents_exist(tmp_path: Path) -> None:
    adeq("init", str(tmp_path))
    text = (tmp_path / "AGENTS.md").read_text()
    found = re.findall(r"\badeq ((?:[a-z-]+)(?: (?:run|stats|show|ls|retry))?)", text)
    assert len(found) >= 6
    for path in found:
        assert adeq(*path.split(), "--help").stdout.startswith(f"Usage: adeq {path} "), path
