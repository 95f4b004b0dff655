"""The demo of approvals works for real, its proof holds, and facts that were tampered with are convicted."""

import json
import subprocess
import sys
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

import pytest
import typer

from pyadeq.errors import ConfigError
from pyadeq.ext.cli.prove import demo as command
from pyadeq.ext.cli.shared.common import Format
from pyadeq.ext.prove.demo.approvals import VICTIM, ApprovalsReport, act
from pyadeq.ext.prove.demo.approvals_plan import AUTOMATIC, HELD, REVISED, VETOED
from pyadeq.ext.prove.demo.approvals_proof import Facts, prove
from pyadeq.ext.prove.demo.proof import Check

pytestmark = pytest.mark.any_engine

STORY, VOTES, APPLIED, APPLIERS, KILLED, TASKS, COUNTS = range(7)
DEMO = [sys.executable, "-m", "pyadeq.ext.cli", "demo", "--approvals"]


@pytest.mark.slow
def test_the_command_proves_it(tmp_path: Path) -> None:
    keep = tmp_path / "data"
    ended = subprocess.run(
        [*DEMO, "-o", "json", "--keep", str(keep)], capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.returncode == 0, ended
    report = ApprovalsReport.model_validate(json.loads(ended.stdout))
    assert report.ok
    assert len(report.proof) == 7
    assert (report.changes, report.states, report.tasks) == (10, {"completed": 9, "rejected": 1}, 19)
    assert f"{VICTIM} (pid " in ended.stderr
    assert keep.is_dir()


def test_a_limit_does_not_go_with_approvals() -> None:
    with pytest.raises(ConfigError, match="--limit"):
        command.demo(None, 60, approvals=True, output=Format.table)


def test_it_exits_with_1_if_the_proof_does_not_hold(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    proof = [Check(claim="all is well", holds=False, detail="no")]
    wrong = ApprovalsReport(ok=False, seconds=1.0, changes=0, states={}, tasks=0, killed="x", proof=proof)
    monkeypatch.setattr(command, "run_approvals", lambda *_, **__: wrong)
    with pytest.raises(typer.Exit) as ended:
        command.demo(None, None, approvals=True, output=Format.table)
    assert ended.value.exit_code == 1
    assert "all is well (no)" in capsys.readouterr().out


# the proof, on the facts of one run


def forget_a_vote(facts: Facts) -> None:
    facts.votes["dns"].pop()


def vote_twice(facts: Facts) -> None:
    facts.votes["dns"][1] = facts.votes["dns"][0]


def vote_for_its_own(facts: Facts) -> None:
    facts.votes[HELD][0] = facts.votes[HELD][0]._replace(principal="bob")


def vote_for_another_revision(facts: Facts) -> None:
    facts.votes[REVISED][0] = facts.votes[REVISED][0]._replace(rev=1)


def approve_another_digest(facts: Facts) -> None:
    facts.votes["dns"][0] = facts.votes["dns"][0]._replace(digest="0" * 40)


def apply_other_content(facts: Facts) -> None:
    facts.applied[0]["sha256"] = "0" * 64


def apply_twice(facts: Facts) -> None:
    facts.applied.append(facts.applied[0])


def apply_nothing(facts: Facts) -> None:
    facts.applied.pop()


def apply_what_was_vetoed(facts: Facts) -> None:
    facts.applied.append({**facts.applied[0], "id": VETOED})


def lower_a_fence(facts: Facts) -> None:
    next(event for event in reversed(facts.events) if event.name == "applying").detail["fence"] = "1"


def begin_without_an_end(facts: Facts) -> None:
    facts.events[:] = [event for event in facts.events if event.name != "released"]


def let_the_killed_one_apply(facts: Facts) -> None:
    facts.of(HELD, "applying")[1].detail["by"] = VICTIM


def forget_that_locks_expired(facts: Facts) -> None:
    facts.lock_events[:] = [event for event in facts.lock_events if event.name != "expired"]


def run_a_task_twice(facts: Facts) -> None:
    facts.done.append(facts.done[0])


def run_no_task(facts: Facts) -> None:
    facts.done.pop()


def count_another(facts: Facts) -> None:
    facts.stats["completed"] += 1


def leave_one_open(facts: Facts) -> None:
    facts.stats["applying"] += 1
    facts.records["applying"] += 1


def let_a_person_decide(facts: Facts) -> None:
    facts.changes[AUTOMATIC] = facts.changes[AUTOMATIC].model_copy(update={"decided_by": "ann"})


TAMPERED: list[tuple[Callable[[Facts], None], set[int]]] = [
    (forget_a_vote, {VOTES}),
    (vote_twice, {VOTES}),
    (vote_for_its_own, {VOTES}),
    (vote_for_another_revision, {APPLIED}),
    (approve_another_digest, {APPLIED}),
    (apply_other_content, {APPLIED}),
    (apply_twice, {APPLIED, APPLIERS}),
    (apply_nothing, {APPLIED}),
    (apply_what_was_vetoed, {APPLIED}),
    (lower_a_fence, {APPLIERS}),
    (begin_without_an_end, {APPLIERS}),
    (let_the_killed_one_apply, {KILLED}),
    (forget_that_locks_expired, {KILLED}),
    (run_a_task_twice, {TASKS}),
    (run_no_task, {TASKS}),
    (count_another, {COUNTS}),
    (leave_one_open, {COUNTS}),
    (let_a_person_decide, {STORY}),
]


@pytest.mark.slow
def test_facts_that_were_tampered_with_are_convicted() -> None:
    """One run for all, for it takes a while."""
    said: list[str] = []
    facts = act(said.append)
    assert [check for check in prove(facts, VICTIM) if not check.holds] == []
    assert any("not_eligible, contributor" in line for line in said)
    for tamper, lines in TAMPERED:
        wrong = deepcopy(facts)
        tamper(wrong)
        proof = prove(wrong, VICTIM)
        assert {line for line, check in enumerate(proof) if not check.holds} >= lines, tamper.__name__
        assert all(check.detail for check in proof if not check.holds), tamper.__name__
