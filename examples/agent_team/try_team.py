"""Give the team a goal, answer its proposals as ann, and show the files. Two workers run the agents."""

import asyncio
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from pyadeq import EmbeddedServer


async def answer_as_ann() -> None:
    """Play the person. People use `adeq inbox`, the board, or your chat bot instead."""
    from agents import FOLDER, adeq, changes, plan, set_up

    async with adeq:
        await set_up()
        tickets = await plan.run("be kind")
        answered: list[str] = []
        while len(answered) < tickets:
            async for entry in changes.iterate_inbox("ann"):
                own = await changes.approve(entry, actor="mia")
                say = changes.reject if "'0 EUR'" in entry.description else changes.approve
                answer = await say(entry, actor="ann", reason="I have read it")
                print(f"{entry.description}: mia is a {own.fields['reason']}, ann: {answer.status}")
                answered.append(entry.id)
            await asyncio.sleep(0.05)
        for id in answered:
            while (change := await changes.get(id)) and change.state in ("approved", "applying"):
                await asyncio.sleep(0.05)
        for path in sorted(FOLDER.iterdir()):
            print(f"{path.name}: {path.read_text()}")


with ExitStack() as stack:
    if "ADEQ_URL" not in os.environ:  # then on a private server, which ends with this program
        os.environ["ADEQ_URL"] = stack.enter_context(EmbeddedServer()).url
    os.environ["AGENTS_FOLDER"] = stack.enter_context(TemporaryDirectory())
    folder = Path(os.environ["AGENTS_FOLDER"])
    (folder / "greeting.txt").write_text("Hello customer!")
    (folder / "prices.txt").write_text("Tea: 10 EUR")
    for _ in range(2):
        command = [sys.executable, "-m", "pyadeq.ext.cli", "worker", "run", "agents:queue", "--concurrency", "4"]
        worker = subprocess.Popen(command, cwd=sys.path[0])
        stack.callback(worker.wait)
        stack.callback(worker.terminate)
    asyncio.run(answer_as_ann())
