"""Clients in other languages: what is written, and when nothing is."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from pyadeq import __version__, library
from pyadeq.errors import ConfigError
from pyadeq.ext.bindings import generate, languages
from pyadeq.ext.bindings.model import camel, check_names, enums, model, pascal
from pyadeq.ext.bindings.render import raw
from tests.unit.lua_tree import LUA


@pytest.fixture(scope="module", params=languages())
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp(request.param)
    generate(request.param, folder)
    return request.param, folder


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_written_again_it_is_the_same(written: tuple[str, Path]) -> None:
    language, folder = written
    before = contents(folder)
    assert all(one.same for one in generate(language, folder))
    assert contents(folder) == before


def test_a_file_that_somebody_changed_is_written_again(written: tuple[str, Path]) -> None:
    language, folder = written
    before = contents(folder)
    changed = folder / "lua" / "queue.ack.v1.lua"
    changed.write_text("return 1\n")
    assert [one.path for one in generate(language, folder) if not one.same] == ["lua/queue.ack.v1.lua"]
    assert contents(folder) == before


def test_it_has_every_script_byte_for_byte(written: tuple[str, Path]) -> None:
    _, folder = written
    scripts = {path.name: path.read_bytes() for path in (LUA / "dist").glob("*.lua")}
    assert {path.name: path.read_bytes() for path in (folder / "lua").iterdir()} == scripts


def test_every_script_and_argument_has_a_name_in_typescript(tmp_path: Path) -> None:
    generate("typescript", tmp_path)
    assert json.loads((tmp_path / "package.json").read_text())["version"] == __version__
    for script in library().manifest["scripts"]:
        source, types = ((tmp_path / f"{script['noun']}.{end}").read_text() for end in ("js", "d.ts"))
        assert f'id: "{script["id"]}"' in source
        assert script["sha1"] in source
        assert f"  {camel(script['verb'])}(" in types
        for one in script["args"]:
            assert f"  {camel(one['name'])}" in types


def test_every_script_and_argument_has_a_name_in_go(tmp_path: Path) -> None:
    generate("go", tmp_path)
    for script in library().manifest["scripts"]:
        noun, verb = script["noun"], pascal(script["verb"])
        texts = {path.stem: path.read_text() for path in (tmp_path / noun).glob("*.go")}
        assert f"script{verb} = wire." in texts["scripts"]
        assert f'("{script["id"]}", "{script["sha1"]}"' in texts["scripts"]
        bases = "".join(f"{word}Base, " for word in script.get("uses", ()))[:-2]
        assert f"ctx context.Context, {bases and f'{bases} string, '}args {verb}Args" in texts[noun]
        for one in script["args"]:
            assert f"a.{pascal(one['name'])})".lower() in texts["args"].lower()


def test_every_script_and_argument_has_a_name_in_rust(tmp_path: Path) -> None:
    generate("rust", tmp_path)
    assert tomllib.loads((tmp_path / "Cargo.toml").read_text())["package"]["version"] == __version__
    for script in library().manifest["scripts"]:
        types = (tmp_path / "src" / f"{script['noun']}.rs").read_text()
        assert f'id: "{script["id"]}"' in types
        assert script["sha1"] in types
        fields = [one for group in script["groups"] for one in [*group["fields"], *group["pairs"]]]
        for one in [*script["args"], *fields]:
            assert f"    pub {raw(one['name'])}: " in types
        for calls in ("sync", "aio"):
            assert f"fn {raw(script['verb'])}(" in (tmp_path / "src" / calls / f"{script['noun']}.rs").read_text()


def test_a_language_without_templates_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"'cobol' has no templates; allowed: .*typescript"):
        generate("cobol", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_it_may_have_another_name(tmp_path: Path) -> None:
    generate("typescript", tmp_path, package="@ours/tasks")
    assert json.loads((tmp_path / "package.json").read_text())["name"] == "@ours/tasks"
    assert 'from "@ours/tasks/ioredis"' in (tmp_path / "README.md").read_text()


def test_a_crate_is_imported_by_its_name_in_rust_s_form(tmp_path: Path) -> None:
    generate("rust", tmp_path, package="our-tasks")
    assert tomllib.loads((tmp_path / "Cargo.toml").read_text())["package"]["name"] == "our-tasks"
    for shown in ("README.md", "src/lib.rs"):
        assert "use our_tasks::sync::Adeq;" in (tmp_path / shown).read_text()


@pytest.mark.parametrize("name", ["", "a b", 'a"b', "-a", "a\n"])
def test_a_name_that_no_language_takes_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=r"package: .* is not accepted; allowed"):
        generate("typescript", tmp_path, package=name)
    assert list(tmp_path.iterdir()) == []


def test_names_come_back_from_each_language_as_they_were() -> None:
    assert (camel("run_after_ms"), pascal("run_after_ms")) == ("runAfterMs", "RunAfterMs")
    assert [noun["name"] for noun in model()["nouns"]] == sorted(library().manifest["nouns"])


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["now_ms", "now_Ms"], "both NowMs"),
        (["id", "id"], "both Id"),
        (["a2"], "'a2'"),
        (["_a"], "'_a'"),
    ],
)  # fmt: skip
def test_names_that_would_not_are_refused(names: list[Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        check_names("fields", "queue.x.v1", names)


def test_enums_of_one_name_are_one_type() -> None:
    first, other = ({"args": [{"name": "mode", "type": "enum", "values": [word]}], "groups": []} for word in "ab")
    assert enums("queue", [first, first]) == {"mode": ["a"]}
    with pytest.raises(ConfigError, match="queue has two enums that are both mode"):
        enums("queue", [first, other])


def test_the_templates_are_an_extra_of_their_own() -> None:
    extras = tomllib.loads((LUA.parent / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert any(one.startswith("jinja2") for one in extras["bindings"])
    assert "bindings" in extras["all"][0]
