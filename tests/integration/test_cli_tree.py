"""What every command of the tree does alike: a new one that does not fails here."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
import typer

from pyadeq import Adeq
from pyadeq.ext.cli.app import app
from tests.integration.cli import error

pytestmark = pytest.mark.any_engine

CREATE = {
    "queue configure",
    "task enqueue",
    "worker run",
    "schedule add",
    "limit set",
    "share set",
    "lock capacity set",
}
ARGUMENTS = {"KEY": "all", "KEY...": "all", "N": "1"}
MORE = {  # without these a command has nothing to do
    "dlq retry": ["--all"],
    "dlq abandon": ["--all"],
    **{f"worker {verb}": ["--all"] for verb in ("quiet", "resume", "stop", "restart", "resize")},
}


class Leaf(NamedTuple):
    """A command, its parameters, and whether its help is shown."""

    path: str
    parameters: list[Any]
    hidden: bool

    def option(self, name: str) -> Any:
        return next((one for one in self.parameters if name in one.opts), None)

    def required(self) -> list[str]:
        """Values for what must be given, and what keeps it from asking."""
        words: list[str] = []
        for one in self.parameters:
            if one.required:
                options = one.opts if one.param_type_name == "option" else []
                words += [*options[:1], ARGUMENTS.get(one.metavar, "1" if "MAX" in (one.metavar or "") else "x")]
        words = ["0" if before == "--from" else word for before, word in zip(["", *words], words, strict=False)]
        return [*words, *MORE.get(self.path, []), *(["--yes"] if self.option("--yes") else [])]


def leaves(group: Any = None, path: str = "") -> Iterator[Leaf]:
    """Every command."""
    group = group or typer.main.get_command(app)
    context = typer.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if hasattr(command, "list_commands"):
            yield from leaves(command, f"{path}{name} ")
        else:
            yield Leaf(path + name, command.params, command.hidden)


TREE = {leaf.path: leaf for leaf in leaves()}


def of_queue(leaf: Leaf) -> list[str] | None:
    """The words that name a queue that does not exist, if the command is about one."""
    if leaf.parameters[:1] and leaf.parameters[0].metavar == "QUEUE":
        return ["nosuch"]
    option = leaf.option("--queue")
    return ["--queue", "nosuch"] if option and not option.multiple else None


QUEUES = {path: words for path, leaf in TREE.items() if (words := of_queue(leaf)) and path not in CREATE}
DOMAINS = [
    path for path, leaf in TREE.items() if (o := leaf.option("--domain")) and not o.multiple and path not in CREATE
]


def test_the_tree_is_that_of_the_commands() -> None:
    assert TREE.keys() >= CREATE | MORE.keys()
    assert len(QUEUES) > 30
    assert len(DOMAINS) > 8


@pytest.mark.parametrize("path", QUEUES)
def test_a_queue_that_does_not_exist_is_refused(path: str, url: str, base_name: str) -> None:
    words = TREE[path].required()
    if QUEUES[path] == ["nosuch"]:
        words[0] = "nosuch"
    else:
        words += QUEUES[path]
    place = {"ADEQ_URL": url, "ADEQ_PREFIX": base_name}
    line = error(1, *path.split(), *words, **place)
    key = f"{base_name}:{{queue:nosuch}}:config"
    start = f"adeq: queue: there is no 'nosuch' on this server (its key would be {key}); "
    assert line == f"{start}there are none under this prefix; see adeq queue ls"
    with Adeq.from_url(url, prefix=base_name) as client:
        client.queue("mail").configure()
    assert error(1, *path.split(), *words, **place) == f"{start}there are: mail; see adeq queue ls"
    with Adeq.from_url(url, prefix=base_name) as client:
        assert list(client.queues()) == ["mail"], "looking for a queue must not create it"


@pytest.mark.parametrize("path", DOMAINS)
def test_a_domain_that_does_not_exist_is_refused(path: str, url: str, base_name: str) -> None:
    words = [*TREE[path].required(), "--domain", "jobs"]
    with Adeq.from_url(url, prefix=base_name) as client:
        client.locks("jobz").configure()
        line = error(1, *path.split(), *words, ADEQ_URL=url, ADEQ_PREFIX=base_name)
        key = f"{base_name}:{{lock:jobs}}:config"
        assert line == (
            f"adeq: --domain: there is no 'jobs' on this server (its key would be {key}); "
            "did you mean jobz? See adeq lock domains"
        )
        assert list(client.lock_domains()) == ["jobz"]
