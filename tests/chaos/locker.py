"""Holds one lock again and again, as a process of whichever build is on its path, until SIGTERM.

    python locker.py URL OWNER

It says the fence of each grant, and when it was inside: two times of a clock that all processes share.
"""

from __future__ import annotations

import json
import signal
import sys
import time

from pyadeq import Adeq


def main(url: str, owner: str) -> None:
    ending = []
    signal.signal(signal.SIGTERM, lambda *_: ending.append(True))
    with Adeq.from_url(url) as adeq:
        locks = adeq.locks("default")
        while not ending:
            with locks.acquire("place", owner=owner, wait=30, ttl=5) as grant:
                began = time.monotonic_ns()
                time.sleep(0.002)
                inside = began, time.monotonic_ns()
            print(json.dumps({"held": [grant.fence, *inside]}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
