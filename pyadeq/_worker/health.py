"""The health of a worker, and a small HTTP server that reports it, for instance to a supervisor.

The server has its own thread, so it answers even if the event loop is blocked. It answers one request after the other
(GET and HEAD), and reads only the first line and the headers.

    /live     200 while the event loop moves; 503 if it has stood still for longer than `after` seconds
    /ready    200 while the worker is registered, the server answers and the worker takes tasks; else 503
    /metrics  the same numbers for Prometheus; 501 without prometheus-client (the extra `metrics`)
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from http.server import BaseHTTPRequestHandler, HTTPServer
from socket import AF_INET6, SHUT_RDWR, socket
from types import TracebackType
from typing import Any, Self

from pyadeq._importing import IMPORTING
from pyadeq.errors import ConfigError
from pyadeq.models.base import Seconds, to_ms

AFTER = 30.0
LONGEST_WAIT = 15.0  # seconds: an idle worker hears from the server every 10
PATIENCE = 2.0  # seconds that a client has for its request: a slow client blocks the next one


@dataclass(frozen=True)
class Health:
    """The health of a worker.

    loop_age: seconds since its event loop last moved.
    server_age: seconds since the server's last good answer; inf: none yet.
    mode: `run`, `quiet`, `stop` or `restart`.
    done, failed: how many attempts have ended, and how many of them failed.
    put_aside: how many times a task was put aside because its kind or version is unknown.
    ignored_arguments: how many arguments of tasks were ignored because the function does not have them.
    loop_blocks: how many times a blocked event loop was reported.
    """

    loop_age: float
    server_age: float
    running: int
    concurrency: int
    mode: str
    done: int
    failed: int
    put_aside: int = 0
    ignored_arguments: int = 0
    loop_blocks: int = 0

    @classmethod
    def together(cls, healths: Sequence[Health]) -> Health:
        """Return the health of several workers as if they were one: the worst ages, the sums of the numbers."""
        ages = {name: max(getattr(health, name) for health in healths) for name in ("loop_age", "server_age")}
        names = [one.name for one in fields(cls) if one.name not in (*ages, "mode")]
        sums = {name: sum(getattr(health, name) for health in healths) for name in names}
        return cls(**ages, **sums, mode=next((health.mode for health in healths if health.mode != "run"), "run"))


class HealthServer:
    """Reports a worker's health over HTTP, in a daemon thread; a context manager. Raises ConfigError if it cannot
    listen.

    health: `Worker.health`, called for each request.
    port: 0: any free port; `address` has it.
    after: the answer is 503 if the event loop has not moved, or the server has not answered, for this many seconds.
    """

    def __init__(
        self, health: Callable[[], Health], port: int, *, host: str = "127.0.0.1", after: Seconds = AFTER
    ) -> None:
        self._after = to_ms("after", after) / 1000
        if self._after <= 0:
            raise ConfigError(f"after: {after!r} is not accepted; allowed: more than 0 s")
        self._health = health
        try:
            self._server = _server_class(host)((host, port), self._handler())
        except (OSError, OverflowError) as error:
            raise ConfigError(f"health: nothing can listen at {host}, port {port}: {error}") from None
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, name="adeq-health", daemon=True
        )

    @property
    def address(self) -> str:
        """The `host:port` on which it listens."""
        host, port = self._server.server_address[:2]
        return f"[{host!s}]:{port}" if ":" in str(host) else f"{host!s}:{port}"

    def live(self) -> tuple[int, dict[str, Any]]:
        """Return the HTTP status and the body of /live."""
        health = self._health()
        reason = None
        if health.loop_age > self._after:
            reason = f"the event loop has stood still for {health.loop_age:.1f} s"
        return _answer(health, reason)

    def ready(self) -> tuple[int, dict[str, Any]]:
        """Return the HTTP status and the body of /ready."""
        health = self._health()
        status, body = self.live()
        if status != 200:
            return status, body
        reason = None
        if health.mode != "run":
            reason = f"the worker takes no tasks: its mode is {health.mode}"
        elif health.server_age == math.inf:
            reason = "the worker is not registered yet"
        elif health.server_age > max(self._after, LONGEST_WAIT):
            reason = f"the server has not answered for {health.server_age:.1f} s"
        return _answer(health, reason)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(PATIENCE)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        answers = {"/live": self.live, "/ready": self.ready}
        health = self._health

        def as_json(status: int, body: dict[str, Any]) -> tuple[int, str, bytes]:
            return status, "application/json", json.dumps(body).encode() + b"\n"

        class Handler(BaseHTTPRequestHandler):
            server_version = "adeq"
            sys_version = ""

            def do_GET(self) -> None:
                status, kind, data = self.answer(self.path.partition("?")[0])
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.send_header("Cache-Control", "no-store")
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(data)

            do_HEAD = do_GET

            def answer(self, path: str) -> tuple[int, str, bytes]:
                if path == "/metrics":
                    try:
                        with IMPORTING:
                            from pyadeq._worker.metrics import KIND, exposition
                    except ImportError:
                        reason = 'prometheus-client is missing; pip install "pyadeq[metrics]"'
                        return as_json(501, {"ok": False, "reason": reason})
                    return 200, KIND, exposition(asdict(health()))
                if path in answers:
                    return as_json(*answers[path]())
                return as_json(404, {"ok": False, "reason": f"there is {', '.join(answers)} and /metrics"})

            def log_message(self, *_: object) -> None:
                pass  # a probe comes every few seconds

        return Handler


class _Server(HTTPServer):
    request_queue_size = 16

    def server_bind(self) -> None:
        # HTTPServer's own looks up the host's name, which can take long.
        super(HTTPServer, self).server_bind()

    def process_request(self, request: socket | tuple[bytes, socket], client_address: Any) -> None:
        assert isinstance(request, socket)
        limit = threading.Timer(PATIENCE, _hang_up, [request])
        limit.start()
        try:
            super().process_request(request, client_address)
        finally:
            limit.cancel()

    def handle_error(self, request: socket | tuple[bytes, socket], client_address: object) -> None:
        pass  # a client that went away, or was too slow


class _Server6(_Server):
    address_family = AF_INET6


def _server_class(host: str) -> type[_Server]:
    return _Server6 if ":" in host else _Server


def _hang_up(request: socket) -> None:
    with suppress(OSError):
        request.shutdown(SHUT_RDWR)


def _answer(health: Health, reason: str | None) -> tuple[int, dict[str, Any]]:
    facts = {
        name: (None if value == math.inf else round(value, 3)) if isinstance(value, float) else value
        for name, value in asdict(health).items()
    }
    return 503 if reason else 200, {"ok": reason is None, **({"reason": reason} if reason else {}), **facts}
