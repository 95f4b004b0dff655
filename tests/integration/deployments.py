"""The files in docs/guides/deployment.md, and the workers that they start."""

import re

from tests.integration.examples import ROOT, blocks


def files() -> dict[str, str]:
    """By their titles."""
    return {block.title: block.text for block in blocks(ROOT / "docs/guides/deployment.md") if block.title}


def commands() -> dict[str, list[str]]:
    """What follows `adeq worker run` in each of them."""
    found, broken = {}, re.compile(r"(?: \\|,)\n +")
    for name, text in files().items():
        if line := re.search(r"^(?:ExecStart=|CMD |\s+command: )(.*worker.*)$", broken.sub(" ", text), re.MULTILINE):
            words = re.findall(r'[^\s,"\[\]]+', line[1])
            found[name] = words[words.index("run") + 1 :]
    return found
