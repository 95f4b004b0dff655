"""`QueueRuntime` for TypeScript, each day: its types against the interface of older programs, and what it does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.embedding.projects import run

pytestmark = pytest.mark.any_engine


def test_its_types_fit_the_interface_of_older_programs(typescript_project: Path) -> None:
    run(typescript_project, "npx", "tsc", "--project", ".")


def test_another_interface_would_be_found(typescript_project: Path) -> None:
    design = typescript_project / "design.ts"
    text = design.read_text()
    design.write_text(text.replace("mergedCount: number", "mergedCount: string"))
    try:
        with pytest.raises(AssertionError, match="mergedCount"):
            test_its_types_fit_the_interface_of_older_programs(typescript_project)
    finally:
        design.write_text(text)


def test_what_it_does(typescript_project: Path, private_url: str) -> None:
    run(typescript_project, "node", "--test", "queue-runtime.test.js", URL=private_url)
