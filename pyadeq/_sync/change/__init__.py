# Generated from pyadeq/_async/change/__init__.py by pyadeq/_unasync.py; do not edit.
"""Changes: what agents and people want to do, and others have to approve."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyadeq._sync.kernel.noun import Noun
from pyadeq._core.kernel.nouncalls import Result


class Changes(Noun):
    """The changes of a domain."""

    noun = "change"

    def put(self, id: str, **content: Any) -> Result:
        """Create a draft, or write another revision."""
        return self._call("put", id=id, **content)

    def get(self, ids: Sequence[str], **options: Any) -> list[Result]:
        """Changes by their ids."""
        found: list[Result] = (self._call("get", item=ids, **options)).items
        return found

    def respond(self, answers: Sequence[Mapping[str, Any]], **who: Any) -> list[Result]:
        """Answer requests."""
        found: list[Result] = (self._call("respond", item=answers, **who)).items
        return found

    def iterate(self, by: str, value: str) -> Iterator[Any]:
        """Changes of an index, the newest first."""
        return self._pages("list", by=by, value=value)
