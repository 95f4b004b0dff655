"""A noun of the ten files in tests/new_noun/files is found by everything, on a copy of this repository.

Beside it is `badge` of tests/new_noun/second, as little a noun as there may be, and `bare`: the same without a Python
class. See new_noun/README.md.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = ROOT / "tests/new_noun/files"
SECOND = ROOT / "tests/new_noun/second"
NOUN = "memo"
NOUNS = f"{NOUN}. or badge. or bare."
PARTS = (
    "lua",
    "pyadeq",
    "tests",
    "docs",
    "pyproject.toml",
    "mkdocs.yml",
    "Makefile",
    "CHANGELOG.md",
)
MOST_FILES = 10

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository with the noun, and all that is generated and recorded of it."""
    root = tmp_path_factory.mktemp("repository")
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, root / part, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
        else:
            shutil.copy(ROOT / part, root / part)
    shutil.copytree(FILES, root, dirs_exist_ok=True)
    shutil.copytree(SECOND, root, dirs_exist_ok=True)
    for part in ("lua", "tests/nouns"):
        (root / part / "bare").mkdir()
        for file in (SECOND / part / "badge").iterdir():
            if file.is_file():
                (root / part / "bare" / file.name).write_text(
                    file.read_text().replace("badge", "bare").replace("board", "rack")
                )
    for command in ("lua/bundle.py", "pyadeq/_nouns.py", "pyadeq/_unasync.py"):
        run(root, command)
    run_tests(root, "tests/nouns/test_sizes.py", "-m", "sizes", "-k", NOUNS, ADEQ_UPDATE_BUDGETS="1")
    run(root, "lua/bundle.py")
    for noun in (NOUN, "badge", "bare"):
        run_tests(root, "tests/nouns/test_costs.py", ADEQ_UPDATE_COSTS=noun)
    run_tests(root, "tests/embedding/test_vectors.py", "-k", NOUNS, ADEQ_UPDATE_CONFORMANCE="1")
    return root


def run(root: Path, *command: str, **changes: str) -> str:
    """What Python prints, which must succeed, on the copy. With DAY, some vectors would not be recorded."""
    names = ("ADEQ_", "PYTEST_", "HYPOTHESIS_", "DAY")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(names)}
    ended = subprocess.run(
        [sys.executable, *command],
        cwd=root,
        env={**environment, "PYTHONPATH": str(root), **changes},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, f"{' '.join(command)}\n{ended.stdout[-5000:]}{ended.stderr[-5000:]}"
    return ended.stdout


def run_tests(root: Path, *words: str, **changes: str) -> str:
    return run(root, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:randomly", *words, **changes)


def test_ten_files_are_enough() -> None:
    assert sum(path.is_file() and "__pycache__" not in path.parts for path in FILES.rglob("*")) == MOST_FILES


def test_its_sources_and_vectors_pass_the_linters(copy: Path) -> None:
    run(copy, "lua/tools/lint.py")
    assert len(list((copy / "lua/conformance").glob(f"{NOUN}.*.json"))) == 7


def test_the_manifest_is_as_its_schema_says(copy: Path) -> None:
    run_tests(copy, "tests/unit/test_manifest.py")


def test_a_noun_with_one_script_and_one_setting_passes(copy: Path) -> None:
    run_tests(copy, "tests/nouns", "tests/embedding/test_vectors.py", "-k", "badge.")


def test_each_role_may_call_its_scripts_and_no_other(copy: Path) -> None:
    run_tests(copy, "tests/nouns/test_access.py", "-k", "may_call or somebodys")


def test_the_suites_find_it(copy: Path) -> None:
    places = ["tests/nouns", "tests/embedding/test_vectors.py", "tests/integration/cli/test_tree.py"]
    said = run_tests(copy, *places, "tests/integration/test_docs.py", "-k", NOUN)
    assert int(said.split(" passed")[0].split()[-1]) > 150
    found = run_tests(copy, "--collect-only", *places, "-k", NOUN)
    for suite in ("scenarios", "malformed", "fuzz", "models", "vectors", "tree"):
        assert f"test_{suite}.py" in found


def test_a_client_a_command_and_the_doctor_know_it(copy: Path) -> None:
    program = """
import json
from pyadeq import Adeq, EmbeddedServer
from pyadeq.access import acl_rules
from pyadeq.ext.operate.doctor import examine
from tests.integration.cli.run import adeq
with EmbeddedServer() as server, Adeq.from_url(server.url) as client:
    call = client.memos("a").calls.build("put", id="id", text="text")
    assert [client.send(call).status for _ in range(2)] == ["created", "created"]
    assert client.memos("a").put("id", "text").status == "changed"
    assert list(client.pads()) == ["a"]
    print(adeq("memo", "ls", "--pad", "a", "-o", "json", ADEQ_URL=server.url).stdout)
    assert adeq("memo", "configure", "--keep", "1h", "--pad", "a", ADEQ_URL=server.url).status == 0
    assert adeq("scripts", "migrate", "-o", "json", ADEQ_URL=server.url).status == 0
    (check,) = [check for check in examine(client).checks if check.name == "memos"]
    assert (check.status, check.found) == ("ok", "1 pad")
    assert client.noun("bare", "a").configure(step=7)["step"] == 7
    assert json.loads(adeq("bare", "step", "--rack", "a", "-o", "json", ADEQ_URL=server.url).stdout)["step"] == 7
    assert json.loads(adeq("bare", "racks", "-o", "json", ADEQ_URL=server.url).stdout) == ["a"]
rules = acl_rules("memo.write", memo=["a"], badge=["b"], bare=["c"])
assert [rule for rule in rules if "~" in rule] == [
    "%R~ade:{badge:b}:*", "%R~ade:{bare:c}:*", "~ade:{memo:a}:*", "~ade:{memo:a}!write"
]
assert "~ade:{memo:*}:*" in acl_rules("worker")
"""
    (entry,) = json.loads(run(copy, "-c", program))["items"]
    assert (entry["status"], entry["id"]) == ("found", "id")


@pytest.mark.parametrize(
    ("language", "file"), [("go", "memo/memo.go"), ("rust", "src/memo.rs"), ("typescript", "memo.js")]
)
def test_clients_in_other_languages_have_it(copy: Path, tmp_path: Path, language: str, file: str) -> None:
    run(copy, "-m", "pyadeq.ext.cli", "bindings", language, str(tmp_path))
    assert (tmp_path / file).is_file(), sorted(path.name for path in tmp_path.rglob("*memo*"))
