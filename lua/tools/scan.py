"""Lua 5.1 read far enough to know its names: which are not local, and how many are in each function."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import NamedTuple


def word_set(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


KEYWORDS = word_set(
    """and break do else elseif end false for function if in local nil not or repeat return then true until
    while"""
)
# What a script may use of the server's Lua. Everything else that is not local is an error.
GLOBALS = word_set(
    "KEYS ARGV redis string table math tonumber type ipairs pairs next select unpack setmetatable rawset rawget"
)

_TOKEN = re.compile(
    r"""(?P<skip>\s+|--\[(?P<c>=*)\[.*?\](?P=c)\]|--[^\n]*)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<number>0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\[(?P<s>=*)\[.*?\](?P=s)\])
    |(?P<op>\.\.\.|\.\.|==|~=|<=|>=|[-+*/%^\#<>=(){}\[\];:,.])""",
    re.X | re.S | re.A,
)
_LOCAL = re.compile(r"^local (?=function )", re.M)
_BINARY = word_set("+ - * / % ^ .. == ~= < <= > >= and or")
_BLOCK_END = frozenset(["end", "else", "elseif", "until", ""])


class LuaError(Exception):
    """What is wrong, with its line in `line`."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


class Token(NamedTuple):
    kind: str  # name, keyword, number, string, op, end
    text: str
    line: int
    at: int  # where it begins

    @property
    def literal(self) -> str | None:
        """The content of a quoted string, None for any other token."""
        return self.text[1:-1] if self.kind == "string" and self.text[0] in "'\"" else None


@lru_cache(maxsize=1)
def tokens(text: str) -> list[Token]:
    """The tokens of a text. Most texts are read twice in a row: for their names, and for one more rule."""
    found, at, line = [], 0, 1
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise LuaError(line, f"{text[at]!r} is no Lua 5.1")
        kind, word = match.lastgroup or "", match[0]
        if kind != "skip":
            found.append(Token("keyword" if word in KEYWORDS else kind, word, line, at))
        line += word.count("\n")
        at = match.end()
    return found


@dataclass(eq=False)
class Function:
    line: int
    scopes: list[dict[str, object]] = field(default_factory=list)
    most_locals: int = 0
    upvalues: set[object] = field(default_factory=set)


@dataclass
class Chunk:
    """`free`, `written`: name -> line of its first use; `uses`: all of those that are free; `sure`: those of free that
    are used outside of `if`, `and` and `or`; `top`: how the outermost statements begin; `ctx`: the fields of `ctx` that
    are assigned, with the line of the first time.
    """

    tokens: list[Token]
    free: dict[str, int] = field(default_factory=dict)
    uses: set[Token] = field(default_factory=set)
    sure: set[str] = field(default_factory=set)
    written: dict[str, int] = field(default_factory=dict)
    functions: list[Function] = field(default_factory=list)
    top: list[str] = field(default_factory=list)
    ctx: dict[str, int] = field(default_factory=dict)


def parse(text: str, nouns: Container[str] = ()) -> Chunk:
    """Read one file, in which `<noun>.<name>` is one name for each of these nouns.

    Raises LuaError where it is not Lua 5.1.
    """
    return _Parser(text, nouns).chunk


def substitute(text: str, called: Mapping[str, str], nouns: Iterable[str] = ()) -> str:
    """The text with other expressions for functions that are not local in it, where they are called.

    `<noun>.<name>` becomes `<noun>__<name>` everywhere.
    """
    parts, end = [], 0
    for token, is_called in _uses(text, tuple(nouns)):
        name = in_script(token.text)
        if is_called and name in called:
            name = called[name]
        if name != token.text:
            parts += [text[end : token.at], name]
            end = token.at + len(token.text)
    return "".join([*parts, text[end:]])


def renamed(text: str, names: Mapping[str, str]) -> str:
    """An include with other names for what it takes from outside, and for itself."""
    parts, end = [], 0
    for token, _ in _uses(_LOCAL.sub(lambda word: " " * len(word[0]), text, count=1), ()):
        if token.text in names:
            parts += [text[end : token.at], names[token.text]]
            end = token.at + len(token.text)
    return "".join([*parts, text[end:]])


def in_script(name: str) -> str:
    """What `lock.grant` is called in the generated script: no other name has two underscores."""
    return name.replace(".", "__")


@cache
def _uses(text: str, nouns: tuple[str, ...]) -> list[tuple[Token, bool]]:
    """The names in a text that are not local, in order, and whether each is called. Most texts are in many scripts."""
    chunk = parse(text, nouns)
    starts = [token.at for token in chunk.tokens]
    found = []
    for token in sorted(chunk.uses, key=lambda token: token.at):
        behind = bisect_left(starts, token.at + len(token.text))
        found.append((token, behind < len(starts) and chunk.tokens[behind].text == "("))
    return found


class _Parser:
    def __init__(self, text: str, nouns: Container[str]) -> None:
        every = tokens(text)
        self.chunk = Chunk(every)
        self.tokens = [*every, Token("end", "", every[-1].line if every else 1, -1)]
        self.nouns = nouns
        self.at = 0
        self.open: list[Function] = []
        self.maybe = 0  # in how many parts that may not run, one in the other
        self.called = False  # whether the last suffixed expression ended in a call
        self.begin_function(1, [])
        self.statements(self.chunk.top)
        if self.word:
            raise LuaError(self.token.line, f"unexpected {self.word!r}")

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    @property
    def word(self) -> str:
        return self.tokens[self.at].text

    def take(self, expected: str | None = None) -> Token:
        token = self.token
        if token.kind == "end" or (expected is not None and token.text != expected):
            raise LuaError(token.line, f"expected {expected or 'more'}, got {token.text or 'the end of the file'}")
        self.at += 1
        return token

    def accept(self, text: str) -> bool:
        if self.word != text:
            return False
        self.at += 1
        return True

    def name(self) -> str:
        token = self.take()
        if token.kind != "name":
            raise LuaError(token.line, f"expected a name, got {token.text!r}")
        return token.text

    # Names

    def begin_function(self, line: int, parameters: list[str]) -> None:
        function = Function(line, [{}])
        self.chunk.functions.append(function)
        self.open.append(function)
        self.declare(parameters)

    def declare(self, names: list[str]) -> None:
        function = self.open[-1]
        for name in names:
            if name in self.nouns:
                raise LuaError(self.token.line, f"{name} is a noun that the script uses: give the local another name")
            # A local that hides one of its own scope still takes a slot: it is kept under another key.
            scope = function.scopes[-1]
            if name in scope:
                scope[f"{name} {len(scope)}"] = scope[name]
            scope[name] = object()
        function.most_locals = max(function.most_locals, sum(map(len, function.scopes)))

    def resolve(self, token: Token) -> bool:
        """Find a name; False if it is not local. Functions between use and local hold it as an upvalue."""
        for depth in range(len(self.open) - 1, -1, -1):
            for scope in reversed(self.open[depth].scopes):
                if token.text in scope:
                    for between in self.open[depth + 1 :]:
                        between.upvalues.add(scope[token.text])
                    return True
        self.chunk.free.setdefault(token.text, token.line)
        self.chunk.uses.add(token)
        if not self.maybe:
            self.chunk.sure.add(token.text)
        return False

    def of_noun(self, word: Token) -> Token:
        """`<noun>.<name>`, of which the first part has been read."""
        dot, name = self.token, self.chunk.tokens[self.at + 1] if self.at + 1 < len(self.chunk.tokens) else self.token
        if dot.text != "." or name.kind != "name" or name.at != word.at + len(word.text) + 1:
            raise LuaError(
                word.line, f"{word.text} is a noun that the script uses: write {word.text}.<name>, without spaces"
            )
        self.at += 2
        return Token("name", f"{word.text}.{name.text}", word.line, word.at)

    # Statements

    def block(self, *names: str) -> None:
        self.open[-1].scopes.append({})
        self.declare(list(names))
        self.statements()
        self.open[-1].scopes.pop()

    def statements(self, seen: list[str] | None = None) -> None:
        while self.word not in _BLOCK_END:
            start = self.at
            last = self.statement()
            if seen is not None:
                seen.append(" ".join(t.text for t in self.chunk.tokens[start : start + 3]))
            self.accept(";")
            if last:
                break

    def statement(self) -> bool:
        """Read one; True for `return` and `break`, which end a block."""
        match self.word:
            case "local":
                self.local()
            case "if":
                self.branches()
            case "while":
                self.take()
                self.expression()
                self.take("do")
                self.block()
                self.take("end")
            case "do":
                self.take()
                self.block()
                self.take("end")
            case "for":
                self.loop()
            case "repeat":
                self.take()
                self.open[-1].scopes.append({})
                self.statements()
                self.take("until")
                self.expression()  # sees the locals of the block
                self.open[-1].scopes.pop()
            case "function":
                line = self.take().line
                first = self.take()
                if not self.resolve(first):
                    self.chunk.written.setdefault(first.text, first.line)
                while self.word in (".", ":"):
                    self.take()
                    self.name()
                self.body(line)
            case "return":
                self.take()
                if self.token.text not in _BLOCK_END | {";"}:
                    self.expressions()
                return True
            case "break":
                self.take()
                return True
            case _:
                self.assignment()
        return False

    def local(self) -> None:
        line = self.take("local").line
        if self.accept("function"):
            self.declare([self.name()])
            self.body(line)
            return
        names = self.names()
        if self.accept("="):
            self.expressions()
        self.declare(names)

    def names(self) -> list[str]:
        found = [self.name()]
        while self.accept(","):
            found.append(self.name())
        return found

    def branches(self) -> None:
        self.take("if")
        self.expression()
        self.take("then")
        self.maybe += 1
        self.block()
        while self.accept("elseif"):
            self.expression()
            self.take("then")
            self.block()
        if self.accept("else"):
            self.block()
        self.take("end")
        self.maybe -= 1

    def loop(self) -> None:
        self.take("for")
        names = self.names()
        if self.word not in ("=", "in"):
            raise LuaError(self.token.line, f"expected '=' or 'in', got {self.word!r}")
        self.take()
        self.expressions()
        self.take("do")
        self.block("(a)", "(b)", "(c)", *names)  # the three that Lua keeps for the loop itself
        self.take("end")

    def assignment(self) -> None:
        targets = [self.target()]
        while self.accept(","):
            targets.append(self.target())
        if self.word == "=" or len(targets) > 1:
            self.take("=")
            for name in targets:
                if name is not None and not self.resolve(name):
                    self.chunk.written.setdefault(name.text, name.line)
            self.expressions()
        elif not self.called:
            raise LuaError(self.token.line, "a statement must be a call or an assignment")

    def target(self) -> Token | None:
        start = self.at
        bare = self.suffixed()
        texts = [token.text for token in self.chunk.tokens[start : self.at]]
        if texts[:2] == ["ctx", "."] and len(texts) == 3 and self.word in ("=", ","):
            self.chunk.ctx.setdefault(texts[2], self.chunk.tokens[start].line)
        return bare

    # Expressions: only names matter here, so precedence does not

    def body(self, line: int) -> None:
        self.take("(")
        names: list[str] = []
        while self.word != ")":
            names.append("(...)" if self.accept("...") else self.name())
            if not self.accept(","):
                break
        self.take(")")
        self.begin_function(line, names)
        self.statements()
        self.open.pop()
        self.take("end")

    def expressions(self) -> None:
        self.expression()
        while self.accept(","):
            self.expression()

    def expression(self) -> None:
        while self.word in ("not", "-", "#"):
            self.take()
        token = self.token
        if token.kind in ("number", "string") or token.text in ("nil", "true", "false", "..."):
            self.take()
        elif token.text == "function":
            self.take()
            self.body(token.line)
        elif token.text == "{":
            self.table()
        else:
            self.suffixed()
        if self.word in _BINARY:
            maybe = self.take().text in ("and", "or")
            self.maybe += maybe
            self.expression()
            self.maybe -= maybe

    def table(self) -> None:
        self.take("{")
        while self.word != "}":
            following = self.chunk.tokens[self.at + 1].text if self.at + 1 < len(self.chunk.tokens) else ""
            if self.token.kind == "name" and following == "=":
                self.at += 2
            elif self.accept("["):
                self.expression()
                self.take("]")
                self.take("=")
            self.expression()
            if not (self.accept(",") or self.accept(";")):
                break
        self.take("}")

    def suffixed(self) -> Token | None:
        """A name, call or index; gives the token if it is a name and nothing more."""
        bare: Token | None = None
        called = False
        if self.accept("("):
            self.expression()
            self.take(")")
        else:
            bare = self.token
            self.name()
            if bare.text in self.nouns:
                bare = self.of_noun(bare)
            self.resolve(bare)
        while True:
            token = self.token
            if token.text in (".", ":"):
                self.take()
                self.name()
            elif token.text == "[":
                self.take()
                self.expression()
                self.take("]")
            elif token.text == "(":
                self.take()
                if self.word != ")":
                    self.expressions()
                self.take(")")
            elif token.text == "{":
                self.table()
            elif token.kind == "string":
                self.take()
            else:
                self.called = called
                return bare
            bare = None
            called = token.text not in (".", ":", "[")
