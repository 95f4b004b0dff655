"""What happens in the demo of approvals until all is decided: agents propose, people answer."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from time import monotonic, sleep, time

from pyadeq import Change, ChangeAnswer, Changes, Result
from pyadeq.errors import AdeqError
from pyadeq.ext.prove.demo.approvals_plan import (
    ASSESSOR,
    AUTOMATIC,
    DOMAIN,
    ESCALATE,
    ESCALATED,
    HELD,
    OF_BOB,
    ON_CALL,
    PROPOSALS,
    REVISED,
    REVISION,
    SLOT,
    VETOED,
)
from pyadeq.models.base import iso

Say = Callable[[str], None]
POLL = 0.02  # seconds
PATIENCE = 30.0  # seconds
VACATION = 14 * 86400.0  # seconds


class CommandLine:
    """Runs `adeq` as people do, and shows what they see."""

    def __init__(self, url: str, say: Say) -> None:
        self._places = {"ADEQ_URL": url, "ADEQ_SLOT": SLOT, "ADEQ_CHANGE_DOMAIN": DOMAIN}
        self._say = say

    def run(self, person: str, command: str) -> int:
        """Run a command as a person; return its exit status."""
        ended = subprocess.run(
            [sys.executable, "-m", "pyadeq.ext.cli", *shlex.split(command)],
            env={**os.environ, **self._places, "ADEQ_ACTOR": person},
            capture_output=True,
            text=True,
            check=False,
        )
        self._say(f"{person + '$':<9}adeq {command}")
        for line in (ended.stdout + ended.stderr).splitlines():
            self._say(f"         {line}")
        return ended.returncode


def tell(changes: Changes, people: CommandLine, say: Say) -> None:
    """All of it, one step after the other."""
    propose(changes, say)
    start_vacation(people)
    revise_under_review(changes, people, say)
    refuse_own(changes, say)
    answer_inboxes(changes, people, say)
    escalate(changes, say)


def propose(changes: Changes, say: Say) -> None:
    """Agents propose all changes, and another program assesses their risks."""
    for one in PROPOSALS:
        kind, _, _ = one.resources[0].partition(":")
        draft = changes.put(one.id, type=kind, description=one.description, resources=one.resources, **one.by)
        _expect(changes.submit(draft, policy=one.policy, **one.by), "submitted")
        low = one.id == AUTOMATIC
        answer = changes.assess(draft, score=one.risk, auto_approvable=low, assessed_by="rules 1", **ASSESSOR)
        _expect(answer, "ok")
        risk = f"{answer.level.upper()} ({one.risk})"
        say(f"{one.agent:<9}{one.id:<13}{one.description:<42}{risk:<14}{answer.state.upper()}")


def start_vacation(people: CommandLine) -> None:
    """Bob approves one change, and lets dan answer all other requests for two weeks."""
    people.run("bob", "change approve cache-size --rev 1 -m 'measured, it helps'")
    people.run("bob", f"change delegation set vacation --to dan --until {iso(time() + VACATION)}")


def revise_under_review(changes: Changes, people: CommandLine, say: Say) -> None:
    """Dan approves the first revision, ann wants another: so the answer of dan is void, and that of ann has to name 2.

    Raises AdeqError if the command line accepts an answer to the first revision.
    """
    by = next(one.by for one in PROPOSALS if one.id == REVISED)
    first = _read(changes, REVISED)
    _expect(changes.approve(first, actor="dan", groups=ON_CALL), "recorded")
    _expect(changes.request_changes(first, reason="not all at once", actor="ann"), "recorded")
    revised = changes.revise(first, description=REVISION, **by)
    _expect(revised, "revised")
    say(f"{by['actor']:<9}{REVISED:<13}{REVISION}, revision 2, because ann has asked for it")
    draft = _read(changes, REVISED)
    if draft.state == "submitted":  # the risk of this revision is wanted, too
        _expect(changes.assess(draft, score=45, assessed_by="rules 1", **ASSESSOR), "ok")
    if people.run("ann", f"change approve {REVISED} --rev 1") == 0:
        raise AdeqError(f"{REVISED}: the command line has accepted an approval of revision 1")


def refuse_own(changes: Changes, say: Say) -> None:
    """Bob cannot approve what his own agent proposes."""
    answer = changes.approve(_read(changes, OF_BOB), actor="bob")
    _expect(answer, "not_eligible")
    say(f"bob      wants to approve {OF_BOB}, which his agent proposes: {answer.status}, {answer.reason}")


def answer_inboxes(changes: Changes, people: CommandLine, say: Say) -> None:
    """Ann rejects one change and approves the others; eve answers for on-call, and dan for bob."""
    people.run("ann", "inbox")
    people.run("ann", f"change reject {VETOED} --rev 1 -m 'never'")
    entries = [one for one in changes.iterate_inbox("ann") if one.id != ESCALATED]
    approvals = [ChangeAnswer(id=one.id, rev=one.rev, digest=one.digest, action="approve") for one in entries]
    for answer in changes.respond(approvals, actor="ann"):
        _expect(answer, "recorded", "approved")
    say(f"ann      approves {len(approvals)} changes in one call: {', '.join(one.id for one in approvals)}")
    people.run("eve", f"change approve {OF_BOB} --rev 1 --group on-call")
    _approve_all(changes, "eve", say, HELD)
    _approve_all(changes, "dan", say)


def _approve_all(changes: Changes, person: str, say: Say, *only: str) -> None:
    """Approve what waits for a person of on-call, or only these changes."""
    found = {one.id: one for one in changes.iterate_inbox(person, groups=ON_CALL)}
    wanted = [id for id in only or found if id != ESCALATED]
    for id in wanted:
        _expect(changes.approve(found[id], actor=person, groups=ON_CALL), "approved")
    say(f"{person:<9}approves {', '.join(wanted)}")


def escalate(changes: Changes, say: Say) -> None:
    """Nobody has answered one request in time, so on-call is asked."""

    def asked() -> bool:
        changes.sweep()
        return any(one.id == ESCALATED for one in changes.iterate_inbox("eve", groups=ON_CALL))

    wait_until(asked, f"{ESCALATED} was not escalated")
    _expect(changes.approve(_read(changes, ESCALATED), actor="eve", groups=ON_CALL), "approved")
    say(f"eve      approves {ESCALATED}: ann has not answered within {ESCALATE:g} s, so on-call is asked, too")


def wait_until(happened: Callable[[], bool], complaint: str) -> None:
    """Look again and again. Raises AdeqError after 30 s."""
    end = monotonic() + PATIENCE
    while not happened():
        if monotonic() > end:
            raise AdeqError(f"{complaint} within {PATIENCE:g} s")
        sleep(POLL)


def _read(changes: Changes, id: str) -> Change:
    found = changes.get(id)
    if found is None:
        raise AdeqError(f"there is no change {id!r}")
    return found


def _expect(answer: Result, *statuses: str) -> None:
    if answer.status not in statuses:
        raise AdeqError(f"the answer is {answer.status}, and should be {' or '.join(statuses)}: {answer.fields}")
