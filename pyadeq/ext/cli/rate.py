"""`adeq rate`: rules, and what they allow."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from pyadeq import Adeq
from pyadeq.errors import AdeqError, ConfigError
from pyadeq.ext.cli.limit.words import MOST, Rate, rate
from pyadeq.ext.cli.shared.arguments import time_option
from pyadeq.ext.cli.shared.noun_arguments import DEFAULT, name_option, noun_with
from pyadeq.ext.cli.shared.resolve import existing, stored_bases
from pyadeq.ext.cli.shared.running import Document, Options, Read, with_client
from pyadeq.ext.cli.shared.shown import fields, span
from pyadeq.keys import check_name, hint
from pyadeq.models.rate import RateAnswer, RateRule

app = noun_with("rate", "--namespace")

Namespace = Annotated[str, name_option("rate")]
Partitions = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=1024,
        metavar="N",
        envvar="ADEQ_RATE_PARTITIONS",
        help="Over how many partitions the namespace is spread, as all its clients say it. [default: none]",
    ),
]


def _checked(rule: str) -> str:
    return check_name("RULE", rule, "id")


Rule = Annotated[str, typer.Argument(metavar="RULE", help="The rule."), Read(_checked)]
Subject = Annotated[str, typer.Argument(metavar="SUBJECT", help="A user or an address, for instance.")]
Cost = Annotated[int, typer.Option(min=1, max=MOST, metavar="N", help="How much it counts.")]


def any_rates(adeq: Adeq, namespace: Namespace = "default", partitions: Partitions = None) -> Any:
    """A namespace, whether it exists or not."""
    rates = adeq.rates(namespace)
    return rates if partitions is None else rates.partitioned(partitions)


def rates(adeq: Adeq, namespace: Namespace = "default", partitions: Partitions = None) -> Any:
    """The namespace with this number of partitions. If it does not exist, AdeqError says what exists."""
    found = any_rates(adeq, namespace, partitions)
    if stored_bases(adeq, found):
        return found
    others = (one.partition("/") for one in adeq.names("rate", partitions=True))
    numbers = sorted({tag.rpartition("-of-")[2] for of, _, tag in others if of == namespace and tag}, key=int)
    if numbers:
        raise AdeqError(
            f"--partitions: {namespace!r} is in {' and in '.join(numbers)} partitions; add --partitions {numbers[0]}"
        )
    existing(adeq, "rate", namespace, "adeq rate namespaces")
    raise AdeqError(f"--partitions: {namespace!r} has no partitions; leave it out")


def _known(rates: Any, rule: str) -> Any:
    """The namespace, if it has the rule. AdeqError with a hint if it has not."""
    if rates.get(rule) is None:
        names = [one.name for one in rates.list()]
        raise AdeqError(f"RULE: there is no {rule!r}{hint(rule, names)} See adeq rate ls")
    return rates


Rates = Annotated[Any, Options(rates)]
AnyRates = Annotated[Any, Options(any_rates)]

Algorithm = StrEnum("Algorithm", ["gcra", "log"])
"""How a rule counts hits."""
OnError = StrEnum("OnError", ["closed", "open"])
"""What clients do while they cannot ask the server."""


@app.command("set")
@with_client
def set_(
    rule: Rule,
    starts: Annotated[
        Rate | None,
        typer.Option("--rate", parser=rate, metavar="N/TIME", help="How many hits a period may have: 60/1m, 5/s."),
    ] = None,
    burst: Annotated[
        int | None, typer.Option(min=1, max=MOST, metavar="N", help="How many may come at once. [default: N of --rate]")
    ] = None,
    algorithm: Annotated[
        Algorithm, typer.Option(help="gcra: evenly; log: never more than N of --rate, at most 5000.")
    ] = Algorithm.gcra,
    concurrency: Annotated[
        int | None, typer.Option(min=1, max=MOST, metavar="N", help="In place of --rate: how many at a time.")
    ] = None,
    lease: Annotated[float | None, time_option("With --concurrency: how long a lease lasts. [default: 1m]")] = None,
    shadow: Annotated[bool, typer.Option("--shadow", help="Only report what the rule would refuse.")] = False,
    on_error: Annotated[
        OnError, typer.Option(help="What clients do while the server is away: refuse (closed) or allow.")
    ] = OnError.closed,
    rates: AnyRates = DEFAULT,
) -> Document:
    """Store a rule as a whole; the next hit goes by it. The namespace is created if it does not exist.

    What was counted goes on counting, unless the algorithm is another. TIME is in seconds, or with a unit: 90, 500ms,
    1.5h, 7d.
    """
    if (starts is None) == (concurrency is None):
        raise ConfigError("limited how? Give either --rate 60/1m, or --concurrency 4")
    if concurrency is not None and burst is not None:
        raise ConfigError("--burst: it goes with --rate; leave it out")
    if starts is not None and lease is not None:
        raise ConfigError("--lease: it goes with --concurrency; leave it out")
    given: dict[str, Any] = {"shadow": shadow, "on_error": on_error.value, "burst": burst, "lease": lease}
    if starts is None:
        given |= {"algorithm": "concurrency", "limit": concurrency}
    else:
        given |= {"algorithm": algorithm.value, "limit": starts.starts, "period": starts.period}
    status = rates.set(rule, **given).status
    found = rates.get(rule)
    if found is None:
        raise AdeqError(f"RULE: {rule!r} was removed at the same time by another client")
    return Document(
        {"namespace": rates.name, "status": status, **found.model_dump()}, f"{status} {rule}: {_allows(found)}"
    )


@app.command()
@with_client
def hit(rule: Rule, subject: Subject, cost: Cost = 1, rates: Rates = DEFAULT) -> Document:
    """Count a hit, if the rule allows it. Exits with 1 if it does not.

    A rule of concurrency gives a lease, which ends by itself. JSON has it as `rid`.
    """
    found: RateAnswer = _known(rates, rule).hit(rule, subject, cost, remember=True)
    if found.error is not None:
        raise found.error
    about = {"namespace": rates.name, "allowed": found.allowed, "rid": found.rid}
    one = found.rules[0]._asdict()
    return Document({**about, **one}, fields(one), failed=not found)


def _allows(rule: RateRule) -> str:
    """`60 in 1 min`, or `4 at a time`."""
    return f"{rule.limit:,} in {span(rule.period)}" if rule.period else f"{rule.limit:,} at a time"
