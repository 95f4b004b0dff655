"""Every script with each of its keys wrong: refused by the name of the key, before anything is read or written.

The cases come from the manifest, so a new script or key is covered without a line here. No call has arguments: with
the right keys, the error is about these.
"""

from __future__ import annotations

import re

import pytest
import redis

from pyadeq._core.kernel.manifest import Script, library
from pyadeq.keys import no_base
from tests.nouns.arguments import noun_of
from tests.nouns.script_bench import keys_of
from tests.nouns.watched import Refused, WatchedClient

pytestmark = pytest.mark.any_engine

NOUNS = library().manifest["nouns"]
SCRIPTS = [library()[script_id] for script_id in library()]
every_script = pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.id)
PARTS = {"prefix": "ade", "name": "n", "slot": "s", "tag": "t", "noun": "queue"}
LONG = "n" * 100


def base_of(script: Script, form: str = "usual", **parts: str) -> str:
    """A base of the noun of a script."""
    return re.sub(r"<(\w+)>", lambda part: (PARTS | parts)[part[1]], NOUNS[noun_of(script)]["bases"][form])


def refusal(watched: WatchedClient, script: Script, keys: list[str]) -> str:
    with pytest.raises(Refused) as caught:
        watched.run(script.id, keys, [])
    assert watched.last.commands == []
    return str(caught.value)


@every_script
def test_each_key_that_is_wrong_is_refused_by_name(watched: WatchedClient, script: Script) -> None:
    base = base_of(script)
    keys, others = keys_of(script, base), keys_of(script, base_of(script, name="other"))
    for at, key in enumerate(script.keys):
        name = f"{key.noun}_{key.name.removeprefix(f'{key.noun}_')}" if key.noun else key.name
        wrong = ["", keys[at] + "x", keys[at] + " ", keys[at] + "\n"]
        if at > 0:  # the first key says which base it is
            wrong += [others[at], keys[at].replace("ade", "b")]
        if key.type == "gate":
            wrong += [f"{base}!{role}" for noun in NOUNS.values() for role in noun["roles"]]
            wrong += [f"{base}!events.{role}" for role in NOUNS["events"]["roles"]] + [base, no_base(base), *keys[:-1]]
        for given in wrong:
            if given == keys[at]:
                continue
            text = refusal(watched, script, [*keys[:at], given, *keys[at + 1 :]])
            assert text.startswith(f"ADEQ_ARG key {name} must be "), (given, text)
            assert text.endswith(f", got '{given.replace(chr(10), '?')[:64]}'")
            assert len(text) < 500
    if len(keys) > 1:
        assert refusal(watched, script, [others[0], *keys[1:]]).startswith("ADEQ_ARG key ")
        keys[-1], keys[-2] = keys[-2], keys[-1]
        assert refusal(watched, script, keys).startswith("ADEQ_ARG key ")


@every_script
def test_a_base_of_another_form_is_refused(watched: WatchedClient, script: Script) -> None:
    noun = PARTS["noun"] if noun_of(script) == "events" else noun_of(script)
    forms = NOUNS[noun_of(script)]["bases"]
    first = f"ADEQ_ARG key {script.keys[0].name} must be "
    longer = [(form, {part: LONG + "n"}) for form in forms for part in PARTS if f"<{part}>" in forms[form]]
    bases = [
        "", "ade", noun, f"ade:{noun}:n", f"ade:{{{noun}}}", f"ade:{{{noun}:}}", f":{{{noun}:n}}", f"{{{noun}:n}}",
        f"a{{x}}:{{{noun}:n}}", f"a:b:{{{noun}:n}}", f"ade:{{{noun}:n}}:{{{noun}:m}}", f"ade:{{{noun}:n}}!none",
        f"ade:{{{noun}:n}}:{noun}:m", f"ade:{{{noun}:n/t/u}}", f"ade:{{{noun}:n/}}", f"ade:{{{noun}:/t}}",
        f"ade:{{{noun}:n m}}", f"ade:{{{noun}:n}}x", f"ade:{{{noun}:n\n}}", f"ade:{{{noun}:n\0}}", f"ade:{{{noun}:é}}",
        f"ade:{{s}}:{noun}:n:m", f"ade:{{}}:{noun}:n", f"ade:{{s}}:{noun}:", f"ade:{{s:t}}:{noun}:n", f"ade:s:{noun}:n",
        *(base_of(script, form, **parts) for form, parts in longer),
        *([] if "partition" in forms else [f"ade:{{{noun}:n/t}}"]),
        *([] if "partition_in_slot" in forms else [f"ade:{{s}}:{noun}:n/t"]),
        *([] if noun_of(script) == "events" else ["ade:{other:n}", "ade:{s}:other:n", f"ade:{{x{noun}:n}}"]),
    ]  # fmt: skip
    for base in bases:
        assert refusal(watched, script, keys_of(script, base)).startswith(first)


@every_script
def test_a_base_of_each_form_is_accepted(client: redis.Redis, script: Script) -> None:
    sha = client.script_load(script.text)
    longest = dict.fromkeys(PARTS.keys() - {"noun"}, LONG)
    for form in NOUNS[noun_of(script)]["bases"]:
        for names in ({}, longest, {"name": "A-z.0_9@+"}):
            base = base_of(script, form, **names)
            for keys in all_keys(script, base):
                with pytest.raises(redis.ResponseError, match=r"ADEQ_ARG (?!key )") as error:
                    client.evalsha(sha, len(keys), *keys)
                assert "keys" not in str(error.value)


def all_keys(script: Script, base: str) -> list[list[str]]:
    """The keys of a call with this base: without the other nouns that the script uses, and with each in its slot."""
    found = [keys_of(script, base)]
    slot, apart, _ = base.partition(f"}}:{noun_of(script)}:")
    for word in script.uses if apart else ():
        for name in ("n", LONG):
            found.append([key.replace(no_base(base), f"{slot}}}:{word}:{name}") for key in found[0]])
    return found


@pytest.mark.parametrize("script", [one for one in SCRIPTS if one.uses], ids=lambda script: script.id)
@pytest.mark.parametrize("form", ["usual", "in_slot"])
def test_a_base_of_another_noun_is_in_the_slot_of_the_call(watched: WatchedClient, script: Script, form: str) -> None:
    base = base_of(script, form)
    keys = keys_of(script, base)
    for word in script.uses:
        parts = {"prefix": "ade", "name": "n", "slot": "s", "tag": "t"}
        wrong = [
            re.sub(r"<(\w+)>", lambda part, own=parts | more: own[part[1]], other)  # type: ignore[misc]
            for other in NOUNS[word]["bases"].values()
            for more in ({}, {"prefix": "b"}, {"slot": "t"}, {"slot": "s2"}, {"prefix": "ad"})
        ]
        if form == "in_slot":
            wrong = [one for one in wrong if one != f"ade:{{s}}:{word}:n"]
        wrong += [no_base(f"ade:{{s}}:{noun_of(script)}:m"), no_base(no_base(base)), f"{base}:{word}:n", base]
        for other in wrong:
            given = [key.replace(no_base(base), other) for key in keys]
            text = refusal(watched, script, given)
            assert text.startswith(f"ADEQ_ARG key {word}_"), (other, text)
            assert len(text) < 500
