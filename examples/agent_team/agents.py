"""Agents that edit files. They plan, they lock, people approve: `adeq worker run agents:queue --concurrency 4`."""

import os
from pathlib import Path
from typing import Any

from pyadeq.asyncio import Adeq, CannotApply, TaskContext

adeq = Adeq.from_url(os.environ.get("ADEQ_URL", "redis://localhost:6379"))
queue, changes, locks = adeq.queue("team"), adeq.changes("team"), adeq.locks("team")
FOLDER = Path(os.environ.get("AGENTS_FOLDER", "."))
ANSWERS: dict[str, Any] = {
    "plan: be kind": [["greeting.txt", "be polite"], ["greeting.txt", "end well"], ["prices.txt", "make it free"]],
    "edit greeting.txt: be polite": ["Hello", "Good morning"],
    "edit greeting.txt: end well": ["customer!", "dear customer."],
    "edit prices.txt: make it free": ["10 EUR", "0 EUR"],
}


async def think(prompt: str) -> Any:
    """Ask the model. Put your call here; these answers are canned, so that the example runs offline."""
    return ANSWERS[prompt]


async def set_up() -> None:
    """Store who has to approve, and which task follows. An operator does this once."""
    await changes.configure(follow_queue="team", lock_domain="team")
    await changes.policies.set("edits", required=1, reviewers=["user:ann"], follow={"approved": "apply_edit"})


@queue.task(timeout=120)
async def plan(context: TaskContext, goal: str) -> int:
    """Split a goal into tickets. If this runs twice, the ids are the same, and no ticket is there twice."""
    tickets = await think(f"plan: {goal}")
    items = [propose.options(id=f"{context.id}-{n}").item(*ticket) for n, ticket in enumerate(tickets)]
    return len(await queue.enqueue_many(items))


@queue.task(timeout=120)
async def propose(context: TaskContext, file: str, ticket: str) -> None:
    """Work on a ticket, and propose the edit. Only one agent at a time reads or writes the file."""
    async with locks.acquire(f"file:{file}", owner=context.run_id, agent="coder", purpose=ticket) as grant:
        text = (FOLDER / file).read_text()
        old, new = await think(f"edit {file}: {ticket}")
        if old not in text:
            raise ValueError(f"{old!r} is not in {file}")
        grant.check()  # LockLost if another agent may have the file now
        draft = await changes.put(
            context.id,
            type="edit",
            description=f"{file}: {old!r} becomes {new!r}",
            parameters={"file": file, "old": old, "new": new},
            resources=[f"file:{file}"],
            actor="coder",
            principal="mia",  # the person who answers for the agent
        )
    await changes.submit(draft, policy="edits", actor="coder", principal="mia")


@queue.task(timeout=120, max_attempts=10)
async def apply_edit(context: TaskContext, id: str) -> None:
    """Apply an approved edit, under the lock of its file. The content is what the person has approved."""
    try:
        async with changes.apply(id, agent=context.id, locks=locks) as run:
            edit = run.content.parameters
            path = FOLDER / edit["file"]
            path.write_text(path.read_text().replace(edit["old"], edit["new"]))
    except CannotApply as error:
        if error.status != "state":  # "state": it is applied already, or no longer approved
            raise
