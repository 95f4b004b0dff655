"""The Python half: it enqueues texts for a worker in TypeScript, and sums up what that worker found."""

import asyncio
import os
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from pyadeq import EmbeddedServer, Task
from pyadeq.asyncio import Adeq, TaskContext, Tasks, Worker
from pyadeq.ext.bindings import generate

HERE = Path(__file__).parent
WORKER = HERE.parents[1] / "tests/embedding/typescript/worker.js"  # a whole worker, to copy and adapt
TEXTS = ["a queue", "many languages share it", "each transition is one script", "nothing is lost"]
tasks = Tasks()


@tasks.task
async def total(context: TaskContext) -> dict[str, object]:
    """Sum up the results of the tasks before. It runs after the last of them."""
    async with Adeq.from_url(os.environ["ADEQ_URL"]) as adeq:
        found = [task.result for task in await adeq.queue("texts").get_many(context.after) if task]
    return {
        "words": sum(one["words"] for one in found),
        "longest": max((one["longest"] for one in found), key=len),
    }


def install() -> None:
    """Write the client and the worker, and get their libraries at the first run."""
    generate("typescript", HERE / "client", "pyadeq")
    shutil.copy(WORKER, HERE)
    if not (HERE / "node_modules" / ".bin" / "tsx").exists():
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--loglevel=error"], cwd=HERE, check=True)


async def main() -> None:
    """Enqueue, and wait for the end."""
    async with Adeq.from_url(os.environ["ADEQ_URL"]) as adeq:
        queue = adeq.queue("texts")
        worker = Worker(queue, tasks)  # takes the lane any; only the worker in TypeScript takes group/node
        working = asyncio.create_task(worker.run())
        receipts = await queue.enqueue_many([Task(payload={"text": text}, lane="group/node") for text in TEXTS])
        summed = queue.bind(total).options(after=receipts)
        print("all of them:", await summed.run())
        for receipt, text in zip(receipts, TEXTS, strict=True):
            if task := await queue.get(receipt.id):
                print(f"{text!r}: {task.result}, by {(task.worker or '').split('-')[0]}")
        worker.stop()
        await working


if __name__ == "__main__":
    if not shutil.which("node") or not shutil.which("npm"):
        sys.exit("Node is not on the PATH. The half in TypeScript needs Node 20 or newer, with npm.")
    install()
    with ExitStack() as stack:
        if "ADEQ_URL" not in os.environ:  # then on a private server, which ends with this program
            os.environ["ADEQ_URL"] = stack.enter_context(EmbeddedServer()).url
        node = subprocess.Popen(["node", "--import", "tsx", "count.ts"], cwd=HERE)
        stack.callback(node.wait)
        stack.callback(node.terminate)
        asyncio.run(main())
