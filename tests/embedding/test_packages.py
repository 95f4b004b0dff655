"""What `make packages` writes: each package installs on its own, and works."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from pyadeq import Adeq, __version__, library
from tests.embedding.projects import ROOT, cargo, example, go_run, run, toolchain

pytestmark = [pytest.mark.any_engine, pytest.mark.rotates(3, 4)]

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


def program(package: Path, language: str, url: str) -> str:
    """That of a package's README, for this server. It prints how many tasks wait."""
    text = example(package / "README.md", language)
    assert SERVER in text
    return text.replace(SERVER, url.removeprefix("redis://"))


def enqueued(url: str) -> bool:
    with Adeq.from_url(url) as adeq:
        return adeq.queue("default").get(TASK) is not None


def test_all_are_of_this_release(packages: Path) -> None:
    assert sorted(path.name for path in packages.iterdir() if path.is_file()) == [
        f"pyadeq-{__version__}-py3-none-any.whl",
        f"pyadeq-{__version__}.crate",
        f"pyadeq-{__version__}.tar.gz",
        f"pyadeq-{__version__}.tgz",
        f"pyadeq@v{__version__}.zip",
    ]


def test_the_one_for_npm(packages: Path, private_url: str, tmp_path: Path) -> None:
    archive = packages / f"pyadeq-{__version__}.tgz"
    (tmp_path / "package.json").write_text(json.dumps({"private": True, "type": "module"}))
    run(tmp_path, "npm", "install", "--no-audit", "--no-fund", str(archive), "ioredis")
    package = tmp_path / "node_modules" / "pyadeq"
    (tmp_path / "example.js").write_text(program(package, "js", private_url))
    assert run(tmp_path, "node", "example.js") == "1\n"
    assert enqueued(private_url)
    manifest = library().manifest
    release = 'import("pyadeq").then(({ VERSION, CONTRACT, LAYOUT }) => console.log(VERSION, CONTRACT, LAYOUT))'
    told = run(tmp_path, "node", "--eval", release)
    assert told == f"{__version__} {manifest['contract']} {manifest['nouns']['queue']['layout']}\n"
    with tarfile.open(archive) as tar:
        assert {"package/index.d.ts", "package/README.md", "package/LICENSE"} <= set(tar.getnames())


def test_the_crate(packages: Path, private_url: str, tmp_path: Path) -> None:
    run(tmp_path, "tar", "-xzf", str(packages / f"pyadeq-{__version__}.crate"))
    crate = tmp_path / f"pyadeq-{__version__}"
    assert (crate / "LICENSE").is_file()
    run(tmp_path, "cargo", "init", "--quiet", "--name", "program", "--vcs", "none")
    run(tmp_path, "cargo", "add", "--quiet", "--path", crate.name)
    (tmp_path / "src" / "main.rs").write_text(program(crate, "rust", private_url))
    assert cargo(tmp_path, "run", "--quiet") == "1\n"
    assert enqueued(private_url)


def test_the_go_module(packages: Path, private_url: str, tmp_path: Path) -> None:
    toolchain("go")
    with zipfile.ZipFile(packages / f"pyadeq@v{__version__}.zip") as archive:
        archive.extractall(tmp_path)
    module = tmp_path / f"pyadeq@v{__version__}"
    assert (module / "LICENSE").is_file()
    assert go_run(tmp_path, program(module, "go", private_url), "pyadeq", module.name) == "1\n"
    assert enqueued(private_url)


def test_the_wheel(packages: Path, private_url: str, tmp_path: Path) -> None:
    run(tmp_path, sys.executable, "-m", "venv", "venv")
    python = str(tmp_path / "venv" / "bin" / "python")
    run(tmp_path, python, "-m", "pip", "install", "--quiet", str(packages / f"pyadeq-{__version__}-py3-none-any.whl"))
    enqueue = f"import pyadeq; pyadeq.Adeq.from_url({private_url!r}).queue('default').enqueue(id={TASK!r})"
    subprocess.run([python, "-I", "-c", enqueue], cwd=tmp_path, check=True)
    assert enqueued(private_url)
