"""Templates filled in, and written to a folder."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pyadeq.errors import ConfigError
from pyadeq.ext.bindings.model import camel, model, pascal

TEMPLATES = Path(__file__).parent / "templates"
PACKAGE = re.compile(r"[A-Za-z0-9@][A-Za-z0-9._~@/-]{0,199}")
# https://doc.rust-lang.org/reference/keywords.html, without those that no raw name may be
RUST_KEYWORDS = re.compile(
    r"abstract|as|async|await|become|box|break|const|continue|do|dyn|else|enum|extern|false|final|fn|for"
    r"|gen|if|impl|in|let|loop|macro|match|mod|move|mut|override|priv|pub|ref|return|static|struct|trait"
    r"|true|try|type|typeof|unsafe|unsized|use|virtual|where|while|yield"
)
RUST_PRELUDE = (
    "Box",
    "Clone",
    "Copy",
    "Default",
    "Drop",
    "Error",
    "Iterator",
    "Option",
    "Result",
    "Send",
    "String",
    "Sync",
    "Vec",
)


@dataclass(frozen=True)
class Written:
    """One file of a client: its path below the folder, and whether it was there already, just so."""

    path: str
    same: bool


def languages() -> list[str]:
    """Return the names of the languages that have templates, sorted."""
    return sorted(one.name for one in TEMPLATES.iterdir() if one.is_dir())


def generate(language: str, directory: Path, package: str = "pyadeq") -> list[Written]:
    """Write a client into a folder, which is made if it is not there. The same release writes the same bytes.

    A template `name.j2` becomes `name`; one with `noun` in its name, a file of each noun. The scripts go to `lua/`.
    package: what programs import it by. Raises ConfigError for a language that there are no templates for.
    """
    if language not in languages():
        raise ConfigError(f"language: {language!r} has no templates; allowed: {', '.join(languages())}")
    if not PACKAGE.fullmatch(package):
        raise ConfigError(f"package: {package!r} is not accepted; allowed: 1 to 200 of A-Z a-z 0-9 . _ ~ @ / -")
    texts = dict(_rendered(language, package))  # all of them, before the first is written
    return [_write(directory, path, text) for path, text in sorted(texts.items())]


def _rendered(language: str, package: str) -> Iterator[tuple[str, str]]:
    """Path and text of each file."""
    variables = {**model(), "package": package}
    environment = _environment(TEMPLATES / language)
    for name in environment.list_templates(extensions=["j2"]):
        path = name.removesuffix(".j2")
        if Path(path).name.startswith("_"):  # macros of others
            continue
        template = environment.get_template(name)
        if "noun" not in path:
            yield path, template.render(variables)
            continue
        for noun in variables["nouns"]:
            yield path.replace("noun", noun["name"]), template.render(variables, noun=noun)
    for noun in variables["nouns"]:
        yield from ((script["path"], script["text"]) for script in noun["scripts"])


@cache
def _environment(folder: Path) -> Any:
    try:
        import jinja2
    except ModuleNotFoundError as error:
        raise ConfigError("templates need the extra `bindings`: pip install 'pyadeq[bindings]'") from error
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # it is source text
    )
    environment.filters |= {"camel": camel, "pascal": pascal, "wrapped": wrapped, "capital": capital, "chomp": chomp}
    environment.filters |= {"raw": raw, "rust_type": rust_type}
    return environment


def raw(name: str) -> str:
    """A name in Rust: `r#move` for a keyword."""
    return f"r#{name}" if RUST_KEYWORDS.fullmatch(name) else name


def rust_type(name: str) -> str:
    """The type of the words of an argument in Rust: not one that every program knows by this name."""
    type = pascal(name)
    return f"{type}Word" if type in RUST_PRELUDE else type


def wrapped(text: str, prefix: str, width: int = 80) -> str:
    """A comment: lines of at most that width, each after the prefix."""
    lines = textwrap.wrap(text, width - len(prefix), break_long_words=False, break_on_hyphens=False)
    return "\n".join(prefix + line for line in lines)


def capital(text: str) -> str:
    """The first letter large, all others as they are."""
    return text[:1].upper() + text[1:]


def chomp(text: str) -> str:
    """Return a text without its last line end: the output of a macro, on a line of a template."""
    return text.removesuffix("\n")


def _write(directory: Path, path: str, text: str) -> Written:
    target = directory / path
    same = target.is_file() and target.read_bytes() == text.encode()
    if not same:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode())
    return Written(path, same)
