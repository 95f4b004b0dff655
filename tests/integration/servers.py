"""More servers than one: a cluster of three primaries, a primary with a replica and a sentinel, and certificates."""

import os
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import redis

from pyadeq.embedded import EmbeddedServer
from pyadeq.errors import ConfigError
from pyadeq.keys import SLOTS, hash_slot
from tests.conftest import free_port
from tests.waiting import DEADLINE, wait_until

HOST = "127.0.0.1"
# A replica follows as soon as it is told to, and a primary ends without waiting for those that lag.
AT_ONCE = {"repl-diskless-sync-delay": "0", "repl-diskless-load": "on-empty-db", "shutdown-timeout": "0"}
FAST_CLUSTER = {
    "cluster-enabled": "yes",
    "cluster-node-timeout": "1000",
    "cluster-replica-validity-factor": "0",
    "repl-ping-replica-period": "1",  # Redis lists a replica when it has received something
}


def start(binary: Path, config: Mapping[str, str]) -> EmbeddedServer:
    """A server with a TCP port besides its unix socket."""
    for attempts_left in reversed(range(10)):
        try:
            return EmbeddedServer(binary=binary, port=free_port(), config={**AT_ONCE, **config}).start()
        except ConfigError:  # somebody else may have been given the port in the meantime
            if not attempts_left:
                raise
    raise AssertionError


@contextmanager
def replica_of(binary: Path, primary: EmbeddedServer) -> Iterator[EmbeddedServer]:
    """A replica that follows, and has said so."""
    with start(binary, {}) as replica:
        ask(replica, "REPLICAOF", HOST, primary.port)
        wait_until(lambda: replicates(replica))
        with redis.Redis.from_url(primary.url) as client:
            client.set("follows", 1)
            wait_until(lambda: client.wait(1, 1000))
            client.delete("follows")
        yield replica


def ask(server: EmbeddedServer, *command: object) -> Any:
    """The reply of a server. Sentinel ends the connections to those that it turns around: then it is asked again."""
    replies: list[Any] = []

    def answered() -> bool:
        with suppress(redis.ConnectionError), redis.Redis.from_url(server.url, decode_responses=True) as client:
            replies.append(client.execute_command(*command))
        return bool(replies)

    wait_until(answered)
    return replies[0]


def is_old(server: EmbeddedServer) -> bool:
    """Whether it is older than Redis 7.2, which `acl_rules` has to know."""
    return "waitaof" not in ask(server, "COMMAND LIST")


def replicates(server: EmbeddedServer) -> bool:
    """Whether it follows, and has written an append-only file: until then it does not end when it is told to."""
    if ask(server, "INFO", "replication").get("master_link_status") != "up":
        return False
    persistence = ask(server, "INFO", "persistence")
    return not (persistence["aof_rewrite_in_progress"] or persistence["aof_rewrite_scheduled"])


