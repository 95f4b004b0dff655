"""The command line, `adeq`. It needs the extra `cli`; without it, it says so and exits with 2."""

from __future__ import annotations

import sys
from importlib.util import find_spec

NEEDED = {"typer", "rich"}


def main() -> None:
    """Run the command line on `sys.argv`, and exit: 0 ok, 1 failed, 2 usage, 3 server unreachable."""
    try:
        if find_spec("rich.console") is None:  # imported only by what draws
            raise ModuleNotFoundError(name="rich")
        from pyadeq.ext.cli.app import run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in NEEDED:
            raise
        print("adeq needs its command line extra: pip install 'pyadeq[cli]'", file=sys.stderr)
        sys.exit(2)
    run()
