"""`adeq task` for tasks that wait for others: `tree`, `enqueue --after`, `cancel --tree`."""

import json
from pathlib import Path
from typing import Any

import pytest

from pyadeq import Queue, Task
from tests.integration.cli.run import Terminal, adeq, answer, error, lines

pytestmark = pytest.mark.any_engine


def tree(url: str, queue: Queue, id: str, *options: str) -> list[str]:
    ended = adeq("task", "tree", queue.name, id, "--url", url, *options)
    assert ended.status == 0, ended
    return ended.stdout.splitlines()


def children(queue: Queue, parent: str, *ids: str) -> None:
    """One after the other, so that they are listed in this order."""
    for id in ids:
        queue.enqueue(id=id, parent=parent, kind="part")


# tree


def test_a_tree_shows_states_kinds_and_reasons(url: str, queue: Queue) -> None:
    queue.gather([Task(kind="page") for _ in range(4)], Task(id="all", kind="sum", after_when="ended"))
    done, bad, _ = queue.claim(limit=3)
    queue.ack(done)
    queue.fail(bad, "Traceback", reason="bad_input", retryable=False)
    children(queue, "all.00002", "x", "y")
    assert tree(url, queue, "all") == [
        "all  blocked  sum  awaits 2",
        "├─ all.00000  completed  page",
        "├─ all.00001  dead  page  bad_input",
        "├─ all.00002  running  page",
        "│  ├─ x  ready  part",
        "│  └─ y  ready  part",
        "└─ all.00003  ready  page",
    ]


def test_the_nearest_come_first_and_what_is_left_out_is_told(url: str, queue: Queue) -> None:
    queue.enqueue(id="root")
    children(queue, "root", "a", "b", "c")
    children(queue, "a", "deep")
    children(queue, "deep", "deeper")
    shown = adeq("task", "tree", queue.name, "root", "--limit", "3", "--url", url)
    assert shown.stdout.splitlines() == [
        "root  ready",
        "├─ a  ready  part",
        "│  └─ …",
        "├─ b  ready  part",
        "└─ …",
    ]
    assert shown.stderr == "\nThere are more than 3: --limit N\n"
    assert tree(url, queue, "root", "--limit", "1") == ["root  ready", "└─ …"]
    whole = adeq("task", "tree", queue.name, "root", "--limit", "6", "--url", url)
    assert (len(whole.stdout.splitlines()), whole.stderr) == (6, "")
    assert whole.stdout.splitlines()[3] == "│     └─ deeper  ready  part"


def test_a_tree_of_many(url: str, queue: Queue) -> None:
    queue.gather(range(1500), Task(id="all"))
    assert len(tree(url, queue, "all")) == 1 + 99 + 1
    assert len(tree(url, queue, "all", "--limit", "1500")) == 1 + 1499 + 1
    assert tree(url, queue, "all", "--limit", "1501")[-1] == "└─ all.01499  ready"


def test_parents_in_a_circle_are_drawn_once(url: str, queue: Queue) -> None:
    children(queue, "b", "a")
    children(queue, "a", "b")
    assert tree(url, queue, "a") == ["a  ready  part", "└─ b  ready  part"]


@pytest.mark.slow
def test_a_long_line_of_descendants(url: str, queue: Queue) -> None:
    queue.enqueue_many([Task(id=f"t{n}", parent=f"t{n - 1}") for n in range(1, 1500)])
    drawn = tree(url, queue, "t0", "--limit", "2000")
    assert (len(drawn), drawn[0]) == (1500, "t0  does not exist, or no longer")
    assert len(answer("task", "tree", queue.name, "t0", "--limit", "2000", "--url", url)["tasks"]) == 1500


def test_a_tree_as_json(url: str, queue: Queue) -> None:
    queue.enqueue(id="root")
    children(queue, "root", "a", "b")
    children(queue, "a", "deep")
    found = answer("task", "tree", queue.name, "root", "--limit", "3", "--url", url)
    assert (found["queue"], found["id"], found["more"]) == (queue.name, "root", True)
    rows = [(one["depth"], one["id"], one["parent"], one["state"], one["more"]) for one in found["tasks"]]
    assert rows == [
        (0, "root", None, "ready", False),
        (1, "a", "root", "ready", True),
        (1, "b", "root", "ready", False),
    ]
    printed = adeq("task", "tree", queue.name, "root", "-o", "jsonl", "--url", url).stdout
    assert [json.loads(line)["id"] for line in printed.splitlines()] == ["root", "a", "deep", "b"]


def test_a_task_that_there_is_not_has_no_tree(url: str, queue: Queue) -> None:
    queue.configure()
    assert "has no task with the id 'nobody'" in error(1, "task", "tree", queue.name, "nobody", "--url", url)


def test_a_terminal_has_colours_and_whole_lines(url: str, queue: Queue) -> None:
    queue.enqueue(id="root", kind="k" * 150)
    children(queue, "root", "a")
    queue.cancel("a")
    with Terminal("task", "tree", queue.name, "root", "--url", url) as terminal:
        assert terminal.wait() == 0
    first, second = terminal.seen.splitlines()
    assert first.endswith("kkk…")
    assert "\x1b[33mcancelled\x1b[0m" in second


# enqueue


