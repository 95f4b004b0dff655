"""The guide, as it is written for Django 6, and with the one change for Django 5.2 that it names."""

from dataclasses import replace
from pathlib import Path

import django

from tests.integration.examples import ROOT, blocks, run_page


def test_the_examples_of_the_guide_run(binary: Path) -> None:
    page = blocks(ROOT / "docs/guides/django.md")
    if django.VERSION < (6, 0):
        page = [replace(block, text=block.text.replace("django.tasks", "django_tasks")) for block in page]
    run_page(page, binary)
