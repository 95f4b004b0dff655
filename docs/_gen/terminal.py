"""Draw the picture of `adeq inbox`: docs/assets/inbox.svg. It changes with what the command prints.

python docs/_gen/terminal.py
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from pyadeq import Adeq
from pyadeq.embedded import EmbeddedServer

WIDTH = 80
TARGET = Path(__file__).parents[1] / "assets/inbox.svg"
# Without the fonts that rich would fetch from a server, and without clipping the lines: it forgets the last one.
FONTS = re.compile(r" *@font-face \{\{.*?\}\}\n", re.DOTALL)
CLIPS = re.compile(r' clip-path="url\(#inbox-line-\d+\)"')
FORMAT = FONTS.sub("", CONSOLE_SVG_FORMAT).replace("Fira Code, ", "").replace("{lines}", "")
HOUR = 3600
CHANGES: tuple[
    tuple[str, str, Any, int, float, int], ...
] = (  # id, title, priority, score, hours since the submit, hours of the review
    ("db-failover-7", "Fail over the orders database", "urgent", 82, 0.7, 4),
    ("fw-rule-112", "Open port 5432 to the report hosts", "high", 64, 5, 24),
    ("pool-size-40", "Raise the pool of orders to 40", "normal", 38, 21, 48),
    ("cert-renewal", "Renew the certificate of status", "normal", 12, 3, 72),
    ("log-level", "Log the retries of the mailer", "low", 4, 30, 168),
)
COMMAND = ("inbox", "bob", "--group", "on-call")


def main() -> None:
    """Make the changes on a server of their own, and draw what the command prints about them."""
    with EmbeddedServer() as server, Adeq.from_url(server.url) as adeq:
        changes, client = adeq.changes("default"), cast(Any, adeq.client)
        changes.policies.set("two", required=2, reviewers=["user:bob", "group:on-call"])
        for id, title, priority, score, ago, hours in CHANGES:
            made = changes.put(id, type="deploy", description=title, actor="ann")
            changes.submit(made, policy="two", priority=priority, timeout=(hours - ago) * HOUR, actor="ann")
            changes.assess(made, score=score, actor="scanner")
            key = f"{changes.base}:change:{id}"
            since = int(client.hget(key, "submitted_ms"))
            client.hset(key, "submitted_ms", since - round(ago * HOUR * 1000))
        printed = run(server.url)
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    console.print(Text.assemble(("$ ", "dim"), f"adeq {' '.join(COMMAND)}"))
    console.print(Text.from_ansi(printed.rstrip()))
    picture = console.export_svg(title="", theme=MONOKAI, code_format=FORMAT, unique_id="inbox")
    TARGET.write_text(CLIPS.sub("", picture), encoding="utf-8")
    print(printed)


def run(url: str) -> str:
    """What the command prints at a terminal."""
    env = {**os.environ, "ADEQ_URL": url, "FORCE_COLOR": "1", "TERM": "xterm-256color", "COLUMNS": str(WIDTH)}
    command = [sys.executable, "-m", "pyadeq.ext.cli", *COMMAND]
    return subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
