"""Which lines of a Lua source must state a bound, and whether they do: for lint.py.

An `unpack` of more than 7,999 values is an error, and it comes after the first writes. A read of all members, or a loop
that goes on while something holds, may stop the server for seconds. So each of them says how many there can be, in a
comment on its line or on the line above: `-- at most <number>: <why>`. A comment above holds for all lines that follow
it and need one. A list of any length is written in parts, which needs no comment:

    for first = 1, #ids, 7000 do redis.call('ZREM', key, unpack(ids, first, math.min(first + 6999, #ids))) end

A pattern that ends in `$` begins with `^`. Else Lua tries it anew from each byte, and a run like `%S+` takes
the square of its length: seconds for a few long ids.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from scan import Token, word_set

MOST_VALUES = 7_999  # that unpack gives
STATED = re.compile(r"-- at most (\d{1,3}(?:,\d{3})*): \S")
# They give all that a key holds.
WHOLE = word_set("HGETALL HKEYS HVALS SDIFF SINTER SMEMBERS SUNION ZDIFF ZINTER ZUNION")
# They give all that a key holds unless this word stands among their arguments.
LIMITED_BY = {
    **dict.fromkeys(["HSCAN", "SSCAN", "XRANGE", "XREVRANGE", "ZSCAN"], "COUNT"),
    **dict.fromkeys(["ZRANGEBYLEX", "ZRANGEBYSCORE", "ZREVRANGEBYLEX", "ZREVRANGEBYSCORE"], "LIMIT"),
}
BY_RANK = word_set("LRANGE ZRANGE ZREVRANGE")  # they give all up to the end where a rank is negative


def check_bounds(path: str, text: str, every: list[Token]) -> list[str]:
    """Every finding as `<file>:<line>: <what>`."""
    lines = text.splitlines()
    needed: dict[int, list[str]] = {}
    for i, token in enumerate(every):
        for what in _unbounded(every, i):
            needed.setdefault(token.line, []).append(what)
    found = [
        f"{path}:{token.line}: a pattern that ends in $ must begin with ^, or it takes the square of the text's length"
        for token in every
        if token.literal and re.search(r"(?<!%)(?:%%)*\$$", token.literal) and not token.literal.startswith("^")
    ]
    for line in sorted(needed):
        most = _stated(lines, needed, line)
        for what in needed[line]:
            if most is None:
                found.append(
                    f"{path}:{line}: {what} needs a bound: write '-- at most <number>: <why>' on its line or above"
                )
            elif what == "unpack" and most > MOST_VALUES:
                found.append(
                    f"{path}:{line}: unpack takes at most {MOST_VALUES:,} values, not {most:,}: write them in parts"
                )
    return found


def _stated(lines: list[str], needed: dict[int, list[str]], line: int) -> int | None:
    """The bound of a line: in its own comment, or in one above it with only lines that need one between."""
    own = STATED.search(lines[line - 1])
    while own is None and line > 1:
        line -= 1
        above = lines[line - 1].strip()
        if line not in needed and not above.startswith("--"):
            return None
        own = STATED.search(above)
        if line not in needed:
            break
    return int(own[1].replace(",", "")) if own else None


def _unbounded(every: list[Token], i: int) -> Iterator[str]:
    """What begins at a token and needs a bound."""
    token, following = every[i], every[i + 1].text if i + 1 < len(every) else ""
    called = following == "("
    # `while true` and `until false` are refused by lint.py, whatever is said of them
    if (token.text, following) not in (("while", "true"), ("until", "false")) and token.text in ("while", "until"):
        yield f"'{token.text}'"
    elif token.kind == "name" and token.text == "unpack" and called:
        if not _is_in_parts(every, i):
            yield "unpack"
    elif token.kind == "name" and token.text in ("call", "pcall") and called and every[i - 1].text == ".":
        arguments = list(_arguments(every, i + 1))
        command = arguments[0][0].literal if arguments else None
        if command and _gives_all(command, arguments[1:]):
            yield command


def _gives_all(command: str, arguments: list[list[Token]]) -> bool:
    words = {argument[0].literal for argument in arguments if len(argument) == 1}
    if command in BY_RANK and not words & {"BYSCORE", "BYLEX"}:
        return any(argument[0].text == "-" for argument in arguments[1:3])
    if command == "ZRANGE":
        return "LIMIT" not in words
    return command in WHOLE or (command in LIMITED_BY and LIMITED_BY[command] not in words)


def _is_in_parts(every: list[Token], i: int) -> bool:
    """Whether this unpack takes one part of a list, in a loop that takes all of them."""
    arguments = [[token.text for token in argument] for argument in _arguments(every, i + 1)]
    if len(arguments) != 3 or arguments[1] != ["first"]:
        return False
    for size in (int(token.text) for token in every[:i] if token.kind == "number" and token.text.isdigit()):
        loop = ["for", "first", "=", "1", ",", "#", *arguments[0], ",", str(size), "do"]
        last = ["math", ".", "min", "(", "first", "+", str(size - 1), ",", "#", *arguments[0], ")"]
        if size <= MOST_VALUES - 2 and arguments[2] == last and _has(every[:i], loop):
            return True
    return False


def _has(every: list[Token], texts: list[str]) -> bool:
    there = [token.text for token in every]
    return any(there[at : at + len(texts)] == texts for at in range(len(there) - len(texts) + 1))


def _arguments(every: list[Token], opening: int) -> Iterator[list[Token]]:
    """The arguments of a call, each as its tokens; `opening` is where its parenthesis is."""
    depth, argument = 0, list[Token]()
    for token in every[opening:]:
        if token.text in ("(", "{", "[") and token.literal is None:
            depth += 1
            if depth == 1:
                continue
        elif token.text in (")", "}", "]") and token.literal is None:
            depth -= 1
        if depth == 0 or (depth == 1 and token.text == "," and token.literal is None):
            if argument:
                yield argument
            argument = []
            if depth == 0:
                return
        else:
            argument.append(token)
