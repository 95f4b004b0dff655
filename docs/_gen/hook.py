"""What the site's pages take from the code: `mkdocs build` calls these functions.

A line `{{ part }}` or `{{ part argument }}` in a page is replaced by what the part's function answers. The pages of
the scripts are made from lua/manifest.json, one for each.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import homes
import llms
import sources
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page
from python_api import errors, models, python
from rest import rest, who_may
from scripts import (
    alerts,
    configure,
    error_codes,
    event_names,
    index,
    labels,
    load_manifest,
    metrics,
    of,
    others,
    records,
    script_page,
    server_errors,
    settings,
)

PART = re.compile(r"^\{\{ (\w+) ?(.*?) \}\}$", re.MULTILINE)
NOT_RUN = re.compile(r"^(```\w+) notest$", re.MULTILINE)  # a word for the tests, which run all other examples
ON_GITHUB = re.compile(r"^> `make docs` .*\n+", re.MULTILINE)  # says where the built page is
OUTSIDE = re.compile(r"""<(?:script|img|iframe|link|source)\b[^>]*?\s(?:src|href)=["']?(?:https?:)?//[^"'\s>]+""")
SCRIPTS = "reference/scripts"

PARTS: dict[str, Callable[[str], str]] = {
    "python": python,
    "models": models,
    "errors": errors,
    "scripts": index,
    "error_codes": error_codes,
    "event_names": event_names,
    "server_errors": server_errors,
    "settings": settings,
    "configure": configure,
    "metrics": metrics,
    "labels": labels,
    "alerts": alerts,
    "records": records,
    "data_model": sources.data_model,
    "contract": sources.contract,
    "command_line": sources.command_line,
    "changelog": sources.changelog,
    "readme": sources.readme,
    "keys": sources.keys,
    "homes": homes.homes,
    "rest": rest,
    "who_may": who_may,
}


def others_part(part: str) -> str:
    """A chapter for each noun that the page does not describe itself, with a part about it."""
    heads = [_title(noun) if part == "scripts" else f"Of a {noun['title']}" for noun in others()]
    chapters = [f"## {head}\n\n{PARTS[part](noun['word'])}" for head, noun in zip(heads, others(), strict=True)]
    return "\n\n".join(chapters)


PARTS["others"] = others_part


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Fill in the lists of the navigation, and build again when what the pages are made of changes."""
    decisions = sorted(Path(config.docs_dir, "decisions").glob("*.md"))
    lists: dict[object, list[object]] = {
        **{
            f"{SCRIPTS}/{noun}.*": [{script["id"]: _path(script["id"])} for script in of(noun)]
            for noun in load_manifest()["nouns"]
        },
        "decisions/*": [{_numbered(path): f"decisions/{path.name}"} for path in decisions],
        "concepts/nouns.*": [{_title(noun): f"concepts/{noun['word']}.md"} for noun in others()],
        f"{SCRIPTS}/nouns.*": [
            {_title(noun): [{script["id"]: _path(script["id"])} for script in of(noun["word"])]} for noun in others()
        ],
    }
    config.nav = _filled(config.nav, lists)
    config.watch += [str(sources.ROOT / name) for name in ("lua", "pyadeq", "CHANGELOG.md")]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each script."""
    manifest = load_manifest()
    for script in manifest["scripts"]:
        files.append(File.generated(config, _path(script["id"]), content=script_page(script, manifest)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Fill in the parts of a page."""
    filled = NOT_RUN.sub(r"\1", PART.sub(_part, ON_GITHUB.sub("", markdown)))
    llms.note(page, filled)
    return filled


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> Navigation:
    """Keep the order of the pages for llms.txt."""
    llms.keep(nav)
    return nav


def on_post_build(config: MkDocsConfig) -> None:
    """Write what programs read beside what people read."""
    llms.write(config.site_description or "", Path(config.site_dir))


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Refuse a page that a browser would have to fetch something for from elsewhere."""
    if found := OUTSIDE.search(output):
        raise PluginError(f"{page.file.src_uri}: needs something from outside: {found[0]}")
    return output


def _part(match: re.Match[str]) -> str:
    if match[1] not in PARTS:
        raise PluginError(f"{match[0]}: no such part; there are {', '.join(PARTS)}")
    return PARTS[match[1]](match[2])


def _title(noun: dict[str, Any]) -> str:
    return str(noun["plural"]).capitalize()


def _numbered(decision: Path) -> str:
    """`44. Rooms and their budgets`."""
    title = decision.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
    return f"{int(decision.name[:4])}. {title}"


def _path(script_id: str) -> str:
    return f"{SCRIPTS}/{script_id}.md"


def _filled(nav: object, lists: dict[object, list[object]]) -> object:
    if isinstance(nav, list):
        return [
            entry
            for one in nav
            for entry in (lists[one] if isinstance(one, str) and one in lists else [_filled(one, lists)])
        ]
    if isinstance(nav, dict):
        return {title: _filled(entry, lists) for title, entry in nav.items()}
    return nav
