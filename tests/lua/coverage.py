"""Which lines of a generated script hold statements, and which line of which source each came from."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lupa.lua51 import LuaRuntime

LUA = Path(__file__).parents[2] / "lua"
RARELY = "-- RARELY"  # before that part of a body which needs the rare includes


def statement_lines(text: str) -> set[int]:
    """The lines for which Lua 5.1 makes instructions, but for those it adds: a jump or a return at an `end`."""
    lua: Any = LuaRuntime(encoding=None)
    dump: Callable[[bytes, bytes], bytes] = lua.eval(b"function(text) return string.dump(assert(loadstring(text))) end")
    reader = _Chunk(dump(text.replace("#!lua", "--!lua", 1).encode(), b"="))
    lines = text.splitlines()
    return {line for line in reader.function() if lines[line - 1].strip() != "end"}


class _Chunk:
    """A precompiled chunk of Lua 5.1 on a machine with 32-bit int and 64-bit size_t."""

    def __init__(self, data: bytes) -> None:
        assert data[:12] == b"\x1bLuaQ\x00\x01\x04\x08\x04\x08\x00"
        self._data, self._at = data, 12

    def function(self) -> set[int]:
        self._string()  # source
        self._at += 2 * 4 + 4  # first and last line; upvalues, parameters, vararg, stack
        instructions = self._int()
        self._at += 4 * instructions
        for _ in range(self._int()):
            self._constant()
        lines: set[int] = set()
        for _ in range(self._int()):
            lines |= self.function()
        of_instructions = [self._int() for _ in range(self._int())]
        for _ in range(self._int()):  # locals
            self._string()
            self._at += 2 * 4
        for _ in range(self._int()):  # upvalues
            self._string()
        return lines | set(of_instructions[:-1])

    def _int(self) -> int:
        (value,) = struct.unpack_from("<i", self._data, self._at)
        self._at += 4
        return int(value)

    def _string(self) -> None:
        (size,) = struct.unpack_from("<Q", self._data, self._at)
        self._at += 8 + size

    def _constant(self) -> None:
        kind = self._data[self._at]
        self._at += 1
        if kind == 4:
            self._string()
        else:
            self._at += {0: 0, 1: 1, 3: 8}[kind]


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
            starts = range(len(generated) - len(part) + 1)
            at = next((at for at in starts if generated[at : at + len(part)] == part), None)
            if at is not None:
                found |= {at + offset + 1: (name, skip + offset + 1) for offset in range(len(part))}
    return found
