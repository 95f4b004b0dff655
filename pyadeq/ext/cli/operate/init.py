"""`adeq init`: the files of a small project, to start from."""

from __future__ import annotations

import shlex
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from pyadeq.errors import ConfigError
from pyadeq.ext import operate
from pyadeq.ext.cli.shared.common import DEFAULT_URL, Format, Output, print_json

PROJECT = Path(operate.__file__).with_name("project")
FILES = ("tasks.py", "worker.py", "test_tasks.py", "AGENTS.md")


def init(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", file_okay=False, help="Where to write them; made if missing.")
    ] = Path(),
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
    output: Output = Format.table,
) -> None:
    """Write a task, a worker, a test, and an AGENTS.md that tells coding agents how to use pyadeq.

    It replaces no file without --force. It asks no server. The test needs the extra testing.
    """
    there = [name for name in FILES if (folder / name).exists()]
    if there and not force:
        raise ConfigError(f"FOLDER: {str(folder)!r} has {', '.join(there)} already; name another, or give --force")
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        shutil.copyfile(PROJECT / name, folder / name)
    place = Path(sys.executable).parent
    found = shutil.which("adeq")
    at = "" if found and Path(found).parent == place and shutil.which("python") else shlex.quote(f"{place}/")
    commands = [f"{at}python -m pytest -q", f"{at}adeq worker run worker:worker &", f"{at}python tasks.py"]
    if output != Format.table:
        print_json({"folder": str(folder), "files": list(FILES), "commands": commands}, output)
        return
    print(f"{folder}: {', '.join(FILES)}\nNext{'' if folder == Path() else f', after cd {folder}'}:")
    print("\n".join(f"  {command}" for command in commands))
    if not find_spec("pytest"):
        print("The first one needs pytest: install pyadeq with the extra testing.")
    print(f"The last two need a server: ADEQ_URL, or {DEFAULT_URL}.\nTo start one: {at}adeq dev-server")
