"""Small trees of Lua sources, for the tests of the bundler."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

LUA = Path(__file__).parents[2] / "lua"
sys.path.insert(0, str(LUA))

import bundle as bundle  # noqa: E402
import header as header  # noqa: E402
import lint as lint  # noqa: E402
import vectors as vectors  # noqa: E402

HEADER = """\
-- demo.run.v1: a demonstration
-- in two lines.
--
-- KEYS   config  hash         {base}:config
"""
BODY = """
return { 'ok' }
"""


class Sources:
    """A small source tree in a temporary folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for folder in ("demo", "include"):
            (root / folder).mkdir()
        (root / "errors.toml").write_text('ADEQ_ARG = "bad"\nADEQ_LAYOUT = "new"\n')

    def script(self, lines: str, body: str = BODY, *, header: str = HEADER, path: str = "demo/run.v1.lua") -> None:
        declared = "".join(f"-- {line}\n" for line in lines.strip("\n").splitlines())
        (self.root / path).write_text(header + declared + body)

    def include(self, name: str, text: str) -> None:
        (self.root / "include" / f"{name}.lua").write_text(text)

    def build(self) -> dict[str, str]:
        return bundle.build(self.root)

    def manifest(self) -> dict[str, Any]:
        manifest: dict[str, Any] = json.loads(self.build()["manifest.json"])
        return manifest

    def errors(self) -> str:
        with pytest.raises(bundle.BuildErrors) as caught:
            self.build()
        return str(caught.value)
