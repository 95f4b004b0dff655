"""A project of Django whose backend is a server of pyadeq; each test has keys of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import django
import pytest
from django.conf import settings
from django.test import override_settings

from pyadeq import Adeq
from pyadeq.embedded import EmbeddedServer
from pyadeq.testing import Run, run_all

if not settings.configured:
    tasks = [] if django.VERSION >= (6, 0) else ["django_tasks"]
    settings.configure(
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
        INSTALLED_APPS=["pyadeq.ext.connect.django", *tasks],
        TASKS={"default": {"BACKEND": "pyadeq.ext.connect.django.AdeqBackend", "QUEUES": []}},
        USE_TZ=True,
    )
    django.setup()

BACKEND = "pyadeq.ext.connect.django.AdeqBackend"
Drain = Callable[..., list[Run]]


@pytest.fixture
def options(server: EmbeddedServer, adeq_prefix: str) -> dict[str, Any]:
    """OPTIONS of the backend."""
    return {"url": server.url, "prefix": adeq_prefix}


@pytest.fixture(autouse=True)
def project(options: dict[str, Any]) -> Iterator[None]:
    immediate = "django.tasks" if django.VERSION >= (6, 0) else "django_tasks"
    with override_settings(
        TASKS={
            "default": {"BACKEND": BACKEND, "QUEUES": ["default", "queue_1"], "OPTIONS": options},
            "any": {"BACKEND": BACKEND, "QUEUES": [], "OPTIONS": options},
            "twice": {"BACKEND": BACKEND, "OPTIONS": options | {"max_attempts": 2}},
            "at_once": {"BACKEND": BACKEND, "OPTIONS": options | {"enqueue_on_commit": False}},
            "immediate": {"BACKEND": f"{immediate}.backends.immediate.ImmediateBackend", "QUEUES": []},
            "missing": {"BACKEND": "does.not.exist"},
        }
    ):
        yield


@pytest.fixture
def drain(adeq: Adeq) -> Drain:
    """What a worker does: run all that waits in a queue."""
    from pyadeq.ext.connect.django.worker import run

    return lambda name="default", **given: run_all(adeq.queue(name), run, raise_errors=False, **given)
