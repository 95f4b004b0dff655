"""The HTTP server that says how a worker is."""

import json
import math
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from pyadeq._worker.health import Health, HealthServer
from pyadeq.errors import ConfigError
from tests.waiting import DEADLINE

pytestmark = pytest.mark.any_engine

WELL = Health(
    loop_age=0.01,
    server_age=1.25,
    running=2,
    concurrency=10,
    mode="run",
    done=7,
    failed=1,
    put_aside=4,
    ignored_arguments=3,
    loop_blocks=5,
)
FACTS = {"loop_age": 0.01, "server_age": 1.25, "running": 2, "concurrency": 10, "mode": "run", "done": 7, "failed": 1}
FACTS |= {"put_aside": 4, "ignored_arguments": 3, "loop_blocks": 5}


def ask(server: HealthServer, path: str, method: str = "GET") -> tuple[int, Any]:
    request = urllib.request.Request(f"http://{server.address}{path}", method=method)
    try:
        with urllib.request.urlopen(request, timeout=DEADLINE) as answer:
            return answer.status, json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read() or b"null")


def serve(health: Health, **options: Any) -> HealthServer:
    return HealthServer(lambda: health, 0, **options)


@pytest.mark.parametrize("path", ["/live", "/ready", "/live?verbose"])
def test_a_worker_that_is_well(path: str) -> None:
    with serve(WELL) as server:
        assert server.address.startswith("127.0.0.1:")
        assert ask(server, path) == (200, {"ok": True, **FACTS})
        assert ask(server, path, "HEAD") == (200, None)


@pytest.mark.parametrize(
    ("change", "live", "ready", "reason"),
    [
        ({"loop_age": 31.0}, 503, 503, "the event loop has stood still for 31.0 s"),
        ({"server_age": 45.0}, 200, 503, "the server has not answered for 45.0 s"),
        ({"server_age": math.inf}, 200, 503, "the worker is not registered yet"),
        ({"mode": "quiet"}, 200, 503, "the worker takes no tasks: its mode is quiet"),
        ({"mode": "stop"}, 200, 503, "the worker takes no tasks: its mode is stop"),
    ],
)
def test_a_worker_that_is_not_well(change: dict[str, Any], live: int, ready: int, reason: str) -> None:
    with serve(replace(WELL, **change)) as server:
        assert ask(server, "/live")[0] == live
        status, body = ask(server, "/ready")
        assert (status, body["ok"], body["reason"]) == (ready, False, reason)
        assert body.items() >= {name: None if value == math.inf else value for name, value in change.items()}.items()


def test_numbers_for_prometheus() -> None:
    with serve(WELL) as server, urllib.request.urlopen(f"http://{server.address}/metrics", timeout=DEADLINE) as answer:
        found = {
            (sample.name, *sample.labels.values()): sample.value
            for family in text_string_to_metric_families(answer.read().decode())
            for sample in family.samples
        }
    assert found == {
        ("adeq_worker_slots", "busy"): 2,
        ("adeq_worker_slots", "free"): 8,
        ("adeq_worker_taking",): 1,
        ("adeq_worker_loop_age_seconds",): 0.01,
        ("adeq_worker_server_age_seconds",): 1.25,
        ("adeq_worker_attempts_total", "done"): 6,
        ("adeq_worker_attempts_total", "failed"): 1,
        ("adeq_worker_put_aside_total",): 4,
        ("adeq_worker_ignored_arguments_total",): 3,
        ("adeq_worker_loop_blocks_total",): 5,
    }


def test_without_the_extra_the_answer_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyadeq._worker.metrics", None)
    with serve(WELL) as server:
        status, body = ask(server, "/metrics")
    assert (status, body["reason"]) == (501, 'prometheus-client is missing; pip install "pyadeq[metrics]"')


def test_how_long_is_too_long_can_be_said() -> None:
    with serve(replace(WELL, loop_age=2.0), after=1.5) as server:
        assert ask(server, "/live")[0] == 503


def test_other_paths_and_methods() -> None:
    with serve(WELL) as server:
        assert ask(server, "/") == (404, {"ok": False, "reason": "there is /live, /ready and /metrics"})
        request = urllib.request.Request(f"http://{server.address}/live", data=b"x", method="POST")
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=DEADLINE)
        refused.value.close()
        assert refused.value.code == 501


def test_a_slow_client_keeps_others_waiting_for_a_time_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyadeq._worker.health.PATIENCE", 0.3)
    with serve(WELL) as server:
        host, port = server.address.split(":")
        with socket.create_connection((host, int(port))) as slow:
            slow.sendall(b"GET /live HTTP/1.0\r\n")
            drip = threading.Thread(target=drip_into, args=[slow], daemon=True)
            drip.start()
            assert ask(server, "/live")[0] == 200
        drip.join(DEADLINE)


def drip_into(slow: socket.socket) -> None:
    """Send a header that never ends, a byte at a time."""
    pause = threading.Event()
    try:
        while not pause.wait(0.05):
            slow.sendall(b"x")
    except OSError:
        return


def test_it_answers_while_the_loop_stands_still() -> None:
    """The thread of the caller stands for the loop: it does nothing but wait for the answer."""
    moved = time.monotonic()
    with HealthServer(lambda: replace(WELL, loop_age=time.monotonic() - moved), 0, after=0.2) as server:
        while ask(server, "/live")[0] == 200:
            assert time.monotonic() < moved + 30


def test_many_ask_at_once() -> None:
    with serve(WELL) as server:
        seen: list[int] = []
        askers = [threading.Thread(target=lambda: seen.append(ask(server, "/ready")[0])) for _ in range(10)]
        for asker in askers:
            asker.start()
        for asker in askers:
            asker.join(DEADLINE)
        assert seen == [200] * 10


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda port: HealthServer(lambda: WELL, port), "health: nothing can listen at 127.0.0.1, port "),
        (lambda _: HealthServer(lambda: WELL, 70000), "health: nothing can listen at 127.0.0.1, port 70000"),
        (lambda _: HealthServer(lambda: WELL, 0, host="nowhere.invalid"), "health: nothing can listen at nowhere"),
        (lambda _: HealthServer(lambda: WELL, 0, after=0), "after: 0 is not accepted"),
    ],
)
def test_what_cannot_work_is_refused(make: Callable[[int], HealthServer], message: str) -> None:
    with serve(WELL) as server, pytest.raises(ConfigError, match=message):
        make(int(server.address.partition(":")[2]))
