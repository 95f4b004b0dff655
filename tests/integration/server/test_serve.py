"""`adeq serve`: what it refuses to serve, what it prints, and its end."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import signal
import socket
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
import uvicorn
from uvicorn.server import ServerState

from pyadeq import Adeq
from pyadeq.ext.server import serving as serving_module
from pyadeq.ext.server.serving import Connection, listening, place_of
from pyadeq.ext.server.tokens import TEXT, new_token, revoked
from tests.integration.cli.run import COMMAND, adeq, environment
from tests.waiting import DEADLINE, wait_until

pytestmark = pytest.mark.any_engine
TASKS = "/v1/queues/mail/tasks"
ANY_PORT = ("--port", "0")


class Serving(NamedTuple):
    """A running service: what it has printed, and a client of it."""

    said: dict[str, Any]
    http: httpx.Client
    process: subprocess.Popen[str]
    log: Path

    @property
    def bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.said['token']}"}


@contextmanager
def serving(*words: str, uds: str | None = None, **variables: str) -> Iterator[Serving]:
    """A service, which must end cleanly at a signal."""
    with tempfile.TemporaryDirectory() as name:
        log = Path(name) / "log"
        with log.open("w") as errors:
            process = subprocess.Popen(
                [*COMMAND, "serve", *words, "-o", "json"],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=environment(**variables),
            )
        assert process.stdout
        try:
            line = process.stdout.readline()
            assert line, log.read_text()
            said = json.loads(line)
            base = "http://localhost" if uds else said["at"]
            transport = httpx.HTTPTransport(uds=uds)
            with httpx.Client(base_url=base, transport=transport, timeout=DEADLINE) as http:
                yield Serving(said, http, process, log)
            process.send_signal(signal.SIGTERM)
            assert process.wait(DEADLINE) == 0, log.read_text()
            assert "Traceback" not in log.read_text()
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


@pytest.fixture
def place(url: str, base_name: str) -> dict[str, Any]:
    return {"ADEQ_URL": url, "ADEQ_PREFIX": base_name}


@pytest.fixture
def client(url: str, base_name: str) -> Iterator[Adeq]:
    with Adeq.from_url(url, prefix=base_name) as client:
        yield client


@pytest.mark.slow
def test_without_a_token_it_makes_one_for_itself(client: Adeq, place: dict[str, Any]) -> None:
    with serving(*ANY_PORT, **place) as service:
        token = service.said["token"]
        assert TEXT.fullmatch(token)
        assert service.said["at"].startswith("http://127.0.0.1:")
        assert service.http.get("/live").status_code == 200
        assert service.http.post(TASKS, json={}).status_code == 403
        assert service.http.get(f"{TASKS}?state=ready").status_code == 401
        assert service.http.post(TASKS, json={"payload": 1}, headers=service.bearer).status_code == 202
        assert client.queue("mail").stats().ready == 1
        assert client.config("_tokens").list() == {}, "of this process only"


async def test_headers_that_do_not_come_end_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the beginning, and after another request. What comes after the headers may take longer."""
    going_on = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/slow":
            await going_on.wait()
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    monkeypatch.setattr(serving_module, "HEADERS", 0.05)
    config, state = uvicorn.Config(app, lifespan="off"), ServerState()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(config, state, {}), "127.0.0.1")
    async with server:
        port = server.sockets[0].getsockname()[1]
        half, whole = b"GET /live HTTP/1.1\r\nX: ", b"GET /live HTTP/1.1\r\nHost: a\r\n\r\n"
        slow, asking = await asyncio.open_connection("127.0.0.1", port)
        asking.write(whole.replace(b"live", b"slow"))
        for sent, answer in ((b"", rb""), (half, rb"HTTP/1.1 408 .*")):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(sent)
            assert re.fullmatch(answer, await asyncio.wait_for(reader.read(), DEADLINE), re.DOTALL)
            writer.close()
        going_on.set()
        assert await slow.readuntil(b"\r\n") == b"HTTP/1.1 204 No Content\r\n"
        asking.write(half)
        assert b"408" in await asyncio.wait_for(slow.read(), DEADLINE)
        asking.close()
    assert not state.connections


