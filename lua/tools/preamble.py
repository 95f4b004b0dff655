"""The Lua that opens every generated script: constants, and the checks that turn ARGV into locals.

Lua 5.1 to 5.4. It runs on every call, so a helper is there only if it is used, the checks of a batch are
written out instead of called, and patterns are anchored: a negated set tries again at each byte, which takes
twice the time.
"""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import replace
from textwrap import shorten

from model import GATE, LISTS, MAX_BYTES, MAX_ITEMS, MAX_LABEL, MAX_SAFE, Arg, Group, Script, Type

# A score is priority * BAND + place.
BAND = 2**48

_ID = ("an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -", 200, "^[%w._:/@+-]+$")
_LABEL = (
    f"a label: 1 to {MAX_LABEL} bytes of UTF-8: A-Z a-z 0-9 . _ : / @ + - and non-ASCII characters except controls and"
    " spaces"
)
_NAME = ("a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -", 100, "^[%w._@+-]+$")
_PART = _NAME[2].strip("^$")  # a name in a base
_IN_SLOT = "<prefix>:{<slot>}:"

# Helpers in the order of their definition; a later one may use an earlier one.
_HELPERS = {
    "MAX_SAFE": f"local MAX_SAFE = {MAX_SAFE}",
    "BAND": f"local BAND = {BAND}",
    "unpack": "local unpack = table.unpack or unpack",
    "arg_find": "local arg_find = string.find",
    "arg_empty": "local arg_empty = {}",
    "refuse": """
local function refuse(field, value, want)
  local got = 'nothing'
  if type(value) == 'number' then
    got = string.format('%.0f', value)
  elseif value then
    got = "'" .. string.gsub(string.sub(value, 1, 64), '[^ -~]', '?') .. "'"
  end
  return redis.error_reply('ADEQ_ARG ' .. field .. ' must be ' .. want .. ', got ' .. got)
end""",
    "arg_int": """
local function arg_int(v, min, max)
  if not v or #v > 17 or (v ~= '0' and not arg_find(v, '^%-?[1-9]%d*$')) then return nil end
  local n = v + 0
  if n >= min and n <= max and (n < 0 or #v <= 16) then return n end
end""",
    "arg_uint": """
local function arg_uint(v, min, max)
  if not v or #v > 16 or (v ~= '0' and not arg_find(v, '^[1-9]%d*$')) then return nil end
  local n = v + 0
  if n >= min and n <= max then return n end
end""",
    # Whether a text with non-ASCII characters is a label. Spaces are refused first (U+1680, U+2000 to U+200A, U+2028,
    # U+2029, U+202F, U+205F, U+3000). Then each valid sequence of two to four bytes becomes an `a`. Bytes that are left
    # are invalid: overlong forms, surrogates, above U+10FFFF, and U+0080 to U+00A0, which are controls and a space.
    "arg_label": f"""
local function arg_label(v)
  local gsub, more = string.gsub, '[\\128-\\191]'
  if arg_find(v, '\\226\\128[\\128-\\138\\168\\169\\175]') or arg_find(v, '\\226\\129\\159') then return nil end
  if arg_find(v, '\\225\\154\\128') or arg_find(v, '\\227\\128\\128') then return nil end
  v = gsub(gsub(v, '\\194[\\161-\\191]', 'a'), '[\\195-\\223]' .. more, 'a')
  v = gsub(gsub(v, '\\224[\\160-\\191]' .. more, 'a'), '\\237[\\128-\\159]' .. more, 'a')
  v = gsub(v, '[\\225-\\236\\238\\239]' .. more .. more, 'a')
  v = gsub(gsub(v, '\\240[\\144-\\191]' .. more .. more, 'a'), '\\244[\\128-\\143]' .. more .. more, 'a')
  v = gsub(v, '[\\241-\\243]' .. more .. more .. more, 'a')
  return arg_find(v, '{_ID[2]}')
end""",
    # A list of ids; with is_label, which is arg_label, a list of labels.
    "arg_ids": f"""
local function arg_ids(v, min, max, is_label)
  local list, n = {{}}, 0
  if not v or #v > max * {_ID[1] + 1} then return nil end
  if v ~= '' then
    for id in string.gmatch(v .. ',', '([^,]*),') do
      if #id > {_ID[1]} or not (arg_find(id, '{_ID[2]}') or (is_label and is_label(id))) then return nil end
      n = n + 1
      list[n] = id
    end
  end
  if n >= min and n <= max then return list end
end""",
    "arg_lane": """
local function arg_lane(v)
  if not v or v == 'any' then return v end
  local group, rest = string.match(v, '^group/([%w._@+-]+)(.*)$')
  if not group or #group > 100 then return nil end
  if rest == '' then return v end
  local inst = string.match(rest, '^/inst/([%w._@+-]+)$')
  if inst and #inst <= 100 then return v end
end""",
    "arg_limit": f"""
local function arg_limit(v)
  if v == 'all' then return v end
  local kind, id = string.match(v or '', '^(%l+):(.*)$')
  local known = kind == 'user' or kind == 'tag' or kind == 'key'
  if not known or #id > {_ID[1]} then return nil end
  if id == '*' or arg_find(id, '{_ID[2]}') or (kind ~= 'key' and arg_label(id)) then return v end
end""",
    "arg_lanes": """
local function arg_lanes(v, min, max)
  local list, n = {}, 0
  if not v or #v > max * 213 then return nil end
  if v ~= '' then
    for lane in string.gmatch(v .. ',', '([^,]*),') do
      if not arg_lane(lane) then return nil end
      n = n + 1
      list[n] = lane
    end
  end
  if n >= min and n <= max then return list end
end""",
}
_USES = {name: set(re.findall(r"\b(arg_\w+)", text)) - {name} for name, text in _HELPERS.items()}


