"""Every argument of every script, malformed in every way: refused by name, before anything is read or written.

The cases come from the manifest, so a new script or argument is covered without a line here.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pyadeq._core.kernel.call import MAX_BYTES, MAX_ITEMS
from pyadeq._core.kernel.manifest import Group, Script, library
from tests.nouns.arguments import Slot, bad, extreme, good, group_slots, noun_of, slots, values
from tests.nouns.script_bench import Bench, MakeAny, keys_of
from tests.nouns.watched import Refused

pytestmark = pytest.mark.any_engine

SCRIPTS = [library()[script_id] for script_id in library()]
every_script = pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.id)


def refusal(bench: Bench, script: Script, args: Sequence[bytes]) -> str:
    """The text of the error that the call must give, without having sent a command."""
    with pytest.raises(Refused) as caught:
        bench.raw_run(script.id, *args)
    assert bench.watched.last.commands == []
    assert caught.value.code == "ADEQ_ARG"
    return str(caught.value)


@pytest.fixture
def bench(request: pytest.FixtureRequest, make_any: MakeAny) -> Bench:
    """A queue or a lock domain, as the script needs."""
    script = request.node.callspec.params.get("script") if hasattr(request.node, "callspec") else None
    bench: Bench = make_any(noun_of(script) if script else "queue")
    return bench


@every_script
def test_valid_arguments_are_accepted(bench: Bench, script: Script) -> None:
    bench.furnish()
    bench.raw_run(script.id, *values(slots(script)))


# One test for all arguments of a script: pytest takes longer for a test than the script for a call.


@every_script
def test_extreme_values_are_accepted(bench: Bench, script: Script) -> None:
    bench.furnish()
    restore = bench.saved()
    sent = slots(script)
    for at, (label, _, argument) in enumerate(sent):
        if argument is None or label.endswith(("_count", ".pairs")):
            continue
        restore()
        for value in extreme(argument):
            args = values(sent)
            args[at] = value
            assert bench.raw_code(script.id, *args) != "ADEQ_ARG", f"{label}: {value!r:.100}"


@every_script
def test_bad_values_are_refused_by_name(bench: Bench, script: Script) -> None:
    sent = slots(script)
    for at, (label, _, argument) in enumerate(sent):
        for value in bad(argument):
            args = values(sent)
            args[at] = value
            text = refusal(bench, script, args)
            assert text.startswith(f"ADEQ_ARG {label} must be "), f"{value!r:.100}: {text}"
            assert len(text) < 500
            assert text.isprintable()


@every_script
def test_a_call_of_another_form_is_refused(bench: Bench, script: Script) -> None:
    """An argument is missing, or there is one too many; a key too many or too few."""
    sent = slots(script)
    for at, slot in enumerate(sent):
        assert f"ADEQ_ARG {slot.label} must be " in refusal(bench, script, values(sent[:at]))
    args = values(sent)
    assert f"expected {len(args)} arguments, got {len(args) + 1}" in refusal(bench, script, [*args, b"x"])
    keys = keys_of(script, bench.base)
    for given in ([], keys[:-1], [*keys, bench.key("more")]):
        with pytest.raises(Refused, match=f"^ADEQ_ARG expected {len(keys)} keys, got {len(given)}$"):
            bench.watched.run(script.id, given, args)
        assert bench.watched.last.commands == []


GROUPS = [(script, group) for script in SCRIPTS for group in script.groups]
every_group = pytest.mark.parametrize(
    ("script", "group"), GROUPS, ids=[f"{script.id}-{group.name}" for script, group in GROUPS]
)


@every_group
def test_a_pair_given_twice_is_refused_by_name(bench: Bench, script: Script, group: Group) -> None:
    scalars = [good(argument) for argument in script.args]
    fields = [good(argument) for argument in group.fields]
    for pair in group.pairs:
        item = [b"1", *fields, b"2", *[pair.name.encode(), good(pair)] * 2]
        args = scalars + [value for one in script.groups for value in (item if one is group else [b"0"])]
        wanted = f"{pair.name} must be given at most once" if len(group.pairs) > 1 else "pairs must be "
        assert f"ADEQ_ARG {group.name}[1].{wanted}" in refusal(bench, script, args)


@every_group
def test_fewer_items_than_counted_are_refused(bench: Bench, script: Script, group: Group) -> None:
    sent = slots(script)
    (at,) = [at for at, slot in enumerate(sent) if slot.label == f"{group.name}_count"]
    args = values(sent)
    args[at] = b"%d" % (int(args[at]) - 1)
    refusal(bench, script, args)


def test_settle_takes_1000_items_over_all_groups(bench: Bench) -> None:
    script = library()["queue.settle.v1"]
    sent = [Slot(one.name, good(one), one) for one in script.args]
    for group, size in zip(script.groups, (500, 499, 1), strict=True):
        sent += group_slots(group, size)
    bench.raw_run(script.id, *values(sent))
    more = values(sent)
    more[-2:] = [b"2", b"any", b"any"]
    assert f"at most {MAX_ITEMS}, got {MAX_ITEMS + 1}" in refusal(bench, script, more)


@pytest.mark.parametrize("script_id", ["queue.enqueue.v1", "queue.ack.v1", "queue.settle.v1"])
def test_a_call_takes_16_MiB_of_bytes(bench: Bench, script_id: str) -> None:
    script = library()[script_id]
    scalars = [good(argument) for argument in script.args]
    group, *others = script.groups
    large = b"x" * 2**20
    item = {"id": b"a", "token": b"a", "payload": large, "result": large}
    fields = [item[argument.name] for argument in group.fields] + [b"0"] * bool(group.pairs)
    for items in (16, 17):
        args = [*scalars, b"%d" % items, *fields * items, *[b"0" for _ in others]]
        if items == 16:
            bench.raw_run(script_id, *args)
        else:
            assert f"at most {MAX_BYTES} bytes, got {17 * 2**20}" in refusal(bench, script, args)
