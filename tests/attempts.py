"""Run pytest, and what failed once more, alone: `python -m tests.attempts PYTEST…`.

Tests of faults run real processes by the real clock, and a machine that stands still for seconds fails one of
fourteen thousand now and then. What fails twice fails. What passes at the second attempt is named at the end: mend it.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from resource import RUSAGE_CHILDREN, getrusage

FAILED = 1  # pytest's status when tests failed; any other is no matter of luck
MOST = 10  # more than these are no accident
AGAIN = ("-n", "0", "--last-failed", "--last-failed-no-failures", "none", "--maxfail", "1", "-rA", "--no-header")


def attempt(pytest: Sequence[str], env: Mapping[str, str] | None = None) -> int:
    """The exit status of pytest with these arguments, or of what failed once more."""
    command = [sys.executable, "-m", "pytest", *pytest]
    status = subprocess.run([*command, "--maxfail", str(MOST + 1)], env=env, check=False).returncode
    used = getrusage(RUSAGE_CHILDREN)
    print(f"CPU: {used.ru_utime + used.ru_stime:.0f} s, of tests and their servers", flush=True)
    if status != FAILED:
        return status
    print("\n== what failed, once more and alone", flush=True)
    return subprocess.run([*command, *AGAIN], env=env, check=False).returncode


if __name__ == "__main__":
    sys.exit(attempt(sys.argv[1:]))
