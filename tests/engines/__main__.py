"""List the servers that `make test-engines` runs on, and fetch those that wheels carry.

    python -m tests.engines [--all]

--all: fail if one cannot be had.
"""

from __future__ import annotations

import argparse
import sys

from tests.engines.engine import Absent, engines


def main() -> int:
    """Print a line for each; 1 if one is missing that has to be there."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--all", action="store_true", help="fail if one cannot be had")
    arguments = parser.parse_args()
    missing = 0
    for found in engines():
        if isinstance(found, Absent):
            missing += 1
            print(f"{found.name:<12} missing: {found.reason}")
        else:
            print(f"{found.name:<12} {found.version:<8} {found.binary}  ({found.source})")
    return int(arguments.all and missing > 0)


if __name__ == "__main__":
    sys.exit(main())
