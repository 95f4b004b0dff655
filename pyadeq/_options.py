"""Generate pyadeq/models/task_options.py from `Task`: the keywords of methods, as type checkers and editors read them.

python pyadeq/_options.py            write it
python pyadeq/_options.py --check    exit code 1 if it is not current
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "pyadeq/models/queue.py"
TARGET = ROOT / "pyadeq/models/task_options.py"
MODEL = "Task"
WIDTH = 120
HEAD = '''\
# Generated from pyadeq/models/queue.py by pyadeq/_options.py; do not edit.
"""The options of a task as keywords. `Task` says what they mean."""

from __future__ import annotations

'''
CLASSES = {
    "CallOptions": "The options of a task, without its kind.",
    "EnqueueOptions": "All options of a task.",
    "ScheduleOptions": "The options of the tasks of a schedule.",
}


class Option(NamedTuple):
    """A field of the model. kind: its type. once: as `Option.once`."""

    name: str
    kind: str
    once: bool


def generate() -> str:
    """The text of the file."""
    text = SOURCE.read_text(encoding="utf-8")
    tree = ast.parse(text)
    options = list(_options(tree, text))
    chosen = {
        "CallOptions": [one for one in options if one.name != "kind"],
        "EnqueueOptions": options,
        "ScheduleOptions": [one for one in options if not one.once],
    }
    parts = [HEAD + _imports(tree, options)]
    for name, doc in CLASSES.items():
        lines = [f"    {one.name}: {one.kind}" for one in chosen[name]]
        parts.append("\n".join([f"class {name}(TypedDict, total=False):", f'    """{doc}"""', "", *lines, ""]))
    return "\n\n".join(parts)


def _options(tree: ast.Module, text: str) -> Iterator[Option]:
    """The fields with `Annotated[<type>, Option(…)]`."""
    (model,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == MODEL)
    for field in model.body:
        if not (isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)):
            continue
        match field.annotation:
            case ast.Subscript(value=ast.Name("Annotated"), slice=ast.Tuple([kind, ast.Call(keywords=keywords)])):
                once = any(one.arg == "once" for one in keywords)
                yield Option(field.target.id, ast.get_source_segment(text, kind) or "", once)


def _imports(tree: ast.Module, options: list[Option]) -> str:
    """What the types need: as the module of the model imports it, or from there."""
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    known = {name.name: node.module or "" for node in imports for name in node.names}
    own = SOURCE.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")
    by_module = defaultdict[str, set[str]](set)
    by_module["typing"].add("TypedDict")
    for one in options:
        for node in ast.walk(ast.parse(one.kind)):
            if isinstance(node, ast.Name) and not hasattr(builtins, node.id):
                by_module[known.get(node.id, own)].add(node.id)
    modules = sorted(by_module, key=lambda module: (module.startswith("pyadeq"), module))
    lines = [f"from {module} import {', '.join(sorted(by_module[module]))}\n" for module in modules]
    first = next((at for at, module in enumerate(modules) if module.startswith("pyadeq")), len(lines))
    return "".join([*lines[:first], "\n", *lines[first:]])


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print("usage: python pyadeq/_options.py [--check]", file=sys.stderr)
        return 2
    text = generate()
    current = TARGET.exists() and TARGET.read_text(encoding="utf-8") == text
    if arguments:
        if not current:
            print(f"{TARGET.relative_to(ROOT)} is not current: run `make gen`.", file=sys.stderr)
        return 0 if current else 1
    if not current:
        TARGET.write_text(text, encoding="utf-8")
        print(f"changed: {TARGET.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
