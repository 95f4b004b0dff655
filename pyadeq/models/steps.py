"""The steps of a durable task: what its runs have stored."""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import Field, computed_field

from pyadeq.models.base import Model, Storing, base64_field, read_json

StepKind = Literal["step", "sleep", "patch"]


class TaskStep(Storing):
    """A stored step of a task.

    name: as the function named it. number: how often a run had asked for this name, from 1.
    kind: `step`: the result of a function; `sleep`: a wait for a time; `patch`: a mark that the task runs changed code.
    at: when it was stored. fence: of the run that stored it.
    due: when a sleep ends; None for other kinds.
    unreadable: why the codec does not accept the result, which is None then. In JSON also why not each program could
    read it: then `result_base64` has its bytes.
    """

    STORED = {"result": "data"}  # noqa: RUF012

    name: str
    number: int = 1
    kind: StepKind
    at: float
    fence: int
    due: float | None = None
    data: bytes | None = Field(default=None, repr=False, exclude=True)
    unreadable: dict[str, str] = Field(default_factory=dict)

    @computed_field(repr=False)  # type: ignore[prop-decorator]
    @property
    def result(self) -> Any:
        """What the step has returned, as JSON; None if it is no step, or has returned None."""
        return read_json(self.data)

    result_base64 = base64_field("data")

    @computed_field  # type: ignore[prop-decorator]
    @property
    def full_name(self) -> str:
        """The name among the steps of its task: `edit`, and `edit#2` for the second `edit`."""
        return full_name(self.name, self.number)


class StepKept(Model):
    """The answer to a step that was to be stored.

    status: `stored`; `known`: it was stored before, with `value`, which stays; `diverged`: another `kind` has its name;
    `full`: the task has too many steps, or they have too many bytes; `lease_lost`.
    deadline: when the lease ends now.
    """

    status: Literal["stored", "known", "diverged", "full", "lease_lost"]
    deadline: float | None = None
    value: bytes | None = Field(default=None, repr=False)
    kind: StepKind | None = None


class Suspended(Model):
    """The answer to a wait.

    status: `suspended` until `due`; `cancelled`; `diverged`: another `kind` has its name; `full`; `lease_lost`.
    """

    status: Literal["suspended", "cancelled", "diverged", "full", "lease_lost"]
    due: float | None = None
    kind: StepKind | None = None


SUFFIX: Final = "#"


def full_name(name: str, number: int) -> str:
    """The name of a step among those of its task."""
    return name if number == 1 else f"{name}{SUFFIX}{number}"
