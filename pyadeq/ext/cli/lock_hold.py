"""`adeq lock run`, and `acquire`, `renew` and `release` for scripts that hold a lock over several commands."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Annotated, Any, Self

import typer

from pyadeq import Grant
from pyadeq._supervisor import death_signal
from pyadeq.errors import AdeqError, ConfigError, DeadlockError, LockUnavailable, RateLimited, WaitTimeout
from pyadeq.ext.cli import tickets
from pyadeq.ext.cli.arguments import Domain, Resource, time_option
from pyadeq.ext.cli.common import DEFAULT_URL, Format, Output, Url, connected, iso, print_json
from pyadeq.ext.cli.tickets import STDIN, TicketFile
from pyadeq.ids import default_worker_name
from pyadeq.models.lock import LockMode

LOOK = 0.1  # seconds between two looks at the lock while the command runs
FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)

Wait = Annotated[float, time_option("How long to wait for the lock; 0: not at all.")]
Ttl = Annotated[float, time_option("How long a lease lasts; 0: the domain's setting.")]
Owner = Annotated[
    str | None, typer.Option(metavar="ID", help="Who holds it, for lists. [default: host, pid and a random word]")
]
Purpose = Annotated[str, typer.Option(metavar="TEXT", help="What it is for, for lists.")]
Shared = Annotated[bool, typer.Option("--shared", help="Hold it together with others who share it.")]
Permits = Annotated[
    int, typer.Option(min=0, metavar="N", help="Take N permits of a resource with a capacity.", show_default=False)
]


def run(
    resource: Resource,
    command: Annotated[list[str], typer.Argument(metavar="COMMAND...", help="The command, after `--`.")],
    domain: Domain = "default",
    shared: Shared = False,
    permits: Permits = 0,
    wait: Wait = "1m",  # type: ignore[assignment]
    ttl: Ttl = "0",  # type: ignore[assignment]
    owner: Owner = None,
    purpose: Purpose = "",
    kill_after: Annotated[float, time_option("If the lock is lost: time from SIGTERM to SIGKILL.")] = "5",  # type: ignore[assignment]
    conflict_exit_code: Annotated[
        int, typer.Option("--conflict-exit-code", "-E", min=0, max=255, help="The exit status if the lock is not free.")
    ] = 1,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Run a command while holding a lock: adeq lock run deploy -- make install.

    The lock is renewed while the command runs, and released when it ends. The exit status is that of the command. If
    the lock is lost, the command is ended, and on Linux also the programs that it has started. It finds the fence in
    ADEQ_LOCK_FENCE: systems that it writes to can refuse lower ones.
    """
    lost = threading.Event()
    with _ended_in_order(), connected(url) as adeq:
        wanted = _wanted(shared, permits, ttl, owner, purpose)
        try:
            with adeq.locks(domain).acquire(resource, wait=wait, on_lost=lambda _: lost.set(), **wanted) as grant:
                status = _run(command, _environment(domain, grant), lost, kill_after)
        except (WaitTimeout, DeadlockError, LockUnavailable, RateLimited) as error:
            typer.echo(f"adeq: {error}", err=True)
            status = conflict_exit_code
    raise typer.Exit(status)


@contextmanager
def _ended_in_order() -> Iterator[None]:
    """Leave the line of waiters also if SIGTERM ends us."""
    before = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _environment(domain: str, grant: Grant) -> dict[str, str]:
    told = {"DOMAIN": domain, "RESOURCE": grant.resource, "FENCE": str(grant.fence), "OWNER": grant.owner}
    return {**os.environ, **{f"ADEQ_LOCK_{name}": value for name, value in told.items()}}


def _run(command: list[str], env: dict[str, str], lost: threading.Event, kill_after: float) -> int:
    """The exit status of a command; 128 + n if signal n ended it."""
    child: subprocess.Popen[bytes] | None = None
    early: list[int] = []

    def forward(number: int, _: object) -> None:
        early.append(number) if child is None else child.send_signal(number)

    before = {number: signal.signal(number, forward) for number in FORWARDED}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to the command, too
    try:
        # If this process is killed, nothing renews the lock: the command must not go on without it.
        child = subprocess.Popen(command, env=env, preexec_fn=_child(death_signal()))  # noqa: PLW1509
        for number in early:
            child.send_signal(number)
        while (status := _status(child)) is None:
            if lost.is_set():
                status = _end(child, kill_after)
                break
    except OSError as error:
        raise ConfigError(f"COMMAND: {command[0]!r} cannot be run: {error.strerror}") from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return status if status >= 0 else 128 - status


def _child(die_with_us: Callable[[], object]) -> Callable[[], None]:
    """What the command does before it begins. It must not inherit that we ignore Ctrl-C."""

    def begin() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        die_with_us()

    return begin


