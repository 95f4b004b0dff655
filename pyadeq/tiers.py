"""Data tiers: what may be shown of a task outside of the programs that enqueue and run it.

An exit is a place where data of tasks leaves these programs: the command line, logs, traces, an archive, a message to
another service. Each exit asks this module, and nothing else decides.

| tier           | content | error  | words  | ids, kinds, times, states |
| -------------- | ------- | ------ | ------ | ------------------------- |
| `public`       | shown   | shown  | shown  | shown                     |
| `internal`     | shown   | shown  | shown  | shown                     |
| `confidential` | hidden  | shown  | shown  | shown                     |
| `restricted`   | hidden  | hidden | hidden | shown                     |

What is hidden cannot be searched for either: an exit that takes a filter asks `may_match`.

Content is the payload, the headers, the result, the text of the progress, the log, and where the output is. Words are
the user, the tags, the keys and the source.

Changes have no tier, because reviewers have to read them. Each exit shows them whole.

The methods of a queue are no exit: a program that may read the queue reads everything. Whoever must not read it gets
no access to the server, or the data is encrypted with a codec.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal, get_args

from pyadeq.models.queue import OPTIONS, TaskView, Tier
from pyadeq.models.schedule import Schedule
from pyadeq.models.steps import TaskStep

What = Literal["content", "error", "words"]

TIERS: Final[tuple[Tier, ...]] = get_args(Tier)
"""All tiers, the strictest last."""

SHOWN: Final[dict[Tier, tuple[What, ...]]] = {
    "public": ("content", "error", "words"),
    "internal": ("content", "error", "words"),
    "confidential": ("error", "words"),
    "restricted": (),
}
FIELDS: Final[dict[What, tuple[str, ...]]] = {
    "content": ("payload", "headers", "result", "progress_text", "output"),
    "error": ("error",),
    "words": (
        "limited_by",
        "waits_for",
        *(name for name, one in OPTIONS.items() if name in TaskView.model_fields and not one.option.shown),
    ),
}
"""The fields of a TaskView with it."""

_CONDITIONS: Final = {"tag": "tags"}
"""The conditions of a filter that have another name than their field."""
_HIDEABLE: Final = {name for names in FIELDS.values() for name in names}
_STORED: Final = {"payload": "data", "result": "result_data", "headers": "headers_data"}


def may_show(tier: Tier, what: What) -> bool:
    """Return whether an exit may show that of a task."""
    return what in SHOWN[tier]


def hidden(tier: Tier) -> tuple[str, ...]:
    """Return the names of the fields that an exit must not show."""
    return tuple(name for what, names in FIELDS.items() if not may_show(tier, what) for name in names)


def shown_steps(tier: Tier, steps: Sequence[TaskStep]) -> list[TaskStep]:
    """Return the steps of a task as an exit may show them: their names are words of the task, their results content."""
    if not may_show(tier, "words"):
        return []
    return [step if may_show(tier, "content") else step.model_copy(update={"data": None}) for step in steps]


def words_of(conditions: Iterable[str]) -> frozenset[str]:
    """Return the conditions of a filter, such as `user` and `tag`, that are about fields which a tier may hide."""
    return frozenset(name for name in conditions if _CONDITIONS.get(name, name) in _HIDEABLE)


def may_match(task: TaskView, conditions: Iterable[str]) -> bool:
    """Return whether an exit may say that a task fits these conditions of a filter: its tier hides none of the fields.

    Otherwise who knows a value would learn which tasks have it.
    """
    return not {_CONDITIONS.get(name, name) for name in conditions}.intersection(hidden(task.tier))


def shown(task: TaskView) -> TaskView:
    """Return the task as an exit may show it. What it must not show is at its default, as if it were not there."""
    names = [_STORED.get(name, name) for name in hidden(task.tier)]
    empty = {name: TaskView.model_fields[name].get_default() for name in names}
    return task.model_copy(update=empty) if empty else task


def shown_schedule(schedule: Schedule, default: Tier) -> Schedule:
    """Return the schedule as an exit may show it: by the tier of its tasks. default: the queue's setting."""
    names = hidden(schedule.envelope.get("tier", default))
    if not names:
        return schedule
    envelope: dict[str, Any] = {name: value for name, value in schedule.envelope.items() if name not in names}
    return schedule.model_copy(update={"data": None, "sealed": None, "envelope": envelope})
