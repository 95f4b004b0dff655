"""`adeq bench`: every subject measures what it says, on a server of its own or on one that is named."""

import builtins
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from pyadeq import EmbeddedServer
from pyadeq.errors import AdeqError, ConfigError
from pyadeq.ext.bench import SUBJECTS, Figure, drain, draw, growth, idle, latency, run
from pyadeq.ext.bench.scene import Scene
from tests.integration.cli import adeq, error

pytestmark = pytest.mark.any_engine
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
    monkeypatch.setattr(growth, "TASKS", 300)
    monkeypatch.setattr(growth, "HANDED", 20)
    monkeypatch.setattr(growth, "RUNNING", (10, 1000))
    monkeypatch.setattr(growth, "WAITING", (1, 20))


def found(*subjects: str, **how: Any) -> dict[str, list[Figure]]:
    figures: dict[str, list[Figure]] = {}
    for figure in run(subjects, **{"tasks": 1000, "rounds": 1, **how}).figures:
        figures.setdefault(figure.what, []).append(figure)
    return figures


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("subject", [name for name in SUBJECTS if name != "recovery"])
def test_each_subject(subject: str) -> None:
    figures = run([subject], tasks=1000, rounds=2, persistent=subject == "drain").figures
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
    assert [one.by for one in figures["a task's life with so many in line besides"]] == [
        {"backlog": 0},
        {"backlog": 10_000},
    ]


def test_recovery_takes_as_long_as_the_lease(own: EmbeddedServer) -> None:
    with Scene.at(own.url, False, 1000, 1, lambda _: None) as scene:
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
    assert "leave it out where subjects are named" in error(2, "bench", "cost", "--all")
    assert adeq("bench", "speed").status == 2
    assert adeq("bench", "cost", "--url", NOBODY).status == 3
    assert adeq("bench", "cost", "--tasks", "10").status == 2


def test_too_few_tasks_are_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drain, "reach", lambda queue, goal: (1000, 0.0))
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
