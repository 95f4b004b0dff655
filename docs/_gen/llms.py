"""llms.txt, a list of the pages for programs that read, and llms-full.txt, the pages themselves (https://llmstxt.org)."""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.structure.nav import Navigation, Section
from mkdocs.structure.pages import Page

ONLY_LISTED = ("decisions/", "reference/scripts/", "changelog")  # long, and rarely what is asked
SENTENCE = re.compile(r"^(?=\S)(?![#|!`{\-<>])(.+?[.:?])(?:\s|$)", re.MULTILINE | re.DOTALL)
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)

_texts: dict[str, str] = {}
_order: list[Navigation] = []


def keep(navigation: Navigation) -> None:
    """Keep the order of the pages."""
    _order[:] = [navigation]


def note(page: Page, markdown: str) -> None:
    """Keep a page's text, with its parts filled in."""
    _texts[page.file.src_uri] = markdown


def write(description: str, site: Path) -> None:
    """Write both files. Pages stand in the order of the navigation."""
    lists, pages = [f"# pyadeq\n\n> {description}\n"], []
    for section in _order[0].items:
        found = list(_pages(section))
        lists.append(f"## {section.title}\n\n" + "".join(map(_line, found)))
        pages += [_texts[one.file.src_uri] for one in found if not one.file.src_uri.startswith(ONLY_LISTED)]
    (site / "llms.txt").write_text("\n".join(lists), encoding="utf-8")
    (site / "llms-full.txt").write_text("\n\n".join(pages), encoding="utf-8")


def _pages(item: object) -> list[Page]:
    if isinstance(item, Section):
        return [page for child in item.children for page in _pages(child)]
    return [item] if isinstance(item, Page) else []


def _line(page: Page) -> str:
    text = re.sub(r"\]\([^)]*\)", "]", FENCED.sub("", _texts[page.file.src_uri])).replace("[", "").replace("]", "")
    first = SENTENCE.search(text.partition("\n")[2])
    said = " ".join(first[1].split()) if first else ""
    return f"- [{page.title}]({page.url})" + (f": {said}" if said else "") + "\n"
