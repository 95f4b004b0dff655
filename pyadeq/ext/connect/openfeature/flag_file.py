"""Flags in a file, for processes that start while the server is away."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import NamedTemporaryFile

from pyadeq import Flag


def write_flags(path: Path, flags: Mapping[str, Flag]) -> None:
    """Replace the file, in flagd's format. Whoever reads it sees the old or the new flags, never a part."""
    text = json.dumps({"flags": {name: flags[name].data for name in sorted(flags)}}, ensure_ascii=False, indent=2)
    with NamedTemporaryFile("w", dir=path.parent, prefix=f".{path.name}.", encoding="utf-8", delete=False) as file:
        try:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise


def read_flags(path: Path) -> dict[str, Flag]:
    """The flags of a file. Raises OSError or ValueError if it cannot be read."""
    data = json.loads(path.read_bytes())
    flags = data.get("flags") if isinstance(data, dict) else None
    if not isinstance(flags, dict):
        raise ValueError(f"{path} has no object `flags`")
    return {name: Flag(name, json.dumps(flag)) for name, flag in flags.items()}
