"""The client for Go, in a module that uses it: its form, and what it does."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pyadeq import Adeq
from tests.embedding import projects
from tests.embedding.projects import RATE_TAGS, ROOT, SESSION_IDS, VECTORS, example, go_run, run, write_client

pytestmark = [pytest.mark.any_engine, pytest.mark.rotates(2, 4)]

OTHERS = "Conformance|Worker|Locks|SessionIDs|RateTags"  # tests that have a function of their own below
OLDEST_GO = "1.24"
OLDEST = "github.com/redis/go-redis/v9@v9.19.0"


@pytest.fixture(scope="module")
def project(go_project: Path) -> Path:
    return go_project


@pytest.fixture(scope="module")
def oldest_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with the oldest go-redis and in the oldest Go that the client allows."""
    folder = projects.go(tmp_path_factory.mktemp("oldest"))
    newer = "golang.org/x/sys"  # for a newer go-redis, and itself for a newer Go only
    run(folder, "go", "mod", "edit", f"-go={OLDEST_GO}", f"-require={OLDEST}", f"-droprequire={newer}")
    run(folder, "go", "mod", "tidy")
    assert f"\ngo {OLDEST_GO}\n" in (folder / "go.mod").read_text()
    return folder


def go_test(folder: Path, *packages: str, **environment: str) -> None:
    """Tests, with the detector of races where there is a C compiler for it."""
    race = ["-race"] if run(folder, "go", "env", "CGO_ENABLED").strip() == "1" and shutil.which("gcc") else []
    run(folder, "go", "test", "-count=1", *race, *packages, **environment)


def test_its_form_is_that_of_gofmt(project: Path) -> None:
    assert run(project, "gofmt", "-l", ".") == ""


def test_vet_finds_nothing(project: Path) -> None:
    run(project, "go", "vet", "./...", "pyadeq/...")


def test_it_uses_nothing_that_the_oldest_go_has_not(oldest_project: Path) -> None:
    run(oldest_project, "go", "vet", "-stdversion", "./...", "pyadeq/...")


def test_its_module_files_are_tidy(project: Path) -> None:
    written = (project / "pyadeq" / "go.mod").read_text()
    run(project / "pyadeq", "go", "mod", "tidy")
    assert (project / "pyadeq" / "go.mod").read_text() == written
    run(project, "go", "mod", "tidy", "-diff")


def test_it_sends_and_reads_what_the_vectors_say(project: Path, private_url: str) -> None:
    go_test(project, "-run", "Conformance", ".", URL=private_url, VECTORS=str(VECTORS))


def test_it_does_so_on_a_cluster(project: Path, cluster_url: str) -> None:
    go_test(project, "-run", "Conformance", ".", URL=cluster_url, VECTORS=str(VECTORS), CLUSTER="1")


def test_what_it_does(project: Path, private_url: str) -> None:
    go_test(project, "-skip", OTHERS, ".", URL=private_url)


def test_what_it_does_with_the_oldest_library(oldest_project: Path, private_url: str) -> None:
    go_test(oldest_project, "-skip", OTHERS, ".", URL=private_url)


def test_what_it_does_on_a_cluster(project: Path, cluster_url: str) -> None:
    go_test(project, "-skip", OTHERS, ".", URL=cluster_url, CLUSTER="1")


def test_which_partition_it_finds(project: Path) -> None:
    go_test(project, "-run", "SessionIDs|RateTags", ".", SESSION_IDS=str(SESSION_IDS), RATE_TAGS=str(RATE_TAGS))


def test_its_worker_and_its_locks(project: Path, private_url: str) -> None:
    go_test(project, "-run", "Worker|Locks", ".", URL=private_url)


def test_the_example_of_the_page_runs(project: Path, private_url: str) -> None:
    program = example(ROOT / "docs" / "embedding" / "go.md", "go", "main.go")
    file = project / "example" / "main.go"
    file.parent.mkdir()
    file.write_text(program)
    assert run(project, "gofmt", "-l", "example") == ""
    file.write_text(program.replace("127.0.0.1:6379", private_url.removeprefix("redis://")))
    with Adeq.from_url(private_url) as adeq:
        adeq.client.flushall()
        run(project, "go", "run", "./example")
        task = adeq.queue("default").get("invoice-7")
        assert task is not None
        assert (task.state, task.priority, task.result) == ("completed", 3, 12)


def test_the_example_of_its_readme_runs_under_another_name(project: Path, private_url: str) -> None:
    package = "example.com/ours/tasks"
    folder = project / "renamed"
    write_client("go", folder / "tasks", "--package", package)
    program = example(folder / "tasks" / "README.md", "go")
    program = program.replace("localhost:6379", private_url.removeprefix("redis://"))
    with Adeq.from_url(private_url) as server:
        server.client.flushall()
    assert go_run(folder, program, package, "tasks") == "1\n"
