"""`adeq chaos`: is anything lost on this deployment, whatever happens to it?"""

from __future__ import annotations

import secrets
import tempfile
from collections import Counter
from pathlib import Path
from random import Random
from time import monotonic, sleep
from typing import Annotated, Any, Literal

import typer

from pyadeq import Adeq
from pyadeq.errors import AdeqError, ConfigError
from pyadeq.ext.cli.shared.common import (
    DEFAULT_URL,
    FAILED,
    PLACE,
    Format,
    Output,
    Url,
    connected,
    print_json,
    shown_url,
)
from pyadeq.ext.prove.chaos.cast import cast_of
from pyadeq.ext.prove.chaos.history import History
from pyadeq.ext.prove.chaos.judge import judge
from pyadeq.ext.prove.chaos.report import Report, print_report, report_on
from pyadeq.ext.prove.chaos.run import Run, watch
from pyadeq.ext.prove.chaos.watch import OUT_OF_REACH, Watch
from pyadeq.ext.prove.chaos.workload import Scene
from pyadeq.ext.prove.demo.view import Progress, View
from pyadeq.ext.shared.terminal import stderr, stdout

TICK = 0.1
HARM_EVERY = (0.5, 2.5)  # seconds


def chaos(
    seconds: Annotated[float, typer.Option(min=1, help="How long the clients work.")] = 60.0,
    seed: Annotated[int | None, typer.Option(help="The seed of all random choices. [default: random]")] = None,
    clients: Annotated[int, typer.Option(min=4, max=200, help="The number of client processes.")] = 9,
    kill: Annotated[bool, typer.Option("--kill", help="Kill some of the clients, and freeze others.")] = False,
    flush: Annotated[bool, typer.Option("--flush-scripts", help="Send SCRIPT FLUSH now and then.")] = False,
    durability: Annotated[
        Literal["memory", "aof", "replica"],
        typer.Option(help="When a write counts as done: in memory, on disk or on replicas."),
    ] = "memory",
    replicas: Annotated[int, typer.Option(min=1, help="Replicas that must confirm, with --durability replica.")] = 1,
    history: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write the history to this file. [default: a temporary one, if a promise was broken]"
        ),
    ] = None,
    judged: Annotated[
        Path | None, typer.Option("--judge", metavar="FILE", help="Only judge a file that --history has written.")
    ] = None,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Test a deployment: work on scratch tasks, locks and more, record everything, and judge it at the end.

    While it runs, restart the server, fail over, cut the network or fill its memory: whatever may happen in production.
    The command notices this. It counts losses that such a fault allows, and losses that must never happen. Other queues
    are not touched, except for the load. But --flush-scripts, and the faults that you cause, affect all clients of the
    server.

    Ctrl-C ends the work early. Exits with 1 if a promise was broken, and says which.
    """
    if judged is not None:
        told = _load(judged)
        report = report_on(told, judge(told))
        report.history = str(judged)
    else:
        seed = secrets.randbelow(10**6) if seed is None else seed
        name = f"chaos-{secrets.token_hex(4)}"
        scene = Scene(
            url,
            name,
            name,
            seed,
            prefix=PLACE.prefix,
            slot=PLACE.slot,
            cluster=PLACE.cluster,
            replicas=replicas,
            flush=flush,
        )
        with View(stderr()) as view:
            report = _run(scene, view, seconds, clients, durability, kill, history)
    if output != Format.table:
        print_json(report.model_dump(mode="json"), output)
    else:
        print_report(stdout(), report)
    if not report.ok:
        raise typer.Exit(FAILED)


def _load(path: Path) -> History:
    try:
        if not path.stat().st_size:
            raise ValueError("it is empty")
        return History.load(path)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"--judge: {str(path)!r} is not a file that --history has written: {error}") from error


def _run(
    scene: Scene, view: View, seconds: float, clients: int, durability: str, kill: bool, kept: Path | None
) -> Report:
    with connected(scene.url) as adeq:
        engine = _engine(adeq, scene)
    cast = cast_of(clients)
    view.say(f"Server   {engine} at {shown_url(scene.url)}")
    view.say(f"Scratch  queue, locks and other nouns {scene.queue}, deleted at the end; seed {scene.seed}")
    view.say(f"Clients  {', '.join(f'{count} × {role}' for role, count in cast.items())}; durability {durability}")
    view.say("Now restart the server, fail over, cut the network: whatever may happen in production.")
    with Run(scene, cast, durability=(durability,)) as run:
        try:
            look = watch(run)
            look.look()
            run.begin()
            try:
                _work(run, look, view, seconds, Random(scene.seed) if kill else None)
            except KeyboardInterrupt:
                view.say("Stopped  early, by Ctrl-C")
            view.say("Drained  the remaining tasks run to their end")
            told = run.end(look.look)
        finally:
            _remove(run, view)
        faults = run.crowd.counts + Counter(mark.kind for mark in told.marks)
    report = report_on(told, judge(told), faults=faults)
    report.seed, report.server = scene.seed, f"{engine} at {shown_url(scene.url)}"
    if kept is None and report.violations:  # else nobody could find out why
        kept = Path(tempfile.gettempdir(), f"adeq-{scene.queue}.jsonl")
    if kept is not None:
        told.save(kept)
        report.history = str(kept)
    return report


def _work(run: Run, look: Watch, view: View, seconds: float, random: Random | None) -> None:
    """Let the clients work, and harm them if there is something to draw from."""
    began, marks, harm_at = monotonic(), 0, 0.0
    while (now := monotonic()) < began + seconds:
        run.maintain()
        look.look()
        for mark in run.recorder.marks[marks:]:
            view.say(f"Noticed  {mark.kind.replace('_', ' ')}: {mark.note}")
        marks = len(run.recorder.marks)
        if random and now >= harm_at:
            if harm_at:
                run.harm(random, freeze=random.random() < 0.5)
            harm_at = now + random.uniform(*HARM_EVERY)
        view.update(Progress("At work", round(now - began), round(seconds), _facts(run, look)))
        sleep(TICK)


def _facts(run: Run, look: Watch) -> dict[str, int | str]:
    facts: dict[str, int | str] = {}
    if look.reachable:
        try:
            stats = run.adeq.send(run.queue.calls.stats(), 0.2)
            facts = {"waiting": stats.pending, "running": stats.running, "done": stats.finished, "dead": stats.dead}
        except AdeqError:
            look.reachable = False
    if not look.reachable:
        facts = {"server": "out of reach"}
    for kind, word in (("kill_client", "killed"), ("freeze_client", "frozen")):
        if count := run.crowd.counts[kind]:
            facts[word] = count
    return facts


def _engine(adeq: Adeq, scene: Scene) -> str:
    client: Any = adeq.client
    key = adeq.queue(scene.queue).base
    node = {"target_nodes": client.get_node_from_key(key)} if scene.cluster else {}
    about = client.info("server", **node)
    if "valkey_version" in about:
        return f"valkey {about['valkey_version']}"
    return f"redis {about['redis_version']}"


def _remove(run: Run, view: View) -> None:
    run.crowd.close()  # or a client that is left would make again what is deleted
    try:
        run.remove()
    except (AdeqError, *OUT_OF_REACH) as error:
        view.say(f"Left     keys of {run.scene.queue} are still there: {error}")