def test_enqueue_after_others(url: str, queue: Queue) -> None:
    queue.enqueue_many([Task(id="a"), Task(id="b")])
    options = "--id c --after a --after b --after-any --after-when ended --gather 2"
    found = answer("task", "enqueue", queue.name, *options.split(), "--url", url)
    assert found["status"] == "created"
    found = answer("task", "show", queue.name, "c", "--url", url)
    expected = {"after": ["a", "b"], "after_any": True, "after_when": "ended", "gather": 2, "awaits": 4}
    assert expected.items() <= found.items()
    assert lines("task", "ls", queue.name, "--state", "blocked", "--url", url)[1][-2:] == ["awaits", "4"]
    shown = lines("task", "show", queue.name, "c", "--url", url)
    assert ["after", "a", "b"] in shown
    assert not [line for line in lines("task", "show", queue.name, "a", "--url", url) if line[0].startswith("after")]


def test_enqueue_after_one_that_there_is_not(url: str, queue: Queue) -> None:
    said = error(1, "task", "enqueue", queue.name, "--id", "b", "--after", "a", "--url", url)
    assert said.startswith("adeq: task 'b' was not made: it is to come after 'a', and there is no such task")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--after", "no id"], "after: 'no id' is not accepted"),
        (["--after-any"], "after_any: it says how tasks are waited for"),
        (["--gather", "0"], "gather: 0 is not accepted; allowed: an integer from 1 to 100000"),
        (
            ["--file", "-", "--after", "a", "--after-any"],
            "--file: its lines say what the tasks are; leave out --after, ",
        ),
    ],
)
def test_enqueue_refuses(url: str, queue: Queue, options: list[str], text: str) -> None:
    assert text in error(2, "task", "enqueue", queue.name, *options, "--url", url)


# A file


def write(file: Path, *tasks: dict[str, Any]) -> None:
    file.write_text("".join(f"{json.dumps(task)}\n" for task in tasks))


def test_lines_of_a_file_come_after_others(url: str, queue: Queue, tmp_path: Path) -> None:
    file = tmp_path / "tasks.jsonl"
    write(
        file,
        {"id": "a"},
        {"id": "b", "after": "a"},
        {"id": "c", "after": ["a", "b"], "after_when": "ended", "after_any": True, "gather": 3},
    )
    assert answer("task", "enqueue", queue.name, "--file", str(file), "--url", url)["created"] == 3
    b, c = queue.get_many(["b", "c"])
    assert b
    assert c
    assert (b.after, b.awaits) == (("a",), 1)
    assert (c.after, c.after_when, c.after_any, c.gather, c.awaits) == (("a", "b"), "ended", True, 3, 5)


def test_a_line_after_a_task_that_there_is_not_is_named(url: str, queue: Queue, tmp_path: Path) -> None:
    file = tmp_path / "tasks.jsonl"
    write(file, {"id": "a"}, {"id": "b", "after": "x"}, {"id": "c"}, {"id": "d", "after": "b"})
    ended = adeq("task", "enqueue", queue.name, "--file", str(file), "--url", url)
    done, said = ended.stderr.splitlines()
    assert (ended.status, ended.stdout) == (1, "")
    assert "1 line done, and some after that; the same command goes on there" in done
    assert said == f"adeq: {file}, line 2: after: task 'x' does not exist, or no longer"
    queue.enqueue(id="x")
    again = adeq("task", "enqueue", queue.name, "--file", str(file), "--url", url)
    assert "2 created, 1 exists in" in again.stdout
    assert "continuing after line 1" in again.stderr
    stats = queue.stats()
    assert (stats.ready, stats.blocked) == (3, 2)


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ({"after": 5}, "after: 5 is not accepted: Input should be a valid string"),
        ({"after": ["a", 5]}, "after: ['a', 5] is not accepted: Input should be a valid string"),
        (
            {"after_when": "dead"},
            "after_when: 'dead' is not accepted: Input should be 'completed', 'failed' or 'ended'",
        ),
        ({"gather": 0}, "gather: 0 is not accepted; allowed: an integer from 1 to 100000"),
        ({"after_any": True}, "after_any: it says how tasks are waited for; name them with after"),
    ],
)
def test_a_bad_line_is_refused(url: str, queue: Queue, tmp_path: Path, field: dict[str, Any], text: str) -> None:
    file = tmp_path / "tasks.jsonl"
    write(file, field)
    assert text in error(1, "task", "enqueue", queue.name, "--file", str(file), "--url", url)


# cancel


def test_a_tree_is_cancelled(url: str, queue: Queue) -> None:
    queue.gather(range(2), Task(id="all"))
    children(queue, "all.00000", "deep")
    found = answer("task", "cancel", queue.name, "all", "--tree", "--url", url)
    assert found["tasks"] == [{"id": "all", "status": "cancelled"}]
    assert {task.state for task in queue.get_many(["all.00000", "all.00001", "deep"]) if task} == {"cancelled"}
    assert answer("task", "cancel", queue.name, "nobody", "--tree", "--url", url, status=1)


def test_the_tree_of_a_task_that_has_ended_is_cancelled_too(url: str, queue: Queue) -> None:
    queue.enqueue(id="root")
    queue.ack(queue.claim()[0])
    children(queue, "root", "a")
    assert answer("task", "cancel", queue.name, "root", "--url", url, status=1)["tasks"][0]["status"] == "finished"
    assert answer("task", "cancel", queue.name, "root", "--tree", "--url", url)["tasks"][0]["status"] == "finished"
    assert [line.split()[-2] for line in tree(url, queue, "root")[1:]] == ["cancelled"]