@pytest.mark.slow
def test_with_a_token_no_other_is_made(client: Adeq, place: dict[str, Any]) -> None:
    id, text, token = new_token("ann", ["producer"])
    client.config("_tokens").set(id, token.encoded())
    with serving(*ANY_PORT, **place) as service:
        assert service.said["token"] is None
        bearer = {"Authorization": f"Bearer {text}"}
        assert service.http.post(TASKS, json={}, headers=bearer).status_code == 202
        client.config("_tokens").set(id, revoked(token).encoded())
        wait_until(lambda: service.http.get(f"{TASKS}?state=ready", headers=bearer).status_code == 401)


@pytest.mark.slow
def test_rebinding_and_other_sites(place: dict[str, Any]) -> None:
    with serving(*ANY_PORT, "--trusted-host", "*.example.org", **place) as service:
        port = service.said["at"].rpartition(":")[2]
        for host, status in [
            (f"localhost:{port}", 200),
            ("tasks.example.org", 200),
            (f"evil.org:{port}", 421),
            ("example.org", 421),
        ]:
            assert service.http.get("/live", headers={"Host": host}).status_code == status
        cross = {**service.bearer, "Origin": "http://evil.org"}
        assert service.http.post(TASKS, json={}, headers=cross).json()["code"] == "CROSS_SITE"


@pytest.mark.slow
def test_without_authentication_on_loopback(place: dict[str, Any]) -> None:
    with serving(*ANY_PORT, "--no-auth", **place) as service:
        assert (service.said["token"], service.said["shared"]) == (None, True)
        assert "Nobody logs in: everybody on this machine is" in service.http.get("/").text
        assert service.http.post(TASKS, json={}).status_code == 202
        for headers in ({"Origin": "http://evil.org"}, {"Sec-Fetch-Site": "cross-site"}, {"Host": "evil.org"}):
            assert service.http.post(TASKS, json={}, headers=headers).status_code in (403, 421)


@pytest.mark.slow
def test_users_of_a_proxy(place: dict[str, Any]) -> None:
    proxy = ("--proxy-user-header", "X-Forwarded-User", "--proxy-rights", "queue.observe")
    user = {"X-Forwarded-User": "ann", "X-Forwarded-For": "10.0.0.1"}
    with serving(*ANY_PORT, *proxy, "--trusted-proxy", "127.0.0.0/8", **place) as service:
        assert service.said["token"] is None
        assert service.http.get(f"{TASKS}?state=ready", headers=user).status_code == 404
        same = {**user, "Origin": service.said["at"]}
        assert service.http.post(TASKS, json={}, headers=same).json()["code"] == "FORBIDDEN"
    with serving(*ANY_PORT, *proxy, "--trusted-proxy", "10.0.0.0/8", **place) as service:
        refused = service.http.get(f"{TASKS}?state=ready", headers=user)
        assert refused.json()["code"] == "PROXY_NOT_TRUSTED", "X-Forwarded-For does not change the address"


