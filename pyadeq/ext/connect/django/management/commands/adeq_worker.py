"""`manage.py adeq_worker`: a worker for a queue of a backend."""

from __future__ import annotations

import sys
from argparse import REMAINDER, ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from pyadeq.ext.cli import main
from pyadeq.ext.connect.django.api import task_backends
from pyadeq.ext.connect.django.backend import AdeqBackend


class Command(BaseCommand):  # type: ignore[misc]  # the stubs are not installed
    """`adeq worker run` with the settings of Django."""

    help = "Run the tasks of a queue. What follows the queue are options of `adeq worker run`, such as --concurrency 4."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Name the arguments."""
        parser.add_argument("--backend", default="default", help="The name of the backend in TASKS.")
        parser.add_argument("queue", nargs="?", default="default", help="The queue. The default is `default`.")
        parser.add_argument("options", nargs=REMAINDER, help="Options of `adeq worker run`.")

    def handle(self, *, backend: str, queue: str, options: list[str], **_: Any) -> None:
        """Become `adeq worker run`."""
        found = task_backends[backend]
        if not isinstance(found, AdeqBackend):
            raise CommandError(f"TASKS: the backend {backend!r} is a {type(found).__name__}, not an AdeqBackend")
        if found.queues and queue not in found.queues:
            raise CommandError(f"queue: {queue!r} is not one of {', '.join(sorted(found.queues))}")
        run = ["worker", "run", "pyadeq.ext.connect.django.worker:run", "--url", found.url, "--queue", queue]
        sys.argv = ["adeq", "--prefix", found.prefix, *(["--cluster"] if found.cluster else []), *run, *options]
        main()