def keys_of(script: Script, names: Container[str]) -> list[str]:
    """The line, if any, that makes locals of those keys of a script that are among the names."""
    every = {key.name: f"KEYS[{at}]" for at, key in enumerate(script.data, 1) if key.name in names}
    return [f"local {', '.join(every)} = {', '.join(every.values())}"] if every else []


def preamble(script: Script, names: set[str]) -> str:
    """The preamble of a script whose body and includes use `names` from outside; without its keys."""
    keys = _keys(script)
    names = names | _named(keys)
    checks = [line for at, arg in enumerate(script.args, 1) for line in _scalar(at, arg)]
    pairs = [arg for group in script.groups.values() for arg in group.pairs]
    late = _late(script, pairs, names | _named(checks))
    checks += _groups(script, [text for name, text in _HELPERS.items() if name in late])
    used = _helpers(names | _named(checks)) - late
    helpers = [text.strip() for name, text in _HELPERS.items() if name in used]
    count = len(script.sent)
    expected = [
        "local KEYS, ARGV = KEYS, ARGV",  # a local is found sooner than a global
        f"if #KEYS ~= {count} then",
        f"  return redis.error_reply('ADEQ_ARG expected {count} keys, got ' .. #KEYS)",
        "end",
    ]
    return "\n\n".join("\n".join(part) for part in (helpers, expected, keys, checks) if part)


def _keys(script: Script) -> list[str]:
    """The check that each key is its template on a base of its noun; and KEYS, made of all keys on these bases."""
    if not script.bases:
        return []
    bases: dict[str, str] = {}  # whose -> its local
    lines = []
    for at, key in enumerate(script.sent, 1):
        whose, place = key.template[1:].split("}", 1)
        if bases and key.type == GATE:
            wanted = f"{bases['base']} .. '{place}'"
            lines.append(f"if KEYS[{at}] ~= {wanted} then return refuse('key {key.told}', KEYS[{at}], {wanted}) end")
        else:
            bases[whose] = "arg_base" if whose == "base" else f"arg_base_{whose}"
            lines += _base(script, at, bases[whose], place, whose)
    made = [re.sub(r"^{(\w+)}(.*)", lambda key: f"{bases[key[1]]} .. '{key[2]}'", key.template) for key in script.data]
    return ["do", *_indent([*lines, f"KEYS = {{ {', '.join(made)} }}"]), "end"] if lines else []


