"""The service as users start it: `adeq serve` as a process of its own."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.integration.cli.run import COMMAND, environment
from tests.waiting import DEADLINE


@contextmanager
def serving(log: Path, *words: str) -> Iterator[str]:
    """The address of `adeq serve`. It must end cleanly, and say nothing of its own errors."""
    command = [*COMMAND, "serve", "--port", "0", "-o", "json", *words]
    with (
        log.open("w") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment()) as process,
    ):
        try:
            assert process.stdout
            line = process.stdout.readline()
            assert line, log.read_text()
            yield json.loads(line)["at"]
            process.send_signal(signal.SIGTERM)
            assert process.wait(DEADLINE) == 0, log.read_text()
            assert "Traceback" not in log.read_text(), log.read_text()
        finally:
            process.kill()
