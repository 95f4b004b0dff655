"""How a run has ended, as the script takes it."""

from __future__ import annotations

from typing import Any, Final

from pyadeq.errors import BadArgument

MOST_OUTPUT: Final = 16_384
MOST_ERROR: Final = 1024
MOST_DETAILS: Final = 4096


def ending(
    result: str,
    *,
    retry: bool = False,
    output: str | bytes = b"",
    output_key: str = "",
    error: str = "",
    error_details: str = "",
) -> dict[str, Any]:
    """The arguments of `finish`. Of long texts, the end is kept."""
    printed, cut = tail(output, MOST_OUTPUT, "output")
    return {
        "result": result,
        "retry": retry,
        "printed": printed,
        "output_cut": cut,
        "output_key": output_key,
        "error": tail(error, MOST_ERROR, "error")[0],
        "error_details": tail(error_details, MOST_DETAILS, "error_details")[0],
    }


def tail(text: str | bytes, most: int, name: str) -> tuple[bytes, bool]:
    """The last bytes of a text, and whether that is not all."""
    data = text.encode(errors="replace") if isinstance(text, str) else text
    if not isinstance(data, bytes | bytearray | memoryview):
        raise BadArgument("ADEQ_ARG", "pyadeq", f"{name} must be text or bytes, got {type(text).__name__}")
    data = bytes(data)
    if len(data) <= most:
        return data, False
    kept = data[-most:]
    return (kept.decode(errors="ignore").encode() if isinstance(text, str) else kept), True
