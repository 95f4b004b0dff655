"""How many instructions the server runs for ordinary calls: that repeats, where times do not. See instructions.toml.

They are counted under callgrind, and compared where the engine and the C library are those of the recorded numbers.
"""

import os
import tomllib
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from pyadeq import Adeq
from pyadeq.ext.prove.bench import changes, paths
from pyadeq.ext.prove.bench.paths import Path as Way
from pyadeq.ext.prove.bench.scene import Plan, Scene
from tests.nouns.callgrind import Counter, counting, machine, missing

FILE = Path(__file__).with_name("instructions.toml")
UPDATE = os.environ.get("ADEQ_UPDATE_COSTS") == "1"
HEADING = """\
# How many thousands of instructions the server runs for one call, in user space, as callgrind counts them: the calls
# that `adeq bench paths changes` measures. They differ by a few hundredths from run to run; `heartbeat 100` was seen
# from 3,616 to 4,091. So 8 % may be chance. A rise needs a reason in the same commit; a fall is welcome, and recorded,
# or a later rise would hide behind it.
# After a change: ADEQ_UPDATE_COSTS=1 python -m pytest -p no:xdist tests/nouns/test_instructions.py

"""
ROOM = 1.08
MOST_CALLS, FEWEST_CALLS, TASKS = 100, 10, 300  # of a path, of which the mean is told
SETS: dict[str, Any] = {"paths": paths, "changes": changes}
COSTLY = ("vote on 100 changes, decide each of 32 requests", "inbox, 50 of 10,000", "list, 50 of 10,000")
RECORDED: dict[str, Any] = {} if UPDATE else tomllib.loads(FILE.read_text())


@pytest.mark.slow
@pytest.mark.any_engine  # the wheel's
@pytest.mark.skipif(missing() is not None and not os.environ.get("CI"), reason=missing() or "")
@pytest.mark.parametrize("subject", SETS)
def test_calls_run_as_many_instructions_as_recorded(tmp_path: Path, subject: str) -> None:
    with counting(tmp_path) as counter, Adeq(counter.client) as adeq:
        here = machine(counter.client)
        if not UPDATE and here != RECORDED["machine"]:
            pytest.skip(f"the numbers are those of {RECORDED['machine']}, and this is {here}")
        url = f"unix://{counter.client.connection_pool.connection_kwargs['path']}"
        scene = Scene(adeq, url, Plan(), own=False, tell=lambda _: None)
        ways = [way for way in SETS[subject].PATHS if way.name not in COSTLY]
        found = {way.name: round(instructions(counter, scene, way, SETS[subject].Stage) / 1000) for way in ways}
    if UPDATE:
        record(here, subject, found)
        return
    recorded = RECORDED[subject]
    assert found.keys() == recorded.keys(), f"see the top of {FILE.name}"
    others = {
        name: f"{number} for {recorded[name]}"
        for name, number in found.items()
        if not recorded[name] / ROOM <= number <= recorded[name] * ROOM
    }
    assert not others, f"not what is recorded, in thousands; see the top of {FILE.name}"


def record(here: str, subject: str, found: dict[str, int]) -> None:
    """Write the numbers of a subject, and keep those of the others."""
    before = tomllib.loads(FILE.read_text()) if FILE.exists() else {}
    tables = {name: found if name == subject else before.get(name, {}) for name in SETS}
    lines = [f"[{name}]\n" + "".join(f'"{way}" = {n}\n' for way, n in table.items()) for name, table in tables.items()]
    FILE.write_text(f'{HEADING}machine = "{here}"\n\n' + "\n".join(lines))


def instructions(counter: Counter, scene: Scene, way: Way, stage: type[Any]) -> float:
    """Of a call, the mean of several; the first ones fill caches, and are not counted."""
    with ExitStack() as stack:
        at = stage(scene, stack, min(MOST_CALLS, max(TASKS // way.size, FEWEST_CALLS)), way.size)
        calls = way.prepare(at)
        skipped = len(calls) // 5
        scene.calls(calls[:skipped])()
        work, answers = scene.calls(calls[skipped:]), []
        number = counter.count(lambda: answers.append(work()))
    assert way.right(calls[-1].decode(answers[0]), way.size), way.name
    return number / (len(calls) - skipped)
