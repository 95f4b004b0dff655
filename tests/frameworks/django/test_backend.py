"""What only this backend does: order, times, retries, transactions, and a worker as a process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db import connection, connections, transaction
from django.test import override_settings
from django.utils import timezone

from pyadeq import Adeq
from pyadeq.embedded import EmbeddedServer
from pyadeq.ext.connect.django.api import InvalidTask, TaskResultDoesNotExist, TaskResultStatus, task_backends
from pyadeq.ext.connect.django.backend import level
from pyadeq.ext.connect.django.management.commands import adeq_worker
from pyadeq.ext.connect.django.worker import run
from tests.conftest import server_binary
from tests.frameworks.django import functions
from tests.frameworks.django.conftest import BACKEND, Drain
from tests.integration.servers import ThreePrimaries
from tests.integration.workers import ROOT
from tests.waiting import wait_until


@pytest.fixture
def database() -> Iterator[None]:
    yield
    connections.close_all()


def test_no_priority_gets_behind_a_lower_one() -> None:
    levels = [level(priority) for priority in range(100, -101, -1)]
    assert all(first <= second for first, second in pairwise(levels))
    assert set(levels) == set(range(10))
    assert [priority for priority in range(-100, 101) if level(priority) == 5] == [0]


def test_tasks_run_by_priority(drain: Drain) -> None:
    functions.ORDER.clear()
    given = {"low": -100, "none": 0, "lower": -1, "high": 100, "higher": 1}
    for name, priority in given.items():
        functions.note.using(priority=priority).enqueue(name)
    assert functions.note.get_result(drain()[0].id).task.priority == 100
    assert functions.ORDER == ["high", "higher", "none", "lower", "low"]


def test_a_task_does_not_start_before_its_time(drain: Drain) -> None:
    when = timezone.now() + timedelta(hours=1)
    result = functions.nothing.using(run_after=when).enqueue()
    assert drain(advance=False) == []
    result.refresh()
    assert (result.status, result.task.run_after) == (TaskResultStatus.READY, when)
    assert functions.nothing.get_result(result.id).task == result.task


def test_each_queue_has_its_own_tasks(drain: Drain) -> None:
    other = functions.forty_two.using(queue_name="queue_1").enqueue()
    assert drain("default") == []
    assert [run.result for run in drain("queue_1")] == [42]
    assert functions.forty_two.get_result(other.id).task.queue_name == "queue_1"
    with pytest.raises(TaskResultDoesNotExist):  # its QUEUES are only `default`
        task_backends["twice"].get_result(other.id)
    with pytest.raises(InvalidTask, match=r"queue_name: 'a b' is not accepted; allowed: 1 to 100 of"):
        functions.nothing.using(queue_name="a b", backend="any")


def test_a_task_that_fails_runs_again_if_the_options_say_so(adeq: Adeq, drain: Drain) -> None:
    result = functions.raises.using(backend="twice").enqueue()
    (run,) = drain(advance=False)
    result.refresh()
    assert (run.outcome, result.status, len(result.errors)) == ("retried", TaskResultStatus.READY, 1)
    assert (result.is_finished, result.finished_at) == (False, None)
    assert adeq.queue("default").admin.run_now(result.id).status == "ready"
    (run,) = drain()
    result.refresh()
    assert (run.outcome, result.status) == ("dead", TaskResultStatus.FAILED)
    assert (result.attempts, [error.exception_class for error in result.errors]) == (2, [ValueError, ValueError])
    assert result.started_at < result.last_attempted_at <= result.finished_at


def test_a_cancelled_task_has_failed(adeq: Adeq) -> None:
    result = functions.nothing.enqueue()
    adeq.queue("default").cancel(result.id)
    result.refresh()
    assert (result.status, result.attempts, result.errors) == (TaskResultStatus.FAILED, 0, [])


def test_a_task_of_another_program_is_refused(adeq: Adeq, drain: Drain) -> None:
    adeq.queue("default").enqueue({"n": 1}, id="default:other", kind="fax")
    with pytest.raises(TaskResultDoesNotExist):
        task_backends["default"].get_result("default:other")
    (run,) = drain()
    assert (run.outcome, run.reason, str(run.error)) == ("dead", "bad_input", "'fax' is not a task of Django")


@pytest.mark.usefixtures("database")
def test_a_transaction_enqueues_when_it_commits(drain: Drain) -> None:
    with transaction.atomic():
        with transaction.atomic():
            result = functions.forty_two.enqueue()
        assert (result.status, result.enqueued_at) == (TaskResultStatus.READY, None)
        assert drain() == []
    assert result.enqueued_at is not None
    assert [run.result for run in drain()] == [42]


@pytest.mark.usefixtures("database")
def test_a_transaction_that_is_rolled_back_enqueues_nothing(drain: Drain) -> None:
    with transaction.atomic():
        result = functions.forty_two.enqueue()
        transaction.set_rollback(True)
    assert drain() == []
    with pytest.raises(TaskResultDoesNotExist):
        result.refresh()


@pytest.mark.usefixtures("database")
def test_a_transaction_does_not_matter_if_the_options_say_so(drain: Drain) -> None:
    with transaction.atomic():
        functions.forty_two.using(backend="at_once").enqueue()
        assert [run.result for run in drain()] == [42]
    assert connection.in_atomic_block is False


@override_settings(TASKS={"default": {"BACKEND": BACKEND, "OPTIONS": {"uri": "redis://localhost"}}})
def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(ImproperlyConfigured, match="'uri' is not an option; allowed: url, prefix, "):
        _ = task_backends["default"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--backend", "immediate"], "the backend 'immediate' is a ImmediateBackend, not an AdeqBackend"),
        (["elsewhere"], "'elsewhere' is not one of default, queue_1"),
    ],
)
def test_the_command_refuses_what_no_worker_could_run(arguments: list[str], said: str) -> None:
    with pytest.raises(CommandError, match=said):
        call_command("adeq_worker", *arguments)


SETTINGS = """
import django
DATABASES = {{}}
INSTALLED_APPS = ["pyadeq.ext.connect.django"]
TASKS = {{"default": {{"BACKEND": "pyadeq.ext.connect.django.AdeqBackend", "OPTIONS": {options}}}}}
USE_TZ = True
"""
TASKS = """
import os, time
from pathlib import Path
from pyadeq.ext.connect.django.api import TaskContext
try:
    from django.tasks import task
