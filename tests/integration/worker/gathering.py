"""A function that runs in child processes of a test and looks at the children of its task."""

from pyadeq import TaskContext, Tasks

tasks = Tasks()


@tasks.task
async def part(n: int) -> int:
    return n * n


@tasks.task(executor="process")
def total(context: TaskContext) -> int:
    return sum(child.result for child in context.gathered())


@tasks.task(executor="process")
def total_of_a_part(context: TaskContext) -> int:
    """Breaks off in the midst of it, and begins anew."""
    next(iter(context.gathered()))
    return total.function(context)  # type: ignore[no-any-return]
