"""The options that commands share: one for each setting, and the configuration file."""

from __future__ import annotations

import argparse
import os

from dynamometer.base.config import SETTINGS, Loaded, environment_name, load, option_name


def add_settings(parser: argparse.ArgumentParser) -> None:
    """An option for each setting. Values stay texts: base.config checks them, wherever they come from."""
    parser.usage = "%(prog)s [OPTIONS]"
    parser.add_argument("--config", metavar="FILE", help="configuration file (default: dyno.toml if it is there)")
    group = parser.add_argument_group("settings")
    for name, setting in SETTINGS.items():
        about = f"{setting.metadata['about']} (default: {_shown(setting.default)}; {environment_name(name)})"
        about = about.replace("%", "%%")
        if setting.type == "bool":
            group.add_argument(
                option_name(name),
                dest=name,
                action=argparse.BooleanOptionalAction,
                default=argparse.SUPPRESS,
                help=about,
            )
        else:
            metavar = "|".join(setting.metadata["choices"]) or name.rsplit("_", 1)[-1].upper()
            group.add_argument(option_name(name), dest=name, metavar=metavar, default=argparse.SUPPRESS, help=about)


def read_settings(arguments: argparse.Namespace) -> Loaded:
    """The settings in force for this command line."""
    given = {name: value for name, value in vars(arguments).items() if name in SETTINGS}
    return load(given, os.environ, arguments.config)


def _shown(value: object) -> str:
    if value is None:
        return "none"
    return str(value).lower() if isinstance(value, bool) else str(value)
