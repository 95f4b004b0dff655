"""A backend for `django.tasks` of Django 6, and for the package `django-tasks` on Django 5.2.

INSTALLED_APPS = [..., "pyadeq.ext.django"]  # for `manage.py adeq_worker`
TASKS = {"default": {"BACKEND": "pyadeq.ext.django.AdeqBackend", "OPTIONS": {"url": "redis://localhost:6379"}}}
"""

from __future__ import annotations

from pyadeq.ext.django.backend import AdeqBackend

__all__ = ["AdeqBackend"]
