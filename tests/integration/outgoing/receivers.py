"""Receivers of webhooks and posts on loopback, each with its own behaviour."""

import asyncio
import datetime
import ipaddress
import ssl
import subprocess
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from pyadeq.asyncio import Adeq
from pyadeq.ext.outgoing.addresses import Allowed
from tests.integration.cli.run import COMMAND, environment
from tests.waiting import DEADLINE


class Message(NamedTuple):
    """What has arrived. headers: names in small letters."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]


class Receiver:
    """An HTTP server. answer: gets the request handler of each message, and answers it; by default with 204.

    released: while it is cleared, all answers are held back.
    """

    def __init__(self, answer: Callable[[Any], None] | None = None, tls: ssl.SSLContext | None = None) -> None:
        self.seen: list[Message] = []
        self.released = threading.Event()
        self.released.set()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            timeout = DEADLINE

            def do_POST(self) -> None:
                size = int(self.headers["content-length"])
                if len(body := self.rfile.read(size)) < size:
                    return  # the sender was killed
                receiver.seen.append(Message(self.path, {k.lower(): v for k, v in self.headers.items()}, body))
                receiver.released.wait(DEADLINE)
                (answer or status(204))(self)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: Any) -> None:
                """Senders that give up are part of the tests."""

        self._server = Server(("127.0.0.1", 0), Handler)
        if tls:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_address[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}/hook"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def ids(self) -> list[str]:
        return [one.id for one in self.seen]

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(DEADLINE)


def status(code: int, **headers: str) -> Callable[[Any], None]:
    """An answer without a body."""

    def answer(handler: Any) -> None:
        handler.send_response(code)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return answer


def raw(data: bytes) -> Callable[[Any], None]:
    """These bytes, and the end of the connection."""

    def answer(handler: Any) -> None:
        handler.wfile.write(data)
        handler.close_connection = True

    return answer


@contextmanager
def receiving(answer: Callable[[Any], None] | None = None, tls: ssl.SSLContext | None = None) -> Iterator[Receiver]:
    receiver = Receiver(answer, tls)
    try:
        yield receiver
    finally:
        receiver.close()


def allowed(*receivers: Receiver) -> Allowed:
    """What lets messages go to them."""
    return Allowed.of(["127.0.0.1"], http=True, ports=[one.port for one in receivers])


@asynccontextmanager
async def serving(serve: Callable[..., Any], aio: Adeq, *receivers: Receiver, **options: Any) -> AsyncIterator[None]:
    """A service that sends to them, in this process."""
    given = {"allowed": allowed(*receivers), "find": 0.1, "signals": False, **options}
    running = asyncio.create_task(serve(aio, **given))
    try:
        yield
        assert not running.done(), running.result()
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


class Process:
    """`adeq webhook run`, `adeq post run` or `adeq send`, as a process of its own. words: of the command."""

    def __init__(self, words: str, url: str, prefix: str, log: Path, *receivers: Receiver, **environ: str) -> None:
        for name in ("WEBHOOK", "POST"):
            environ |= {f"ADEQ_{name}_HTTP": "1", f"ADEQ_{name}_ALLOW": "127.0.0.1"}
            environ[f"ADEQ_{name}_PORTS"] = " ".join(str(one.port) for one in receivers)
        command = [*words.split(), "--find", "100ms"]
        self._log = log.open("wb")
        env = environment(ADEQ_URL=url, ADEQ_PREFIX=prefix, **environ)
        self.child = subprocess.Popen([*COMMAND, *command], stderr=self._log, env=env)

    def end(self, number: int) -> int:
        self.child.send_signal(number)
        code = self.child.wait(DEADLINE)
        self._log.close()
        return code


def certificate_in(folder: Path) -> Path:
    """Write a key and its certificate, for hooks.example and 127.0.0.1, into a file. Nobody has signed it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "hooks.example")])
    now = datetime.datetime.now(datetime.UTC)
    names = [x509.DNSName("hooks.example"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file = folder / "both.pem"
    file.write_bytes(private + made.public_bytes(pem))
    return file


def server_tls(certificate: Path) -> ssl.SSLContext:
    """What a receiver needs for TLS."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(certificate)
    return made
