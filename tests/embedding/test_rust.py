"""The client for Rust, as cargo builds it: its form, its lints, and what it does, blocking and on tokio."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.embedding.projects import VECTORS, cargo, run, target

pytestmark = pytest.mark.any_engine

STRICT = ("--", "--deny", "warnings")


@pytest.fixture(scope="module")
def project(rust_project: Path) -> Path:
    return rust_project


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
