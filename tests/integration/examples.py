"""The examples of a page: its fenced blocks, run in order against a server of its own.

    ```python                  run, in one namespace for the page; `print(…)  # text` says what comes out
    ```python title="jobs.py"  written to that file, for the shell or an import; any language
    ```shell                   run by one bash for the page, which must succeed; `adeq` finds the server by itself
    ```text                    right after one of these: its output; … stands for anything, a line of … for any lines.
                               An indented line may continue the line before, if that is too long
    ```python notest           only shown; a test counts these

`localhost:6379` is the page's server, 7000, 6390 and 26379 are free ports, `valkey-server` is the binary under test.
"""

import contextlib
import io
import os
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Self

import pytest
import redis

from pyadeq import Adeq
from pyadeq.embedded import EmbeddedServer
from tests.conftest import CLUSTER, free_port
from tests.integration.servers import AT_ONCE
from tests.waiting import DEADLINE

ROOT = Path(__file__).parents[2]
SERVER_PORT = "6379"
OTHER_PORTS = ("7000", "6390", "26379")
FENCE = re.compile(r"^```(\w+)?(?: title=\"([^\"]+)\")?(?: (\w+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Two processes print into one pipe, and a line and its end are two writes: a line of a log may come between them.
LOG_LINE = re.compile(r"(?<=[^\s])(?=\d{4}-\d\d-\d\dT[\d:.]+Z (?:info|warning|error) )")
PRINTED = re.compile(r"^\s*print\(.*\)  # (.+)$", re.MULTILINE)
RUN = {"python", "shell"}
SHOWN = {"text", "lua", "json", "dockerfile", "ini", "toml", "yaml", "javascript", "rust", "go"}
# Guides that need what is in the environment of `make test-frameworks` alone, or must run each day.
IN_FRAMEWORKS = ["guides/django.md", "guides/fastapi.md", "guides/flask.md", "guides/langgraph.md"]
# Guides that need what is in the environment of `make test-migrate`.
IN_MIGRATE = [f"guides/from-{name}.md" for name in ("celery", "rq", "bullmq", "older-layouts")]
CLIENTS = ("valkey-cli", "redis-cli")
TOOLS = {"valkey-cli": CLIENTS, "redis-cli": CLIENTS, "jq": ("jq",), "openssl": ("openssl",)}
ANYTHING = "…"


@dataclass(frozen=True)
class Block:
    """One fenced block. output: what a `text` block right after it says that it prints."""

    page: Path
    line: int
    language: str
    title: str | None
    word: str | None
    text: str
    output: str | None

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path) -> list[Block]:
    """All fenced blocks of a page but those that are the output of another."""
    text = page.read_text(encoding="utf-8")
    found: list[Block] = []
    fences = list(FENCE.finditer(text))
    for number, match in enumerate(fences):
        language, title, word, body = match.groups()
        following = fences[number + 1] if number + 1 < len(fences) else None
        output = following[4] if following and _is_output(text, match, following) else None
        if not (number and _is_output(text, fences[number - 1], match)):
            line = text.count("\n", 0, match.start()) + 1
            found.append(Block(page, line, language or "", title, word, body, output))
    return found


def _is_output(text: str, example: re.Match[str], following: re.Match[str]) -> bool:
    return example[1] in RUN and following[1] == "text" and not text[example.end() : following.start()].strip()


def executed(found: list[Block]) -> list[Block]:
    """What is run, and the files that it needs."""
    return [block for block in found if block.word != "notest" and (block.language in RUN or block.title)]


def run_page(page: list[Block], binary: Path) -> None:
    """Run a page, on a server of its own."""
    if CLUSTER:
        pytest.skip("the pages are written for a single server")
    found = executed(page)
    # The path of a socket must be short, which pytest's tmp_path is not.
    with TemporaryDirectory(prefix="adeq-", ignore_cleanup_errors=True) as name:
        if lacking := link_tools(Path(name), found, binary):
            pytest.skip(f"the page uses {lacking}, which is not on the PATH")
        with EmbeddedServer(binary=binary, port=free_port(), config=AT_ONCE) as server, Run(Path(name), server) as run:
            if any('durability="aof"' in block.text for block in found) and not has_waitaof(server):
                pytest.skip(f"the page uses durability='aof', for which {server.engine} is too old")
            for block in found:
                run.block(block)


def has_waitaof(server: EmbeddedServer) -> bool:
    with redis.Redis.from_url(server.url) as client:
        return b"waitaof" in client.execute_command("COMMAND LIST")


def link_tools(folder: Path, found: list[Block], server: Path) -> str | None:
    """Put what the blocks call, and is not ours, into folder/.bin; the name of one that this machine lacks."""
    tools = folder / ".bin"
    tools.mkdir()
    (tools / "valkey-server").symlink_to(server)
    (folder / "lua").symlink_to(ROOT / "lua")
    for tool, means in (("adeq", "-m pyadeq.ext.cli"), ("pytest", "-m pytest"), ("python", "")):
        (tools / tool).write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {means} "$@"\n')
        (tools / tool).chmod(0o755)
    for tool, names in TOOLS.items():
        if any(tool in block.text for block in found if block.language == "shell"):
            if (path := next(filter(None, map(shutil.which, names)), None)) is None:
                return tool
            (tools / tool).symlink_to(path)
    return None


