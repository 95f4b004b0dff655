"""Commands in the protocol of Redis (RESP)."""

from __future__ import annotations

from hiredis import pack_command

Wire = bytes | str | int


def pack(*command: Wire) -> bytes:
    """Return a command as it is sent."""
    # Not redis-py's packer: this one takes str as UTF-8 whatever encoding the client has.
    # Ints are converted here: pack_command would crash if a signal handler raised while it reads one.
    words = [str(int(word)) if isinstance(word, int) else word for word in command]
    packed: bytes = pack_command(tuple(words))  # type: ignore[arg-type]
    return packed


def without_count(packed: bytes) -> memoryview:
    """Return the words of a packed command, without the line that says how many there are."""
    return memoryview(packed)[packed.index(b"\n") + 1 :]
