"""Each mutant has its line. `make mutants` says whether the tests notice it; this is seen at once."""

from __future__ import annotations

import pytest

from pyadeq._core.kernel.manifest import library
from tests.lua.sources import stands_in
from tests.property.locks import mutants as of_locks
from tests.property.mutants import BY_CORNERS, BY_THE_MACHINE
from tests.property.mutants_of_chains import Mutant
from tests.property.mutants_of_schedules import BY_HISTORIES, OF_SCHEDULES

pytestmark = pytest.mark.any_engine

CORNERS = [*BY_CORNERS, *OF_SCHEDULES]
OF_QUEUES = dict(BY_THE_MACHINE) | BY_HISTORIES | {name: one for _, mutants in CORNERS for name, one in mutants.items()}
OF_LOCKS = dict(of_locks.BY_HISTORIES) | {name: mutant for name, (_, mutant) in of_locks.BY_CORNERS.items()}


@pytest.mark.parametrize(("noun", "mutants"), [("queue", OF_QUEUES), ("lock", OF_LOCKS)])
def test_mutants_change_lines_that_there_are(noun: str, mutants: dict[str, Mutant]) -> None:
    texts = [library()[id].text for id in library() if id.startswith(f"{noun}.")]
    lost = [
        name
        for name, (line, other) in mutants.items()
        if line == other or not any(stands_in(line, text) for text in texts)
    ]
    assert not lost, "their lines were changed: change tests/property/mutants*.py, too"
