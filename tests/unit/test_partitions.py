"""Where tasks of a queue in partitions belong, and how they get there."""

from __future__ import annotations

from collections import Counter
from itertools import compress
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyadeq._core.queue.partition_delivery import Delivery, Parcel, Shipment
from pyadeq._core.queue.partitions import PartitionMap, make_tags, read_map, tagged
from pyadeq.errors import BadArgument, DurabilityError, PartitionsChanged, TransportError, UnknownTask
from pyadeq.keys import SLOTS, hash_slot, partition_base
from pyadeq.models import Receipt

KEYS = [f"key-{n}" for n in range(400)]
TWO, FOUR = PartitionMap(1, ("a", "b"), (("-",),)), PartitionMap(2, ("a", "b", "c", "d"), (("-",), ("a", "b")))


@pytest.mark.parametrize("count", [1, 2, 4, 16, 64, 512])
def test_any_power_of_two_is_spread_evenly(count: int) -> None:
    slots = sorted(hash_slot(partition_base("mail", tag)) for tag in make_tags("mail", count))
    width = SLOTS // count
    assert all(n * width <= slot < n * width + 32 for n, slot in enumerate(slots))


def test_more_partitions_leave_those_there_are_where_they_are() -> None:
    assert make_tags("mail", 16)[:4] == make_tags("mail", 4)
    assert make_tags("mail", 4) != make_tags("post", 4)


def test_keys_are_spread_over_all_partitions() -> None:
    known = PartitionMap(1, make_tags("mail", 16))
    counts = Counter(known.home(key)[-1] for key in KEYS)
    assert len(counts) == 16
    assert max(counts.values()) < 3 * len(KEYS) / 16


def test_a_home_is_of_now_after_those_before() -> None:
    for key in KEYS:
        home = FOUR.home(key)
        assert home[0] == "-"
        assert home[-1] == FOUR.tags[FOUR.tags.index(home[-1])]
        assert len(set(home)) == len(home)
        assert set(home[1:-1]) <= {TWO.home(key)[-1]}


def test_an_id_says_where_its_task_is_if_it_is_a_partition_of_the_queue() -> None:
    assert FOUR.home_of_id(tagged("x", "c")) == ("c",)
    assert FOUR.home_of_id("x@elsewhere") == FOUR.home("x@elsewhere")
    settled = PartitionMap(3, ("c",), (), (("-",), ("a", "b")))
    assert settled.home_of_id(tagged("x", "a")) == ("a",)
    assert settled.all == ("c", "-", "a", "b")


def test_all_that_decides_must_agree() -> None:
    here, there = KEYS[0], next(key for key in KEYS if FOUR.home(key) != FOUR.home(KEYS[0]))
    assert FOUR.home_of(None, {}) is None
    assert FOUR.home_of(here, {"limits": [here]}) == FOUR.home(here)
    assert FOUR.home_of(None, {"parent": "p@b", "after": ["q@b"]}) == ("b",)
    disagreeing: list[dict[str, Any]] = [
        {"ordering_key": here, "limits": [there]},
        {"limits": [here, there]},
        {"idempotency_key": here, "parent": "p@b"},
        {"parent": "p@b", "after": ["q@b", "q@c"]},
    ]
    for pairs in disagreeing:
        with pytest.raises(BadArgument, match="is in another partition of the queue than what"):
            FOUR.home_of(None, pairs)
    for pairs, id in (({"ordering_key": here, "unique": here}, None), ({"scope": here}, here)):
        with pytest.raises(BadArgument, match="allowed in a queue with partitions: one of ordering_key"):
            FOUR.home_of(id, pairs)
        assert PartitionMap().home_of(id, pairs) == ("-",)


def test_the_map_as_it_is_stored() -> None:
    assert read_map({"layout": "1"}) == PartitionMap()
    stored = {"map_epoch": "3", "partitions": "a b c", "homes": "-;a b", "settled": "1"}
    assert read_map(stored) == PartitionMap(3, ("a", "b", "c"), (("a", "b"),), (("-",),))


# Delivery

Keys = dict[str, set[str]]
"""The partitions of a model, and the keys that are busy there."""


def deliver(delivery: Delivery, known: PartitionMap, busy: Keys) -> list[tuple[str, list[int]]]:
    """Send what can be sent until all is answered by the model; what was made where."""
    made: list[tuple[str, list[int]]] = []
    delivery.address(known)
    while not delivery.done:
        for shipment in delivery.shipments():
            answers = []
            for parcel in shipment.parcels:
                id, _, pairs = parcel.item()
                there = busy.setdefault(shipment.tag, set())
                moved = shipment.moved and pairs.get("ordering_key") not in there
                if not moved and pairs:
                    there.add(pairs["ordering_key"])
                answers.append(Receipt("moved" if moved else "created", id))  # type: ignore[arg-type]
            stays = [answer.status == "created" for answer in answers]
            made.append((shipment.tag, [one.index for one in compress(shipment.parcels, stays)]))
            assert delivery.take(shipment, answers)
    return made


