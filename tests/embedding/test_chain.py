"""One trace through three languages: Python enqueues for TypeScript, that for Go, and that for Python.

ADEQ_UPDATE_CHAIN=1 keeps the spans in docs/_gen/chain.json, of which docs/_gen/chain.py makes the picture of the guide.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import baggage, context
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from pyadeq.asyncio import Adeq, Lease, Worker
from pyadeq.ext.connect.otel import Traces
from tests.embedding.projects import HERE, ROOT, run, toolchain, write_client
from tests.waiting import DEADLINE

pytestmark = [pytest.mark.any_engine, pytest.mark.rotates(3, 4)]

CHAIN = (
    ("order", "Python"),
    ("enqueue typescript", "Python"),
    ("process typescript", "TypeScript"),
    ("enqueue go", "TypeScript"),
    ("process go", "Go"),
    ("enqueue python", "Go"),
    ("process python", "Python"),
)
KEPT = ROOT / "docs" / "_gen" / "chain.json"


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The commands of the two programs, which have the SDKs of their languages."""
    toolchain("node", "npm", "go")
    folder = tmp_path_factory.mktemp("chain")
    node, go = folder / "node", folder / "go"
    write_client("typescript", node / "pyadeq")
    shutil.copy(HERE / "chain" / "chain.mjs", node)
    sdk = ("api@1", "core@2", "sdk-trace-base@2")
    packages = ["./pyadeq", "ioredis@6", *(f"@opentelemetry/{name}" for name in sdk)]
    (node / "package.json").write_text('{"private": true}')
    run(node, "npm", "install", "--no-audit", "--no-fund", *packages)
    write_client("go", go / "pyadeq")
    shutil.copy(HERE / "chain" / "main.go", go)
    run(go, "go", "mod", "init", "example.com/chain")
    run(go, "go", "mod", "edit", "-replace", "pyadeq=./pyadeq")
    run(go, "go", "get", "go.opentelemetry.io/otel/sdk@v1.38.0")
    run(go, "go", "mod", "tidy")
    run(go, "go", "build", "-o", "chain", ".")
    return {"node": ["node", str(node / "chain.mjs")], "go": [str(go / "chain")]}


async def test_one_trace_goes_through_three_languages(private_url: str, programs: dict[str, list[str]]) -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    seen: list[object] = []

    async def handle(lease: Lease) -> None:
        seen.append(baggage.get_all())

    traces = Traces(parent="always", baggage=["tenant"], tracer_provider=provider)
    async with Adeq.from_url(private_url, trace=traces) as adeq:
        await adeq.client.flushall()
        await adeq.load_scripts()
        await adeq.queue("typescript").settings()  # on a connection that is open
        others = [await begin(command, private_url) for command in programs.values()]
        worker = Worker(adeq.queue("python"), handle)
        working = asyncio.create_task(worker.run())
        token = context.attach(baggage.set_baggage("tenant", "acme"))
        with provider.get_tracer("chain").start_as_current_span("order"):
            await adeq.queue("typescript").enqueue({}, id="for-typescript")
        context.detach(token)
        spans = [span for other in others for span in await ended(other)]
        await adeq.queue("python").inspect.ended("for-python", DEADLINE)
        worker.stop()
        await working
    provider.shutdown()
    spans += map(facts, exporter.get_finished_spans())
    check_chain(spans)
    assert seen == [{"tenant": "acme"}]
    if os.environ.get("ADEQ_UPDATE_CHAIN") == "1":
        keep(spans)


def check_chain(spans: list[dict[str, Any]]) -> None:
    """All are in one trace, and each is the parent of the next."""
    by_name = {span["name"]: span for span in spans}
    assert len({span["trace"] for span in spans}) == 1
    assert [(name, by_name[name]["language"]) for name, _ in CHAIN] == list(CHAIN)
    parents = [by_name[name].get("parent") for name, _ in CHAIN]
    assert parents == [None, *(by_name[name]["span"] for name, _ in CHAIN[:-1])]
    assert len(spans) == len(CHAIN)


async def begin(command: list[str], url: str) -> asyncio.subprocess.Process:
    program = await asyncio.create_subprocess_exec(
        *command, env={**os.environ, "ADEQ_URL": url}, stdout=subprocess.PIPE
    )
    assert program.stdout
    assert await asyncio.wait_for(program.stdout.readline(), DEADLINE) == b"ready\n"
    return program


async def ended(program: asyncio.subprocess.Process) -> list[dict[str, Any]]:
    """The spans that it prints."""
    text, _ = await asyncio.wait_for(program.communicate(), DEADLINE)
    assert program.returncode == 0
    return [json.loads(line) for line in text.splitlines()]


def facts(span: ReadableSpan) -> dict[str, Any]:
    return {
        "name": span.name,
        "language": "Python",
        "trace": f"{span.context.trace_id:032x}",
        "span": f"{span.context.span_id:016x}",
        "parent": f"{span.parent.span_id:016x}" if span.parent else None,
        "start": (span.start_time or 0) / 1e9,
        "end": (span.end_time or 0) / 1e9,
    }


def keep(spans: list[dict[str, Any]], file: Path = KEPT) -> None:
    """Keep names, languages, and milliseconds since the first began."""
    zero = min(span["start"] for span in spans)
    rows = [
        {
            "name": span["name"],
            "language": span["language"],
            "start_ms": round((span["start"] - zero) * 1000, 2),
            "end_ms": round((span["end"] - zero) * 1000, 2),
        }
        for span in sorted(spans, key=lambda span: [name for name, _ in CHAIN].index(span["name"]))
    ]
    file.write_text(json.dumps(rows, indent=1) + "\n")
