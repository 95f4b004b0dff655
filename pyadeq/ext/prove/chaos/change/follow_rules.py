"""The rule about the tasks that follow steps of changes."""

from __future__ import annotations

from pyadeq.ext.prove.chaos.case import Case, Finding
from pyadeq.ext.prove.chaos.change.rules import Told


def followed_by_tasks(case: Case, found: Finding) -> None:
    """A step and the task that follows it are one: each such step has its task, and each such task has its step.

    The id of the task is `<domain>/<change>/<number of the step>`, and mostly has more behind it, which nobody can
    guess. A task may also wait in the outbox. Its delivery may be lost like any other call: it is enqueued, and then
    leaves the outbox.
    """
    told = case.view(Told)
    final = told.records.final
    domain = final.get("domain")
    if told.cut or case.tale.cut or not domain or not final.get("follow_queue"):
        return
    delivered = {(one["id"], one["seq"]): op for op in told.calls.outbox for one in op.asked["item"]}
    read = {item["task_id"]: op for op in told.calls.outbox for item in op.answer.get("items", ()) if "task_id" in item}
    steps = {id: "/".join(id.split("/")[:3]) for id in case.tale.lives if id.startswith(f"{domain}/")}
    followed = set(steps.values())
    wanted: set[str] = set()
    for life in told.lives:
        for seq, step, policy, entry in life.steps:
            fields = told.policies.get(policy, {})
            if f";{step}|" not in f";{fields.get('follows') or ''}":
                continue
            found.checks += 1
            task = f"{domain}/{life.id}/{seq}"
            wanted.add(task)
            if task not in followed and not final.get("outbox"):
                text = f"{entry.event} at {entry.position} has no task {task}, and the outbox is empty"
                if op := delivered.get((life.id, seq)):
                    found.lose(op, life.id, text)
                else:
                    found.convict(life.id, text)
    for id, step in steps.items():
        # A client that delivers a task has read of its step before. The server may lose the step in between.
        if step not in wanted and (id not in read or not case.calls.is_unsure(read[id])):
            found.convict(id, "this task follows a step that no event tells of")
