"""Profiles: which server is meant, by name, in a file of the user.

default = "laptop"

[profiles.laptop]
url = "unix:///home/ann/.adeq.sock"

[profiles.production]
url = "rediss://ann:password@tasks.example.org:6379"
prefix = "shop"
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

from pyadeq.errors import ConfigError

KEYS = ("url", "prefix", "slot", "cluster", "codec", "output")
"""What a profile may say: options that all commands share."""


def config_path() -> Path:
    """Return the path of the configuration file, whether it exists or not."""
    if named := os.environ.get("ADEQ_CONFIG"):
        return Path(named)
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    if home.startswith("~"):  # a container may run as a user that has no home
        return Path(os.devnull)
    return Path(home) / "adeq" / "config.toml"


def load() -> tuple[dict[str, dict[str, Any]], str | None]:
    """All profiles, and the name of the default one. ConfigError for a file that cannot be used."""
    path = config_path()
    try:
        found = tomllib.loads(path.read_text())
    except OSError as error:
        if not os.path.exists(path):  # also if this user may not look into the folder, such as /root
            return {}, None
        raise ConfigError(f"{path}: it cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise ConfigError(f"{path}: it is no TOML: {error}") from None
    profiles, default = found.pop("profiles", {}), found.pop("default", None)
    if found or not isinstance(profiles, dict) or not all(isinstance(one, dict) for one in profiles.values()):
        raise ConfigError(f"{path}: it is not accepted; allowed: default, and tables [profiles.NAME]")
    for name, profile in profiles.items():
        _check(path, name, profile)
    if default is not None and default not in profiles:
        raise ConfigError(f"{path}: default: there is no profile {default!r}; {_known(profiles)}")
    return profiles, default


def profile(name: str | None) -> dict[str, Any]:
    """The settings of a profile; without a name, those of the default one, if there is one."""
    profiles, default = load()
    name = name or default
    if name is None:
        return {}
    if name not in profiles:
        raise ConfigError(f"--profile: there is no {name!r} in {config_path()}; {_known(profiles)}")
    return profiles[name]


def _known(profiles: dict[str, Any]) -> str:
    return f"there are: {', '.join(profiles)}" if profiles else "it has no profiles"


def _check(path: Path, name: str, profile: dict[str, Any]) -> None:
    for key, value in profile.items():
        kind = bool if key == "cluster" else str
        if key not in KEYS or not isinstance(value, kind):
            allowed = f"allowed: {', '.join(KEYS)}; cluster is true or false, all others are texts"
            raise ConfigError(f"{path}: [profiles.{name}]: {key} is not accepted; {allowed}")
    if "url" in profile and _has_password(profile["url"]) and path.stat().st_mode & 0o077:
        raise ConfigError(f"{path}: it holds a password, and others may read it; chmod 600 {path}")


def _has_password(url: str) -> bool:
    from pyadeq import Adeq

    try:
        with Adeq.from_url(url) as adeq:
            pool: Any = adeq.client.connection_pool  # type: ignore[union-attr]
            return bool(pool.connection_kwargs.get("password")) or "sentinel_password=" in url
    except ConfigError:  # said when the URL is used
        return True