def _base(script: Script, at: int, base: str, place: str, whose: str) -> list[str]:
    """The base in a key, as a local; and the check of its form, the usual one first. No part of a short one is long.

    That of another noun has the prefix and the slot of the first one, so it is the one that the settings mean.
    """
    own = whose == "base"
    forms = [form for form in script.bases[script.noun if own else whose] if own or form.startswith(_IN_SLOT)]
    usual, *others = (f"string.match(KEYS[{at}], '^({_pattern(form)}){place}$')" for form in forms)
    if not own:
        others.append(f"KEYS[{at}] == arg_base .. '!none{place}' and arg_base .. '!none'")
    told = [*forms, *([] if own else ["<base>!none"])]
    want = f"{', '.join(form + place for form in told)}, where each part is {_NAME[0]}"
    elsewhere = f"string.match({base}, '^[^}}]*') ~= string.match(arg_base, '^[^}}]*')"
    want += "" if own else ", in the slot of {base}"
    return [
        f"local {base} = {usual}",
        f"if not {base} or #{base} > {_NAME[1]}{'' if own else f' or {elsewhere}'} then",
        f"  {base} = {' or '.join([base, *others])}",
        f"  for part in string.gmatch({base} or '', '{_PART}') do",
        f"    if #part > {_NAME[1]} then {base} = nil end",
        "  end",
        *([] if own else [f"  if {base} and {elsewhere} then {base} = nil end"]),
        f"  if not {base} then return refuse('key {script.sent[at - 1].told}', KEYS[{at}], '{want}') end",
        "end",
    ]


def _pattern(form: str) -> str:
    """The Lua pattern of a form of bases, such as `<prefix>:{queue:<name>}`."""
    return re.sub(r"<\w+>", lambda _: _PART, form)


def _late(script: Script, pairs: list[Arg], names: set[str]) -> set[str]:
    """The helpers that only pairs need: the first item with pairs makes them. names: those that all calls use."""
    if len([group for group in script.groups.values() if group.pairs]) != 1:
        return set()
    fields = [arg for group in script.groups.values() for arg in group.fields]
    of_all = [line for arg in fields for line in _check(arg, "v", "v", "''")]
    of_pairs = [line for arg in pairs for line in _check(replace(arg, default=None), "v", "v", "''")]
    usual = _helpers(names | _named(of_all) | {"refuse", "arg_uint"})
    return {name for name in _helpers(_named(of_pairs)) - usual if name.startswith("arg_")}


def _named(lines: list[str]) -> set[str]:
    return set(re.findall(r"\b(?:arg_\w+|refuse)\b", "\n".join(lines)))


def _helpers(names: set[str]) -> set[str]:
    """The helpers among these names, and those that they use."""
    used = names & _HELPERS.keys()
    for name in reversed(_HELPERS):
        if name in used:
            used |= _USES[name]
    return used


def want(type_: Type) -> str:
    """What an argument of a type must be, in the words of an error message."""
    low, high = type_.min, type_.max
    match type_.name:
        case "id":
            return _ID[0]
        case "label":
            return _LABEL
        case "name":
            return _NAME[0]
        case "lane":
            return "any, group/<name> or group/<name>/inst/<name>"
        case "limit":
            return "all, or user: or tag: and a label (1 to 200 bytes) or *, or key: and an id or *"
        case "bool":
            return "0 or 1"
        case "enum":
            return f"one of {', '.join(type_.values)}"
        case "ids" | "labels" | "lanes":
            return f"{low} to {high} {type_.name} with commas between them"
        case "bytes":
            return f"{low} to {high} bytes long"
    return f"an integer from {low} to {high}"


