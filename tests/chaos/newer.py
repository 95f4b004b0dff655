"""Two builds of the package beside each other: this one, and one that could come after it.

The newer one has a script of another version, `queue.progress.v2`, which its clients call instead, and layout 3: the
half of an entry of `running` that the record keeps, `ran`, has its parts in another order. It reads both forms, writes
the one that the queue's layout says, and its `queue.rewrite.v1` brings what is stored to the new one.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

REWRITE = """\
-- queue.rewrite.v1: bring some of what is stored to layout 3: entries of `running`, then records of dead tasks.
--
-- ARGV   cursor    bytes 0..30   ?=
-- ARGV   now_ms    int 0..       ?=0
-- RETURN more      now_ms:int rewritten:int cursor:text
-- RETURN done      now_ms:int rewritten:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- ROLE   operate
-- REPLAY state
-- FLAGS  allow-oom
-- COST   4 + n commands for n entries, about 100

local ctx, refused = open()
if refused then return refused end
local layout = ctx.settings.layout
if layout < LAYOUT then
  return redis.error_reply('ADEQ_LAYOUT migrate comes first: what is written is still of layout ' .. layout)
end

local key, at = string.match(cursor, '^(%l+):(%d+)$')
key = key or 'running'
at = at or '0'
local found
if key == 'running' then
  found = redis.call('HSCAN', running, at, 'COUNT', 100)
else
  found = redis.call('ZSCAN', dead, at, 'COUNT', 100)
end
local rewritten = 0
for i = 1, #found[2], 2 do
  local id, value = found[2][i], found[2][i + 1]
  if key == 'running' then
    local bar = string.find(value, '|', 1, true)
    local ran = newer_ran(string.sub(value, bar + 1))
    if ran then
      redis.call('HSET', running, id, string.sub(value, 1, bar) .. ran)
      rewritten = rewritten + 1
    end
  else
    local ran = newer_ran(redis.call('HGET', task .. id, 'ran') or '')
    if ran then
      redis.call('HSET', task .. id, 'ran', ran)
      rewritten = rewritten + 1
    end
  end
end
if found[1] ~= '0' then return { 'more', ctx.now, rewritten, key .. ':' .. found[1] } end
if key == 'running' then return { 'more', ctx.now, rewritten, 'dead:0' } end
return { 'done', ctx.now, rewritten }
"""
NEWER_RAN = """\
-- newer_ran(ran): what an ended lease leaves, in the form of layout 3; nil if it is that already, or nothing.
local function newer_ran(ran)
  local runs, worker = string.match(ran, '^(%d+ %d+ %d+ %d+ %d+) (%S+)$')
  return runs and '=' .. worker .. ' ' .. runs
end
"""
# In read_lease, summarise and ack_tasks the older form is made of either.
OLDER = "string.gsub({}, '^=(%S+) (.*)$', '%2 %1')"
RAN = "held and string.sub(held, (string.find(held, '|', 1, true) or #held) + 1) or record.ran or ''"
CHANGES = {
    "lua/queue/noun.toml": [
        ("\nlayout = 2", "\nlayout = 3\ncreated = 2"),
        ("[statuses]\n", '[statuses]\nmore = ["again", "there is more"]\n'),
    ],
    "lua/queue/include/claim/write_lease.lua": [
        ("  return token", "  local ran = ctx.now_text .. ' ' .. runs .. ' ' .. fence\n  return token"),
        (
            "'|' .. ctx.now_text .. ' ' .. runs .. ' '\n    .. fence .. ' ' .. worker",
            "'|'\n    .. (ctx.settings.layout >= 3 and '=' .. worker .. ' ' .. ran or ran .. ' ' .. worker)",
        ),
    ],
    "lua/queue/include/claim/read_lease.lua": [("string.match(ran, ", f"string.match(({OLDER.format('ran')}), ")],
    "lua/queue/include/core/summarise.lua": [
        (f"    string.match({RAN}, ", f"    string.match(({OLDER.format('text')}), "),
        ("  local started, attempt", f"  local text = {RAN}\n  local started, attempt"),
    ],
    "lua/queue/include/settle/ack_tasks.lua": [
        ("match(ran, '^(%d+) (%d+)')", f"match(({OLDER.format('ran')}), '^(%d+) (%d+)')")
    ],
    "pyadeq/_core/queue/calls.py": [('"queue.progress.v1"', '"queue.progress.v2"')],
    "pyadeq/_version.py": [('__version__ = "', '__version__ = "99.')],
}


def make_newer(folder: Path) -> Path:
    """Make it in a folder, from this checkout; what to put on the PYTHONPATH."""
    unwanted = shutil.ignore_patterns("__pycache__", "dist", "manifest.json")
    for part in ("lua", "pyadeq"):
        shutil.copytree(ROOT / part, folder / part, ignore=unwanted)
    for name, changes in CHANGES.items():
        text = (folder / name).read_text()
        for old, new in changes:
            assert text.count(old) == 1, f"{name}: {old!r} is not there once"
            text = text.replace(old, new)
        (folder / name).write_text(text)
    progress = (folder / "lua/queue/progress.v1.lua").read_text().replace("progress.v1", "progress.v2")
    progress = progress.replace("now_ms:int items:list(item)", "now_ms:int items:list(item) asked:int")
    progress = progress.replace("ctx.now, answers }", "ctx.now, answers, #item_id }")
    (folder / "lua/queue/progress.v2.lua").write_text(progress)
    (folder / "lua/queue/rewrite.v1.lua").write_text(REWRITE)
    (folder / "lua/queue/include/newer_ran.lua").write_text(NEWER_RAN)
    subprocess.run([sys.executable, folder / "lua/bundle.py"], check=True, capture_output=True)
    return folder
