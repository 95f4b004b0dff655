"""Migrate a queue by whichever build is on the path, while its layout is set back, and entries to their older form.

python set_back.py URL QUEUE
"""

from __future__ import annotations

import json
import sys
from typing import Any

from pyadeq import Adeq

TIMES = 2


def main(url: str, name: str) -> None:
    set_back = 0
    with Adeq.from_url(url) as adeq:
        queue = adeq.queue(name)
        client: Any = adeq.client

        def forget(rewritten: int) -> None:
            nonlocal set_back
            if set_back < TIMES and rewritten:
                set_back += 1
                client.hset(f"{queue.base}:config", mapping={"layout": 1, "layout_min": 1})
                client.hdel(f"{queue.base}:config", "rewritten")
                id, value = next(iter(client.hgetall(f"{queue.base}:running").items()))
                head, _, ran = value.decode().partition("|")
                if ran.startswith("="):
                    worker, _, rest = ran.removeprefix("=").partition(" ")
                    client.hset(f"{queue.base}:running", id, f"{head}|{rest} {worker}")

        done = queue.admin.migrate(force=True, progress=forget)
    print(json.dumps({"before": done.before, "layout": done.layout, "set_back": set_back}))


main(*sys.argv[1:])
