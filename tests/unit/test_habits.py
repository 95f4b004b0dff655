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
WORKFLOWS = {path.stem: path.read_text(encoding="utf-8") for path in ROOT.glob(".github/workflows/*.yml")}
WORKFLOW = WORKFLOWS["ci"]
RIGHTS = {  # besides to read
    "ci": set[str](),
    "release": {"id-token: write", "attestations: write", "artifact-metadata: write"},
}
FRAGMENT = re.compile(  # such a text has no subject: it means nothing without the code under it
    r'^ *r?"""(As|Below|Beside|Between|By|For|From|In|Into|It|Its|Likewise|Of|Per|Such|That|The same|Their|Them|Those'
    r"|To|Until|Up|Where|Which|Who|Whose|With)\b.*",
    re.MULTILINE,
)
GENERATED = ["lua/dist", "lua/manifest.json", "lua/conformance", *(target for _, target, _ in _unasync.TREES)]


def test_the_matrix_has_the_pythons_that_the_package_names() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [found[1] for one in project["classifiers"] if (found := re.fullmatch(r".* Python :: (3\.\d+)", one))]
    matrix = re.search(r"python: \[(.*)\]", WORKFLOW)
    assert matrix
    assert re.findall(r'"(.*?)"', matrix[1]) == named


def test_the_matrix_has_the_versions_of_redis_py_that_the_package_allows() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (allowed,) = [one for one in project["dependencies"] if one.startswith("redis>=")]
    matrix = re.search(r"redis: \[(.*)\]", WORKFLOW)
    bounds = re.fullmatch(r"redis>=(\d+),.*<(\d+)", allowed)
    assert matrix
    assert bounds
    assert re.findall(r'"(\d+)"', matrix[1]) == [str(major) for major in range(int(bounds[1]), int(bounds[2]))]


@pytest.mark.parametrize("name", RIGHTS)
def test_an_action_is_pinned_by_its_commit_and_has_few_rights(name: str) -> None:
    assert WORKFLOWS.keys() == RIGHTS.keys()
    actions = re.findall(r"uses: (.*)", WORKFLOWS[name])
    assert actions
    pinned = r"(actions/[\w-]+|pypa/gh-action-pypi-publish)@[0-9a-f]{40}  # v\d+\.\d+\.\d+"
    assert [one for one in actions if not re.fullmatch(pinned, one)] == []
    assert re.findall(r"^permissions:\n  (.*)\n\n", WORKFLOWS[name], re.MULTILINE) == ["contents: read"]
    assert set(re.findall(r"^ +([\w-]+: write)", WORKFLOWS[name], re.MULTILINE)) == RIGHTS[name]


@pytest.mark.parametrize("tree", GENERATED)
def test_what_is_generated_is_marked_and_not_spelt(tree: str) -> None:
    files = [path for path in (ROOT / tree, *(ROOT / tree).rglob("*")) if path.is_file()]
    command = ["git", "check-attr", "linguist-generated", "--", *map(str, files[:50])]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    assert said
    assert [line for line in said if not line.endswith(": set")] == []
    codespell = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["codespell"]
    assert f"./{tree}" in codespell["skip"].split(",")


def test_a_docstring_is_understood_alone() -> None:
    found = {
        path: FRAGMENT.search(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "pyadeq").rglob("*.py"))
    }
    assert len(found) > 500
    assert {f"{path.relative_to(ROOT)}": bad[0].strip() for path, bad in found.items() if bad} == {}
