"""The client for TypeScript, as npm installs it: its form, its types, and what it does on both client libraries."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyadeq import Adeq
from tests.embedding import projects
from tests.embedding.projects import RATE_TAGS, ROOT, SESSION_IDS, VECTORS, example, run

pytestmark = [pytest.mark.any_engine, pytest.mark.rotates(0, 4)]

OLDEST = ("ioredis@5.3.0", "redis@5.8.0")


@pytest.fixture(scope="module")
def project(typescript_project: Path) -> Path:
    return typescript_project


@pytest.fixture(scope="module")
def oldest_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with the oldest libraries that the client allows."""
    folder = projects.typescript(tmp_path_factory.mktemp("oldest"))
    run(folder, "npm", "install", "--no-audit", "--no-fund", "--no-save", *OLDEST)
    return folder


def test_its_form_is_that_of_prettier(project: Path) -> None:
    run(project, "npx", "prettier", "--config", "pyadeq/.prettierrc.json", "--check", "pyadeq", "*.js", "*.ts")


def test_types_are_strict(project: Path) -> None:
    """Those of the programs here, `tsc --project .`, are checked each day: test_queue_runtime.py."""
    sources = sorted(str(path) for path in (project / "pyadeq").glob("*.js"))
    strict = ("--strict", "--noEmit", "--allowJs", "--checkJs", "--target", "es2022", "--module", "nodenext")
    run(project, "npx", "tsc", "--ignoreConfig", *strict, "--types", "node", *sources)


def test_a_wrong_line_would_be_found(project: Path, tmp_path: Path) -> None:
    """The check of the JavaScript itself, which stands beside its declarations."""
    wrong = project / "pyadeq" / "wrong.js"
    wrong.write_text('/** @type {number} */\nexport const a = "b";\n')
    try:
        with pytest.raises(AssertionError, match="not assignable"):
            test_types_are_strict(project)
    finally:
        wrong.unlink()


@pytest.mark.parametrize("library", ["ioredis", "node-redis"])
def test_what_it_does(project: Path, private_url: str, library: str) -> None:
    run(project, "node", "--test", "client.test.js", LIBRARY=library, URL=private_url)


def test_which_partition_it_finds(project: Path) -> None:
    files = {"SESSION_IDS": str(SESSION_IDS), "RATE_TAGS": str(RATE_TAGS)}
    run(project, "node", "--test", "session.test.js", "rate.test.js", **files)


def test_its_worker_and_its_locks(project: Path, private_url: str) -> None:
    run(project, "node", "--test", "worker.test.js", URL=private_url)


@pytest.mark.parametrize("library", ["ioredis", "node-redis"])
def test_it_sends_and_reads_what_the_vectors_say(project: Path, private_url: str, library: str) -> None:
    run(project, "node", "replay.js", library, private_url, str(VECTORS))


@pytest.mark.parametrize("library", ["ioredis", "node-redis"])
def test_it_does_so_on_a_cluster(project: Path, cluster_url: str, library: str) -> None:
    run(project, "node", "replay.js", library, cluster_url, str(VECTORS), "--cluster")


@pytest.mark.parametrize("library", ["ioredis", "node-redis"])
def test_what_it_does_with_the_oldest_libraries(oldest_project: Path, private_url: str, library: str) -> None:
    run(oldest_project, "node", "--test", "client.test.js", LIBRARY=library, URL=private_url)


@pytest.mark.parametrize("library", ["ioredis", "node-redis"])
def test_what_it_does_on_a_cluster(project: Path, cluster_url: str, library: str) -> None:
    run(project, "node", "--test", "client.test.js", LIBRARY=library, URL=cluster_url, CLUSTER="1")


def test_the_example_of_the_page_runs(project: Path, private_url: str) -> None:
    program = example(ROOT / "docs" / "embedding" / "typescript.md", "javascript", "work.mjs")
    (project / "work.mjs").write_text(program.replace("redis://127.0.0.1:6379", private_url))
    with Adeq.from_url(private_url) as adeq:
        adeq.client.flushall()
        run(project, "node", "work.mjs")
        task = adeq.queue("default").get("invoice-7")
        assert task is not None
        assert (task.state, task.priority, task.result) == ("completed", 3, 12)
