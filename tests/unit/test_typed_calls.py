"""mypy and pyright accept right calls of task functions, and the examples of the guides, and refuse wrong calls."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.examples import ROOT, blocks

PAGES = ("handlers", "results", "rolling-deploys", "testing")
# The examples do not check whether `queue.get` finds the task, nor whether a loop has run.
NOT_OF_EXAMPLES = ("reportOptionalMemberAccess", "reportPossiblyUnboundVariable")


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    """A folder with the Python of the guides: the files that they name, and the rest of each page as one."""
    for page in PAGES:
        found = [one for one in blocks(ROOT / f"docs/guides/{page}.md") if one.language == "python"]
        for one in found:
            if one.title:
                (tmp_path / one.title).write_text(one.text)
        (tmp_path / f"page_{page.replace('-', '_')}.py").write_text("".join(one.text for one in found if not one.title))
    return tmp_path


def wrong_line(folder: Path) -> tuple[str, int]:
    """The one call in the guides that is wrong, and says so."""
    lines = (folder / "page_handlers.py").read_text().splitlines()
    return "page_handlers.py", 1 + next(n for n, line in enumerate(lines) if 'copies="many"' in line)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("node") is None, reason="pyright needs node")
def test_pyright(examples: Path) -> None:
    shutil.copy(Path(__file__).with_name("typed_calls.py"), examples)
    options = {"enableTypeIgnoreComments": False, "reportUnnecessaryTypeIgnoreComment": "error"}
    (examples / "pyrightconfig.json").write_text(json.dumps(options | dict.fromkeys(NOT_OF_EXAMPLES, "none")))
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    report = json.loads(subprocess.run(command, check=False, cwd=examples, capture_output=True, text=True).stdout)
    assert report["summary"]["filesAnalyzed"] > len(PAGES)
    found = [(Path(one["file"]).name, one["range"]["start"]["line"] + 1) for one in report["generalDiagnostics"]]
    assert found == [wrong_line(examples)], report["generalDiagnostics"]


@pytest.mark.slow
def test_mypy(examples: Path) -> None:
    """`typed_calls.py` is part of `make check`."""
    options = ["--follow-imports=silent", "--disable-error-code=union-attr", "--cache-dir=.mypy_cache"]
    files = sorted(path.name for path in examples.glob("*.py"))
    command = [sys.executable, "-m", "mypy", *options, *files]
    said = subprocess.run(command, check=False, cwd=examples, capture_output=True, text=True).stdout
    found = [(file, int(line)) for file, line in re.findall(r"^(\S+):(\d+): error", said, re.MULTILINE)]
    assert found == [wrong_line(examples)], said
