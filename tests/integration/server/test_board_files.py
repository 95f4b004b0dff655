"""What a browser downloads: little, and nothing inline."""

from __future__ import annotations

import asyncio
import re

import pytest

from pyadeq import Adeq
from pyadeq.ext.prove.demo.scene import fill
from pyadeq.ext.server.board.page import HERE
from tests.integration.server.conftest import Ask

pytestmark = pytest.mark.any_engine
KB = 1000
FILES = ("board.js", "board.css")


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_small(name: str) -> None:
    assert (HERE / "static" / name).stat().st_size <= 20 * KB


async def test_the_first_page_is_small(asking: Ask, url: str, base_name: str) -> None:
    with Adeq.from_url(url, prefix=base_name) as client:
        await asyncio.to_thread(fill, client)
    page = await asking().get("/")
    assert len(page.content) + sum((HERE / "static" / name).stat().st_size for name in FILES) <= 80 * KB
    assert page.text.count("<tr data-id=") >= 3


@pytest.mark.parametrize("template", sorted((HERE / "templates").glob("*.html")), ids=lambda path: path.name)
def test_nothing_is_inline(template: str) -> None:
    """The policy of the pages would refuse it."""
    text = re.sub(r"{{.*?}}|{%.*?%}|{#.*?#}", "", (HERE / "templates" / template).read_text(), flags=re.DOTALL)
    assert not re.search(r"<style|<script(?![^>]*\ssrc=)|\sstyle=|\son[a-z]+=|javascript:", text)
