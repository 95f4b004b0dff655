"""The conditions of a `TaskFilter` as fields: of a query, a form or a body."""

from __future__ import annotations

from typing import Any, TypeVar, get_type_hints

from pydantic import BaseModel, create_model

from pyadeq.models.queue import TaskFilter, given_conditions

M = TypeVar("M", bound=BaseModel)


def with_filter(model: type[M]) -> type[M]:
    """A model that also has the conditions as fields. `filter_of` reads them."""
    conditions: dict[str, Any] = {name: (kind, None) for name, kind in get_type_hints(TaskFilter).items()}
    return create_model(
        model.__name__, __base__=model, __doc__=model.__doc__, __module__=model.__module__, **conditions
    )


def filter_of(model: BaseModel) -> TaskFilter:
    """The conditions that such a model has. An empty text, as a form sends it, is none."""
    found: Any = {name: getattr(model, name) or None for name in TaskFilter.__annotations__}
    return given_conditions(found)
