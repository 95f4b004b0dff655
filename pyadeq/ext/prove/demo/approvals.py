"""The demo of approvals from beginning to end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import time

from pydantic import BaseModel

from pyadeq import Adeq, EmbeddedServer
from pyadeq.errors import AdeqError, ConfigError
from pyadeq.ext.prove.demo.approvals_plan import DOMAIN, FOLLOW_QUEUE, HELD, LOCK_DOMAIN, PROPOSALS, SLOT, configure
from pyadeq.ext.prove.demo.approvals_proof import FINISHED, Done, Facts, prove
from pyadeq.ext.prove.demo.approvals_story import CommandLine, Say, tell, wait_until
from pyadeq.ext.prove.demo.child import Child, start_child
from pyadeq.ext.prove.demo.proof import Check

APPLIERS = ("applier-2", "applier-3")
VICTIM = "applier-1"
CLAIMED = 10  # tasks at a time


class ApprovalsReport(BaseModel):
    """What the demo of approvals found out. ok: every line of the proof holds. states: how many changes are in each."""

    ok: bool
    seconds: float
    changes: int
    states: dict[str, int]
    tasks: int
    killed: str
    proof: list[Check]
    data_dir: str | None = None


def run_approvals(say: Say, *, keep: Path | None = None) -> ApprovalsReport:
    """Run it all on a private server, whose data stays in `keep`.

    Raises AdeqError if the server does not start, or if something does not happen.
    """
    begun = time()
    facts = act(say, keep)
    proof = prove(facts, VICTIM)
    return ApprovalsReport(
        ok=all(check.holds for check in proof),
        seconds=time() - begun,
        changes=len(facts.changes),
        states={state: count for state, count in facts.stats.items() if count},
        tasks=len(facts.done),
        killed=VICTIM,
        proof=proof,
        data_dir=None if keep is None else str(keep.absolute()),
    )


def act(say: Say, keep: Path | None = None) -> Facts:
    """Let all of it happen, and return what is known at the end; see `run_approvals`."""
    server = EmbeddedServer(keep)
    try:
        server.start()
    except ConfigError as error:
        raise AdeqError(str(error)) from error
    with server, Adeq.from_url(server.url, slot=SLOT, source="adeq demo") as adeq:
        configure(adeq)
        changes = adeq.changes(DOMAIN)
        tell(changes, CommandLine(server.url, say), say)
        _kill_an_applier(adeq, server.url, say)
        _apply_the_rest(adeq, server.url, say)
        return Facts.read(adeq, _run_follow_up_tasks(adeq, say))


def _kill_an_applier(adeq: Adeq, url: str, say: Say) -> None:
    """Kill an applier while it applies a change and holds the locks of two databases."""
    changes, locks = adeq.changes(DOMAIN), adeq.locks(LOCK_DOMAIN)

    with _applier(url, VICTIM, HELD) as victim:

        def holding() -> bool:
            _check(victim)
            return locks.get("database:archive").holders != [] and state() == "applying"

        def state() -> str:
            found = changes.get(HELD)
            return found.state if found else "missing"

        wait_until(holding, f"{VICTIM} did not begin")
        victim.process.kill()
        victim.process.wait()
        say(
            f"killed   {VICTIM} (pid {victim.process.pid}) with SIGKILL: it applies {HELD} and has locked two databases"
        )


def _apply_the_rest(adeq: Adeq, url: str, say: Say) -> None:
    """Let two appliers, at the same time, apply all that is approved."""
    changes = adeq.changes(DOMAIN)
    with ExitStack() as stack:
        appliers = [stack.enter_context(_applier(url, name)) for name in APPLIERS]

        def ended() -> bool:
            for applier in appliers:
                _check(applier)
            return all(found and found.state in FINISHED for found in changes.get_many([one.id for one in PROPOSALS]))

        wait_until(ended, "not all changes were applied")
    applied = [one.run for one in changes.get_many([one.id for one in PROPOSALS]) if one and one.run]
    for name in APPLIERS:
        say(f"{name} has applied {sum(run.agent == name for run in applied)} changes")


def _run_follow_up_tasks(adeq: Adeq, say: Say) -> list[Done]:
    """Run the tasks that follow the steps of the changes: those of the queue, after the outbox is delivered."""
    changes, queue = adeq.changes(DOMAIN), adeq.queue(FOLLOW_QUEUE)
    while changes.deliver().left:
        pass
    done: list[Done] = []
    while leases := queue.claim(worker="announcer", limit=CLAIMED):
        for lease in leases:
            done.append(Done(lease.kind or "", lease.payload["event"], lease.payload["id"], lease.payload["digest"]))
            queue.ack(lease)
    say(f"announcer has run {len(done)} follow-up tasks")
    return done


@contextmanager
def _applier(url: str, name: str, *arguments: str) -> Iterator[Child]:
    command = ["-m", "pyadeq.ext.prove.demo.approvals_applier", name, *arguments]
    child = start_child(name, command, {"ADEQ_URL": url})
    try:
        yield child
    finally:
        child.close()


def _check(child: Child) -> None:
    if child.process.poll() is not None:
        raise AdeqError(child.told())
