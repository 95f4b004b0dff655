"""Generate each `_sync` from its `_async`, and tests/integration/sync from tests/integration/aio.

    python pyadeq/_unasync.py            write them
    python pyadeq/_unasync.py --check    tell what is missing, extra or different; exit code 1 if anything is

The rules replace whole words everywhere, comments, docstrings and messages included: each twin shows how to write its
own calls. A message that is about asyncio itself must be the same in both; it belongs in `_twins.py`, which has no
generated twin. A message that the rules would mangle is an error, and so is a rule that no file uses.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TREES = (
    ("pyadeq/_async", "pyadeq/_sync", "*.py"),
    ("pyadeq/ext/outgoing/webhooks/_async", "pyadeq/ext/outgoing/webhooks/_sync", "*.py"),
    ("tests/integration/aio", "tests/integration/sync", "*.py"),
)
# These have no twin.
ASYNC_ONLY = frozenset(
    {
        "test_cancellation.py",
        "test_changes_cancellation.py",
        "test_locks_cancellation.py",
        "test_mailbox_cancellation.py",
    }
)

# What a message may contain, which shows how to write a call.
CALLS = (
    (r"\basync (def|with|for)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\baclose\b", "close"),
)
NAMES = (
    (r"__a(enter|exit)__", r"__\1__"),
    (r"\bAsync(Iterator)\b", r"\1"),
    (r"\basync(contextmanager)\b", r"\1"),
    (r"\baio_(\w+)", r"\1"),
    (r"\bAwaitable, ", ""),
    (r"\bAwaitable\[((?:[^\[\]]|\[[^\[\]]*\])*)\]", r"\1"),
    (r"\b_async\b", "_sync"),
    (r"\bredis\.asyncio\b", "redis"),
    (r"\bpyadeq\.asyncio\b", "pyadeq"),
)
RULES = (*CALLS, *NAMES)


def generate() -> dict[Path, str]:
    """Return the text of every generated file, by its path."""
    rules = [(re.compile(pattern), new) for pattern, new in RULES]
    unused = {pattern for pattern, _ in RULES} | ASYNC_ONLY
    files: dict[Path, str] = {}
    wrong: list[str] = []
    for source, target, names in TREES:
        for path in sorted((ROOT / source).rglob(names)):
            if path.name in ASYNC_ONLY:
                unused.discard(path.name)
                continue
            text = path.read_text(encoding="utf-8")
            inside = path.relative_to(ROOT / source).as_posix()
            wrong += [f"{source}/{inside}:{line}" for line in mangled(text)]
            for rule, new in rules:
                text, count = rule.subn(new, text)
                if count:
                    unused.discard(rule.pattern)
            header = f"# Generated from {source}/{inside} by pyadeq/_unasync.py; do not edit.\n"
            files[ROOT / target / inside] = header + text
    if wrong:
        raise SystemExit(f"_unasync.py: would mangle what these texts say of asyncio; move them to _twins.py: {wrong}")
    if unused:
        raise SystemExit(f"_unasync.py: nothing needs {', '.join(sorted(unused))}; remove it")
    return files


def mangled(text: str) -> list[int]:
    """The lines of messages that the rules change although they name a module, or say something of asyncio."""
    tree = ast.parse(text)
    docstrings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docstrings
        if any(re.search(pattern, node.value) for pattern, _ in (RULES if "asyncio" in node.value else NAMES))
    ]


def differences(files: dict[Path, str]) -> list[str]:
    """What the disk has otherwise, one line per file."""
    found = []
    for path in sorted(files.keys() | {path for _, target, names in TREES for path in (ROOT / target).rglob(names)}):
        if path not in files:
            found.append(f"extra: {path.relative_to(ROOT)}")
        elif not path.exists():
            found.append(f"missing: {path.relative_to(ROOT)}")
        elif path.read_text(encoding="utf-8") != files[path]:
            found.append(f"different: {path.relative_to(ROOT)}")
    return found


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print("usage: python pyadeq/_unasync.py [--check]", file=sys.stderr)
        return 2
    files = generate()
    changes = differences(files)
    if arguments:
        for change in changes:
            print(change)
        if changes:
            print(
                "The sync twins are not current: run `make gen`. It deletes what is extra: what you have written there "
                "belongs in the folder that it is made from, _async or tests/integration/aio.",
                file=sys.stderr,
            )
        return 1 if changes else 0
    for change in changes:
        path = ROOT / change.partition(": ")[2]
        if path in files:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(files[path], encoding="utf-8")
        else:
            path.unlink()
        print(change)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