def parcels(*keys: str | None, origin: Literal["given", "derived", "own"] = "own") -> list[Parcel]:
    return [
        Parcel(index, f"id-{index}", origin, b"x", {"ordering_key": key} if key else {})
        for index, key in enumerate(keys)
    ]


@given(st.lists(st.sampled_from(KEYS[:12]), max_size=60), st.sets(st.sampled_from(KEYS[:12])))
def test_each_key_has_one_home_and_its_order(keys: list[str], busy: set[str]) -> None:
    at: Keys = {"-": busy & set(KEYS[:4]), "a": {key for key in busy - set(KEYS[:4]) if TWO.home(key)[-1] == "a"}}
    before = {tag: set(some) for tag, some in at.items()}
    delivery = Delivery(parcels(*keys), 0)
    made = deliver(delivery, FOUR, at)
    places = {index: (tag, n) for n, (tag, some) in enumerate(made) for index in some}
    assert sorted(places) == list(range(len(keys)))
    for key in set(keys):
        own = [places[index] for index in range(len(keys)) if keys[index] == key]
        stays = next((tag for tag, some in before.items() if key in some), FOUR.home(key)[-1])
        assert {tag for tag, _ in own} == {stays}
        assert [n for _, n in own] == sorted(n for _, n in own)
    assert [receipt.id for receipt in delivery.receipts()] == [
        tagged(f"id-{index}", places[index][0]) for index in range(len(keys))
    ]


def test_what_belongs_anywhere_goes_in_hundreds_to_one_after_the_other() -> None:
    for count, portions in ((1, [1]), (150, [100, 50]), (1000, [250] * 4)):
        made = deliver(Delivery(parcels(*[None] * count), 1), FOUR, {})
        assert [len(some) for _, some in made] == portions
        assert len({tag for tag, _ in made}) == len(portions)
    (first, _), (second, _) = (deliver(Delivery(parcels(None), turn), FOUR, {})[0] for turn in (1, 2))
    assert first != second


@pytest.mark.parametrize(("origin", "id"), [("given", "id-0"), ("derived", "id-0"), ("own", "id-0@{}")])
def test_only_an_id_of_our_own_names_its_partition(origin: Literal["given", "derived", "own"], id: str) -> None:
    delivery = Delivery(parcels(None, origin=origin), 0)
    ((tag, _), *_) = reversed(deliver(delivery, FOUR, {}))
    assert delivery.receipts()[0].id == id.format(tag)
    if origin != "own":
        assert tag == FOUR.home("id-0")[-1]


def test_a_call_takes_a_thousand_and_not_too_many_bytes() -> None:
    many = Delivery(parcels(*["k"] * 1500, origin="own"), 0)
    assert [len(some) for _, some in deliver(many, PartitionMap(), {})] == [1000, 500]
    large = [Parcel(n, f"id-{n}", "own", b"x" * 3_000_000, {"ordering_key": "k"}) for n in range(5)]
    assert [len(some) for _, some in deliver(Delivery(large, 0), PartitionMap(), {})] == [2, 2, 1]


def first_of(delivery: Delivery, known: PartitionMap) -> Shipment:
    delivery.address(known)
    return delivery.shipments()[0]


def test_a_map_that_is_too_old_is_read_again() -> None:
    delivery = Delivery(parcels("k"), 0)
    shipment = first_of(delivery, TWO)
    assert not delivery.take(shipment, PartitionsChanged("ADEQ_EPOCH", "queue.enqueue.v1", "epoch is 2 here"))
    assert not delivery.done
    again = first_of(delivery, FOUR)
    assert (again.tag, again.moved) == ("-", True)
    assert again.parcels[0].item()[0] == "id-0@-"
    assert delivery.take(again, [Receipt("exists", "id-0@-")])
    assert delivery.receipts() == [Receipt("created", "id-0@-")]  # its first answer was lost


def test_an_id_that_was_given_may_be_somebody_elses() -> None:
    delivery = Delivery(parcels(None, origin="given"), 0)
    assert delivery.take(first_of(delivery, PartitionMap()), [Receipt("exists", "id-0")])
    assert delivery.receipts() == [Receipt("exists", "id-0")]


def test_what_is_late_is_told_at_the_end() -> None:
    delivery = Delivery(parcels("k", "k"), 0)
    made = Receipt("created", "id-0@-")
    assert delivery.take(first_of(delivery, PartitionMap()), UnknownTask("id-1@-", "x", [made, None]))
    with pytest.raises(UnknownTask) as unknown:
        delivery.receipts()
    assert unknown.value.receipts == [made, None]
    delivery = Delivery(parcels("k"), 0)
    assert delivery.take(first_of(delivery, PartitionMap()), DurabilityError("not yet", [made]))
    with pytest.raises(DurabilityError) as unconfirmed:
        delivery.receipts()
    assert unconfirmed.value.answer == [made]
    lost = TransportError("gone", retryable=True, may_have_applied=True)
    delivery = Delivery(parcels("k"), 0)
    with pytest.raises(TransportError):
        delivery.take(first_of(delivery, PartitionMap()), lost)
