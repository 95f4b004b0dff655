"""What `make packages` writes: each package installs on its own, and works."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from pyadeq import Adeq, __version__, library
from tests.embedding.projects import ROOT, run, toolchain

pytestmark = pytest.mark.any_engine

TASK = "invoice-7"  # what each README enqueues
SERVER = "localhost:6379"


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    toolchain("make", "npm", "cargo")
    folder = tmp_path_factory.mktemp("packages")
    run(ROOT, "make", "packages", f"PACKAGES={folder}", f"BINDINGS={folder / 'bindings'}")
    return folder


@pytest.fixture(autouse=True)
def empty(request: pytest.FixtureRequest) -> None:
    if "private_url" in request.fixturenames:
        with Adeq.from_url(request.getfixturevalue("private_url")) as adeq:
            adeq.client.flushall()


def readme(package: Path, language: str, url: str) -> str:
    """The program of a package's README, for this server."""
    (program,) = re.findall(rf"```{language}\n(.*?)```", (package / "README.md").read_text(), re.DOTALL)
    assert SERVER in program
    return str(program).replace(SERVER, url.removeprefix("redis://"))


def enqueued(url: str) -> bool:
    with Adeq.from_url(url) as adeq:
        return adeq.queue("default").get(TASK) is not None


def test_all_are_of_this_release(packages: Path) -> None:
    assert sorted(path.name for path in packages.iterdir() if path.is_file()) == [
        f"pyadeq-{__version__}-py3-none-any.whl",
        f"pyadeq-{__version__}.tar.gz",
        f"pyadeq-{__version__}.tgz",
    ]


def test_the_one_for_npm(packages: Path, private_url: str, tmp_path: Path) -> None:
    archive = packages / f"pyadeq-{__version__}.tgz"
    (tmp_path / "package.json").write_text(json.dumps({"private": True, "type": "module"}))
    run(tmp_path, "npm", "install", "--no-audit", "--no-fund", str(archive), "ioredis")
    package = tmp_path / "node_modules" / "pyadeq"
    (tmp_path / "example.js").write_text(readme(package, "js", private_url))
    assert run(tmp_path, "node", "example.js") == "1\n"
    assert enqueued(private_url)
    manifest = library().manifest
    release = 'import("pyadeq").then(({ VERSION, CONTRACT, LAYOUT }) => console.log(VERSION, CONTRACT, LAYOUT))'
    told = run(tmp_path, "node", "--eval", release)
    assert told == f"{__version__} {manifest['contract']} {manifest['layout']}\n"
    with tarfile.open(archive) as tar:
        assert {"package/index.d.ts", "package/README.md", "package/LICENSE"} <= set(tar.getnames())


def test_the_wheel(packages: Path, private_url: str, tmp_path: Path) -> None:
    run(tmp_path, sys.executable, "-m", "venv", "venv")
    python = str(tmp_path / "venv" / "bin" / "python")
    run(tmp_path, python, "-m", "pip", "install", "--quiet", str(packages / f"pyadeq-{__version__}-py3-none-any.whl"))
    program = f"import pyadeq; pyadeq.Adeq.from_url({private_url!r}).queue('default').enqueue(id={TASK!r})"
    subprocess.run([python, "-I", "-c", program], cwd=tmp_path, check=True)
    assert enqueued(private_url)
