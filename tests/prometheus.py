"""The distribution's Prometheus, and `adeq metrics` for it to scrape; each a process of its own with a free port."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from tests.conftest import free_port
from tests.waiting import wait_until

HERE = "127.0.0.1"
MISSING = not shutil.which("prometheus") and not os.environ.get("CI")
"""Whether to skip what needs it. CI installs it."""


class Series(NamedTuple):
    """A series of Prometheus, and its samples: a time and a value each."""

    labels: Mapping[str, str]
    samples: list[tuple[float, float]]


class Exporter:
    """`adeq metrics` of an installation; a context manager."""

    def __init__(self, url: str, *, prefix: str = "ade", slot: str | None = None) -> None:
        self.port = free_port()
        self._words = ["metrics", "--port", str(self.port), "--url", url, "--prefix", prefix]
        self._words += ["--slot", slot] if slot else []
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.kill()

    def start(self) -> None:
        """Start it, and wait until it listens."""
        words = [sys.executable, "-m", "pyadeq.ext.cli", *self._words]
        env = {**os.environ, "NO_COLOR": "1"}
        self._process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=env)
        assert self._process.stdout
        assert "/metrics" in self._process.stdout.readline()

    def kill(self) -> None:
        """Kill it. Another one goes on with the same totals."""
        if self._process:
            self._process.kill()
            self._process.communicate()
            self._process = None


class Prometheus:
    """It scrapes these ports of this machine, and evaluates the rules; a context manager."""

    def __init__(self, folder: Path, ports: Iterable[int], *, interval: str = "1s", rules: str = "") -> None:
        self._folder = folder
        self._port = free_port()
        (folder / "rules.yml").write_text(rules)
        config = {
            "global": {"scrape_interval": interval, "scrape_timeout": interval, "evaluation_interval": interval},
            "rule_files": ["rules.yml"] if rules else [],
            "scrape_configs": [
                {"job_name": "adeq", "static_configs": [{"targets": [f"{HERE}:{port}" for port in ports]}]}
            ],
        }
        (folder / "prometheus.yml").write_text(json.dumps(config))  # which is YAML, too

    def __enter__(self) -> Self:
        words = [
            "prometheus",
            f"--config.file={self._folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={self._folder / 'data'}",
            f"--web.listen-address={HERE}:{self._port}",
            "--log.level=error",
        ]
        self._log = (self._folder / "prometheus.log").open("w+")
        self._process = subprocess.Popen(words, stdout=self._log, stderr=subprocess.STDOUT)
        try:
            wait_until(self._is_ready)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end()

    def _end(self) -> None:
        self._process.kill()
        self._process.wait()
        self._log.close()

    def _is_ready(self) -> bool:
        assert self._process.poll() is None, Path(self._log.name).read_text()
        with suppress(urllib.error.URLError, ConnectionError):
            urllib.request.urlopen(f"http://{HERE}:{self._port}/-/ready", timeout=30).close()
            return True
        return False

    def query(self, expression: str) -> list[Series]:
        """The present values. If the expression is a range, such as `name[10m]`: all samples as they were scraped."""
        return self._ask("query", query=expression)

    def query_range(self, expression: str, start: float, end: float, step: float) -> list[Series]:
        """The values at each step."""
        return self._ask("query_range", query=expression, start=start, end=end, step=step)

    def _ask(self, what: str, **parameters: Any) -> list[Series]:
        url = f"http://{HERE}:{self._port}/api/v1/{what}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=30) as answer:
            found = json.load(answer)["data"]["result"]
        return [
            Series(one["metric"], [(at, float(value)) for at, value in one.get("values") or [one["value"]]])
            for one in found
        ]