class ThreePrimaries:
    """A cluster of three primaries, each with a third of the slots, and of replicas of the first of them."""

    def __init__(self, binary: Path, replicas: int = 1) -> None:
        self._stack = ExitStack()
        with self._stack:
            self.nodes = [self._stack.enter_context(self._start(binary)) for _ in range(3 + replicas)]
            self.primaries, self.replicas = self.nodes[:3], self.nodes[3:]
            self.replica = self.replicas[0]
            self.ids = {node: str(ask(node, "CLUSTER", "MYID")) for node in self.nodes}
            for index, node in enumerate(self.primaries):
                ask(node, "CLUSTER", "ADDSLOTSRANGE", index * SLOTS // 3, (index + 1) * SLOTS // 3 - 1)
                # Equal epochs would be settled only after a while.
                ask(node, "CLUSTER", "SET-CONFIG-EPOCH", index + 1)
            for node in self.nodes[1:]:
                ask(node, "CLUSTER", "MEET", HOST, self.nodes[0].port)
            wait_until(lambda: all(self._knows_all(node) for node in self.nodes))
            # Meanwhile primaries that have just started take their two seconds to say that all is well.
            for replica, primary in zip(self.replicas, self.primaries, strict=False):
                ask(replica, "CLUSTER", "REPLICATE", self.ids[primary])
            wait_until(lambda: all(map(replicates, self.replicas)))
            wait_until(lambda: all(_lists_replicas(node, replicas) for node in self.primaries))
            wait_until(lambda: all(ask(node, "CLUSTER INFO")["cluster_state"] == "ok" for node in self.nodes))
            self._stack = self._stack.pop_all()

    def __enter__(self) -> "ThreePrimaries":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def url(self) -> str:
        return f"redis://{HOST}:{self.nodes[1].port}"

    @property
    def startup(self) -> dict[str, Any]:
        return {"host": HOST, "port": self.nodes[1].port}

    def owner(self, key: str) -> EmbeddedServer:
        """The primary that has the slot of a key."""
        for first, last, primary, *_ in ask(self.nodes[1], "CLUSTER", "SLOTS"):
            if first <= hash_slot(key) <= last:
                return next(node for node in self.nodes if node.port == primary[1])
        raise AssertionError(key)

    def begin_move(self, key: str) -> tuple[EmbeddedServer, EmbeddedServer]:
        """Open the slot of a key on its owner and on another primary."""
        slot, source = hash_slot(key), self.owner(key)
        target = next(node for node in self.primaries if node is not source)
        ask(target, "CLUSTER", "SETSLOT", slot, "IMPORTING", self.ids[source])
        ask(source, "CLUSTER", "SETSLOT", slot, "MIGRATING", self.ids[target])
        return source, target

    def end_move(self, key: str, source: EmbeddedServer, target: EmbeddedServer) -> None:
        """Move what is in the slot, and the slot."""
        slot = hash_slot(key)
        while keys := ask(source, "CLUSTER", "GETKEYSINSLOT", slot, 100):
            ask(source, "MIGRATE", HOST, target.port, "", 0, 10_000, "KEYS", *keys)
        for node in (target, source, *self.primaries):
            ask(node, "CLUSTER", "SETSLOT", slot, "NODE", self.ids[target])

    def move(self, key: str) -> tuple[EmbeddedServer, EmbeddedServer]:
        source, target = self.begin_move(key)
        self.end_move(key, source, target)
        return source, target

    @staticmethod
    def _start(binary: Path) -> EmbeddedServer:
        return start(binary, FAST_CLUSTER)

    def _knows_all(self, node: EmbeddedServer) -> bool:
        return bool(ask(node, "CLUSTER INFO")["cluster_known_nodes"] == str(len(self.nodes)))


class Watched:
    """A primary, its replica, and a sentinel that puts the replica in the primary's place."""

    def __init__(self, binary: Path) -> None:
        self._stack = ExitStack()
        with self._stack:
            self.primary = self._stack.enter_context(start(binary, {}))
            self.replica = self._stack.enter_context(replica_of(binary, self.primary))
            self.sentinel_port = self._start_sentinel(binary)
            self._stack = self._stack.pop_all()

    def __enter__(self) -> "Watched":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def fail_over(self) -> None:
        """Make the replica the primary, and wait until it is."""
        with redis.Redis(port=self.sentinel_port) as sentinel:

            def is_over() -> bool:
                if not _is_primary(self.replica):
                    _accepts(sentinel, "SENTINEL FAILOVER", "adeq")  # a sentinel may give up what it has accepted
                return _is_primary(self.replica)

            wait_until(is_over)

    def notice_after(self, seconds: int) -> None:
        """Let the sentinel start a failover only when the primary has been silent for this time."""
        with redis.Redis(port=self.sentinel_port) as sentinel:
            sentinel.execute_command("SENTINEL SET", "adeq", "down-after-milliseconds", seconds * 1000)

    def _start_sentinel(self, binary: Path) -> int:
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="adeq-")))
        port = free_port()
        config = folder / "sentinel.conf"
        config.write_text(
            f"port {port}\nbind {HOST}\ndir {folder}\n"
            f"sentinel monitor adeq {HOST} {self.primary.port} 1\n"
            "sentinel down-after-milliseconds adeq 1000\nsentinel failover-timeout adeq 30000\n"
        )
        process = subprocess.Popen(
            [binary, str(config), "--sentinel"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._stack.callback(_end, process)
        with redis.Redis(port=port) as sentinel:
            # By default it asks every 10 seconds who is what, demotes after 8, and rests for 30 after it stood still.
            settings = ("INFO-PERIOD", "100", "PUBLISH-PERIOD", "100", "TILT-PERIOD", "500")
            wait_until(lambda: _accepts(sentinel, "SENTINEL DEBUG", *settings))
            wait_until(lambda: _accepts(sentinel, "SENTINEL REPLICAS", "adeq"))
        return port


def _lists_replicas(node: EmbeddedServer, count: int) -> bool:
    return sum(len(slots) - 3 for slots in ask(node, "CLUSTER", "SLOTS")) == count


def _is_primary(server: EmbeddedServer) -> bool:
    return bool(ask(server, "ROLE")[0] == "master")


def _accepts(client: Any, *command: str) -> bool:
    try:
        return bool(client.execute_command(*command))
    except (redis.ConnectionError, redis.ResponseError):
        return False


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    process.wait(DEADLINE)


def make_certificates(folder: Path) -> dict[str, str]:
    """A certificate authority of our own, and a certificate for this host, as a server's TLS settings."""
    ca, ca_key, key, request, certificate, extensions = (
        folder / name for name in ("ca.crt", "ca.key", "host.key", "host.csr", "host.crt", "host.ext")
    )
    extensions.write_text(f"subjectAltName=IP:{HOST}\n")
    new = ["openssl", "req", "-newkey", "rsa:2048", "-nodes"]
    sign = ["openssl", "x509", "-req", "-days", "2", "-CAcreateserial"]
    for command in (
        [*new, "-x509", "-days", "2", "-subj", "/CN=test", "-keyout", ca_key, "-out", ca],
        [*new, "-subj", f"/CN={HOST}", "-keyout", key, "-out", request],
        [*sign, "-in", request, "-CA", ca, "-CAkey", ca_key, "-extfile", extensions, "-out", certificate],
    ):
        subprocess.run([str(part) for part in command], check=True, capture_output=True)
    return {"tls-cert-file": str(certificate), "tls-key-file": str(key), "tls-ca-cert-file": str(ca)}


@contextmanager
def stopped(server: EmbeddedServer) -> Iterator[None]:
    """A server that stands still."""
    os.kill(server.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(server.pid, signal.SIGCONT)


def unused_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as one:
        one.bind((HOST, 0))
        port: int = one.getsockname()[1]
        return port