@pytest.mark.slow
def test_a_unix_socket(place: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory(prefix="adeq-") as name:
        path = Path(name) / "s"
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(str(path))  # as after a kill
        with serving("--uds", str(path), uds=str(path), **place) as service:
            assert stat.S_IMODE(path.stat().st_mode) == 0o660
            assert service.said["at"] == f"unix:{path}"
            assert service.http.post(TASKS, json={}, headers=service.bearer).status_code == 202
            second = adeq("serve", "--uds", str(path), **place)
            assert (second.status, "another process listens" in second.stderr) == (2, True)
        assert not path.exists()
        path.write_text("")
        assert "is no socket" in adeq("serve", "--uds", str(path), **place).stderr
        assert path.exists()


@pytest.mark.slow
def test_a_private_server_is_started_without_a_url(tmp_path: Path) -> None:
    for count in (1, 2):
        with serving(*ANY_PORT, "--data", str(tmp_path / "data")) as service:
            assert (service.said["url"][:7], f"kept in {tmp_path}" in service.log.read_text()) == ("unix://", True)
            service.http.post(TASKS, json={}, headers=service.bearer)
            stats = service.http.get("/v1/queues/mail/stats", headers=service.bearer)
            assert stats.json()["ready"] == count, "the data is kept"


@pytest.mark.slow
def test_no_token_is_in_the_log(client: Adeq, place: dict[str, Any]) -> None:
    with serving(*ANY_PORT, **place) as service:
        text = service.said["token"]
        wrong = f"adeq_{'1' * 12}_{'B' * 43}"
        for given in (text, wrong):
            headers = {"Authorization": f"Bearer {given}"}
            refused = service.http.get(f"/v1/queues/mail/stats?token={given}", headers=headers)
            assert refused.json()["code"] == "TOKEN_IN_URL"
            for path in (f"/v1/queues/{given}/stats", f"/{given}", "/v1/queues/mail/stats"):
                service.http.get(path, headers=headers)
            service.http.post(TASKS, content=b"\xff", headers=headers)
        client.client.set(f"{client.queue('mail').base}:config", "broken")  # an error that the service logs or shows
        service.http.get("/v1/queues/mail/stats", headers=service.bearer)
        client.client.delete(f"{client.queue('mail').base}:config")
        with socket.create_connection(("127.0.0.1", int(service.said["at"].rpartition(":")[2]))) as raw:
            raw.sendall(f"GET {text} nonsense\r\nAuthorization: {text}\r\n\r\n".encode())
            assert b"400" in raw.recv(1000)
        log = service.log.read_text()
    assert not re.search("adeq_[0-9a-f]{12}", log), log


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_open_requests(client: Adeq, place: dict[str, Any], number: int) -> None:
    """Those that do not end by themselves within some seconds."""
    with serving(*ANY_PORT, **place) as service:
        head = {**service.bearer, "Host": "localhost", "Prefer": "wait=60", "Content-Type": "application/json"}
        lines = [f"POST {TASKS} HTTP/1.1", *(f"{name}: {value}" for name, value in head.items()), "Content-Length: 2"]
        with socket.create_connection(("127.0.0.1", int(service.said["at"].rpartition(":")[2]))) as raw:
            raw.sendall("\r\n".join([*lines, "", "{}"]).encode())
            wait_until(lambda: client.queue("mail").stats().ready == 1)
            service.process.send_signal(number)
            assert service.process.wait(DEADLINE) == 0
            answer = raw.makefile().read()
            assert answer.startswith("HTTP/1.1 503")
            assert '"code":"ENDING"' in answer
            assert '"may_have_applied":true' in answer


@pytest.mark.slow
def test_the_text_has_a_line_to_copy(place: dict[str, Any]) -> None:
    process = subprocess.Popen(
        [*COMMAND, "serve", *ANY_PORT], stdout=subprocess.PIPE, text=True, env=environment(**place)
    )
    with process:
        assert process.stdout
        lines = [process.stdout.readline() for _ in range(5)]
        words = shlex.split(lines[2])
        link = lines[4].strip()
        assert lines[0].startswith("serving ")
        assert words[0] == "curl"
        made = subprocess.run([*words, "-s"], capture_output=True, check=False) if _has_curl() else None
        code = link.partition("code=")[2]
        site = {"Sec-Fetch-Site": "same-origin"}
        ends = [httpx.post(link.partition("?")[0], data={"code": code}, headers=site).status_code for _ in range(2)]
        process.send_signal(signal.SIGINT)
        assert process.wait(DEADLINE) == 0
    assert ends == [303, 401]
    if made:
        assert json.loads(made.stdout)["queue"] == "default", made


def _has_curl() -> bool:
    found = subprocess.run(["sh", "-c", "curl --help all | grep -e --json"], capture_output=True, check=False)
    return found.returncode == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--host", "0.0.0.0"], "--trusted-host: 0.0.0.0 is any address"),
        (["--host", "0.0.0.0", "--trusted-host", "a.example.org"], "--host: others can reach 0.0.0.0; make a token"),
        (["--host", "::", "--trusted-host", "a.example.org"], "--host: others can reach ::; make a token"),
        (["--host", "0.0.0.0", "--trusted-host", "a", "--no-auth"], "--no-auth: it is only for a loopback address"),
        (["--uds", "/tmp/x", "--no-auth"], "--no-auth: it is only for a loopback address"),
        (
            ["--no-auth", "--proxy-user-header", "X", "--trusted-proxy", "unix", "--proxy-rights", "observer"],
            "--no-auth: it is only for a loopback address",
        ),
        (["--proxy-user-header", "X"], "--proxy-user-header, --trusted-proxy, --proxy-rights: one is missing"),
        (["--proxy-user-header", "X", "--trusted-proxy", "unix"], "--proxy-user-header, --trusted-proxy"),
        (["--trusted-proxy", "unix"], "--proxy-user-header, --trusted-proxy, --proxy-rights: one is missing"),
        (
            ["--proxy-user-header", "X", "--trusted-proxy", "0.0.0.0/0", "--proxy-rights", "observer"],
            "trusted proxy: '0.0.0.0/0' is not accepted",
        ),
        (
            ["--proxy-user-header", "X", "--trusted-proxy", "unix", "--proxy-rights", "root"],
            "rights: 'root' is not accepted",
        ),
        (["--trusted-host", "*"], "trusted host: '*' is not accepted"),
        (["--host", "x" * 64], "--host: 'xxx"),  # no name of a host: nothing is looked up
        (["--host", "192.0.2.77", "--trusted-host", "a"], "--host: others can reach 192.0.2.77; make a token"),
        (["--data", "x"], "--data: it is of the private server"),
    ],
)
def test_what_is_refused(place: dict[str, Any], words: list[str], says: str) -> None:
    done = adeq("serve", *ANY_PORT, *words, **place)
    assert done.status == 2
    assert done.stderr.startswith(f"adeq: {says}"), done.stderr


