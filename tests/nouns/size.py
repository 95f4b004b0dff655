"""What a size is: the worst legal state and input of a script at once, to hold its call to the budget of its header."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from itertools import count
from typing import Any, TypeVar

from pyadeq._core.kernel.call import Call
from tests.nouns.scenario import verb_of
from tests.nouns.script_bench import Bench, keys

T = TypeVar("T")
AnyCall = Call[Any]
Prepare = Callable[[Any, int], AnyCall]  # of a bench and the number of items
MANY = 1_000_000


@dataclass(frozen=True)
class Size:
    """usual: a call for one item, or with the batch that clients send unless told otherwise. beyond: a call that the
    contract advises against, and that scripts do not refuse."""

    name: str
    prepare: Prepare
    items: int
    noun: str
    verb: str
    usual: bool
    beyond: bool = False

    def __call__(self, bench: Bench) -> AnyCall:
        return self.prepare(bench, self.items)

    @property
    def script_id(self) -> str:
        return f"{self.noun}.{self.verb}.v1"


SIZES: list[Size] = []


def size(
    usual: int, largest: int | None = None, beyond: int | None = None, noun: str = "queue"
) -> Callable[[Prepare], Prepare]:
    """The function's name is the verb and then the state. The items of a usual call, of the largest that the contract
    allows, and of one that it advises against."""

    def add(prepare: Prepare) -> Prepare:
        verb = verb_of(noun, prepare.__name__)
        state = prepare.__name__[len(verb) + 1 :].replace("_", " ")
        script = verb if noun == "queue" else f"{noun} {verb}"
        for items in dict.fromkeys([usual, largest or usual, beyond or usual]):
            named = f"{script}: {state}, n={items}"
            SIZES.append(Size(named, prepare, items, noun, verb, items == usual, items == beyond))
        return prepare

    return add


def state(build: Callable[..., T]) -> Callable[..., T]:
    """A state that takes long to build is built once for a server, and copied from then on."""

    @wraps(build)
    def copied(bench: Bench, *args: Any) -> T:
        key = (id(bench.client.connection_pool), build.__name__, *args)
        if key not in BUILT:
            template = type(bench)(bench.client, bench.watched, f"ade:{{{bench.noun}:states.{next(NUMBERS)}}}")
            template.server = bench.server
            found = build(template, *args)
            BUILT[key] = template, keys(bench.server, template.base), found
        template, names, found = BUILT[key]
        for page in pages(names, 10_000):
            copies = [("COPY", name, bench.base.encode() + name[len(template.base) :], "REPLACE") for name in page]
            bench.server.all(copies)
        bench.now, bench._numbers = template.now, template._numbers
        made: T = found
        return made

    return copied


NUMBERS = count(1)
BUILT: dict[Any, tuple[Bench, list[bytes], Any]] = {}


def long(text: str) -> str:
    """An id of the greatest length."""
    return f"{text}/".ljust(200, "x")


def pages(items: list[Any], of: int = 1000) -> Iterable[list[Any]]:
    """The items, so many at a time."""
    return (items[at : at + of] for at in range(0, len(items), of))