class Run:
    """A page being run, in a folder and with a server of its own."""

    def __init__(self, folder: Path, server: EmbeddedServer) -> None:
        self._folder = folder
        self._ports = {port: str(free_port()) for port in OTHER_PORTS} | {SERVER_PORT: str(server.port)}
        self._names: dict[str, Any] = {"__name__": "page"}
        self._shell: Shell | None = None

    def __enter__(self) -> Self:
        self._home = os.getcwd()
        os.chdir(self._folder)
        sys.path.insert(0, str(self._folder))
        self._modules = set(sys.modules)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        at = str(self._folder)
        new = {name: vars(sys.modules[name]) for name in set(sys.modules) - self._modules}
        own = {name: known for name, known in new.items() if (known.get("__file__") or "").startswith(at)}
        for value in [*self._names.values(), *(value for known in own.values() for value in known.values())]:
            if isinstance(value, Adeq):
                value.close()
        if self._shell:
            self._shell.close()
        for name in own:
            del sys.modules[name]
        sys.path.remove(str(self._folder))
        os.chdir(self._home)

    def block(self, block: Block) -> None:
        """Run a block, and compare what it prints with what the page says."""
        text = self._translated(block.text, self._ports)
        if block.title:
            (self._folder / block.title).write_text(text, encoding="utf-8")
            if block.language == "python":
                compile(text, block.place, "exec")
            return
        output = self._python(block, text) if block.language == "python" else self._bash(block, text)
        output = self._translated(LOG_LINE.sub("\n", output), {there: shown for shown, there in self._ports.items()})
        if block.output is not None:
            assert matches(block.output, output), f"{block.place} says\n{block.output}\nand printed\n{output}"
        lines = iter(output.splitlines())
        for said in PRINTED.findall(block.text) if block.language == "python" else []:
            assert any(matches(said, line) for line in lines), f"{block.place}: {said!r} is not in\n{output}"

    def _translated(self, text: str, ports: dict[str, str]) -> str:
        return re.sub(rf"\b(?:{'|'.join(ports)})\b", lambda match: ports[match[0]], text)

    def _python(self, block: Block, text: str) -> str:
        source = "\n" * block.line + text  # so that tracebacks have the page's lines
        with contextlib.redirect_stdout(io.StringIO()) as output:
            exec(compile(source, str(block.page), "exec", dont_inherit=True), self._names)
        return output.getvalue()

    def _bash(self, block: Block, text: str) -> str:
        self._shell = self._shell or Shell(self._folder, f"redis://127.0.0.1:{self._ports[SERVER_PORT]}")
        status, output = self._shell.run(text)
        assert status == 0, f"{block.place}: exit status {status}\n{output}"
        return output


class Shell:
    """One bash for many blocks: variables, the folder and background jobs last from one to the next."""

    def __init__(self, folder: Path, url: str) -> None:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ADEQ_")}
        path = os.pathsep.join([str(folder / ".bin"), os.environ["PATH"]])
        environment |= {"ADEQ_URL": url, "PATH": path, "PYTHONPATH": str(ROOT), "TERM": "dumb", "PYTHONUNBUFFERED": "1"}
        self._folder = folder
        self._bash = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._count = 0

    def run(self, text: str) -> tuple[int, str]:
        """Run some lines; the status of the first that fails, or 0, and all that was printed."""
        assert self._bash.stdin
        assert self._bash.stdout
        self._count += 1
        script, end = self._folder / f".block-{self._count}.sh", f"--end-{self._count}--"
        script.write_text(text, encoding="utf-8")
        self._bash.stdin.write(f"set -e -o pipefail; . {script}; echo {end}\n".encode())
        self._bash.stdin.flush()
        stdout, output, deadline = self._bash.stdout.fileno(), b"", time.monotonic() + DEADLINE
        while not output.endswith(f"{end}\n".encode()):
            assert time.monotonic() < deadline, f"no end within {DEADLINE:g} s of\n{text}\nbut\n{output.decode()}"
            # What runs in the background holds the pipe open when the bash has ended.
            ended = self._bash.poll() is not None
            data = os.read(stdout, 65536) if select.select([stdout], [], [], 0.1)[0] else b""
            output += data
            if ended and not data:
                return self._bash.returncode or 1, output.decode()
        return 0, output.decode().removesuffix(f"{end}\n")

    def close(self) -> None:
        """End it and what it left running."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._bash.pid, signal.SIGKILL)
        self._bash.communicate()


def matches(said: str, printed: str) -> bool:
    """Whether a text is what a page says; blanks at the ends of lines do not count."""
    pattern = ""
    for line in said.strip().splitlines():
        any_lines = line.strip() == ANYTHING
        pattern += r"(?:.*\n)*?" if any_lines else re.escape(line.rstrip()).replace(ANYTHING, ".*?") + r"\n"
    pattern = re.sub(r"\\n((?:\\ ){4,})", r"(?:\\n\1|\\ )", pattern)
    there = "".join(f"{line.rstrip()}\n" for line in printed.strip().splitlines())
    return re.fullmatch(pattern, there) is not None
