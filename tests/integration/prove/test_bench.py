"""`adeq bench`: every subject measures what it says, on a server of its own or on one that is named."""

import builtins
import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
import redis

from pyadeq import EmbeddedServer, Task
from pyadeq.errors import AdeqError, ConfigError
from pyadeq.ext.prove.bench import SUBJECTS, Figure, changes, drain, draw, growth, idle, latency, paths, run
from pyadeq.ext.prove.bench.scene import Plan, Scene
from tests.integration.cli.run import adeq, error

pytestmark = [pytest.mark.any_engine, pytest.mark.slow]
NOBODY = "redis://127.0.0.1:1"


@pytest.fixture
def own() -> Iterator[EmbeddedServer]:
    with EmbeddedServer() as server:
        yield server


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Less of everything: what is measured is no matter here."""
    monkeypatch.setattr(idle, "SECONDS", 0.3)
    monkeypatch.setattr(idle, "CONCURRENCY", (2,))
    monkeypatch.setattr(latency, "LOADS", (0, 500))
    monkeypatch.setattr(latency, "SAMPLES", 10)
    monkeypatch.setattr(paths, "MOST_CALLS", 50)
    monkeypatch.setattr(growth, "TASKS", 300)
    monkeypatch.setattr(growth, "HANDED", 20)
    monkeypatch.setattr(growth, "BACKLOGS", (0, 1000, 2000))
    monkeypatch.setattr(growth, "DELAYED", (0, 2000))
    monkeypatch.setattr(growth, "RUNNING", (10, 1000))
    monkeypatch.setattr(growth, "KEPT", (100, 2000))
    monkeypatch.setattr(growth, "WAITING", (1, 20))
    monkeypatch.setattr(changes, "OPEN", 60)
    monkeypatch.setattr(changes, "KEPT", (10, 50, 5000))
    monkeypatch.setattr(changes, "LIVES", 10)


def found(*subjects: str, **how: Any) -> dict[str, list[Figure]]:
    figures: dict[str, list[Figure]] = {}
    for figure in run(subjects, **{"tasks": 1000, "rounds": 1, **how}).figures:
        figures.setdefault(figure.what, []).append(figure)
    return figures


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("subject", [name for name in SUBJECTS if name != "recovery"])
def test_each_subject(subject: str) -> None:
    tasks = 2000 if subject == "drain" else 1000  # a thousand may all be done while this process stands still
    figures = run([subject], tasks=tasks, rounds=2, persistent=subject == "drain").figures
    assert figures
    for figure in figures:
        assert figure.subject == subject
        assert all(value > 0 or subject == "idle" for value in figure.values), figure
        assert figure.median >= min(figure.values)


def test_a_cost_is_beside_the_floor_of_the_same_rounds() -> None:
    figures = found("cost", rounds=3)
    (stream,), (plain,) = figures["floor: stream commands, in and out"], figures["floor: plain commands, in and out"]
    assert len(stream.values) == len(plain.values) == 3
    whole = figures["enqueue, claim, settle"]
    assert [figure.by["batch"] for figure in whole] == [1, 10, 100, 500]
    for part, all_of_it in zip(figures["enqueue"], whole, strict=True):
        assert part.median < all_of_it.median
        assert all_of_it.floor == stream.values
        assert all_of_it.ratio == pytest.approx(all_of_it.median / stream.median)


@pytest.mark.usefixtures("quick")
def test_memory_and_growth_count_what_there_is() -> None:
    figures = found("memory", "growth")
    (ready,), (floor,) = figures["ready"], figures["floor: an entry of a stream"]
    assert 200 < floor.median < ready.median < 2000
    assert figures["with a user"][0].median > ready.median
    assert [one.by["backlog"] for one in figures["a task's life with so many in line besides"]] == [0, 1000, 2000]
    assert [one.by["running"] for one in figures["a task's life with so many running besides"]] == [10, 1000]


@pytest.mark.usefixtures("quick")
def test_growth_stops_where_it_is_told_to() -> None:
    figures = found("growth", most=1000)
    assert [one.by["backlog"] for one in figures["a task's life with so many in line besides"]] == [0, 1000]
    assert [one.by["delayed"] for one in figures["a task's life with so many delayed besides"]] == [0]


@pytest.mark.usefixtures("quick")
def test_growth_leaves_out_what_has_no_room(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    memory = tmp_path / "meminfo"
    memory.write_text("MemTotal:  99999999 kB\nMemAvailable:      4000 kB\n")
    monkeypatch.setattr(growth, "MEMORY", memory)
    report = run(["growth"], tasks=1000, rounds=1)
    assert max(one.by.get("backlog", 0) for one in report.figures) == 1000
    assert [words.split(":")[:2] for words in report.left_out] == [
        ["growth", " backlog 2,000"],
        ["growth", " delayed 2,000"],
    ]
    said = adeq("bench", "growth", "--tasks", "2000", "--rounds", "1").stdout
    assert "left out: growth: backlog 2,000: it may take 0.0 GB" in said


def test_the_free_memory_may_be_unknown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(growth, "MEMORY", tmp_path / "none")
    monkeypatch.setattr(growth, "UNKNOWN", 10)
    assert growth.free_memory() is None
    with Scene.at(None, Plan(most=20)) as scene:
        assert list(growth.fitting(scene, "backlog", (5, 10, 15, 25))) == [5, 10]
        assert len(scene.left_out) == 1


def test_a_path_is_beside_an_empty_script(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "MOST_CALLS", 20)
    figures = found("paths", rounds=2, persistent=False)
    assert figures.keys() == {"floor: PING", *(path.name for path in paths.PATHS)}
    for path in paths.PATHS:
        (figure,) = figures[path.name]
        assert len(figure.values) == len(figure.floor) == 2
        assert figure.commands is not None
        assert figure.commands >= 1
    told = adeq("bench", "paths", "--tasks", "2000", "--rounds", "1", "-o", "wide").stdout
    assert "commands" in told.splitlines()[3].split()


def test_a_path_that_is_not_taken_is_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    cancel = next(path for path in paths.PATHS if path.name.startswith("cancel"))
    monkeypatch.setattr(paths, "PATHS", (replace(cancel, right=lambda told, size: False),))
    with pytest.raises(AdeqError, match="cancel 1 in line: the last answer was"):
        found("paths")


@pytest.mark.usefixtures("quick")
def test_changes_are_measured_alone_and_beside_others() -> None:
    figures = found("changes", most=100, persistent=False)
    for path in changes.PATHS:
        (figure,) = figures[path.name]
        assert figure.commands is not None
        assert figure.commands >= 5
    for step in changes.STEPS:
        assert [one.by["kept"] for one in figures[f"{step}, beside ended changes"]] == [10, 50]
    (under_review,), (completed,) = (
        figures[f"a change with 3 requests, {how}"] for how in ("under review", "completed")
    )
    assert 1000 < under_review.median < completed.median < changes.BYTES


def test_the_calls_of_changes_use_the_queue_and_the_locks(own: EmbeddedServer) -> None:
    steps = {path.name: path.prepare for path in changes.PATHS}
    with Scene.at(own.url, Plan()) as scene:
        with ExitStack() as stack:
            at = changes.Stage(scene, stack, 3, 1)
            at.done(steps["vote that decides, with its task"](at))
            assert at.queue.stats().ready == 3
        with ExitStack() as stack:
            at = changes.Stage(scene, stack, 3, 1)
            at.done(steps["begin to apply, with 2 locks"](at))
            assert at.locks.stats().held == 3
            assert at.changes.stats().states["applying"] == 3
        assert scene.client.dbsize() == 0


def test_the_commands_of_scripts_are_those_that_the_server_names(own: EmbeddedServer) -> None:
    with Scene.at(own.url, Plan()) as scene, scene.queue() as queue, redis.Redis.from_url(own.url) as other:
        calls = [queue.calls.enqueue([(f"task-{n}", Task())], f"rid-{n}") for n in range(3)]
        with other.monitor() as monitor:
            _, commands, answer = scene.price(calls)
            other.echo("the end")
            seen = list(takewhile(lambda one: one["command"] != "ECHO the end", monitor.listen()))
    assert answer[0].status == "created"
    assert commands * len(calls) == sum(one["client_type"] == "lua" for one in seen) > 0


def test_another_engine(tmp_path: Path, binary: Path) -> None:
    engine = tmp_path / "server"
    engine.write_text(f'#!/bin/sh\ntouch "{tmp_path}/ran"\nexec "{binary}" "$@"\n')
    engine.chmod(0o755)
    told = json.loads(
        adeq("bench", "cost", "--tasks", "2000", "--rounds", "1", "--engine", str(engine), "-o", "json").stdout
    )
    assert told["engine"].split()[0] in ("Valkey", "Redis")
    assert (tmp_path / "ran").exists()
    with EmbeddedServer(binary=binary) as server:
        assert told["engine"].lower() == server.engine.lower()


def test_recovery_takes_as_long_as_the_lease(own: EmbeddedServer) -> None:
    with Scene.at(own.url, Plan(tasks=1000, rounds=1)) as scene:
        (figure,) = idle.recovery(scene, lease=2)
    assert 1.5 < figure.median < 60


def test_a_server_of_yours_is_left_as_it_was(own: EmbeddedServer) -> None:
    with redis.Redis.from_url(own.url) as client:
        client.set("yours", "kept")
        report = run(["cost"], url=own.url, tasks=1000, rounds=1)
        assert report.persistence == "as the server has it"
        assert client.keys("*") == [b"yours"]


def test_the_command_line(own: EmbeddedServer, tmp_path: Path) -> None:
    arguments = ["bench", "cost", "--tasks", "2000", "--rounds", "1", "--plots", str(tmp_path / "plots")]
    head, machine, _, names, *rows = adeq(*arguments).stdout.splitlines()
    assert "persistence: append-only file" in head
    assert "1 rounds" in machine
    assert names.split()[:3] == ["subject", "what", "at"]
    assert any(row.startswith("cost") and "batch 100" in row for row in rows)
    assert (tmp_path / "plots" / "cost.png").read_bytes().startswith(b"\x89PNG")
    ended = adeq("bench", "cost", "--tasks", "2000", "--rounds", "1", "--no-persist", "-o", "json")
    told = json.loads(ended.stdout)
    assert (told["persistence"], told["rounds"]) == ("none", 1)
    assert {figure["unit"] for figure in told["figures"]} == {"µs of the server's CPU per task"}


def test_what_cannot_be_measured() -> None:
    assert "leave it out if you name subjects" in error(2, "bench", "cost", "--all")
    assert adeq("bench", "speed").status == 2
    assert adeq("bench", "cost", "--url", NOBODY).status == 3
    assert adeq("bench", "cost", "--tasks", "10").status == 2
    assert adeq("bench", "cost", "--engine", "/nowhere").status == 2
    assert "leave it out with --url" in error(2, "bench", "cost", "--engine", sys.executable, "--url", NOBODY)
    assert "server" in error(2, "bench", "cost", "--engine", "/bin/true")


def test_too_few_tasks_are_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drain, "_reach", lambda done, goal, poll: (1000, 0.0))
    with pytest.raises(AdeqError, match="1,000 tasks are too few"):
        found("drain")


def test_plots_without_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    real = builtins.__import__

    def imported(name: str, *rest: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *rest)

    report = run(["cost"], tasks=1000, rounds=1)
    monkeypatch.setattr(builtins, "__import__", imported)
    with pytest.raises(ConfigError, match=r"pip install 'pyadeq\[bench\]'"):
        draw(report, tmp_path)
