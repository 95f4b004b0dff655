"""An archive in S3, as moto serves it: killed, resumed, and read back. `make test-s3` runs it.

moto and s3fs take 350 MB, so they have an environment of their own.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from typing import Any

import boto3
from moto.server import ThreadedMotoServer

from pyadeq import Adeq, Event
from pyadeq.embedded import EmbeddedServer
from pyadeq.ext.operate.archive import Archive
from pyadeq.ids import new_ulid

EVENTS = 20_000
PLACE = "s3://archive/adeq"
COMMAND = [sys.executable, "-m", "pyadeq.ext.cli", "archive"]


def fill(adeq: Adeq) -> list[Event]:
    """Make 20,000 events of a queue, and return them."""
    queue = adeq.queue("jobs")
    queue.enqueue_many([{"n": n, "text": "\u20ac" * (n % 50)} for n in range(500)])
    for lease in queue.claim(limit=500):
        if lease.payload["n"] % 3:
            queue.ack(lease, {"done": lease.payload["n"]})
        else:
            queue.fail(lease, "broken: % it = was \u20ac", retryable=False)
    stream = f"{adeq.events('queue', 'jobs').base}:events"
    left = EVENTS - int(adeq.client.xlen(stream)) - 1  # without the registration of the group
    for first in range(0, left, 1000):
        with adeq.pipeline() as pipe:
            for number in range(first, min(first + 1000, left)):
                pipe.add((queue.calls.resume if number % 2 else queue.calls.pause)(new_ulid()))
    adeq.events("queue", "jobs").add("archive")
    entries: Any = adeq.client.xrange(stream)
    return [Event.from_entry(*entry) for entry in entries]


def killed(bucket: Any) -> int:
    """Archive until there is a file, and kill the process then. Returns how many files there are."""
    with subprocess.Popen([*COMMAND, "write", PLACE, "--hold", "1s"]) as process:
        until = time.monotonic() + 60
        while not (files := len(list(bucket.objects.all()))):
            assert process.poll() is None, "it ended without a file"
            assert time.monotonic() < until, "no file after a minute"
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL, "it ended before it was killed"
    return files


def main() -> None:
    """Run all of it."""
    began = time.monotonic()
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    moto.start()
    host, port = moto.get_host_and_port()
    os.environ |= {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    with EmbeddedServer() as server, Adeq.from_url(server.url) as adeq:
        os.environ["ADEQ_URL"] = server.url
        bucket = boto3.resource("s3").create_bucket(Bucket="archive")
        there = fill(adeq)
        assert len(there) == EVENTS
        parts = killed(bucket)
        archive = Archive(PLACE)
        while archive.lag(adeq)["queue:jobs"]:  # what the killed process has read comes again after a second
            subprocess.run([*COMMAND, "write", PLACE, "--hold", "1s"], check=True)
            time.sleep(0.2)
        subprocess.run([*COMMAND, "verify", PLACE, "--server"], check=True)
        assert [one.event for one in archive.read() if one.event] == there
        found = archive.verify(adeq)
        assert found.compared is not None
        assert (found.events, found.bad, found.twice, found.compared.events) == (EVENTS, 0, 0, EVENTS)
        assert len([one.task for one in archive.read() if one.task]) == 500
        wrong = subprocess.run([*COMMAND, "write", "s3://nosuch/adeq"], capture_output=True, text=True, check=False)
        assert (wrong.returncode, "check that the place exists" in wrong.stderr) == (0, False), "all is archived"
        adeq.queue("jobs").enqueue("x")
        wrong = subprocess.run([*COMMAND, "write", "s3://nosuch/adeq"], capture_output=True, text=True, check=False)
        assert (wrong.returncode, "check that the place exists" in wrong.stderr) == (1, True), wrong.stderr
        assert "Traceback" not in wrong.stderr
    moto.stop()
    print(f"{found.parts} files in S3, {parts} of them before the kill; {found.compared}")
    print(f"1 passed in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
