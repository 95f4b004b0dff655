"""Each mutant has its line. `make mutants` says whether the tests notice it; this is seen at once."""

from __future__ import annotations

import pytest

from pyadeq._core.manifest import library
from tests.property.locks import mutants as of_locks
from tests.property.mutants import BY_CORNERS, BY_THE_MACHINE
from tests.property.mutants_of_chains import Mutant

pytestmark = pytest.mark.any_engine

OF_QUEUES = dict(BY_THE_MACHINE) | {name: mutant for _, mutants in BY_CORNERS for name, mutant in mutants.items()}
OF_LOCKS = dict(of_locks.BY_HISTORIES) | {name: mutant for name, (_, mutant) in of_locks.BY_CORNERS.items()}


@pytest.mark.parametrize(("noun", "mutants"), [("queue", OF_QUEUES), ("lock", OF_LOCKS)])
def test_scripts_have_the_lines_of_the_mutants(noun: str, mutants: dict[str, Mutant]) -> None:
    texts = [library()[id].text for id in library() if id.startswith(f"{noun}.")]
    lost = [name for name, (line, _) in mutants.items() if not any(line in text for text in texts)]
    assert not lost, "their lines were changed: change tests/property/mutants*.py, too"
