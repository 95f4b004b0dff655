"""The last release, built from the commit that releases.toml names."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.chaos.deployment import Build
from tests.chaos.newer import ROOT


def build_released(folder: Path) -> Build:
    """Build its wheel and unpack it. The programs of its own tests know its names."""
    release = tomllib.loads((ROOT / "releases.toml").read_text(encoding="utf-8"))["release"][-1]
    if _git("rev-parse", "--is-shallow-repository") == b"true\n":
        pytest.skip("this clone has no history: git fetch --unshallow")
    tree = folder / "tree"
    tree.mkdir()
    subprocess.run(["tar", "-x", "-C", tree], input=_git("archive", release["commit"]), check=True)
    _run("build", "--wheel", "--no-isolation", "--outdir", folder, tree)
    (wheel,) = folder.glob("*.whl")
    _run("zipfile", "-e", wheel, folder / "installed")
    return Build(folder / "installed", release["version"], tree / "tests/chaos")


def _git(*words: str) -> bytes:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, check=True).stdout


def _run(module: str, *words: str | Path) -> None:
    done = subprocess.run([sys.executable, "-m", module, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