def _status(child: subprocess.Popen[bytes]) -> int | None:
    try:
        return child.wait(LOOK)
    except subprocess.TimeoutExpired:
        return None


def _end(child: subprocess.Popen[bytes], kill_after: float) -> int:
    """End a command and all that it has started: a shell that ends leaves its programs behind."""
    with ExitStack() as stack:
        family = [stack.enter_context(one) for one in _family(child.pid)]
        child.terminate()  # first: a shell whose program ends would start the next one
        for one in family:
            one.signal(signal.SIGTERM)
        until = monotonic() + kill_after
        while monotonic() < until and not (child.poll() is not None and all(one.ended() for one in family)):
            sleep(LOOK)
        if child.poll() is None:
            family += [stack.enter_context(one) for one in _family(child.pid)]
            child.kill()
        for one in family:
            one.signal(signal.SIGKILL)
        return child.wait()


class _Descendant:
    """A process below the command. A number alone could be that of another process soon."""

    def __init__(self, pid: int) -> None:
        self._file = os.pidfd_open(pid)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    def signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            signal.pidfd_send_signal(self._file, number)

    def ended(self) -> bool:
        return bool(select.select([self._file], [], [], 0)[0])


def _family(pid: int) -> Iterator[_Descendant]:
    """Yield the processes that a process has started, and theirs. Only Linux tells; elsewhere, none."""
    pids = [pid]
    for one in pids:  # it grows meanwhile
        for path in Path(f"/proc/{one}/task").glob("*/children"):
            with suppress(OSError):
                pids += map(int, path.read_text().split())
    for one in pids[1:]:
        with suppress(OSError, AttributeError):
            yield _Descendant(one)


def acquire(
    resource: Resource,
    domain: Domain = "default",
    shared: Shared = False,
    permits: Permits = 0,
    wait: Wait = "1m",  # type: ignore[assignment]
    ttl: Ttl = "0",  # type: ignore[assignment]
    owner: Owner = None,
    purpose: Purpose = "",
    ticket: Annotated[
        Path | None, typer.Option("--ticket", metavar="PATH", help="Write the ticket to this file, mode 0600.")
    ] = None,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Acquire a lock, and print a ticket for `renew` and `release`. It ends with its lease if neither comes.

    adeq lock run does all three, and is better where one command is enough. Exits with 1 if the lock is not free.
    """
    with _ended_in_order(), connected(url) as adeq:
        grant = adeq.locks(domain).take(resource, wait=wait, **_wanted(shared, permits, ttl, owner, purpose))
        made = {
            "domain": domain,
            "resource": resource,
            "request": grant.rid,
            "fence": grant.fence,
            "until": iso(grant.deadline),
        }
        try:
            tickets.give(made, ticket, output)
        except BaseException:
            grant.release()
            raise


def renew(ticket: TicketFile = STDIN, url: Url = DEFAULT_URL, output: Output = Format.table) -> None:
    """Extend the lease of a lock that `acquire` has given. Exits with 1 if the lock is lost: stop the work then."""
    held = tickets.read(ticket, "domain", "resource", "request")
    with connected(url) as adeq:
        (renewal,) = adeq.locks(held["domain"]).admin.renew([held["request"]])
    if renewal.status != "renewed" or renewal.deadline is None:
        raise AdeqError(f"the lock of {held['resource']} is lost; stop the work that it protects")
    if output != Format.table:
        print_json({"resource": held["resource"], "status": "renewed", "until": iso(renewal.deadline)}, output)
    else:
        print(f"{held['resource']} is held until {iso(renewal.deadline)}")


def release(ticket: TicketFile = STDIN, url: Url = DEFAULT_URL, output: Output = Format.table) -> None:
    """Give a lock back that `acquire` has given. Exits with 1 if it was lost before.

    To take a lock away from others, see adeq lock force-release.
    """
    held = tickets.read(ticket, "domain", "resource", "request")
    with connected(url) as adeq:
        (status,) = adeq.locks(held["domain"]).release([held["request"]])
    if status != "released":
        raise AdeqError(f"the lock of {held['resource']} was not held any more")
    if output != Format.table:
        print_json({"resource": held["resource"], "status": status}, output)
    else:
        print(f"{held['resource']} is released")


def _wanted(shared: bool, permits: int, ttl: float, owner: str | None, purpose: str) -> dict[str, Any]:
    if shared and permits:
        raise ConfigError("--shared: a lock is shared, or has permits, not both; leave one out")
    mode: LockMode = "permit" if permits else "shared" if shared else "exclusive"
    about = {"ttl": ttl, "owner": owner or default_worker_name(), "purpose": purpose}
    return {"mode": mode, "permits": permits or 1, **about}
