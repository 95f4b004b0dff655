"""Real BullMQ on Node: `make test-migrate` installs its packages."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from pyadeq.embedded import EmbeddedServer

PACKAGES = Path(__file__).parents[2] / "build" / "bullmq"
MAJORS = ("5", "6")


def bullmq(major: str, old: EmbeddedServer, command: str, *arguments: object, **options: Any) -> subprocess.Popen[str]:
    """Start a command of bullmq.cjs with this major version."""
    node = shutil.which("node")
    assert node, "node is not on the PATH: install Node 20 or newer"
    script = Path(__file__).parent / "bullmq.cjs"
    call = [node, str(script), command, old.url.removeprefix("unix://"), *map(str, arguments)]
    path = str(PACKAGES / major / "node_modules")
    return subprocess.Popen(call, env={**os.environ, "NODE_PATH": path}, text=True, **options)
