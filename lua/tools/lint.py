"""Check the Lua sources beyond what bundle.py needs to build them: `python lua/tools/lint.py [--lua DIR]`.

It also checks that the conformance vectors show all that the manifest declares (vectors.py).
What needs a run (writes after the last check, keys outside the contract, replies) is for the watched tests.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from bounds import check_bounds
from bundle import BuildErrors, Sources, load, used_keys
from call import check_fields, fields_of
from keys import FILE as KEYS_FILE
from model import Key, Script
from noun import FILE
from released import broken_promises
from scan import Chunk, Token, in_script, parse, tokens, word_set
from vectors import check

MOST_LINES, MOST_INCLUDE_LINES = 120, 60

# Lossy, or code that the manifest does not know.
BANNED = {
    "cjson": "payloads are opaque bytes",
    "cmsgpack": "payloads are opaque bytes",
    "tostring": "it rounds above 14 digits, use string.format('%.0f', n)",
    "loadstring": "code comes by SCRIPT LOAD only",
}
READS = word_set(
    """DBSIZE EXISTS EXPIRETIME GET GETBIT GETRANGE HEXISTS HGET HGETALL HKEYS HLEN HMGET HSCAN HSTRLEN HVALS
    INFO LINDEX LLEN LPOS LRANGE MEMORY MGET OBJECT PEXPIRETIME PTTL SCARD SDIFF SINTER SINTERCARD SISMEMBER
    SMEMBERS SMISMEMBER SRANDMEMBER SSCAN STRLEN SUNION TIME TTL TYPE XINFO XLEN XPENDING XRANGE XREAD XREVRANGE ZCARD
    ZCOUNT ZDIFF ZINTER ZINTERCARD ZLEXCOUNT ZMSCORE ZRANGE ZRANGEBYLEX ZRANGEBYSCORE ZRANK ZREVRANGE
    ZREVRANGEBYSCORE ZREVRANK ZSCAN ZSCORE ZUNION"""
)
# Unbounded, blocking, random, for all nodes of a cluster, or not for a script.
FORBIDDEN = word_set(
    """KEYS SCAN RANDOMKEY SORT SORT_RO EVAL EVALSHA EVAL_RO EVALSHA_RO FCALL FCALL_RO SCRIPT FUNCTION BLPOP
    BRPOP BLMOVE BLMPOP BRPOPLPUSH BZPOPMIN BZPOPMAX BZMPOP WAIT WAITAOF SUBSCRIBE PSUBSCRIBE SSUBSCRIBE MULTI
    EXEC WATCH SELECT MOVE FLUSHALL FLUSHDB SWAPDB CONFIG CLIENT CLUSTER DEBUG SAVE BGSAVE SHUTDOWN SPOP
    HRANDFIELD ZRANDMEMBER PUBLISH"""
)
# The one source that may: it does so only where an operator has asked for it, and what it costs is documented.
EXCEPTIONS = {"PUBLISH": "mirror_hint.lua"}


@dataclass
class Facts:
    """What one file says: its string literals and the commands it calls, each with its first line."""

    path: str
    literals: dict[str, int] = field(default_factory=dict)
    commands: dict[str, int] = field(default_factory=dict)


def lint(root: Path) -> list[str]:
    """Every finding as `<file>:<line>: <what>`, in the order of the files. Raises BuildErrors."""
    sources = load(root)
    found: list[str] = []
    facts: dict[str, Facts] = {}
    for path, most in [(i.path, MOST_INCLUDE_LINES) for i in sources.includes if not i.generated] + [
        (s.path, MOST_LINES) for s in sources.scripts
    ]:
        text = (root / path).read_text()
        lines = text.count("\n")
        if lines > most:
            found.append(f"{path}:{most + 1}: {lines} lines, at most {most}: split it")
        facts[path] = Facts(path)
        every = tokens(text)
        chunk = parse(text)
        found += _check_tokens(facts[path], every) + check_bounds(path, text, every)
        found += check_fields(path, sources.call[path.split("/")[0]], every, chunk.ctx)
        found += _check_prefixes(path, chunk, sources.keys.get(path.split("/")[0], {}))
    for script in sources.scripts:
        parts = [facts[script.path], *(facts[one.path] for one in script.includes if not one.generated)]
        found += _check_script(script, sources, parts)
        if script.uses:
            found += _check_opens(script, (root / script.path).read_text(), facts)
    return list(dict.fromkeys(found))  # an include's findings once, not once for each script


def without_facts(root: Path) -> list[str]:
    """The nouns that have no noun.toml, each as a finding."""
    sources = load(root)
    words = sorted({script.noun for script in sources.scripts} - sources.nouns.keys())
    return [f"{word}/{FILE}:1: missing: a noun needs one, see README.md" for word in words]


def unused_keys(root: Path) -> list[str]:
    """The keys that no script takes, each as a finding."""
    sources = load(root)
    used = used_keys(sources.scripts)
    return [
        f"{noun}/{KEYS_FILE}:1: {name} is declared but not used"
        for noun, keys in sources.keys.items()
        for name in keys
        if (noun, name) not in used
    ]


def unused_fields(root: Path) -> list[str]:
    """The fields of ctx that are declared and in no source, each as a finding."""
    sources = load(root)
    texts = [(one.path, one.text) for one in sources.includes]
    texts += [(one.path, f"{one.body}\n{one.rest}") for one in sources.scripts]
    used = {(path.split("/")[0], name) for path, text in texts for name, _ in fields_of(tokens(text))}
    return [
        f"{field.path}:1: {name} is declared but not used"
        for word, fields in sources.call.items()
        for name, field in fields.items()
        if field.path.startswith(f"{word}/") and (word, name) not in used
    ]


def _check_tokens(facts: Facts, every: list[Token]) -> list[str]:
    found: list[str] = []

    def report(token: Token, text: str) -> None:
        found.append(f"{facts.path}:{token.line}: {text}")

    texts = [token.text for token in every]
    for i, token in enumerate(every):
        field_of = texts[i - 2] if i > 1 and texts[i - 1] == "." else None
        following = texts[i + 1] if i + 1 < len(texts) else ""
        if token.literal is not None:
            facts.literals.setdefault(token.literal, token.line)
        elif token.kind == "name" and token.text in BANNED and field_of is None:
            report(token, f"{token.text} is not allowed: {BANNED[token.text]}")
        elif field_of == "ctx" and token.text == "settings":
            if following != ".":
                report(token, "a setting must be named where it is read, as ctx.settings.<name>, so that open reads it")
            elif "".join(texts[i + 3 : i + 4]) == "=":
                report(token, "ctx.settings is for reading: a call keeps what it changes in a field of its own")
        elif field_of not in (None, "row") and token.text == "settings":
            report(token, "settings are read as ctx.settings.<name>: of another noun, only its own includes read them")
        elif field_of == "math" and token.text.startswith("random"):
            report(token, f"math.{token.text} gives every call the same numbers: take an argument")
        elif (token.text, following) in (("while", "true"), ("until", "false")):
            report(token, f"'{token.text} {following}' has no limit: count with for")
        elif field_of == "redis" and token.text in ("call", "pcall"):
            if following == "(":
                found += _check_call(facts, token, every[i + 2 :])
            else:
                report(token, f"redis.{token.text} must be called where it stands, so that its command is seen")
    return found


def _check_prefixes(path: str, chunk: Chunk, keys: Mapping[str, Key]) -> list[str]:
    """Only a key with a suffix is a prefix: text appended to any other makes a key that the call does not declare."""
    whole = {name for name, key in keys.items() if key.suffix is None}
    return [
        f"{path}:{token.line}: {token.text} .. makes another key: give {token.text} a suffix in {KEYS_FILE}"
        for token, following in pairwise(chunk.tokens)
        if token in chunk.uses and token.text in whole and following.text == ".."
    ]


def _check_call(facts: Facts, token: Token, arguments: list[Token]) -> list[str]:
    where = f"{facts.path}:{token.line}:"
    command = arguments[0].literal if arguments else None
    if command is None or not re.fullmatch(r"[A-Z_]+", command) or arguments[1].text not in (",", ")"):
        return [f"{where} the command must be a quoted word in capitals"]
    facts.commands.setdefault(command, token.line)
    if command in FORBIDDEN and Path(facts.path).name != EXCEPTIONS.get(command):
        why = "it is unbounded, random, blocks, leaves its slot, or is not for a script"
        return [f"{where} {command} is not allowed: {why}"]
    following = {argument.literal for argument in arguments[:4]}
    if command in ("XREAD", "XREADGROUP") and "BLOCK" in following:
        return [f"{where} {command} must not block"]
    return []


def _check_script(script: Script, sources: Sources, parts: list[Facts]) -> list[str]:
    return [*_never_given(script, parts), *_errors_of(script, parts), *_writes_of(script, parts)]


def _at(script: Script, kind: str, text: str) -> str:
    return f"{script.path}:{script.lines.get(kind, 1)}: {text}"


def _never_given(script: Script, parts: list[Facts]) -> Iterator[str]:
    """Statuses and events of the header that the script does not have."""
    literals = {literal for part in parts for literal in part.literals}
    for status in script.returns:
        if status.name not in literals:
            yield _at(script, f"RETURN {status.name}", f"status '{status.name}' is declared but never given")
    for shape, statuses in script.shapes.items():
        for status in statuses:
            if status.name not in literals:
                yield _at(script, f"EACH {shape} {status.name}", f"status '{status.name}' is declared but never given")
    for event in script.events:
        if event not in literals:
            yield _at(script, f"EVENT {event}", f"event '{event}' is declared but never added")


def _errors_of(script: Script, parts: list[Facts]) -> Iterator[str]:
    """Errors that are only in the header, or only in the script."""
    given = {"ADEQ_ARG"}
    for part in parts:
        for literal, line in part.literals.items():
            code = re.match(r"ADEQ_[A-Z]+", literal)
            if code and code[0] != "ADEQ_ARG":
                given.add(code[0])
                if code[0] not in script.errors:
                    yield f"{part.path}:{line}: {code[0]} is missing in ERROR of {script.path}"
    for code_name in script.errors:
        if code_name not in given:
            yield _at(script, f"ERROR {code_name}", f"error {code_name} is declared but never given")


def _writes_of(script: Script, parts: list[Facts]) -> Iterator[str]:
    """Writes of a script with the flag no-writes."""
    if script.flag != "no-writes":
        return
    for part in parts:
        for command, line in part.commands.items():
            if command not in READS:
                yield f"{part.path}:{line}: {command} is no read, but {script.path} is no-writes"
    for event in script.events:
        yield _at(script, f"EVENT {event}", "a script with the flag no-writes adds no events")


def _check_opens(script: Script, text: str, facts: dict[str, Facts]) -> list[str]:
    """A script of several nouns opens all of them before it writes: an error reply must not follow a write."""
    parts = {part.name: part for part in script.includes}
    sources = {name: facts[part.path] for name, part in parts.items() if not part.generated}
    writing = {name for name, source in sources.items() if source.commands.keys() - READS}
    for _ in parts:
        writing |= {name for name, part in parts.items() if part.free.keys() & writing}
    chunk = parse(text, script.uses.values())
    every, written, found = chunk.tokens, False, []
    at = {token.at: token.text for token in chunk.uses}
    for i, token in enumerate(every):
        name = at.get(token.at, "")
        if written and name.rpartition(".")[2].startswith("open"):
            found.append(f"{script.path}:{token.line}: {name} must come before the first write")
        called = token.text in ("call", "pcall") and i + 2 < len(every) and every[i + 2].literal
        written = written or in_script(name) in writing or bool(called and called not in READS)
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Check the Lua sources.")
    parser.add_argument("--lua", type=Path, default=Path(__file__).parents[1], metavar="DIR", help="the sources")
    options = parser.parse_args(arguments)
    try:
        checks = (lint, without_facts, unused_keys, unused_fields, broken_promises, check)
        found = [finding for each in checks for finding in each(options.lua)]
    except BuildErrors as error:
        print(error, file=sys.stderr)
        return 1
    if found:
        print("\n".join(found), file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
