"""A story as it is played: hosts on a network, one server behind it, and in the end the judgement."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from random import Random
from typing import Any

import redis
from redis.asyncio import ConnectionPool, Redis

from pyadeq.asyncio import Adeq
from pyadeq.embedded import EmbeddedServer
from pyadeq.errors import AdeqError, UnknownTask
from pyadeq.ext.prove.chaos.case import Verdict
from pyadeq.ext.prove.chaos.history import History, gather
from pyadeq.ext.prove.chaos.judge import judge
from pyadeq.ext.prove.chaos.parts import PARTS
from pyadeq.ext.prove.chaos.recorder import Recorder
from tests.audit import audit
from tests.simulation import change_actors
from tests.simulation.actors import Player
from tests.simulation.actors import gather as gather_tasks
from tests.simulation.clients import DOMAIN, LANES, POOL, QUEUE, Clients
from tests.simulation.loop import NOBODY, Loop, Process
from tests.simulation.network import Connection, Host
from tests.simulation.nouns import NOUNS
from tests.simulation.server import Build, Listener, Server
from tests.simulation.story import Fault, Story

LONGEST = 150.0  # seconds in which actors come to an end
ROUNDS = 60  # in which what is left is done
LOOK = 0.4  # seconds between two looks for those who wait in vain
HARMLESS = ("flush scripts", "duplicate", "clock on")  # by which no token is lost


class World:
    """One run of a story."""

    def __init__(self, server: EmbeddedServer, builds: Sequence[Build], client: redis.Redis, story: Story) -> None:
        self.story = story
        self._builds = builds
        self._client_of_server = client
        self.loop = Loop()
        self.faults: list[str] = []  # of the simulation or the client: exceptions that nobody has caught
        self.loop.set_exception_handler(lambda _, about: self.faults.append(_shown(about)))
        self.server = Server(server, self.loop.time)
        self.recorder = Recorder(self.loop.time)
        self.hosts: list[Host] = []
        self.bases: list[str] = []
        self.shared: dict[str, Any] = {}
        self._roles = {actor.role for actor in story.actors}
        self._history: History | None = None
        self._last: Adeq

    def play(self) -> Verdict:
        self.server.clear()
        self.loop.run_until_complete(self._set_up())
        players = [Player(actor) for actor in self.story.actors]
        works = [self._live(player) for player in players]
        for fault in self.story.faults:
            if not fault.of_request:
                self.loop.call_later(fault.at, self._strike, fault, context=NOBODY)
        watch = self.loop.create_task(self._watch())
        self.loop.run_until_complete(self._until_all_end(works))
        watch.cancel()
        return self._judge(self.loop.run_until_complete(self._work_off()))

    async def _watch(self) -> None:
        """Nobody waits for long for what is there; where nothing happens by which a token may get lost."""
        if any(fault.kind not in HARMLESS for fault in self.story.faults):
            return
        before: dict[tuple[Listener, bytes], int] = {}
        while True:
            await asyncio.sleep(LOOK)
            before = {one: before.get(one, 0) + 1 for one in self.server.overlooked()}
            self.faults += [f"lost wake-up: lane {one[1]!r}" for one, times in before.items() if times == 3]

    async def _set_up(self) -> None:
        adeq = self._client(self._host("founder", 0))
        queue, locks = adeq.queue(QUEUE), adeq.locks(DOMAIN)
        await queue.configure(clock="test", **self.story.settings)
        await locks.configure(clock="test")
        if "owner" in self._roles:
            await locks.capacities.set(POOL, 2)
        self.bases = [queue.base, locks.base]
        if self.story.changes:
            await change_actors.set_up(adeq, DOMAIN, self.story.changes)
            self.bases.append(adeq.changes(DOMAIN).base)
        for role, actors in NOUNS.items():
            if role in self._roles:
                self.bases += await actors.set_up(self.recorder, adeq)
        if any(fault.kind == "lose data" for fault in self.story.faults):
            self.server.save()

    # Hosts

    def _host(self, name: str, build: int) -> Host:
        process = Process(self.loop, name)
        number = sum(host.process.name == name for host in self.hosts)
        random = Random(f"{self.story.seed} {name} {number}")
        host = Host(self.loop, self.server, process, self._builds[build], random)
        self.hosts.append(host)
        return host

    def _client(self, host: Host) -> Adeq:
        pool = ConnectionPool(connection_class=Connection, host=host, protocol=2, max_connections=20, socket_timeout=2)
        # No server here has a replica, so none is asked for.
        return Adeq(Redis(connection_pool=pool), source=host.process.name, durability="memory")

    def _live(self, player: Player) -> asyncio.Future[None]:
        """Start a player; the future ends when it has, however often it was started again."""
        ended = self.loop.create_future()
        fates = {int(one.at): (one.kind, one.amount) for one in self._fates(player.actor.name)}
        self._start(player, fates, ended)
        return ended

    def _fates(self, name: str) -> list[Fault]:
        return [one for one in self.story.faults if one.of_request and one.actor == name]

    def _start(self, player: Player, fates: dict[int, tuple[str, float]], ended: asyncio.Future[None]) -> None:
        host = self._host(player.actor.name, player.actor.build)
        host.fates = fates
        adeq = self._client(host)
        name = player.actor.name

        async def live() -> None:
            clients = Clients(self.recorder, adeq, name, f"{name}/{len(self.hosts)}", self.shared)
            await player.play(clients)
            await clients.aclose()
            await adeq.aclose()
            if not ended.done():
                ended.set_result(None)

        def crash(seconds: float) -> None:
            host.process.kill()
            host.hang_up()
            left = {at - host.requests: fate for at, fate in fates.items() if at > host.requests}
            self.loop.call_later(seconds, self._start, player, left, ended, context=NOBODY)

        host.crash = crash
        host.process.start(live())

    async def _until_all_end(self, works: list[asyncio.Future[None]]) -> None:
        _, late = await asyncio.wait(works, timeout=LONGEST)
        for host in self.hosts[1:] if late else ():
            host.process.kill()
            host.hang_up()

    # What happens at a time

    def _strike(self, fault: Fault) -> None:
        kind, seconds = fault.kind, fault.amount
        if fault.actor:
            host = next(host for host in reversed(self.hosts) if host.process.name == fault.actor)
            if kind == "stops":
                host.process.pause(seconds)
            elif not host.process.dead:
                host.crash(seconds)
            return
        match kind:
            case "flush scripts":
                self.server.flush_scripts()
            case "restart" | "lose data":
                loses = kind == "lose data"
                self.server.go_down()
                began = self.loop.time()
                for host in self.hosts:
                    host.hang_up()
                self.loop.call_later(seconds, self._come_up, loses, began)
            case "clock back" | "clock on":
                self.server.clock_off_ms += round(seconds * 1000) * (-1 if kind == "clock back" else 1)
                if kind == "clock back":
                    self.recorder.mark("clock_back")

    def _come_up(self, loses: bool, began: float) -> None:
        self.server.come_up(loses=loses)
        self.recorder.mark("power_cut" if loses else "restart", since=began)

    # The end

    async def _work_off(self) -> list[str]:
        """Do all that is left, with nothing in the way any more; what cannot be done."""
        calm = max((fault.at + fault.amount for fault in self.story.faults if not fault.of_request), default=0.0)
        if calm >= self.loop.now:
            await asyncio.sleep(calm - self.loop.now + LOOK)
        adeq = self._last = self._client(self._host("last", 0))
        for role, actors in NOUNS.items():
            if role in self._roles:
                await actors.look(Clients(self.recorder, adeq, "last", "last", self.shared))
        queue, locks = self.recorder.queue(adeq.queue(QUEUE), "last"), adeq.locks(DOMAIN)
        await adeq.queue(QUEUE).admin.resume()
        await adeq.queue(QUEUE).schedules.remove("s")
        for actor in self.story.actors:
            for verb, options in actor.steps:
                if verb == "gather":  # which may have been broken off between its calls
                    with suppress(UnknownTask):  # somebody has purged who gathers
                        await gather_tasks(adeq, options)
        for _ in range(ROUNDS):
            claimed = await queue.claim_once("last", 100, lanes=LANES)
            for lease in claimed.leases:
                with suppress(AdeqError):
                    await queue.ack(lease)
            if claimed.leases:
                continue
            stats, held = await adeq.queue(QUEUE).stats(), await locks.stats()
            if not (stats.pending or stats.running or stats.stalled or held.held or held.waiting):
                break
            due = claimed.next_due or claimed.now + 2
            await asyncio.sleep(min(max(due - claimed.now, 0.05), 30))
            await locks.admin.reap()
        else:
            return [f"left behind: {stats!r}, {held!r}"]
        return await change_actors.work_off(adeq, DOMAIN) if self.story.changes else []

    def _judge(self, left: list[str]) -> Verdict:
        self._history = self.loop.run_until_complete(self._gather())
        audited = [found for base in self.bases for found in audit(self._client_of_server, base)]
        self._history.problems += self.faults + left + audited
        return judge(self._history)

    def history(self) -> History:
        """What has happened; no more than clients saw, if it was broken off."""
        return self._history or History(self.recorder.ops, self.recorder.marks)

    async def _gather(self) -> History:
        adeq = self._last
        assert isinstance(adeq.client, Redis)
        history = await gather(self.recorder, adeq.client, adeq.queue(QUEUE), adeq.locks(DOMAIN))
        for word, part in PARTS.items():
            if part.read and self._roles & part.roles.keys():
                history.nouns[word] = await part.read(adeq, adeq.client, DOMAIN, history)
        return history

    def close(self) -> None:
        """Let all that was killed or left come to its end, while nothing reaches the server any more."""
        self.server.down = True
        for host in self.hosts:
            host.hang_up()
            host.process.revive()
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        if tasks:
            self.loop.run_until_complete(asyncio.wait(tasks, timeout=600))
        self.loop.close()
        self.server.close()


def _shown(about: dict[str, Any]) -> str:
    return f"{about['message']}: {about.get('exception')!r}"
