"""Generate what type checkers read in `pyadeq` and `pyadeq.asyncio` from the table of `_names`: imports and `__all__`.

The part of that table that names the models is generated before, from the files in `pyadeq/models`.

python -m pyadeq._exports            write them
python -m pyadeq._exports --check    exit code 1 if they are not current
"""

from __future__ import annotations

import ast
import re
import sys
import textwrap
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from pyadeq import _names

ROOT = Path(__file__).parent
WIDTH = 120
# From the first import for type checkers to the end of `__all__`.
PART = re.compile(r"^if TYPE_CHECKING:\n.*?^\]\n", re.MULTILINE | re.DOTALL)
TWINS = {
    ROOT / "__init__.py": ({"__version__"}, ("_sync", {})),
    ROOT / "asyncio.py": (set[str](), ("_async", _names.WORKER)),
}
NAMES, FOLDER = ROOT / "_names.py", ROOT / "models"
FOR_OTHERS = ("base", "option", "setting")
MODELS = re.compile(r"^MODELS: dict\[str, str\] = \{.*?\}\n", re.MULTILINE | re.DOTALL)


def models() -> dict[str, str]:
    """Return the models of each file, in order. What some files define is for the others."""
    found: dict[str, str] = {}
    for path in sorted(FOLDER.glob("*.py")):
        classes = [node for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.ClassDef)]
        names = [node.name for node in classes if node.name[0] != "_" and not _is_typed_dict(node)]
        if names and path.stem not in FOR_OTHERS:
            found[path.stem] = " ".join(names)
    return found


def _is_typed_dict(node: ast.ClassDef) -> bool:
    return any(isinstance(base, ast.Name) and base.id == "TypedDict" for base in node.bases)


def generate_names(text: str, found: Mapping[str, str]) -> str:
    """The text of `_names` with the models."""
    lines = (textwrap.wrap(names, WIDTH - 12) for names in found.values())
    entries = "".join(
        f'    "{part}": "{rows[0]}",\n'
        if len(rows) == 1
        else f'    "{part}": (\n'
        + "".join(f'        "{row} "\n' for row in rows[:-1])
        + f'        "{rows[-1]}"\n    ),\n'
        for part, rows in zip(found, lines, strict=True)
    )
    return MODELS.sub(lambda _: f"MODELS: dict[str, str] = {{\n{entries}}}\n", text)


def generate(path: Path) -> str:
    """The text of a module with the names that it has by the table."""
    more, (twin, own) = TWINS[path]
    homes = _names.homes(twin, own)
    by_module = defaultdict[str, list[str]](list)
    for name, module in homes.items():
        by_module[module].append(name)
    imports = "".join(_import(module, sorted(names, key=_in_imports)) for module, names in sorted(by_module.items()))
    names = "".join(f'    "{name}",\n' for name in sorted({*homes, *more}, key=_in_all))
    text, found = PART.subn(lambda _: f"if TYPE_CHECKING:\n{imports}\n__all__ = [\n{names}]\n", path.read_text("utf-8"))
    assert found == 1, f"{path}: the imports for type checkers and __all__ are not where they were"
    return text


def _import(module: str, names: list[str]) -> str:
    line = f"    from {module} import {', '.join(names)}\n"
    if len(line) <= WIDTH + 1:
        return line
    return f"    from {module} import (\n" + "".join(f"        {name},\n" for name in names) + "    )\n"


def _in_all(name: str) -> tuple[bool, str]:
    """Return the sort key of a name in `__all__`, in the order of ruff: capital first letters first."""
    return not name[0].isupper(), name


def _in_imports(name: str) -> tuple[bool, str]:
    """Return the sort key of a name in an import, in the order of ruff: capital first letters first, case ignored."""
    return not name[0].isupper(), name.lower()


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print("usage: python -m pyadeq._exports [--check]", file=sys.stderr)
        return 2
    _names.MODELS = models()
    texts = {NAMES: generate_names(NAMES.read_text("utf-8"), _names.MODELS), **{path: generate(path) for path in TWINS}}
    old = [path for path, text in texts.items() if path.read_text("utf-8") != text]
    for path in old:
        if arguments:
            print(f"{path.relative_to(ROOT.parent)} is not current: run `make gen`.", file=sys.stderr)
        else:
            path.write_text(texts[path], "utf-8")
    return 1 if arguments and old else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