def _check(arg: Arg, var: str, source: str, label: str) -> list[str]:
    """Check the string in `var` and put the typed value there.

    `source` is the argument as it was sent, `label` a Lua string: both are for the error.
    """
    type_, default = arg.type, arg.default
    got = var
    if type_.name in ("int", "lane", "limit", *LISTS):
        if type_.name == "int":
            call = f"{'arg_uint' if type_.min >= 0 else 'arg_int'}({var}, {type_.min}, {type_.max})"
        elif type_.name in ("lane", "limit"):
            call = f"arg_{type_.name}({var})"
        elif type_.name == "labels":
            call = f"arg_ids({var}, {type_.min}, {type_.max}, arg_label)"
        else:
            call = f"arg_{type_.name}({var}, {type_.min}, {type_.max})"
        refusal = f"refuse({label}, {source}, '{want(type_)}')"
        steps = [f"{var} = {call}", f"if not {var} then return {refusal} end"]
        if default is None:
            return steps
        return [f"if {var} == '' then", f"  {var} = {_value(arg)}", "else", *_indent(steps), "end"]
    match type_.name:
        case "id" | "name":
            _, longest, pattern = _ID if type_.name == "id" else _NAME
            bad = f"not {var} or #{var} > {longest} or not arg_find({var}, '{pattern}')"
        case "label":  # the usual ones at once
            bad = f"not {var} or #{var} > {MAX_LABEL} or not (arg_find({var}, '{_ID[2]}') or arg_label({var}))"
        case "enum":
            bad = " and ".join(f"{var} ~= '{value}'" for value in type_.values)
        case "bool":
            bad = f"{var} ~= '0' and {var} ~= '1'"
        case _:
            low = f" or #{var} < {type_.min}" if type_.min else ""
            bad = f"not {var}{low} or #{var} > {type_.max}"
            got = f"{var} and #{var}"  # bytes are never shown
    refusal = f"  return refuse({label}, {got}, '{want(type_)}')"
    if type_.name == "bool":
        empty = "" if default is None else f" and {var} ~= ''"
        typed = f"{var} = {var} ~= '0'" if default == "1" else f"{var} = {var} == '1'"
        return [f"if {bad}{empty} then", refusal, "end", typed]
    if default is None or (default == "" and type_.accepts("")):
        return [f"if {bad} then", refusal, "end"]
    if default == "":
        return [f"if {var} ~= '' and ({bad}) then", refusal, "end"]
    return [f"if {var} == '' then", f"  {var} = {_quote(default)}", f"elseif {bad} then", refusal, "end"]


def _value(arg: Arg) -> str:
    """The default as a Lua expression."""
    default = arg.default or ""
    match arg.type.name:
        case "int":
            return default
        case "ids" | "labels" | "lanes":
            return "{}"
        case "bool":
            return "true" if default == "1" else "false"
    return _quote(default)


