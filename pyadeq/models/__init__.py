"""Models: the arguments and answers of calls. Those of the queue, and the base of all, are names of this package."""

from typing import TYPE_CHECKING

from pyadeq._importing import load

if TYPE_CHECKING:
    from pyadeq.models.base import *  # noqa: F403
    from pyadeq.models.queue import *  # noqa: F403
    from pyadeq.models.queue_settings import *  # noqa: F403
else:  # a program that uses another noun needs no models of the queue

    def __getattr__(name: str) -> object:
        found = {} if name.startswith("__") and name != "__all__" else _names()
        if name == "__all__":
            return list(found)
        if name not in found:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return found[name]

    def __dir__() -> list[str]:
        return sorted({*globals(), *_names()})

    def _names() -> dict[str, object]:
        parts = [vars(load(f"{__name__}.{part}")) for part in ("base", "queue", "queue_settings")]
        return {name: value for part in parts for name, value in part.items() if not name.startswith("_")}
