"""`adeq worker run`: a process that runs a handler, or a program, for the tasks of a queue."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from pyadeq import Queue
from pyadeq.asyncio import Program
from pyadeq.errors import ConfigError
from pyadeq.ext.cli.shared.arguments import time_option
from pyadeq.ext.cli.shared.common import DEFAULT_URL, Format, Output, Url, check_url
from pyadeq.ext.cli.shared.logs import LogForm, LogLevel, log_format, log_to_stderr
from pyadeq.ext.cli.worker.again import reloading
from pyadeq.ext.cli.worker.chosen import Chosen
from pyadeq.ext.cli.worker.process import MaintainAt, Options, Process
from pyadeq.ext.cli.worker.processes import HealthAt, Processes, parent
from pyadeq.keys import check_name

DEFAULT_QUEUE = "default"
UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}
SIZE = "bytes, or a number with k, m or g: 500000, 64m"


class Renew(StrEnum):
    """What renews the leases."""

    process = "process"
    thread = "thread"
    loop = "loop"


def size(text: str) -> int:
    """`500000` or `64m` in bytes."""
    match = re.fullmatch(r"(\d+)\s*([kmg]?)", text.strip().lower())
    if not match:
        raise typer.BadParameter(f"{text!r} is not accepted; allowed: {SIZE}")
    return int(match[1]) * UNITS[match[2]]


def run(
    context: typer.Context,
    handler: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MODULE:NAME]...",
            help="Worker and Queue objects; or a Tasks object or a function with one argument, the lease.",
        ),
    ] = None,
    program: Annotated[
        str | None,
        typer.Option(
            "--exec", metavar="'PROGRAM [ARG]...'", help="Run a program for each task, with the payload on stdin."
        ),
    ] = None,
    queue: Annotated[
        list[str] | None,
        typer.Option(envvar="ADEQ_QUEUE", help=f"The queue to work on; repeat it for more. [default: {DEFAULT_QUEUE}]"),
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, max=1000, help="Tasks of each queue at a time.")] = 10,
    name: Annotated[str | None, typer.Option(help="The worker's name. [default: host, pid and a random word]")] = None,
    group: Annotated[str | None, typer.Option(help="The worker's group.")] = None,
    instance: Annotated[
        str | None, typer.Option(help="The worker's instance in its group. [default: its name]")
    ] = None,
    default_group: Annotated[
        bool, typer.Option("--default-group", help="Without a group: also serve the lane group/default.")
    ] = False,
    capability: Annotated[
        list[str] | None, typer.Option(help="A capability, shown in adeq worker ls; repeat it for more.")
    ] = None,
    lane: Annotated[
        list[str] | None,
        typer.Option(
            help="A lane to take tasks from; repeat it for more. [default: any; in a group: its own, the group's, any]"
        ),
    ] = None,
    lane_first: Annotated[
        bool, typer.Option("--lane-first", help="Order tasks by lane first, then by priority.")
    ] = False,
    lease: Annotated[float, typer.Option(min=0, help="Seconds that a lease lasts; 0: the queue's setting.")] = 0.0,
    timeout: Annotated[
        float, time_option("How long a run may take, if neither task nor queue has a timeout; 0: no limit.")
    ] = "0",  # type: ignore[assignment]
    unknown_for: Annotated[
        float, time_option("How long tasks of unknown kinds or versions are put aside for other workers; then dead.")
    ] = "10m",  # type: ignore[assignment]
    grace: Annotated[float, typer.Option(min=0, help="Seconds that running tasks have after the first signal.")] = 30.0,
    renew: Annotated[
        Renew, typer.Option(help="What renews the leases. Only a process renews while a handler blocks Python.")
    ] = Renew.process,
    blocked_after: Annotated[
        float | None,
        time_option(
            "Report a handler that blocks the event loop for this time; 0: never. "
            "[default: a third of the lease, at least 1.5 s]"
        ),
    ] = None,
    health: Annotated[
        int | None,
        typer.Option(
            min=0, max=65535, metavar="PORT", help="Answer /live and /ready over HTTP on this port; 0: a free one."
        ),
    ] = None,
    health_host: Annotated[str, typer.Option(metavar="HOST", help="The address to listen on.")] = "127.0.0.1",
    health_after: Annotated[
        float, time_option("Unhealthy if the event loop is blocked, or the server silent, for this time.")
    ] = "30",  # type: ignore[assignment]
    output_dir: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="With --exec: keep all output in this folder, one subfolder per run."),
    ] = None,
    output_max: Annotated[
        int | None,
        typer.Option(parser=size, metavar="SIZE", help="With --exec: keep this much of each stream. [default: 64m]"),
    ] = None,
    kill_after: Annotated[float | None, time_option("With --exec: time from SIGTERM to SIGKILL. [default: 5]")] = None,
    on_exit: Annotated[
        list[str] | None,
        typer.Option(
            metavar="STATUS=WHAT",
            help="With --exec: the meaning of an exit status: retry, retry:SECONDS, fail, alert, or a failure class.",
        ),
    ] = None,
    maintain: Annotated[
        bool,
        typer.Option("--maintain", help="Also do what adeq maintain does. ADEQ_ARCHIVE names an archive for it."),
    ] = False,
    maintain_every: Annotated[float, time_option("With --maintain: time between two steps.")] = "1m",  # type: ignore[assignment]
    processes: Annotated[
        int | None,
        typer.Option(min=1, max=1000, metavar="N", help="Run N such processes, and start those again that crash."),
    ] = None,
    reload: Annotated[
        bool,
        typer.Option("--reload", help="For development: start again if a Python file under this folder changes."),
    ] = False,
    traces: Annotated[
        bool, typer.Option("--traces", help="Make spans, with OpenTelemetry's global provider; needs the extra otel.")
    ] = False,
    log_level: Annotated[
        LogLevel, typer.Option(help="The lowest level of the log. With info, each task has a line at its end.")
    ] = LogLevel.info,
    log_form: LogForm = None,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Run the workers, queues, tasks or function that MODULE:NAME says, or a program, for the tasks of queues.

    A Worker object has its own options, and a Queue object says which queue it is and where: its server, prefix, slot
    and codec are used. Options that contradict them are refused. Several of them run together in this process.

    The process runs until SIGTERM, SIGINT or SIGHUP. After the first signal, it stops claiming, lets running tasks
    finish within the grace time, and returns the others to the queue. A second signal returns the running tasks
    immediately. While the server is away, it waits for it. The log goes to stderr.

    A program gets the payload on its standard input, and facts about the task in its environment (ADEQ_TASK_ID,
    ADEQ_FENCE, …). Its output is the result. An exit status above 0 fails the attempt. When the program ends, its child
    processes are killed too.
    """
    check_url(url)
    of_programs = {"output_dir": output_dir, "output_max": output_max, "kill_after": kill_after, "on_exit": on_exit}
    given: dict[str, Any] = {name: value for name, value in of_programs.items() if value is not None}
    _check_choice(handler, program, given, processes, reload)
    begin_log = partial(log_to_stderr, log_level, log_format(log_form, output))
    health_at = None if health is None else HealthAt(health, health_host, health_after)
    above = parent() if processes else None
    if processes and above is None:
        begin_log()
        raise typer.Exit(Processes(processes, health_at).run())
    if above is not None:
        name, instance, health_at = above.name(name), above.name(instance), None
        maintain = maintain and above.number == 1
    common = Options(
        handler=None,
        url=url,
        queue="",
        concurrency=concurrency,
        name=None if name is None else check_name("--name", name, "id"),
        instance=None if instance is None else check_name("--instance", instance),
        group=None if group is None else check_name("--group", group),
        default_group=default_group,
        capabilities=tuple(check_name("--capability", one, "id") for one in capability or ()),
        lanes=tuple(check_name("--lane", one, "lane") for one in lane) if lane else None,
        lane_first=lane_first,
        lease=lease,
        timeout=timeout,
        unknown_for=unknown_for,
        grace=grace,
        renew=renew.value,
        blocked_after=blocked_after,
        about={"group": group or ""},
        traces=traces,
    )
    queues = [check_name("--queue", one) for one in queue or () if one] or [DEFAULT_QUEUE]
    chosen = Chosen(context, common, queues, alone=above is None)
    what = _program(program, given) if program else None
    if reload:
        begin_log()
    with reloading(reload) as source:
        if what is not None:
            chosen.add_program(what)
        for path in handler or ():
            chosen.add(path)
        chosen.check_options(handler)
        begin_log()
        maintain_at = _maintain_at(maintain_every, url, chosen.home) if maintain else None
        Process(chosen.workers, health_at, maintain_at, above, source).run()


