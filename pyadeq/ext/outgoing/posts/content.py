"""What a post says, in parts: our own words, and texts of others. Each chat service has its own markup for both."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple
from urllib.parse import quote, urlencode

from pyadeq import tiers
from pyadeq.ext.outgoing.posts.endpoints import About, Endpoint
from pyadeq.ext.outgoing.posts.groups import Group, Happened, Message
from pyadeq.ext.outgoing.posts.happened import MOST
from pyadeq.ext.shared.change_text import title_of
from pyadeq.models.change import Change
from pyadeq.models.queue import TaskView

MOST_ERROR: Final = 500
"""Characters of an error, its end, and of a payload."""
MOST_WORD: Final = 200
SHOWN: Final = 5
"""Tasks or changes that a digest names."""
ACTS: Final = {"retry": "Retry", "abandon": "Abandon"}
"""What a link may do with a dead task, and its label."""
STRANGE: Final = "\N{REPLACEMENT CHARACTER}"
_SEALED: Final = re.compile(r"~[a-z][0-9]+:")
"""How what a codec has sealed begins, see `pyadeq.ext.connect.crypto`."""
CHANGES: Final[dict[About, tuple[str, str]]] = {
    "asked": ("waits for answers", "wait for answers"),
    "waiting": ("still waits for answers", "still wait for answers"),
    "escalated": (
        "has one more reviewer, as there was no answer",
        "have one more reviewer, as there was no answer",
    ),
    "timeout": (
        "is rejected, as there was no answer in time",
        "are rejected, as there was no answer in time",
    ),
}
"""What has become of a change, and of several."""
NAMES: Final = {"queue": "queue", "change": "domain"}


class Theirs(str):
    """A text of others: a name, an id, an error. It may have markup in it, and must not act as markup."""

    __slots__ = ()


Text = tuple[str, ...]
"""Our own words and `Theirs`, one after the other."""


class Link(NamedTuple):
    """A link to the board. label: our own words."""

    label: str
    url: str


class Post(NamedTuple):
    """What a post says.

    title: one line. facts: names in our own words, and values. error, payload: of the task. links: at most three.
    """

    title: Text
    facts: Sequence[tuple[str, Text]] = ()
    error: Theirs | None = None
    payload: Theirs | None = None
    links: Sequence[Link] = ()

    def with_notes(self, notes: Sequence[str]) -> Post:
        """Return the post with notes for its readers about this digest."""
        return self._replace(facts=[*self.facts, ("Note", (" ".join(notes),))]) if notes else self


def of_test() -> Post:
    """The post of `adeq post test`."""
    return Post(("This is a test of adeq.",))


def of_task(endpoint: Endpoint, group: Group, stored: TaskView, codes: Mapping[str, str], *, sealed: bool) -> Post:
    """Return the post about one dead task.

    codes: of the links that retry and abandon it; empty: they ask for a login. sealed: a codec has opened what is
    stored, so errors and payloads stay out.
    """
    task = tiers.shown(stored)
    facts: list[tuple[str, Text]] = [("Attempts", (str(task.attempts),))]
    if task.user:
        facts.append(("User", (word(task.user),)))
    if task.tags:
        facts.append(("Tags", (word(", ".join(task.tags)),)))
    if task.ended:
        facts.append(("Died", (time_of(task.ended),)))
    kind: Text = (" of kind ", word(task.kind)) if task.kind else ()
    return Post(
        ("Task ", word(task.id), *kind, " in queue ", word(group.name), " is dead: ", word(task.reason or "unknown")),
        facts,
        error=None if sealed else error_of(task),
        payload=payload_of(task) if endpoint.payload and not sealed else None,
        links=task_links(endpoint, group.name, task.id, codes),
    )


def of_tasks(
    endpoint: Endpoint,
    message: Message,
    found: Sequence[Happened],
    newest: TaskView | None,
    *,
    more: bool,
    sealed: bool,
) -> Post:
    """Return the digest about dead tasks. newest: the last of them, for its error. more: there was a first post."""
    group = message.group
    kind: Text = (" of kind ", word(group.kind)) if group.kind else ()
    counted = f"{_count(len(found), 'task')}{' more' if more else ''}"
    dead = f" {'is' if len(found) == 1 else 'are'} dead: "
    asked = {"state": "dead", "kind": group.kind, "reason": group.reason}
    query = urlencode({name: value for name, value in asked.items() if value}, quote_via=quote)
    return Post(
        (counted, *kind, " in queue ", word(group.name), dead, word(group.reason or "unknown")),
        [("Time", (period_text(message),)), ("Tasks", ids_of(found))],
        error=error_of(tiers.shown(newest)) if newest and not sealed else None,
        links=_links(endpoint, ("Show", f"/queues/{_segment(group.name)}/tasks?{query}")),
    )


def of_change(endpoint: Endpoint, group: Group, change: Change) -> Post:
    """Return the post about one change."""
    facts: list[tuple[str, Text]] = [("Type", (word(change.type),)), ("Author", (word(change.author),))]
    if title := title_of(change.description):
        facts.insert(0, ("About", (word(title),)))
    if change.review_until and change.state == "reviewing":
        facts.append(("Until", (time_of(change.review_until),)))
    return Post(
        ("Change ", word(change.id), " in ", word(group.name), f" {CHANGES[group.about][0]}"),
        facts,
        links=_links(endpoint, ("Review", f"/changes/{_segment(group.name)}/{_segment(change.id)}")),
    )


def of_changes(endpoint: Endpoint, message: Message, found: Sequence[Happened], *, more: bool) -> Post:
    """Return the digest about changes. more: there was a first post."""
    group = message.group
    counted = f"{_count(len(found), 'change')}{' more' if more else ''}"
    return Post(
        (counted, " in ", word(group.name), f" {CHANGES[group.about][len(found) != 1]}"),
        [("Time", (period_text(message),)), ("Changes", ids_of(found))],
        links=_links(endpoint, ("Show", f"/changes/{_segment(group.name)}")),
    )


def of_others(endpoint: Endpoint, message: Message, groups: Mapping[Group, Sequence[Happened]]) -> Post:
    """Return the post about all groups that have no digest of their own in a round. groups: the largest first."""
    largest: list[str] = []
    for group, found in [*groups.items()][:SHOWN]:
        largest += ["; "] if largest else []
        largest += [f"{_count(len(found), _noun(group))}", *_described(group)]
    if len(groups) > SHOWN:
        largest.append(f"; and {len(groups) - SHOWN:,} more")
    nouns = {_noun(group) for group in groups}
    counted = _count(message.count, nouns.pop()) if len(nouns) == 1 else f"{message.count:,} tasks and changes"
    noun, _, name = message.stream.partition(":")
    pages = {"queue": f"/queues/{_segment(name)}/dead", "change": f"/changes/{_segment(name)}"}
    return Post(
        (f"{_count(len(groups), 'other group')} with {counted}",),
        [("Time", (period_text(message),)), ("Largest", tuple(largest))],
        links=_links(endpoint, ("Show", pages.get(noun, "/"))),
    )


def of_lost(endpoint: Endpoint, message: Message) -> Post:
    """Return the post about events that were deleted before they could be read."""
    noun, _, name = message.stream.partition(":")
    where: Text = (" of ", NAMES[noun], " ", word(name)) if message.stream else (" of other queues and domains",)
    counted = _count(message.count, "event") if message.count else "Some events"
    missing = "dead tasks are still in digests" if noun == "queue" else "posts about changes may be missing"
    return Post(
        (counted, *where, " were lost before they could be read; ", missing),
        [("Fix", ("run more processes of adeq post run, or raise events_max",))],
    )


def task_links(endpoint: Endpoint, queue: str, id: str, codes: Mapping[str, str]) -> list[Link]:
    """Links to a task, and to the pages that retry and abandon it."""
    name, task = _segment(queue), _segment(id)
    query = {verb: f"?code={quote(code)}" for verb, code in codes.items()}
    acts = [(label, f"/act/{verb}/{name}/{task}{query.get(verb, '')}") for verb, label in ACTS.items()]
    return _links(endpoint, ("Show", f"/queues/{name}/tasks/{task}"), *acts)


def _links(endpoint: Endpoint, *links: tuple[str, str]) -> list[Link]:
    return [] if endpoint.board is None else [Link(label, endpoint.board + path) for label, path in links]


def _segment(text: str) -> str:
    return quote(text, safe="")


def _noun(group: Group) -> str:
    return "task" if group.about == "dead" else "change"


def _described(group: Group) -> Text:
    if group.about != "dead":
        return (" in ", word(group.name), f": {CHANGES[group.about][1]}")
    kind: Text = (" of kind ", word(group.kind)) if group.kind else ()
    return (*kind, " in queue ", word(group.name), ": ", word(group.reason or "unknown"))


def _count(number: int, what: str) -> str:
    return f"{number:,}{'+' if number >= MOST else ''} {what}{'' if number == 1 else 's'}"


def ids_of(found: Sequence[Happened]) -> Text:
    """The first ids of a digest."""
    parts: list[str] = []
    for one in found[:SHOWN]:
        parts += [", ", word(one.id)] if parts else [word(one.id)]
    return (*parts, f" and {len(found) - SHOWN:,} more") if len(found) > SHOWN else tuple(parts)


def error_of(task: TaskView) -> Theirs | None:
    """The end of the last error that the tier shows; None if there is none, or if a codec has sealed it."""
    text = (task.error or "").strip()
    return Theirs(clean(text[-MOST_ERROR:])) if text and not _SEALED.match(text) else None


def payload_of(task: TaskView) -> Theirs | None:
    """The beginning of the payload that the tier shows."""
    try:
        text = (task.data or b"").decode()
    except UnicodeDecodeError:
        return None
    return Theirs(clean(text[:MOST_ERROR])) if text and not _SEALED.match(text) else None


def word(text: str) -> Theirs:
    """A text of others in one line."""
    return Theirs(" ".join(clean(text[:MOST_WORD]).split()) or "?")


def clean(text: str) -> str:
    """A text without what is not shown, such as control characters and changes of its direction."""
    return "".join(one if one == "\n" or unicodedata.category(one)[0] != "C" else STRANGE for one in text)


def plain(text: Text) -> str:
    """A text without markup."""
    return "".join(text)


def time_of(seconds: float) -> str:
    """A time, to the second."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def period_text(message: Message) -> str:
    """The period of a digest."""
    begin, end = (datetime.fromtimestamp(at, UTC) for at in (message.since, message.until))
    return f"{begin:%Y-%m-%d %H:%M:%S}–{end:%H:%M:%S} UTC"