def _quote(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _indent(lines: list[str], by: int = 1) -> list[str]:
    return ["  " * by + line for line in lines]


def _scalar(at: int, arg: Arg) -> list[str]:
    return [f"local {arg.name} = ARGV[{at}]", *_check(arg, arg.name, f"ARGV[{at}]", f"'{arg.name}'")]


def _groups(script: Script, late: list[str]) -> list[str]:
    at = len(script.args) + 1
    groups = list(script.groups.values())
    if not groups:
        return _exact(str(at - 1))
    weigh = sum(group.max * _most_bytes(group) for group in groups) > MAX_BYTES
    lines = [f"local arg_at = {at}"]
    if weigh:
        lines.append("local arg_bytes = 0")
    for group in groups:
        lines += _group(group, weigh, late)
    if len(groups) > 1 and sum(group.max for group in groups) > MAX_ITEMS:
        total = " + ".join(f"{group.name}_count" for group in groups)
        lines += [
            f"if {total} > {MAX_ITEMS} then",
            f"  return refuse('{total}', {total}, 'at most {MAX_ITEMS}')",
            "end",
        ]
    lines += _exact("arg_at - 1")
    if weigh:
        lines += [
            f"if arg_bytes > {MAX_BYTES} then",
            f"  return refuse('the items of a call', arg_bytes, 'at most {MAX_BYTES} bytes')",
            "end",
        ]
    return lines


def _most_bytes(group: Group) -> int:
    return sum(arg.type.max for arg in group.fields + group.pairs if arg.type.name == "bytes")


def _exact(expected: str) -> list[str]:
    shown = f"{expected} " if expected.isdigit() else f"' .. ({expected}) .. ' "
    return [
        f"if #ARGV ~= {expected} then",
        f"  return redis.error_reply('ADEQ_ARG expected {shown}arguments, got ' .. #ARGV)",
        "end",
    ]


def _group(group: Group, weigh: bool, late: list[str]) -> list[str]:
    name = group.name
    columns = [f"{name}_{arg.name}" for arg in group.fields] + ([f"{name}_pairs"] if group.pairs else [])
    count = Arg("count", Type("int", group.min, group.max), None)
    lines = [
        f"local {name}_count = ARGV[arg_at]",
        *_check(count, f"{name}_count", "ARGV[arg_at]", f"'{name}_count'"),
        "arg_at = arg_at + 1",
        *_columns(group, columns),
        *([f"local {', '.join([f'arg_seen_{name}', *map(_name_of, late)])}"] if group.pairs else []),
        f"for i = 1, {name}_count do",
    ]
    for offset, arg in enumerate(group.fields):
        source = f"ARGV[arg_at + {offset}]" if offset else "ARGV[arg_at]"
        first = "" if offset else "local "
        body = [f"{first}v = {source}", *_check(arg, "v", source, _label(name, arg.name))]
        if weigh and arg.type.name == "bytes":
            body.append("arg_bytes = arg_bytes + #v")
        lines += _indent([*body, f"{name}_{arg.name}[i] = v"])
    if group.fields:
        lines.append(f"  arg_at = arg_at + {len(group.fields)}")
    if group.pairs:
        lines += _indent(_pairs(group, weigh, late))
    return [*lines, "end"]


def _columns(group: Group, columns: list[str]) -> list[str]:
    """The lists that the fields of the items go into; where there may be no item they are made when there is one."""
    names, size = ", ".join(columns), len(columns)
    tables = ", ".join(["{}"] * size)
    if group.min > 0:
        return [f"local {names} = {tables}"]
    return [
        f"local {names} = {', '.join(['arg_empty'] * size)}",
        f"if {group.name}_count > 0 then {names} = {tables} end",
    ]


def _label(group: str, name: str) -> str:
    return f"'{group}[' .. i .. '].{name}'"


def _name_of(helper: str) -> str:
    return re.sub(r"\(.*", "", helper.strip(), flags=re.S).rpartition(" ")[2]


def _pairs(group: Group, weigh: bool, late: list[str]) -> list[str]:
    """The name/value pairs of one item. One that equals its default is checked and then left out.

    late: helpers that the first item with pairs makes.
    """
    branches: list[str] = []
    for arg in group.pairs:
        body = _check(replace(arg, default=None), "v", "raw", _label(group.name, arg.name))
        if arg.default:
            body.append(f"if v == {_value(arg)} then v = nil end")
        if arg.default is not None:
            body = ["if raw == '' then", "  v = nil", "else", *_indent(body), "end"]
        branches += [f"{'elseif' if branches else 'if'} name == '{arg.name}' then", *_indent(body)]
    names = shorten(", ".join(arg.name for arg in group.pairs), 350, placeholder=" and others")
    count = Arg("pairs", Type("int", 0, len(group.pairs)), None)
    made = [line for text in late for line in text.strip().removeprefix("local ").splitlines()]
    seen = f"arg_seen_{group.name}"
    check = _check(count, "size", "ARGV[arg_at - 1]", _label(group.name, "pairs"))
    digits = "123456789"[: len(group.pairs)]
    inner = [
        # one digit, as usual: its place among the digits takes a quarter of the time
        check[0].replace("size = ", f"size = size and #size == 1 and arg_find('{digits}', size, 1, true) or "),
        *check[1:],
        *([f"if not {seen} then", f"  {seen} = {{}}", *_indent(made), "end"] if made else [f"{seen} = {seen} or {{}}"]),
        "local filled = 0",
        "for at = arg_at, arg_at + 2 * size - 2, 2 do",
        "  local name, raw = ARGV[at], ARGV[at + 1]",
        "  local v = raw",
        *_indent(branches),
        "  else",
        f"    return refuse({_label(group.name, 'pairs')}, name, 'names from {names}')",
        "  end",
        f"  if {seen}[name] == i then",
        f"    return refuse('{group.name}[' .. i .. '].' .. name, 2, 'given at most once')",
        "  end",
        f"  {seen}[name] = i",
        *(["  arg_bytes = arg_bytes + #raw"] if weigh else []),
        "  if v ~= nil then",
        "    if filled == 0 then",
        "      entry = { name, raw, [name] = v }",  # made at once: a table that grows is moved
        "    else",
        "      entry[filled + 1] = name",  # one by one: in one statement Lua would fill from the right
        "      entry[filled + 2] = raw",
        "      entry[name] = v",
        "    end",
        "    filled = filled + 2",
        "  end",
        "end",
        "arg_at = arg_at + 2 * size",
    ]
    return [
        "local size, entry = ARGV[arg_at], arg_empty",
        "arg_at = arg_at + 1",
        "if size ~= '0' then",
        *_indent(inner),
        "end",
        f"{group.name}_pairs[i] = entry",
    ]
