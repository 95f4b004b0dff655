"""The clients of a chaos run, seen from outside: started, killed, frozen and ended."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from pyadeq.errors import AdeqError
from pyadeq.ext.prove.chaos.workload import Scene

PATIENCE = 20.0  # seconds between SIGTERM and SIGKILL
GONE = 30.0  # seconds in which a process that is killed has to be gone, or one that was started to do something
LOG_LINES = 12  # of what a process said, when it has failed


@dataclass(eq=False)
class Agent:
    """One process. thaw_at: when it goes on, if it stands still. status: how it has ended, if it has."""

    name: str
    role: str
    journal: Path
    log: Path
    killed: bool = False
    thaw_at: float | None = None
    status: int | None = None

    @property
    def alive(self) -> bool:
        """Whether it runs, or stands still."""
        return self.status is None

    @property
    def last_words(self) -> str:
        """The end of what it printed."""
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return "\n".join(text.splitlines()[-LOG_LINES:])


class Crowd:
    """All client processes of a run, with their journals in a folder. counts: what was done to them, by kind."""

    def __init__(self, scene: Scene, folder: Path) -> None:
        self.scene = scene
        self.agents: list[Agent] = []
        self.counts: Counter[str] = Counter()
        self._folder = folder
        self._numbers: Counter[str] = Counter()
        self._heard = b""
        self._nursery = subprocess.Popen(
            [sys.executable, "-m", "pyadeq.ext.prove.chaos.agents"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,  # Ctrl-C is for the run, which stops its clients
        )

    def start(self, role: str, *, durability: str = "memory", clock_off: float = 0.0) -> Agent:
        """Another process in a role, under a name that no other has had."""
        self._numbers[role] += 1
        name = f"{role}-{self._numbers[role]}"
        agent = Agent(name, role, self._folder / f"{name}.jsonl", self._folder / f"{name}.log")
        options = {
            "scene": asdict(self.scene),
            "journal": str(agent.journal),
            "durability": durability,
            "clock_off": clock_off,
        }
        self._ask({"start": name, "role": role, "log": str(agent.log), "options": options})
        self.agents.append(agent)
        if clock_off:
            self.counts["clock_off"] += 1
        return agent

    def await_work(self) -> None:
        """Wait until each has made a call, or has ended; AdeqError if that takes too long."""
        until = monotonic() + GONE
        while silent := [one for one in self.agents if one.alive and not _size(one.journal)]:
            self._listen(0.02)
            if monotonic() > until:
                raise AdeqError(f"{silent[0].name} does nothing: {silent[0].last_words}")

    def of(self, *roles: str) -> list[Agent]:
        """Return the agents of these roles that live and do not stand still."""
        return [agent for agent in self.agents if agent.role in roles and agent.thaw_at is None and agent.alive]

    def kill(self, agent: Agent) -> None:
        """End an agent with SIGKILL."""
        agent.killed = True
        self._signal(agent, signal.SIGKILL)
        self._await_end([agent], GONE)
        self.counts["kill_client"] += 1

    def freeze(self, agent: Agent, seconds: float) -> None:
        """Let it stand still for so long; `maintain` lets it go on."""
        self._signal(agent, signal.SIGSTOP)
        agent.thaw_at = monotonic() + seconds
        self.counts["freeze_client"] += 1

    def maintain(self, everybody: bool = False) -> None:
        """Let those go on who have stood still for long enough, or everybody; and hear who has ended."""
        self._listen(0)
        for agent in self.agents:
            if agent.thaw_at is not None and (everybody or monotonic() >= agent.thaw_at):
                self._signal(agent, signal.SIGCONT)
                agent.thaw_at = None

    def stop(self, *roles: str) -> None:
        """Ask those of these roles to stop, all if none are named; whoever has not after 20 seconds is killed."""
        self.maintain(everybody=True)
        these = [agent for agent in self.agents if agent.alive and (not roles or agent.role in roles)]
        for agent in these:
            self._signal(agent, signal.SIGTERM)
        for agent in self._await_end(these, PATIENCE):
            self.kill(agent)

    def failures(self) -> list[str]:
        """What those said who ended in a way that nobody wanted."""
        fine = (None, 0, -signal.SIGTERM)
        failed = [agent for agent in self.agents if agent.status not in fine and not agent.killed]
        return [f"{agent.name} ended with {agent.status}: {agent.last_words}" for agent in failed]

    def close(self) -> None:
        """End the agents that are left."""
        assert self._nursery.stdin
        assert self._nursery.stdout
        self._nursery.stdin.close()
        self._nursery.wait()
        self._nursery.stdout.close()

    def _await_end(self, agents: list[Agent], seconds: float) -> list[Agent]:
        """Wait until they have ended; those that have not in that time."""
        until = monotonic() + seconds
        while left := [agent for agent in agents if agent.alive]:
            if monotonic() > until:
                return left
            self._listen(0.02)
        return []

    def _signal(self, agent: Agent, number: signal.Signals) -> None:
        self._ask({"signal": agent.name, "number": int(number)})

    def _ask(self, request: dict[str, Any]) -> None:
        assert self._nursery.stdin
        try:
            self._nursery.stdin.write(json.dumps(request).encode() + b"\n")
        except BrokenPipeError:
            raise AdeqError("the process that starts the clients of this run has ended") from None

    def _listen(self, seconds: float) -> None:
        """Take what the nursery has to say; wait for it so long."""
        out = self._nursery.stdout
        assert out
        while select.select([out], [], [], seconds)[0]:
            seconds = 0
            data = os.read(out.fileno(), 65536)
            if not data:
                raise AdeqError("the process that starts the clients of this run has ended")
            *lines, self._heard = (self._heard + data).split(b"\n")
            for line in lines:
                told = json.loads(line)
                next(agent for agent in self.agents if agent.name == told["ended"]).status = told["status"]


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
