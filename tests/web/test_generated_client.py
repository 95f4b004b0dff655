"""A client that openapi-python-client makes of docs/reference/openapi.json."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.cli.run import environment
from tests.web.conftest import SCHEMA

TUTORIAL = Path(__file__).parent / "generated_tutorial.py"
TOOLS = Path(sys.executable).parent
# Without these options, newer versions of ruff rewrite annotations so that mypy refuses them.
CONFIG = """
post_hooks:
  - ruff check . --isolated --fix --select I,F401
  - ruff format . --isolated
"""


def run(*command: str, cwd: Path) -> str:
    """What a tool prints. Its program is in the environment of the tests."""
    ended = subprocess.run(
        [TOOLS / command[0], *command[1:]],
        cwd=cwd,
        env=environment(PATH=f"{TOOLS}:/usr/bin:/bin"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout + ended.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package `made`."""
    found = tmp_path_factory.mktemp("client")
    (found / "config.yml").write_text(CONFIG)
    words = ("generate", "--path", str(SCHEMA), "--meta", "none", "--output-path", "made", "--config", "config.yml")
    said = run("openapi-python-client", *words, cwd=found)
    assert said.strip() == "Generating made", "a warning means that it left a part out"
    shutil.copy(TUTORIAL, found)
    return found


def test_it_does_the_tutorial(folder: Path, service: str) -> None:
    run("python", "generated_tutorial.py", service, cwd=folder)


def test_it_and_what_uses_it_have_right_types(folder: Path) -> None:
    run("mypy", "generated_tutorial.py", "made", cwd=folder)
