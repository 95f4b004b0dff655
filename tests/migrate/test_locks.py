"""Programs of the old and of the new layout exclude each other while all of them change."""

from __future__ import annotations

from pyadeq.embedded import EmbeddedServer
from tests.migrate.locking import STEPS, change_under_fire
from tests.migrate.moving import New

TAKES = 500


def test_old_and_new_programs_exclude_each_other_while_all_of_them_change(old: EmbeddedServer, new: New) -> None:
    changed = change_under_fire(old, new, TAKES, STEPS)
    assert changed.broken == 0
    assert changed.entered >= TAKES
    assert {*changed.kills} == {*STEPS}
