"""`adeq rate`: rules, and what they allow."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from pyadeq import Adeq
from pyadeq.errors import AdeqError, ConfigError
from pyadeq.ext.cli.arguments import time_option
from pyadeq.ext.cli.common import DEFAULT_URL, FAILED, Format, Output, Url, connected, print_json, print_lines
from pyadeq.ext.cli.complete import names_of
from pyadeq.ext.cli.generated import Commands
from pyadeq.ext.cli.limit_words import MOST, Rate, rate
from pyadeq.ext.cli.lock_listing import span
from pyadeq.ext.cli.resolve import existing, stored_bases
from pyadeq.ext.cli.tables import print_rows
from pyadeq.ext.cli.tree import NOUNS, WITH_VALUE, Group
from pyadeq.keys import check_name, hint
from pyadeq.models.rate import RateAnswer, RateRule, RuleAnswer

COLUMNS = ("rule", "algorithm", "allows", "burst", "on error", "shadow", "version")
OF_HIT = ("rule", "subject", "status", "remaining", "retry", "full")


class RateGroup(Group):
    """The commands of rates. Their options may come before the verb, too."""

    with_value = (*WITH_VALUE, "--namespace")


app = typer.Typer(cls=RateGroup, help=NOUNS["rate"], no_args_is_help=True)
app.callback()(lambda: None)

Namespace = Annotated[
    str,
    typer.Option(
        "--namespace",
        metavar="NAME",
        envvar="ADEQ_RATE_NAMESPACE",
        help="The rate namespace.",
        autocompletion=names_of("rate"),
    ),
]
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
Rule = Annotated[str, typer.Argument(metavar="RULE", help="The rule.")]
RuleNames = Annotated[list[str], typer.Argument(metavar="RULE...", help="The rules.")]
Subject = Annotated[str, typer.Argument(metavar="SUBJECT", help="A user or an address, for instance.")]
Cost = Annotated[int, typer.Option(min=1, max=MOST, metavar="N", help="How much it counts.")]


class Algorithm(StrEnum):
    """How a rule counts hits."""

    gcra = "gcra"
    log = "log"


class OnError(StrEnum):
    """What clients do while they cannot ask the server."""

    closed = "closed"
    open = "open"


@app.command()
def ls(
    namespace: Namespace = "default",
    partitions: Partitions = None,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """List the rules of a namespace."""
    with connected(url) as adeq:
        found = _existing(adeq, namespace, partitions).rules()
    if output != Format.table:
        print_lines((rule.model_dump() for rule in found), output)
        return
    print_rows(COLUMNS, map(_row, found), right=["version"], spare=["version", "shadow", "on error"])


@app.command("set")
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
    namespace: Namespace = "default",
    partitions: Partitions = None,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
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
    with connected(url) as adeq:
        rates = _of(adeq, namespace, partitions)
        status = rates.set_rule(check_name("RULE", rule, "id"), **given).status
        found = rates.rule(rule)
    if found is None:
        raise AdeqError(f"RULE: {rule!r} was removed at the same time by another client")
    if output != Format.table:
        print_json({"namespace": namespace, "status": status, **found.model_dump()}, output)
    else:
        print(f"{status} {rule}: {_allows(found)}")


@app.command()
def rm(
    rules: RuleNames,
    namespace: Namespace = "default",
    partitions: Partitions = None,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Remove rules. Hits that name them are errors from now on. Exits with 1 if a rule does not exist."""
    names = [check_name("RULE", rule, "id") for rule in dict.fromkeys(rules)]
    with connected(url) as adeq:
        rates = _existing(adeq, namespace, partitions)
        removed = {rule: "removed" if rates.remove_rule(rule) else "not_found" for rule in names}
    if output != Format.table:
        rows = [{"rule": rule, "status": status} for rule, status in removed.items()]
        print_json({"namespace": namespace, "rules": rows}, output)
    else:
        print_rows(["rule", "status"], removed.items())
    if "not_found" in removed.values():
        raise typer.Exit(FAILED)


