"""`adeq task tree`: a task with its children, and theirs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer
from rich.text import Text

from pyadeq import Adeq, Page, Queue, TaskView
from pyadeq.ext.cli.shared.arguments import TaskId
from pyadeq.ext.cli.shared.common import Format, Output
from pyadeq.ext.cli.shared.queue_arguments import QueueName
from pyadeq.ext.cli.shared.resolve import holder
from pyadeq.ext.cli.shared.running import Answer, Document, Lines, with_client
from pyadeq.ext.cli.task.listing import not_found, summary
from pyadeq.ext.cli.task.watch import STYLES
from pyadeq.ext.shared.terminal import stdout

TOGETHER = 100  # tasks whose children are asked for in one round trip
LONGEST_PAGE = 1000


@dataclass
class Node:
    """A task and those whose parent it is. task: None where it is gone. more: it has children that are not here."""

    id: str
    task: TaskView | None
    children: list[Node] = field(default_factory=list)
    more: bool = False


@dataclass(frozen=True)
class Branch:
    """A line of the tree. node: None: the children that are not shown. before: what is drawn before it."""

    node: Node | None
    depth: int
    before: str


@with_client
def tree(
    adeq: Adeq,
    queue: QueueName,
    id: TaskId,
    limit: Annotated[int, typer.Option(min=1, max=10**9, help="Show at most this many tasks.")] = 100,
    output: Output = Format.table,
) -> Answer:
    """Show a task with its children, and theirs: state, kind, and why each ended.

    If there are more tasks than the limit, those nearest to the task come first. A dotted line marks those left
    out.
    """
    known = holder(adeq, queue, id)
    root = Node(id, known.get(id))
    more = grow(adeq, known, root, limit)
    if root.task is None and not root.children:
        raise not_found(queue, id)
    lines = list(drawn(root))
    if output == Format.jsonl:
        return Lines(_rows(lines), ())
    note = f"There are more than {limit:,}: --limit N" if more else ""
    value = {"queue": queue, "id": id, "more": more, "tasks": _rows(lines)}
    return Document(value, lambda: _print(lines), note)


def grow(adeq: Adeq, queue: Queue, root: Node, limit: int) -> bool:
    """Find the children, level by level, up to limit tasks in all. Whether there are more."""
    known, level, more = {root.id}, [root], False
    while level:
        below: list[Node] = []
        for start in range(0, len(level), TOGETHER):
            some = level[start : start + TOGETHER]
            for node, first in zip(some, _first_pages(adeq, queue, some, limit - len(known)), strict=True):
                for task in _children(queue, node, first):
                    if task.id in known:  # parents in a circle
                        continue
                    if len(known) == limit:
                        node.more = more = True
                        break
                    known.add(task.id)
                    node.children.append(Node(task.id, task))
                below += node.children
        level = below
    return more


def drawn(root: Node) -> Iterator[Branch]:
    """The tree line by line, each task before its children."""
    left = [(Branch(root, 0, ""), "")]
    while left:
        line, below = left.pop()
        yield line
        if line.node is None:
            continue
        nodes: list[Node | None] = [*line.node.children, *[None] * line.node.more]
        for node in reversed(nodes):
            corner, bar = ("└─ ", "   ") if node is nodes[-1] else ("├─ ", "│  ")
            left.append((Branch(node, line.depth + 1, below + corner), below + bar))


def _first_pages(adeq: Adeq, queue: Queue, nodes: Sequence[Node], left: int) -> list[Page]:
    """One more than there is room for, so that it is known whether there are more."""
    with adeq.pipeline() as pipe:
        size = min(left + 1, LONGEST_PAGE)
        pages = [pipe.add(queue.calls.list(parent=node.id, limit=size)) for node in nodes]
    return [page.value for page in pages]


def _children(queue: Queue, node: Node, page: Page) -> Iterator[TaskView]:
    yield from page.tasks
    while page.cursor:
        page = queue.list(parent=node.id, cursor=page.cursor, limit=LONGEST_PAGE)
        yield from page.tasks


def _print(lines: Sequence[Branch]) -> None:
    console = stdout()
    for line in lines:
        text = _text(line)
        if console.is_terminal:
            console.print(text, no_wrap=True, overflow="ellipsis")
        else:
            print(text.plain)


def _text(line: Branch) -> Text:
    if line.node is None:
        return Text(f"{line.before}…")
    task = line.node.task
    if task is None:
        return Text(f"{line.before}{line.node.id}  does not exist, or no longer")
    awaits = f"awaits {task.awaits:,}" if task.awaits else None
    text = Text.assemble(f"{line.before}{task.id}  ", (task.state, STYLES.get(task.state, "")))
    limited = f"limited by {task.limited_by}" if task.limited_by else None
    for word in filter(None, (task.kind, task.reason, awaits, limited)):
        text.append(f"  {word}")
    return text


def _rows(lines: Sequence[Branch]) -> list[dict[str, Any]]:
    nodes = [(line.depth, line.node) for line in lines if line.node is not None]
    return [
        {"depth": depth, **(summary(node.task) if node.task else {"id": node.id, "state": None}), "more": node.more}
        for depth, node in nodes
    ]