except ModuleNotFoundError:
    from django_tasks import task


@task(takes_context=True)
def slow_at_first(context, started):
    Path(started).write_text(str(os.getpid()))
    if context.attempt == 1:
        time.sleep(600)
    return context.attempt
"""


class Command:
    """`manage.py adeq_worker` of a project in a folder."""

    def __init__(self, folder: Path) -> None:
        environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "at_hand", "PYTHONPATH": f"{folder}:{ROOT}"}
        command = ["-m", "django", "adeq_worker", "default", "--concurrency", "1", "--lease", "1"]
        self.log = folder / "log"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen([sys.executable, *command], env=environment, cwd=folder, stderr=log)

    def end(self, with_signal: int) -> int:
        self.process.send_signal(with_signal)
        return self.process.wait(30)


def test_a_killed_worker_loses_no_task(
    options: dict[str, Any], server: EmbeddedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "at_hand.py").write_text(SETTINGS.format(options=options))
    (tmp_path / "slow_functions.py").write_text(TASKS)
    monkeypatch.syspath_prepend(tmp_path)
    from slow_functions import slow_at_first  # type: ignore[import-not-found]

    started = tmp_path / "started"
    result = slow_at_first.enqueue(str(started))
    first = Command(tmp_path)
    wait_until(started.exists)
    first.end(signal.SIGKILL)
    second = Command(tmp_path)

    def finished() -> bool:
        result.refresh()
        return bool(result.is_finished)

    wait_until(finished)
    assert second.end(signal.SIGTERM) == 0
    assert (result.status, result.return_value, result.attempts) == (TaskResultStatus.SUCCESSFUL, 2, 2)
    assert [error.traceback for error in result.errors] == ["stalled"]
    assert "worker stopped" in second.log.read_text()


def run_in_partitions(adeq: Adeq) -> None:
    """Run tasks of a queue that gets partitions in between, and look each result up."""
    queue = adeq.partitioned("default")
    results = [functions.own_id.enqueue()]
    queue.repartition(3)
    results += [functions.own_id.enqueue() for _ in range(20)]
    while leases := queue.claim(limit=10):
        for lease in leases:
            queue.ack(lease, run(lease))
    for result in results:
        result.refresh()
        assert (result.status, result.return_value) == (TaskResultStatus.SUCCESSFUL, result.id)
    assert all(queue.part(one.tag).stats().finished for one in queue.partitions())


def test_a_queue_with_partitions(adeq: Adeq) -> None:
    run_in_partitions(adeq)


@pytest.mark.slow
def test_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    with ThreePrimaries(server_binary()) as cluster, Adeq.from_url(cluster.url, cluster=True) as adeq:
        options = {"url": cluster.url, "cluster": True}
        with override_settings(TASKS={"default": {"BACKEND": BACKEND, "OPTIONS": options}}):
            run_in_partitions(adeq)
            monkeypatch.setattr("sys.argv", [])
            with mock.patch.object(adeq_worker, "main"):
                call_command("adeq_worker")
            assert sys.argv[:4] == ["adeq", "--prefix", "ade", "--cluster"]
