"""Which line of which source each line of a generated script came from."""

from __future__ import annotations

from pathlib import Path

LUA = Path(__file__).parents[2] / "lua"
RARELY = "-- RARELY"  # before that part of a body which needs the rare includes


def origins(source: str, text: str) -> dict[int, tuple[str, int]]:
    """From a line of a generated script to its source, a path below lua/, and the line there.

    What bundle.py writes itself has none.
    """
    found: dict[int, tuple[str, int]] = {}
    generated = text.splitlines()
    for path in [*sorted((LUA / "include").glob("*.lua")), LUA / source]:
        lines = path.read_text().strip("\n").splitlines()
        parts = {0: lines}
        if path == LUA / source:
            body = next(at for at, line in enumerate(lines) if not line.startswith("--"))
            rest = lines.index(RARELY) if RARELY in lines else len(lines)
            parts = {body: lines[body:rest], rest + 1: lines[rest + 1 :]}
        name = path.relative_to(LUA).as_posix()
        for skip, part in parts.items():
            starts = (at for at, line in enumerate(generated) if part and line == part[0])
            at = next((at for at in starts if generated[at : at + len(part)] == part), None)
            if at is not None:
                found |= {at + offset + 1: (name, skip + offset + 1) for offset in range(len(part))}
    return found
