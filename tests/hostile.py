"""Values with which programs and people have broken services like this one, as JSON texts and as bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

JSON: Final[Mapping[str, str]] = {
    "half": r'"a\ud83d"',
    "half_key": r'{"\ud83d": "\ude00"}',
    "nul": r'"a\u0000b"',
    "controls": r'"a\r\nX-A: b\u001b[31m\u0085"',
    "right_to_left": r'"a\u202eb\u2066"',
    "no_character": r'"\ufffe\uffff"',
    "nan": "NaN",
    "infinity": "[-Infinity]",
    "1e999": "1e999",
    "in_object": '{"a": {"b": [1e999]}}',
    "largest": "1.7976931348623157e308",
    "2^64": str(2**64),
    "-2^63": str(-(2**63) - 1),
    "digits": "9" * 5000,
    "levels_255": "[" * 255 + "]" * 255,
    "levels_5000": '{"a":' * 5000 + "1" + "}" * 5000,
    "long": f'"{"x" * 70_000}"',
    "long_label": f'"{"ü" * 150}"',
    "markup": '"<script>alert(1)</script>{{7*7}}"',
    "wildcard": '"*"',
    "empty": '""',
    "null": "null",
    "object": '{"a": 1}',
    "list": '[["a"], null]',
}
"""By name: what a field of a body may be. Not all of them are JSON."""

TEXTS: Final[Mapping[str, bytes]] = {
    "half": b"a\xed\xa0\xbd",
    "no_utf8": b"\xff\xfe",
    "nul": b"a\0b",
    "controls": b"a\r\nX-A: b\x1b[31m",
    "right_to_left": "a\u202eb\u2066".encode(),
    "nan": b"nan",
    "1e999": b"1e999",
    "2^64": str(2**64).encode(),
    "digits": b"9" * 5000,
    "levels": b"[" * 5000,
    "empty": b"",
}
"""The same for paths, queries, headers and arguments of scripts."""

STORED: Final[Mapping[str, bytes]] = {
    "half": rb'"a\ud83d"',
    "half_key": rb'{"\ud83d": 1}',
    "half_bytes": b'"\xed\xa0\xbd"',
    "no_utf8": b"\xff\xfe",
    "nan": b'{"a": NaN}',
    "1e999": b"[1e999]",
    "digits": b"9" * 5000,
    "levels_255": b"[" * 255 + b"]" * 255,
    "levels_5000": b'{"a":' * 5000 + b"1" + b"}" * 5000,
    "nul": rb'"a\u0000b"',
    "right_to_left": '"a\u202eb"'.encode(),
}
"""Payloads, results, parameters and values of configs that any client can store."""
