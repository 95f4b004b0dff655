"""The client for Rust, as cargo builds it: its form, its lints, and what it does, blocking and on tokio."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pyadeq import Adeq
from tests.embedding.projects import RATE_TAGS, ROOT, SESSION_IDS, VECTORS, cargo, example, run, target

pytestmark = [pytest.mark.any_engine, pytest.mark.rotates(1, 4)]

STRICT = ("--", "--deny", "warnings")
OLDEST = "1.0.0"  # of redis-rs


@pytest.fixture(scope="module")
def project(rust_project: Path) -> Path:
    return rust_project


@pytest.fixture
def oldest_project(project: Path) -> Iterator[Path]:
    """The same with the oldest redis-rs that the client allows."""
    lock = project / "Cargo.lock"
    newest = lock.read_bytes()
    cargo(project, "update", "--quiet", "--package", "redis", "--precise", OLDEST)
    yield project
    lock.write_bytes(newest)
    cargo(project, "build", "--quiet", "--all-targets")


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


def test_which_partition_it_finds(project: Path) -> None:
    cargo_test(project, "session", SESSION_IDS=str(SESSION_IDS))
    cargo_test(project, "rate", RATE_TAGS=str(RATE_TAGS))


def test_its_worker_and_its_locks(project: Path, private_url: str) -> None:
    cargo_test(project, "worker", URL=private_url)


def test_what_it_does_with_the_oldest_library(oldest_project: Path, private_url: str) -> None:
    cargo_test(oldest_project, "client*", URL=private_url)


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
    program = project / "src" / "bin" / "work.rs"
    program.write_text(example(ROOT / "docs" / "embedding" / "rust.md", "rust", "work.rs"))
    cargo(project, "fmt", "--check")
    program.write_text(program.read_text().replace("redis://127.0.0.1:6379", private_url))
    with Adeq.from_url(private_url) as adeq:
        adeq.client.flushall()
        cargo(project, "run", "--quiet", "--bin", "work")
        task = adeq.queue("default").get("invoice-7")
        assert task is not None
        assert (task.state, task.priority, task.result) == ("completed", 3, 12)
