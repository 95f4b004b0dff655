"""The programs of examples/ run as their pages say: with the command there, and the output there."""

import os
import subprocess
import sys
from collections import Counter

import pytest

from pyadeq.embedded import EmbeddedServer
from tests.conftest import CLUSTER, free_port
from tests.integration.examples import ROOT, blocks, matches
from tests.quick import slow_after
from tests.rooms import written_by_hand

pytestmark = [pytest.mark.any_engine, pytest.mark.skipif(CLUSTER, reason="the examples are for a single server")]

PAGES = {path.parent.name: path for path in sorted((ROOT / "examples").glob("*/README.md"))}
EXAMPLES = {name: page for name, page in PAGES.items() if name != "deploy"}  # test_deploy.py
LONGEST = 120  # lines
WITH_NODE = "polyglot"  # tests/embedding runs it


def run(name: str, **environment: str) -> str:
    """Run an example as its page says. Each line of the page must be in the output."""
    (example,) = [block for block in blocks(EXAMPLES[name]) if block.language == "shell"]
    python, *command = example.text.split()
    assert python == ".venv/bin/python"
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ADEQ_")}
    done = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env={**kept, "PORT": str(free_port()), **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert example.output
    printed = done.stdout.splitlines()
    missing = [said for said in example.output.splitlines() if not any(matches(said, line) for line in printed)]
    assert missing == [], done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a checkout: git knows which files are written by hand")
def test_each_is_in_the_list_and_short() -> None:
    listed = (ROOT / "examples/README.md").read_text()
    assert [name for name in PAGES if f"]({name})" not in listed] == []
    lines = Counter[str]()
    for file in written_by_hand():
        if file.startswith("examples/"):
            lines[file.split("/")[1]] += len((ROOT / file).read_text().splitlines())
    assert lines.keys() == PAGES.keys()
    assert {name: number for name, number in lines.items() if name in EXAMPLES and number > LONGEST} == {}


@pytest.mark.parametrize(
    "name", slow_after(1, sorted(EXAMPLES.keys() - {WITH_NODE}, key=lambda name: name != "review"))
)
def test_it_does_what_its_page_says(name: str) -> None:
    run(name)


@pytest.mark.slow
def test_a_second_run_on_the_same_server_does_the_same() -> None:
    with EmbeddedServer() as server:
        for name in ("review", "agent_team") * 2:
            run(name, ADEQ_URL=server.url)
