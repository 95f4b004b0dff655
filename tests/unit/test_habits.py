"""What the files around the code say about it, so that they cannot go stale."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from pyadeq import _unasync

ROOT = Path(__file__).parents[2]
if not (ROOT / ".git").exists():
    pytest.skip("not a checkout: a source package has no workflow", allow_module_level=True)
WORKFLOW = (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
GENERATED = ["lua/dist", "lua/manifest.json", "lua/conformance", *(target for _, target, _ in _unasync.TREES)]


def test_the_matrix_has_the_pythons_that_the_package_names() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [found[1] for one in project["classifiers"] if (found := re.fullmatch(r".* Python :: (3\.\d+)", one))]
    matrix = re.search(r"python: \[(.*)\]", WORKFLOW)
    assert matrix
    assert re.findall(r'"(.*?)"', matrix[1]) == named


def test_an_action_is_pinned_by_its_commit_and_may_only_read() -> None:
    actions = re.findall(r"uses: (.*)", WORKFLOW)
    assert actions
    assert [one for one in actions if not re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", one)] == []
    assert re.findall(r"^ *permissions:\n( +.*)", WORKFLOW, re.MULTILINE) == ["  contents: read"]


@pytest.mark.parametrize("tree", GENERATED)
def test_what_is_generated_is_marked_and_not_spelt(tree: str) -> None:
    files = [path for path in (ROOT / tree, *(ROOT / tree).rglob("*")) if path.is_file()]
    command = ["git", "check-attr", "linguist-generated", "--", *map(str, files[:50])]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    assert said
    assert [line for line in said if not line.endswith(": set")] == []
    codespell = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["codespell"]
    assert f"./{tree}" in codespell["skip"].split(",")