def _check_choice(
    handler: list[str] | None, program: str | None, of_programs: Mapping[str, Any], processes: int | None, reload: bool
) -> None:
    """Raise ConfigError if it is not clear what runs, or if options contradict each other."""
    if bool(handler) == (program is not None):
        raise ConfigError("run what? Name MODULE:NAME, or a program with --exec: one of the two")
    if processes and reload:
        raise ConfigError("--reload: it is for one process; leave --processes out")
    if of_programs and program is None:
        raise ConfigError(f"--{next(iter(of_programs)).replace('_', '-')} goes with --exec, which names a program")


def _program(program: str, options: Mapping[str, Any]) -> Program:
    meanings = dict(map(_meaning, options.get("on_exit", ())))
    return Program(program, **{**options, "on_exit": meanings})


def _maintain_at(every: float, url: str, home: Any) -> MaintainAt:
    if home is not None and not isinstance(home, Queue):
        raise ConfigError("--maintain: a queue of pyadeq.asyncio is not accepted; run adeq maintain as its own process")
    place = os.environ.get("ADEQ_ARCHIVE")
    if not place:
        return MaintainAt(every, None, url, home)
    from pyadeq.ext.operate.archive import Archive

    return MaintainAt(every, Archive(place), url, home)


def _meaning(text: str) -> tuple[int, str]:
    status, equals, what = text.partition("=")
    if not equals or not status.isdecimal():
        raise ConfigError(f"--on-exit: {text!r} is not accepted; write STATUS=WHAT, for instance 75=retry:30")
    return int(status), what
