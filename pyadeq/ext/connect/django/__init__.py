"""A backend for `django.tasks` of Django 6, and for the package `django-tasks` on Django 5.2.

INSTALLED_APPS = [..., "pyadeq.ext.connect.django"]  # for `manage.py adeq_worker`
TASKS = {"default": {"BACKEND": "pyadeq.ext.connect.django.AdeqBackend", "OPTIONS": {"url": "redis://localhost:6379"}}}
"""

from __future__ import annotations

from pyadeq.ext.connect.django.backend import AdeqBackend

__all__ = ["AdeqBackend"]