@app.command()
def show(
    rule: Rule,
    subject: Subject,
    namespace: Namespace = "default",
    partitions: Partitions = None,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Show what a rule allows a subject now. Nothing is counted."""
    with connected(url) as adeq:
        found = _known(_existing(adeq, namespace, partitions), rule).peek(rule, subject)
    if output != Format.table:
        print_json({"namespace": namespace, **found._asdict()}, output)
    else:
        print_rows(OF_HIT, [_row_of_hit(found)], right=["remaining"])


@app.command()
def hit(
    rule: Rule,
    subject: Subject,
    cost: Cost = 1,
    namespace: Namespace = "default",
    partitions: Partitions = None,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Count a hit, if the rule allows it. Exits with 1 if it does not.

    A rule of concurrency gives a lease, which ends by itself. JSON has it as `rid`.
    """
    with connected(url) as adeq:
        found: RateAnswer = _known(_existing(adeq, namespace, partitions), rule).hit(rule, subject, cost, remember=True)
    if found.error is not None:
        raise found.error
    if output != Format.table:
        one = found.rules[0]._asdict()
        print_json({"namespace": namespace, "allowed": found.allowed, "rid": found.rid, **one}, output)
    else:
        print_rows(OF_HIT, [_row_of_hit(found.rules[0])], right=["remaining"])
    if not found:
        raise typer.Exit(FAILED)


@app.command()
def refund(
    rule: Rule,
    subject: Subject,
    cost: Cost = 1,
    namespace: Namespace = "default",
    partitions: Partitions = None,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Take hits back. Leases of concurrency end with adeq rate reset."""
    with connected(url) as adeq:
        left = _known(_existing(adeq, namespace, partitions), rule).refund(rule, subject, cost)
    _print_left(namespace, rule, subject, left, output)


@app.command()
def reset(
    rule: Rule,
    subject: Subject,
    namespace: Namespace = "default",
    partitions: Partitions = None,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Forget all that a rule has counted for a subject; of concurrency, all leases."""
    with connected(url) as adeq:
        left = _known(_existing(adeq, namespace, partitions), rule).reset(rule, subject)
    _print_left(namespace, rule, subject, left, output)


@app.command()
def namespaces(url: Url = DEFAULT_URL, output: Output = Format.table) -> None:
    """List the rate namespaces of the server.

    A server has no list of them, so all its keys are scanned. This takes about a second for a million keys.
    """
    with connected(url) as adeq:
        names = sorted(adeq.rate_namespaces())
    if output != Format.table:
        print_lines(({"namespace": name} for name in names), output)
    else:
        print_rows(["namespace"], [[name] for name in names])


app.command("configure", help="Show or change the settings of a namespace.")(
    Commands("rate", "adeq rate namespaces").function("configure")
)


def _of(adeq: Adeq, name: str, partitions: int | None) -> Any:
    rates = adeq.rates(name)
    return rates if partitions is None else rates.partitioned(partitions)


def _existing(adeq: Adeq, name: str, partitions: int | None) -> Any:
    """The namespace with this number of partitions. If it does not exist, AdeqError says what exists."""
    found = _of(adeq, name, partitions)
    if stored_bases(adeq, found):
        return found
    others = (one.partition("/") for one in adeq.names("rate", partitions=True))
    numbers = sorted({tag.rpartition("-of-")[2] for of, _, tag in others if of == name and tag}, key=int)
    if numbers:
        raise AdeqError(
            f"--partitions: {name!r} is in {' and in '.join(numbers)} partitions; add --partitions {numbers[0]}"
        )
    existing(adeq, "rate", name, "adeq rate namespaces")
    raise AdeqError(f"--partitions: {name!r} has no partitions; leave it out")


def _known(rates: Any, rule: str) -> Any:
    """The namespace, if it has the rule. AdeqError with a hint if it has not."""
    if rates.rule(check_name("RULE", rule, "id")) is None:
        names = [one.name for one in rates.rules()]
        raise AdeqError(f"RULE: there is no {rule!r}{hint(rule, names)} See adeq rate ls")
    return rates


def _row(rule: RateRule) -> tuple[str, ...]:
    burst = f"{rule.burst:,}" if rule.burst else ""
    return (
        rule.name,
        rule.algorithm,
        _allows(rule),
        burst,
        rule.on_error,
        "yes" if rule.shadow else "",
        f"{rule.version}",
    )


def _allows(rule: RateRule) -> str:
    """`60 in 1 min`, or `4 at a time`."""
    return f"{rule.limit:,} in {span(rule.period)}" if rule.period else f"{rule.limit:,} at a time"


def _row_of_hit(one: RuleAnswer) -> tuple[str, ...]:
    retry, full = (span(after) if after else "now" for after in (one.retry_after, one.reset_after))
    return (one.rule, one.subject, one.status, f"{one.remaining:,}", retry, full)


def _print_left(namespace: str, rule: str, subject: str, left: int, output: Format) -> None:
    if output != Format.table:
        print_json({"namespace": namespace, "rule": rule, "subject": subject, "remaining": left}, output)
    else:
        print(f"{rule} allows {subject} {left:,} now")
