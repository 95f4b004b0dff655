"""The client for Rust, as cargo builds it: its form, its lints, and what it does, blocking and on tokio."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import jinja2
import pytest

from pyadeq import Adeq
from pyadeq.ext.bindings.model import model, pascal
from tests.embedding.conftest import toolchain

pytestmark = pytest.mark.any_engine

ROOT = Path(__file__).parents[2]
VECTORS = ROOT / "lua" / "conformance"
SOURCES = Path(__file__).parent / "rust"
STRICT = ("--", "--deny", "warnings")
OLDEST = "1.0.0"  # of redis-rs
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


def test_its_worker_and_its_locks(project: Path, private_url: str) -> None:
    cargo_test(project, "worker", URL=private_url)


def test_what_it_does_with_the_oldest_library(project: Path, private_url: str) -> None:
    lock = project / "Cargo.lock"
    newest = lock.read_bytes()
    cargo(project, "update", "--quiet", "--package", "redis", "--precise", OLDEST)
    try:
        cargo_test(project, "client*", URL=private_url)
    finally:
        lock.write_bytes(newest)


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


def test_the_example_of_the_page_runs(project: Path, private_url: str) -> None:
    page = (ROOT / "docs" / "embedding" / "rust.md").read_text()
    (example,) = re.findall(r'```rust title="work.rs"\n(.*?)```', page, re.DOTALL)
    check_example(project, example, "redis://127.0.0.1:6379", private_url)
    with Adeq.from_url(private_url) as adeq:
        task = adeq.queue("default").get("invoice-7")
        assert task is not None
        assert (task.state, task.priority, task.result) == ("completed", 3, 12)


def test_the_example_of_its_readme_runs(project: Path, private_url: str) -> None:
    page = (project / "pyadeq" / "README.md").read_text()
    (example,) = re.findall(r"```rust\n(.*?)```", page, re.DOTALL)
    assert check_example(project, example, "redis://localhost:6379", private_url) == "1\n"


def check_example(project: Path, example: str, shown: str, url: str) -> str:
    """As it is shown, it has its form; what it prints, on an empty server."""
    program = project / "src" / "bin" / "example.rs"
    program.write_text(example)
    cargo(project, "fmt", "--check")
    assert shown in example
    program.write_text(example.replace(shown, url))
    with Adeq.from_url(url) as adeq:
        adeq.client.flushall()
    return cargo(project, "run", "--quiet", "--bin", "example")
