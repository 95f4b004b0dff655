"""The demo's work: count the functions, classes and lines of a Python file. Runs in worker processes."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import os
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pyadeq import Lease
from pyadeq.ext.prove.demo.child import end_with_demo

Counts = dict[str, int | str]

STARTS = "ADEQ_DEMO_STARTS"  # environment: a file to which each start of the handler adds a line with the task's id

UNPARSABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
# Parsing holds the interpreter's lock, so a second thread would only keep the renewal of leases waiting.
_parser = ThreadPoolExecutor(1, thread_name_prefix="parser")


async def parse(lease: Lease) -> Counts:
    """Count a file beside the event loop, which goes on renewing leases. A missing file fails the attempt."""
    if file := os.environ.get(STARTS):
        with Path(file).open("a") as out:  # noqa: ASYNC230 - one short write, which no kill cuts in two
            out.write(f"{lease.id}\n")
    path = Path(lease.payload["path"])
    return await asyncio.get_running_loop().run_in_executor(_parser, count, path)


def count(path: Path) -> Counts:
    """How many functions, classes and lines a file has; `error` says why it cannot be parsed. Raises OSError."""
    source = path.read_bytes()
    counts: Counts = {"functions": 0, "classes": 0, "lines": len(source.splitlines())}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            nodes = list(ast.walk(_parse(source)))
    except UNPARSABLE as error:
        return {**counts, "error": type(error).__name__}
    counts["functions"] = sum(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) for node in nodes)
    counts["classes"] = sum(isinstance(node, ast.ClassDef) for node in nodes)
    return counts


def _parse(source: bytes) -> ast.AST:
    """Parse, again if another thread was at it too: formatting a traceback parses lines, and both count one depth."""
    for _ in range(10):
        with contextlib.suppress(SystemError):
            return ast.parse(source)
    return ast.parse(source)


end_with_demo()
