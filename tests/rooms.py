"""How many lines each room has that people write, and how many it may have: rooms.toml.

    python -m tests.rooms           print them
    python -m tests.rooms --check   exit code 1 if a room has more than it may

What `.gitattributes` calls generated does not count, nor do JSON, Markdown and pictures.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS: dict[str, int] = tomllib.loads(Path(__file__).with_name("rooms.toml").read_text())["rooms"]
OTHER = {".json", ".md", ".svg", ".png", ".sum", ".lock", ".typed", ".gif", ".ico"}


def lines() -> Counter[str]:
    """Of each room, also those without a line. A file counts for the longest name that its path begins with."""
    found: Counter[str] = Counter(dict.fromkeys(ROOMS, 0))
    for file in written_by_hand():
        room = max((one for one in ROOMS if file.startswith(f"{one}/")), key=len, default="")
        if room:
            found[room] += (ROOT / file).read_bytes().count(b"\n")
    return found


def written_by_hand() -> Iterator[str]:
    """The files, as git knows them."""
    files = _git("ls-files", "--cached", "--others", "--exclude-standard")
    for line in _git("check-attr", "--stdin", "linguist-generated", given=files).splitlines():
        file, _, value = line.split(": ")
        if value != "set" and Path(file).suffix not in OTHER and (ROOT / file).is_file():
            yield file


def _git(*words: str, given: str = "") -> str:
    return subprocess.run(["git", *words], cwd=ROOT, input=given, capture_output=True, text=True, check=True).stdout


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print("usage: python -m tests.rooms [--check]", file=sys.stderr)
        return 2
    found = lines()
    if not arguments:
        print(f"{'room':32} {'lines':>8} {'budget':>8}")
        for room, most in ROOMS.items():
            print(f"{room:32} {found[room]:>8,} {most:>8,}")
        print(f"{'all':32} {found.total():>8,} {sum(ROOMS.values()):>8,}")
    over = [room for room, most in ROOMS.items() if found[room] > most]
    for room in over:
        print(
            f"{room} has {found[room]:,} lines, and may have {ROOMS[room]:,}: delete some, or raise it in "
            "tests/rooms.toml with a page in docs/decisions",
            file=sys.stderr,
        )
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
