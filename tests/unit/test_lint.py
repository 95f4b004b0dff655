"""Each finding of the linter, on a small source tree, and that our own sources have none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from lupa import lua51

LUA = Path(__file__).parents[2] / "lua"
sys.path.insert(0, str(LUA / "tools"))

import bundle  # noqa: E402
import lint  # noqa: E402
import scan  # noqa: E402

from tests.unit.lua_tree import CONFIG, ERRORS, KEYS  # noqa: E402

HEADER = "-- demo.run.v1: x\n-- y\n--\n-- RETURN ok\n"
BODY = "return { 'ok', redis.call('HGET', config, 'a') }"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for folder in ("demo/include", "kernel"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "errors.toml").write_text(ERRORS)
    (tmp_path / "demo/keys.toml").write_text(CONFIG)
    return tmp_path


def findings(root: Path, body: str, header: str = "") -> list[str]:
    (root / "demo/run.v1.lua").write_text(f"{HEADER}{header}\n{body}\n")
    return lint.lint(root)


def test_clean(root: Path) -> None:
    assert findings(root, BODY) == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("redis.call('KEYS', '*')", "KEYS is not allowed"),
        ("redis.call('SCAN', 0)", "SCAN is not allowed"),
        ("redis.pcall('EVAL', 'x', 0)", "EVAL is not allowed"),
        ("redis.call('BLPOP', config, 0)", "BLPOP is not allowed"),
        ("redis.call('PUBLISH', config, 'a')", "PUBLISH is not allowed"),
        ("redis.call('XREAD', 'BLOCK', 0, 'STREAMS', config, 0)", "XREAD must not block"),
        ("redis.call('hset', config, 'a', 1)", "the command must be a quoted word in capitals"),
        ("redis.call(config)", "the command must be a quoted word in capitals"),
        ("redis.call('H' .. 'SET', config)", "the command must be a quoted word in capitals"),
        ("local call = redis.call", "redis.call must be called where it stands"),
        ("local n = math.random(5)", "math.random gives every call the same numbers"),
        ("local ctx = {} local all = ctx.settings", "a setting must be named where it is read"),
        ("local ctx = {} ctx.settings.a = 1", "ctx.settings is for reading"),
        ("local domain = {} local a = domain.settings.a", "settings are read as ctx.settings.<name>: of another noun"),
        ("while true do break end", "'while true' has no limit"),
        ("repeat local n = 1 until false", "'until false' has no limit"),
        ("local e = { 'ADEQ_CLOCK no' }", "ADEQ_CLOCK is missing in ERROR of demo/run.v1.lua"),
    ],
)
def test_forbidden(root: Path, line: str, message: str) -> None:
    found = findings(root, f"{line}\n{BODY}")
    assert len(found) == 1
    assert found[0].startswith("demo/run.v1.lua:6: ")
    assert message in found[0]


def test_a_key_that_is_extended_needs_a_suffix(root: Path) -> None:
    (root / "demo/keys.toml").write_text(KEYS)
    body = "redis.call('DEL', tasks .. 'a', wake .. 'any')\nlocal function get(tasks) return tasks .. 'b' end\n"
    message = "tasks .. makes another key: give tasks a suffix in keys.toml"
    assert findings(root, f"{body}{BODY}") == [f"demo/run.v1.lua:6: {message}"]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("redis.call('DEL', unpack(ids))", "unpack"),
        ("redis.call('DEL', unpack(ids, 1, 5))", "unpack"),
        ("local all = redis.call('HGETALL', config)", "HGETALL"),
        ("local all = redis.call('HSCAN', config, 0)", "HSCAN"),
        ("local all = redis.call('LRANGE', config, 0, -1)", "LRANGE"),
        ("local all = redis.call('ZRANGE', config, 0, -1)", "ZRANGE"),
        ("local all = redis.call('ZRANGE', config, '-inf', 5, 'BYSCORE')", "ZRANGE"),
        ("local all = redis.call('ZRANGE', config, '[a', '[b', 'BYLEX')", "ZRANGE"),
        ("local all = redis.call('ZRANGEBYSCORE', config, 0, 5)", "ZRANGEBYSCORE"),
        ("while redis.call('EXISTS', config) == 1 do redis.call('DEL', config) end", "'while'"),
        ("repeat local n = redis.call('DEL', config) until n == 0", "'until'"),
    ],
)
def test_what_needs_a_bound(root: Path, line: str, what: str) -> None:
    body = f"local ids = {{}}\n{line}\n{BODY}"
    missing = f"demo/run.v1.lua:7: {what} needs a bound: write '-- at most <number>: <why>' on its line or above"
    assert findings(root, body) == [missing]
    for comment in ("-- at most", "-- at most many: all", "-- at most 5", "-- at most 5:", "-- 5"):
        assert findings(root, body.replace(line, f"{line}  {comment}")) == [missing]
    bound = "-- at most 7,999: items"
    assert findings(root, body.replace(line, f"{line}  {bound}")) == []
    assert findings(root, body.replace(line, f"{bound}\n{line}")) == []
    assert findings(root, body.replace(line, f"{bound}\n{line}\n{line}")) == []
    assert len(findings(root, body.replace(line, f"{bound}\nlocal n = 1\n{line}"))) == 1


@pytest.mark.parametrize(
    "line",
    [
        "local all = redis.call('ZRANGE', config, 0, 99)",
        "local all = redis.call('ZRANGE', config, 0, 5 - 1, 'REV')",
        "local all = redis.call('ZRANGE', config, 0, 5, 'BYSCORE', 'LIMIT', 0, 10)",
        "local all = redis.call('ZRANGE', config, '(' .. (nil or 'a'), '[b', 'BYLEX', 'REV', 'LIMIT', 0, 10)",
        "local all = redis.call('HSCAN', config, 0, 'COUNT', 10)",
        "local all = redis.call('LRANGE', config, 0, 99)",
        "local n = math.unpack and 'unpack(' or '-- while'",
    ],
)
def test_what_has_one(root: Path, line: str) -> None:
    assert findings(root, f"{line}\n{BODY}") == []


def test_unpack_has_a_limit(root: Path) -> None:
    line = "redis.call('DEL', unpack({ 'a' }))  -- at most {}: items"
    assert findings(root, f"{line.replace('{}', '7,999')}\n{BODY}") == []
    assert findings(root, f"{line.replace('{}', '8,000')}\n{BODY}") == [
        "demo/run.v1.lua:6: unpack takes at most 7,999 values, not 8,000: write them in parts"
    ]


@pytest.mark.parametrize("pattern", ["%S+$", " (%S+) %S+$", "%%$"])
def test_a_pattern_that_takes_the_square_of_a_text(root: Path, pattern: str) -> None:
    line = f"local word = string.match('a b', '{pattern}')"
    assert findings(root, f"{line}\n{BODY}") == [
        "demo/run.v1.lua:6: a pattern that ends in $ must begin with ^, or it takes the square of the text's length"
    ]


@pytest.mark.parametrize("pattern", ["^.* (%S+)$", "%S+", "%d%$", "$a"])
def test_a_pattern_that_does_not(root: Path, pattern: str) -> None:
    assert findings(root, f"local word = string.match('a b', '{pattern}')\n{BODY}") == []


def test_a_list_in_parts(root: Path) -> None:
    loop = (
        "local batch = { ids = {} }\nfor first = 1, #batch.ids, 7000 do\n"
        "  redis.call('DEL', unpack(batch.ids, first, math.min(first + 6999, #batch.ids)))\nend"
    )
    assert findings(root, f"{loop}\n{BODY}") == []
    for right, wrong in (
        ("6999", "7000"),
        ("#batch.ids, 7000", "#batch.ids, 8000"),
        ("1, #batch.ids,", "1, #batch.all,"),
    ):
        assert len(findings(root, f"{loop.replace(right, wrong)}\n{BODY}")) == 1
    assert len(findings(root, loop.replace("7000", "7998").replace("6999", "7997") + f"\n{BODY}")) == 1


@pytest.mark.parametrize("name", ["cjson", "cmsgpack", "tostring", "loadstring", "os", "pcall", "undeclared"])
def test_undeclared_globals_do_not_build(root: Path, name: str) -> None:
    with pytest.raises(bundle.BuildErrors, match=rf"demo/run\.v1\.lua:6: {name} is not declared"):
        findings(root, f"local x = {name}\n{BODY}")
    with pytest.raises(bundle.BuildErrors, match=rf"demo/run\.v1\.lua:6: {name} is assigned"):
        findings(root, f"{name} = 1\n{BODY}")


@pytest.mark.parametrize(
    ("header", "line", "message"),
    [
        ("-- RETURN gone\n", 5, "status 'gone' is declared but never given"),
        (
            "-- RETURN many  items:list(item)\n-- EACH   item  one\n",
            5,
            "status 'many' is declared but never given",
        ),
        ("-- ERROR  ADEQ_LAYOUT\n", 5, "error ADEQ_LAYOUT is declared but never given"),
        ("-- EVENT  task.done\n", 5, "event 'task.done' is declared but never added"),
    ],
)
def test_declared_but_not_used(root: Path, header: str, line: int, message: str) -> None:
    assert f"demo/run.v1.lua:{line}: {message}" in findings(root, BODY, header)


def test_shape_status(root: Path) -> None:
    header = "-- RETURN many  items:list(item)\n-- EACH   item  one\n"
    found = findings(root, f"local many = {{ 'many', {{}} }}\n{BODY}", header)
    assert found == ["demo/run.v1.lua:6: status 'one' is declared but never given"]


def test_literals_and_keys_may_stand_in_an_include(root: Path) -> None:
    text = "-- help(): x\n-- LATE\nlocal function help()\n  return { 'gone', 'ADEQ_LAYOUT', config }\nend\n"
    (root / "demo/include/help.lua").write_text(text)
    header = "-- RETURN gone\n"
    body = f"if config then return help() end\n{BODY}"
    assert findings(root, body, f"{header}-- ERROR ADEQ_LAYOUT\n") == []
    assert findings(root, body, header) == [
        "demo/include/help.lua:4: ADEQ_LAYOUT is missing in ERROR of demo/run.v1.lua"
    ]


def test_one_include_may_publish_on_a_plain_channel(root: Path) -> None:
    for name, allowed in (("mirror_hint", True), ("other", False)):
        text = f"-- {name}(): x\n-- LATE\nlocal function {name}()\n  redis.pcall('PUBLISH', config, 'm')\nend\n"
        (root / f"demo/include/{name}.lua").write_text(text)
        found = findings(root, f"{name}()\n{BODY}")
        (root / f"demo/include/{name}.lua").unlink()
        assert (not found) == allowed
        assert allowed or "PUBLISH is not allowed" in found[0]


def test_no_writes(root: Path) -> None:
    text = "-- help(): x\n-- LATE\nlocal function help()\n  return redis.call('DEL', config)\nend\n"
    (root / "demo/include/help.lua").write_text(text)
    reads = "redis.call('ZLEXCOUNT', config, '-', '+')\nredis.call('ZRANGE', config, '-', '+', 'BYLEX', 'LIMIT', 0, 9)"
    body = f"help()\nredis.call('HSET', config, 'a', 'task.done')\nredis.call('SPUBLISH', config, 'm')\n{reads}\n{BODY}"
    header = "-- FLAGS  no-writes\n-- COST   x\n-- EVENT  task.done\n"
    assert findings(root, body, header) == [
        "demo/run.v1.lua:10: HSET is no read, but demo/run.v1.lua is no-writes",
        "demo/run.v1.lua:11: SPUBLISH is no read, but demo/run.v1.lua is no-writes",
        "demo/include/help.lua:4: DEL is no read, but demo/run.v1.lua is no-writes",
        "demo/run.v1.lua:7: a script with the flag no-writes adds no events",
    ]


def test_length(root: Path) -> None:
    (root / "demo/include/help.lua").write_text("-- help(): x\nlocal function help()\n" + "\n" * 60 + "end\n")
    found = findings(root, "\n" * 120 + f"help()\n{BODY}", "-- COST help\n")
    assert [text.rpartition(": ")[0] for text in found] == [
        "demo/include/help.lua:61: 63 lines, at most 60",
        "demo/run.v1.lua:121: 128 lines, at most 120",
    ]


def test_keys_that_nobody_takes(root: Path) -> None:
    findings(root, BODY)
    (root / "demo/keys.toml").write_text(KEYS)
    assert lint.unused_keys(root) == [
        "demo/keys.toml:1: tasks is declared but not used",
        "demo/keys.toml:1: wake is declared but not used",
    ]


def test_command(root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    findings(root, BODY)
    assert lint.main(["--lua", str(root)]) == 1
    assert capsys.readouterr().err.startswith("demo/noun.toml:1: missing")
    monkeypatch.setattr(lint, "without_facts", lambda root: [])
    findings(root, BODY)
    assert lint.main(["--lua", str(root)]) == 0
    findings(root, f"while true do break end\n{BODY}")
    assert lint.main(["--lua", str(root)]) == 1
    assert capsys.readouterr().err.startswith("demo/run.v1.lua:6: 'while true'")
    findings(root, BODY)
    (root / "demo/run.v1.lua").write_text("nonsense\n")
    assert lint.main(["--lua", str(root)]) == 1
    assert capsys.readouterr().err.startswith("demo/run.v1.lua:1: must be")


# The reader of Lua beneath both commands


@pytest.mark.parametrize(
    ("code", "free", "written"),
    [
        ("local a = a", {"a"}, set()),
        ("local a; a = 1", set(), set()),
        ("a, b.c = 1, 2", {"a", "b"}, {"a"}),
        ("a.b, c = 1, 2", {"a", "c"}, {"c"}),
        ("local function f(n) return f(n) end", set(), set()),
        ("local f = function() return f end", {"f"}, set()),
        ("function f() end", {"f"}, {"f"}),
        ("for i = 1, n do local x = i end return i", {"n", "i"}, set()),
        ("for k, v in pairs(t) do print(k, v) end", {"pairs", "t", "print"}, set()),
        ("repeat local x = 1 until x", set(), set()),
        ("do local x = 1 end return x", {"x"}, set()),
        ("return { a = b, ['c'] = d, e; f(g) }", {"b", "d", "e", "f", "g"}, set()),
        ("return a:b 'c' { d }.e[f]", {"a", "d", "f"}, set()),
        ("return -a ^ b .. not c == #d", {"a", "b", "c", "d"}, set()),
        ("if a then return b elseif c then d() else e() end", {"a", "b", "c", "d", "e"}, set()),
        ("while a do break end --[==[ x ]] ]==] return ('y'):rep(2), [[z]], ...", {"a"}, set()),
        ("local s = 'it\\'s -- x' -- y\nreturn s, 0x1F, .5, 1e-3, 3.", set(), set()),
    ],
)
def test_free_names(code: str, free: set[str], written: set[str]) -> None:
    chunk = scan.parse(code)
    assert set(chunk.free) == free
    assert set(chunk.written) == written
    lua51.LuaRuntime().compile(code)


@pytest.mark.parametrize(
    "code", ["local = 1", "if a then", "a b", "return 1 2", "x = = 1", "f(", "goto x", "a & b", "'x"]
)
def test_not_lua(code: str) -> None:
    with pytest.raises(scan.LuaError):
        scan.parse(code)


# Our own sources, as far as they are there


@pytest.mark.slow  # `make check` shows the same
def test_own_sources() -> None:
    assert lint.lint(LUA) == []


def test_dist_compiles_and_knows_no_globals() -> None:
    lua = lua51.LuaRuntime(encoding="latin-1")
    allowed = lua.table_from(sorted(scan.GLOBALS))
    # The environment notes what a run touches, up to the check of the keys. The build refuses globals in all the rest.
    run = lua.execute(
        """
        return function(code, allowed)
          local found, known = {}, {}
          for _, name in ipairs(allowed) do known[name] = _G[name] or {} end
          known.redis = { error_reply = function(text) return { err = text } end }
          local function stray(_, name) found[#found + 1] = name end
          local chunk = assert(loadstring(code))
          setfenv(chunk, setmetatable(known, { __index = stray, __newindex = stray }))
          local reply = chunk()
          return reply.err, table.concat(found, ' ')
        end"""
    )
    paths = list((LUA / "dist").glob("*.lua"))
    assert len(paths) > 100
    for path in paths:
        text = path.read_text()
        error, stray = run(text[text.index("\n") :].encode().decode("latin-1"), allowed)
        assert error.startswith("ADEQ_ARG expected"), path
        assert stray == "", path
