"""Small trees of Lua sources, for the tests of the bundler."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

LUA = Path(__file__).parents[2] / "lua"
sys.path.insert(0, str(LUA / "tools"))

import bundle  # noqa: E402
import header  # noqa: E402
import lint  # noqa: E402
import model  # noqa: E402
import noun  # noqa: E402
import scan  # noqa: E402
import uses  # noqa: E402
import vectors  # noqa: E402

# The names that are defined below are exported anyway.
__all__ = ["bundle", "header", "lint", "model", "noun", "scan", "uses", "vectors"]

HEADER = """\
-- demo.run.v1: a demonstration
-- in two
-- lines.
--
"""
CONFIG = 'config = { type = "hash", doc = "settings" }\n'
KEYS = f"""\
{CONFIG}tasks = {{ type = "hash", doc = "all" }}
wake = {{ type = "list", suffix = "lane", doc = "a hint" }}
"""
BODY = """
return { 'ok' }
"""


ERRORS = """\
[script]
ADEQ_ARG = { retry = "never", doc = "bad" }
ADEQ_LAYOUT = { retry = "never", doc = "new" }
ADEQ_CLOCK = { retry = "never", doc = "time" }
[[server]]
code = "BUSY"
retry = "soon"
doc = "busy"
[[server]]
retry = "never"
doc = "any other"
"""


NOUN = """\
word = "demo"
plural = "demos"
title = "demo"
method = "demo"
field = "demo"
[bases]
usual = "<prefix>:{demo:<name>}"
[names]
prefix = ["name", "the first part", "ade"]
name = ["name", "the name"]
[roles]
work = "runs"
[events]
"task.done" = "it is done"
"task.gone" = "it is gone"
[settings]
lease_ms = ["int 1..100", 15, "how long"]
how = ["enum fast|slow", "fast", "how"]
fair = ["bool", 0, "fair"]
keep_ms = ["int 0..", "", "as long as the record"]
[texts]
mode = ["up", "down"]
cursor = "opaque"
[tables.task]
pairs_of = "run"
rid = "text"
[tables.settings]
settings = true
layout = ["int", "the layout"]
[tables.counters]
counters = true
[counters]
done = "how many"
"run_ms:<b>" = "from start to end"
[hints.wake]
key = "wake"
how = "BLPOP"
messages = ["1"]
doc = "claim"
[waits]
block_ms = [1000, "the longest wait"]
[statuses]
ok = ["done", "carried out"]
gone = ["again", "it is not there"]
done = ["done", "it is done"]
"back.gone" = ["stop", "stop it"]
"""

# A script, and another one, that fit it.
SCRIPTS = {
    "run": """\
-- demo.run.v1: x
--
-- PAIR   how       enum a|b
-- RETURN ok        mode:text  record:pairs(task)
-- RETURN gone
-- EVENT  task.done
-- ROLE   work
-- REPLAY idempotent

local row = redis.call('HMGET', config, 'lease_ms', 'how', 'fair', 'keep_ms')
redis.call('LPUSH', wake .. 'any', '1')
redis.call('HSET', config, 'lease_ms', row[1] or DEFAULT_lease_ms, 'how', row[2] or DEFAULT_how, 'block', WAIT_block_ms)
return row[1] == '1' and { 'gone' } or { 'ok', row[1] and 'up' or 'down', { 'task.done' } }
""",
    "back": """\
-- demo.back.v1: x
--
-- SETTINGS settings
-- GROUP  settings  0..1
-- RETURN ok        cursor:text  settings:pairs(settings)  counters:pairs(counters)  mode:text(up)
-- RETURN gone
-- RETURN done
-- EVENT  task.gone
-- REPLAY idempotent

if settings_pairs[1] then redis.call('HSET', config, unpack(settings_pairs[1])) end
return { 'gone', 'ok', 'done', 'task.gone' }
""",
}


class Sources:
    """A small source tree in a temporary folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for folder in ("demo/include", "kernel"):
            (root / folder).mkdir(parents=True)
        (root / "errors.toml").write_text(ERRORS)
        self.keys(KEYS)

    def script(self, lines: str, body: str = BODY, *, header: str = HEADER, path: str = "demo/run.v1.lua") -> None:
        declared = "".join(f"-- {line}\n" for line in lines.strip("\n").splitlines())
        (self.root / path).write_text(header + declared + body)

    def keys(self, text: str) -> None:
        (self.root / "demo/keys.toml").write_text(text)

    def include(self, name: str, text: str, folder: str = "demo/include") -> None:
        (self.root / folder).mkdir(parents=True, exist_ok=True)
        (self.root / folder / f"{name}.lua").write_text(text)

    def build(self) -> dict[str, str]:
        return bundle.build(self.root)

    def manifest(self) -> dict[str, Any]:
        manifest: dict[str, Any] = json.loads(self.build()["manifest.json"])
        return manifest

    def errors(self) -> str:
        with pytest.raises(bundle.BuildErrors) as caught:
            self.build()
        return str(caught.value)
