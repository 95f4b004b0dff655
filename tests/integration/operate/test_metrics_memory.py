"""The memory of `adeq metrics` while Prometheus scrapes it."""

import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from pyadeq import Adeq

pytestmark = [
    pytest.mark.any_engine,
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the memory of a process is read from /proc"),
]


def resident(pid: int) -> int:
    """KiB."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found
    return int(found[1])


def test_1000_scrapes_take_at_most_a_mebibyte(url: str, base_name: str) -> None:
    with Adeq.from_url(url, prefix=base_name) as adeq:
        for number in range(10):
            adeq.queue(f"q{number}").enqueue_many(["x"] * 10)
            adeq.events("queue", f"q{number}").add("audit")
        adeq.annotate("v1.2")
    words = [sys.executable, "-m", "pyadeq.ext.cli", "metrics", "--port", "0", "--url", url, "--prefix", base_name]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env={**os.environ, "NO_COLOR": "1"}) as process:
        assert process.stdout
        at = process.stdout.readline().split()[-1]

        def scrape(times: int) -> None:
            for _ in range(times):
                with urllib.request.urlopen(at, timeout=30) as answer:
                    assert b'adeq_tasks{queue="q9",state="ready"} 10.0' in answer.read()

        scrape(200)  # fills caches
        before = resident(process.pid)
        scrape(1000)
        grown = resident(process.pid) - before
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    assert grown <= 1024, f"{grown} KiB"
