"""A service as users start it, on a private server."""

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.cli import COMMAND, environment
from tests.waiting import DEADLINE

SCHEMA = Path(__file__).parents[2] / "docs" / "reference" / "openapi.json"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of `adeq serve --no-auth`. It must end cleanly, and say nothing of its own errors."""
    log: Path = tmp_path_factory.mktemp("service") / "log"
    with (
        log.open("w") as errors,
        subprocess.Popen(
            [*COMMAND, "serve", "--no-auth", "--port", "0", "-o", "json"],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=environment(),
        ) as process,
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