def test_only_a_valid_token_opens_other_addresses(client: Adeq, place: dict[str, Any]) -> None:
    _, _, old = new_token("ann", ["observer"], lifetime=10, now=1000)
    _, _, good = new_token("ann", ["observer"])
    client.config("_tokens").set_many({"0" * 12: old.encoded(), "1" * 12: revoked(good).encoded(), "x": b"x"})
    words = ("serve", "--host", "192.0.2.77", *ANY_PORT)
    assert "make a token first" in adeq(*words, **place).stderr
    client.config("_tokens").set("2" * 12, good.encoded())
    assert "nothing can listen at 192.0.2.77" in adeq(*words, **place).stderr, "no address of this machine"


def test_a_port_that_is_taken(place: dict[str, Any]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = adeq("serve", "--port", str(port), **place)
    assert (done.status, f"nothing can listen at 127.0.0.1, port {port}" in done.stderr) == (2, True)


def test_the_server_away(place: dict[str, Any]) -> None:
    done = adeq("serve", *ANY_PORT, **{**place, "ADEQ_URL": "redis://127.0.0.1:1"})
    assert done.status == 3


@pytest.mark.slow
def test_headers_without_end_are_refused(place: dict[str, Any]) -> None:
    with serving("--no-auth", *ANY_PORT, **place) as service:
        try:
            answered = service.http.get("/live", headers={"X-Long": "a" * 2_000_000}).status_code
        except httpx.TransportError:  # it may close the connection while the client still sends
            answered = 400
        assert answered == 400
        assert service.http.get("/live").status_code == 200


async def test_small_answers_are_not_held_back() -> None:
    async def noted(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        found: socket.socket = writer.get_extra_info("socket")
        writer.write(bytes([found.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)]))
        writer.close()

    with listening(place_of("127.0.0.1", 0)) as at:
        async with await asyncio.start_server(noted, sock=at):
            reader, writer = await asyncio.open_connection(*at.getsockname())
            assert await reader.read() == b"\1"
            writer.close()
