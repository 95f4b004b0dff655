"""What a script has of another noun that it uses: the noun's includes and keys, under names of their own.

The body says `lock.grant(…)`. In the generated script the include `grant` of the noun `lock` is `lock__grant`, and its
key `config` is `lock__config`. These are locals, so they cost no more than those of the script's own noun.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from model import Include, Key
from noun import is_constant
from scan import in_script

# The arguments that such an include may take from the script; all else it needs as parameters.
GIVEN = ("rid", "now_ms", "trace", "source")


def of_noun(
    noun: str, lua: str, includes: Mapping[str, Include], keys: Mapping[str, Key], constants: Mapping[str, str]
) -> tuple[dict[str, Include], dict[str, Key]]:
    """The includes and keys of a noun, as a script of another noun has them. lua: what the noun is called there."""

    def name_of(name: str) -> str:
        own = name in includes or name in keys or is_constant(name)
        return constants.get(name) or (in_script(f"{lua}.{name}") if own else name)

    found: dict[str, Include] = {}
    for include in includes.values():
        names = {name: name_of(name) for name in (include.name, *include.free)}
        found[names[include.name]] = replace(
            include,
            name=names[include.name],
            free={names[name]: line for name, line in include.free.items() if name not in constants},
            sure={names[name] for name in include.sure if name not in constants},
            noun=noun,
            names=names,
        )
    renamed = [
        replace(key, name=name_of(name), template=key.template.replace("{base}", f"{{{noun}}}"), noun=noun)
        for name, key in keys.items()
    ]
    return found, {key.name: key for key in renamed}
