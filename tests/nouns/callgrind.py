"""A server under valgrind's callgrind, which counts the instructions that it runs."""

from __future__ import annotations

import platform
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import redis

from pyadeq import EmbeddedServer
from pyadeq.embedded import find_binary
from pyadeq.ext.prove.bench.scene import engine_of

# The server's own chores come by the clock, and a server under callgrind is slow.
QUIET = {"save": "", "hz": "1", "dynamic-hz": "no", "activedefrag": "no"}
PATIENCE = 120.0


class Counter:
    """Counts what the server's main thread runs meanwhile."""

    def __init__(self, client: Any, folder: Path) -> None:
        self.client, self._folder = client, folder
        self._process = str(client.info("server")["process_id"])

    def count(self, work: Callable[[], object]) -> int:
        before = set(self._folder.iterdir())
        self._control("--zero")
        work()
        self._control("--dump")
        found = [path.read_text() for path in set(self._folder.iterdir()) - before]
        return max(int(total) for text in found for total in re.findall(r"^(?:totals|summary): (\d+)", text, re.M))

    def _control(self, what: str) -> None:
        subprocess.run(["callgrind_control", what, self._process], check=True, capture_output=True, timeout=PATIENCE)


def missing() -> str | None:
    """What keeps this machine from counting."""
    tools = [tool for tool in ("valgrind", "callgrind_control") if shutil.which(tool) is None]
    return f"{tools[0]} is not on the PATH: install valgrind" if tools else None


def machine(client: Any) -> str:
    """What decides about the number of instructions, besides the scripts: the engine and the C library."""
    return f"{engine_of(client)}, {' '.join(platform.libc_ver())}, {platform.machine()}"


@contextmanager
def counting(folder: Path) -> Iterator[Counter]:
    """A server of our own under callgrind."""
    counts = folder / "counts"
    counts.mkdir()
    server = folder / "server"
    options = ["--tool=callgrind", "--separate-threads=yes", "--quiet", f"--callgrind-out-file={counts}/out"]
    server.write_text(f'#!/bin/sh\nexec {shlex.join(["valgrind", *options, str(find_binary())])} "$@"\n')
    server.chmod(0o755)
    with (
        EmbeddedServer(binary=server, config=QUIET) as own,
        redis.Redis.from_url(own.url, socket_timeout=PATIENCE) as client,
    ):
        client.config_set("appendonly", "no")
        yield Counter(client, counts)
