"""One message over real sockets: to the address that was checked, once, without redirects, within its deadline."""

import asyncio
import datetime
import socket
import ssl
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from pyadeq.ext.outgoing.addresses import Allowed, RefusedTarget
from pyadeq.ext.outgoing.sending import Answer, NotSent, Sender
from tests.conftest import free_port
from tests.integration.outgoing.receivers import certificate_in, raw, receiving, server_tls, status

pytestmark = pytest.mark.any_engine

BODY = b'{"type": "x"}'
LOOPBACK = ["127.0.0.0/8", "::1"]


def sender(*ports: int, timeout: float = 20.0, **options: Any) -> Sender:
    return Sender(Allowed.of(LOOPBACK, http=True, ports=ports), timeout=timeout, **options)


async def post(url: str, *ports: int, **options: Any) -> Answer:
    made = sender(*ports, **options)
    try:
        return await made.post(url, [("webhook-id", "m1")], BODY)
    finally:
        made.close()


async def failure(url: str, *ports: int, **options: Any) -> str:
    with pytest.raises(NotSent) as raised:
        await post(url, *ports, **options)
    return raised.value.reason


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[list[str]]]:
    """What the DNS answers for a name, each time another list; other names are looked up."""
    answers: dict[str, list[list[str]]] = {}
    real = socket.getaddrinfo

    def look_up(host: Any, port: Any, *args: Any, **options: Any) -> Any:
        if host not in answers:
            return real(host, port, *args, **options)
        found = answers[host].pop(0)
        return [one for address in found for one in real(address, port, *args, **options)]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return answers


async def test_a_message_arrives_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{free_port()}")
    with receiving(status(202)) as receiver:
        assert await post(f"{receiver.url}?x=1", receiver.port) == Answer(202, None)
    (message,) = receiver.seen
    assert (message.path, message.body, message.id) == ("/hook?x=1", BODY, "m1")
    assert message.headers["host"] == f"127.0.0.1:{receiver.port}"
    assert message.headers["content-type"] == "application/json"


async def test_redirects_are_answers() -> None:
    with receiving() as other, receiving(status(307, Location=other.url)) as receiver:
        assert await post(receiver.url, receiver.port, other.port) == Answer(307, None)
    assert (len(receiver.seen), other.seen) == (1, [])


async def test_retry_after() -> None:
    later = format_datetime(datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=1), usegmt=True)
    for value, least, most in (("120", 120, 120), (later, 3000, 3600), ("Wed, 21 Oct 2015 07:28:00 GMT", 0, 0)):
        with receiving(status(429, Retry_After=value)) as receiver:
            answer = await post(receiver.url, receiver.port)
        assert answer.retry_after is not None
        assert least <= answer.retry_after <= most
    for odd in ("soon", "Mon, 01 Jan 99999999999999999999 00:00:00 GMT", "Mon, 01 Jan 0001 00:00:00 +9999"):
        with receiving(status(503, Retry_After=odd)) as receiver:
            answer = await post(receiver.url, receiver.port)
        assert (answer.status, answer.retry_after or None) == (503, None)


async def test_answers_that_are_no_answers() -> None:
    for data, reason in (
        (b"", "protocol"),
        (b"SSH-2.0-x\r\n", "protocol"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12", "protocol"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000, "protocol"),
        (b"HTTP/1.1 103 Early Hints\r\n\r\n" * 10_000, "protocol"),
    ):
        with receiving(raw(data)) as receiver:
            assert await failure(receiver.url, receiver.port) == reason, data[:40]
    for data in (
        b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\n\r\n" + b"x" * 1_000_000,
    ):
        with receiving(raw(data)) as receiver:
            assert (await post(receiver.url, receiver.port)).status == 200
    assert await failure(f"http://127.0.0.1:{(port := free_port())}/", port) == "connection"


async def test_one_deadline_for_a_receiver_that_says_nothing() -> None:
    with receiving() as receiver:
        receiver.released.clear()
        assert await failure(receiver.url, receiver.port, timeout=0.2) == "timeout"


async def test_one_deadline_for_a_slow_lookup(monkeypatch: pytest.MonkeyPatch) -> None:
    answered = asyncio.Event()
    loop = asyncio.get_running_loop()

    def look_up(*_: Any, **__: Any) -> Any:
        asyncio.run_coroutine_threadsafe(answered.wait(), loop).result()
        raise OSError

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    assert await failure("http://slow.example/", timeout=0.2) == "timeout"
    answered.set()


async def test_a_name_that_does_not_exist(names: dict[str, list[list[str]]]) -> None:
    names["none.example"] = [["256.0.0.1.invalid"]]
    assert await failure("http://none.example/") == "dns"


async def test_the_connection_goes_to_the_checked_address(names: dict[str, list[list[str]]]) -> None:
    with receiving() as receiver:
        names["moves.example"] = [["127.0.0.1"], ["10.0.0.1"], ["127.0.0.1", "169.254.169.254"]]
        url = f"http://moves.example:{receiver.port}/hook"
        assert (await post(url, receiver.port)).status == 204
        for address in ("10.0.0.1", "169.254.169.254"):
            with pytest.raises(RefusedTarget, match=address):
                await post(url, receiver.port)
    assert [one.headers["host"] for one in receiver.seen] == [f"moves.example:{receiver.port}"]
    assert names["moves.example"] == [], "each message has asked once"


async def test_the_next_address_if_one_cannot_be_reached(names: dict[str, list[list[str]]]) -> None:
    with receiving() as receiver:
        names["two.example"] = [["127.0.0.2", "127.0.0.1"]]
        assert (await post(f"http://two.example:{receiver.port}/", receiver.port)).status == 204


async def test_loopback_is_refused_unless_it_is_allowed() -> None:
    with receiving() as receiver:
        made = Sender(Allowed.of(http=True, ports=[receiver.port]))
        with pytest.raises(RefusedTarget, match=r"127\.0\.0\.1, which is not public"):
            await made.post(receiver.url, [], BODY)
        made.close()
    assert receiver.seen == []


# TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certificate_in(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def tls(certificate: Path) -> tuple[ssl.SSLContext, ssl.SSLContext, list[str | None]]:
    """The contexts of a server and of a client that trusts it, and the names that clients ask the server for."""
    server = server_tls(certificate)
    asked: list[str | None] = []
    server.sni_callback = lambda _, name, __: asked.append(name)
    return server, ssl.create_default_context(cafile=str(certificate)), asked


async def test_tls_asks_for_the_name_and_checks_it(tls: Any, names: dict[str, list[list[str]]]) -> None:
    server, client, asked = tls
    names |= {"hooks.example": [["127.0.0.1"], ["127.0.0.1"]], "other.example": [["127.0.0.1"]]}
    with receiving(tls=server) as receiver:
        port = receiver.port
        assert (await post(f"https://hooks.example:{port}/", port, tls=client)).status == 204
        assert (await post(receiver.url, port, tls=client)).status == 204
        assert await failure(f"https://other.example:{port}/", port, tls=client) == "tls"
        assert await failure(f"https://hooks.example:{port}/", port) == "tls", "nobody has signed the certificate"
    assert [one.headers["host"] for one in receiver.seen] == [f"hooks.example:{port}", f"127.0.0.1:{port}"]
    assert [name for name in asked if name] == ["hooks.example", "other.example", "hooks.example"]


async def test_plain_http_where_tls_is_expected() -> None:
    with receiving() as receiver:
        assert await failure(f"https://127.0.0.1:{receiver.port}/", receiver.port) == "tls"
