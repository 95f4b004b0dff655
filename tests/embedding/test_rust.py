"""The client for Rust, as cargo builds it: its form, its lints, and what it does, blocking and on tokio."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import jinja2
import pytest

from pyadeq.ext.bindings.model import model, pascal
from tests.embedding.conftest import toolchain

pytestmark = pytest.mark.any_engine

ROOT = Path(__file__).parents[2]
VECTORS = ROOT / "lua" / "conformance"
SOURCES = Path(__file__).parent / "rust"
STRICT = ("--", "--deny", "warnings")
BUILD = 900  # seconds, with all that it depends on


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Programs that use the client, built once."""
    return make_project(tmp_path_factory.mktemp("rust"))


def make_project(folder: Path) -> Path:
    toolchain("cargo")
    shutil.copytree(SOURCES, folder, dirs_exist_ok=True)
    run(folder, sys.executable, "-m", "pyadeq.ext.cli", "bindings", "rust", "-o", str(folder / "pyadeq"))
    (folder / "src" / "calls.rs").write_text(calls())
    cargo(folder, "build", "--all-targets", "--quiet")
    return folder


def calls() -> str:
    """A way from the names of a vector to the types of the client, which Rust cannot ask for at run time."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(SOURCES / "src"),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # it is source text
    )
    environment.filters["pascal"] = pascal
    return environment.get_template("calls.rs.j2").render(model())


def cargo(folder: Path, *arguments: str, **environment: str) -> str:
    return run(folder, "cargo", *arguments, seconds=BUILD, CARGO_TARGET_DIR=str(target(folder)), **environment)


def target(folder: Path) -> Path:
    """Where cargo builds: in the project, unless a folder that stays is named."""
    return Path(os.environ.get("CARGO_TARGET_DIR", folder / "target"))


def run(folder: Path, *command: str, seconds: int = 120, **environment: str) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=seconds,
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}"
    return done.stdout


def test_its_form_is_that_of_rustfmt(project: Path) -> None:
    cargo(project / "pyadeq", "fmt", "--check")
    cargo(project, "fmt", "--check")


@pytest.mark.parametrize("features", ["sync", "cluster", "tokio", "tokio-cluster"])
def test_clippy_has_nothing_to_say(project: Path, features: str) -> None:
    cargo(project / "pyadeq", "clippy", "--quiet", "--no-default-features", "--features", features, *STRICT)


def test_nor_about_the_programs_that_use_it(project: Path) -> None:
    cargo(project, "clippy", "--quiet", "--all-targets", *STRICT)


def test_its_pages_and_their_example(project: Path) -> None:
    cargo(project / "pyadeq", "doc", "--quiet", "--no-deps", "--all-features", RUSTDOCFLAGS="--deny warnings")
    cargo(project / "pyadeq", "test", "--quiet", "--all-features")


@pytest.mark.parametrize("name", ["client", "client_tokio"])
def test_what_it_does(project: Path, private_url: str, name: str) -> None:
    cargo_test(project, name, URL=private_url)


@pytest.mark.parametrize("name", ["client", "client_tokio"])
def test_what_it_does_on_a_cluster(project: Path, cluster_url: str, name: str) -> None:
    cargo_test(project, name, URL=cluster_url, CLUSTER="1")


def test_the_worker_and_the_locks_that_the_pages_show(project: Path, private_url: str) -> None:
    cargo_test(project, "worker", URL=private_url)


def cargo_test(project: Path, name: str, **environment: str) -> None:
    """They empty the server, so one by one."""
    cargo(project, "test", "--quiet", "--test", name, "--", "--test-threads", "1", **environment)


@pytest.mark.parametrize("library", ["sync", "tokio"])
def test_it_sends_and_reads_what_the_vectors_say(project: Path, private_url: str, library: str) -> None:
    replay(project, library, private_url)


@pytest.mark.parametrize("library", ["sync", "tokio"])
def test_it_does_so_on_a_cluster(project: Path, cluster_url: str, library: str) -> None:
    replay(project, library, cluster_url, "--cluster")


def replay(project: Path, library: str, url: str, *flags: str) -> None:
    run(project, str(target(project) / "debug" / "replay"), library, url, str(VECTORS), *flags)
