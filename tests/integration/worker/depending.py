"""Tasks with dependencies, in a module that child processes can import."""

import os
from collections.abc import Iterator

from pyadeq import Depends, Shared, Tasks

tasks = Tasks()
MADE: list[int] = []


def pool() -> Iterator[list[int]]:
    MADE.append(os.getpid())
    yield MADE


def session(pool: list[int] = Shared(pool)) -> list[int]:
    return pool


@tasks.task(executor="process")
def there(n: int, *, made: list[int] = Depends(session)) -> list[int]:
    return [n, os.getpid(), *made]
