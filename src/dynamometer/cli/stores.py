"""Opening the store that the settings ask for."""

from __future__ import annotations

import os
from pathlib import Path

from dynamometer.base.config import Settings, load
from dynamometer.cli.failures import CommandError
from dynamometer.storage.interface import Store


def open_store(settings: Settings) -> Store:
    """The store; its folder is made where there is none. Raises StoreError with what to do."""
    if settings.in_memory:
        from dynamometer.storage.memory import MemoryStore

        return MemoryStore()
    from dynamometer.storage.rocksdb import RocksStore

    return RocksStore(settings.data, settings.durability)


def data_folder(given: str | None) -> str:
    """The folder that was given, otherwise the one that `dyno serve` would use here."""
    return given or load({}, os.environ).settings.data


def open_existing(folder: str, salvage: bool = False) -> Store:
    """The store of a folder that must be one already. `salvage` makes do with what lies before any damage."""
    from dynamometer.storage.folder import FORMAT_FILE

    path = Path(folder)
    if not path.is_dir():
        raise CommandError(f"{folder} is not a folder: give the folder that `dyno serve --data` was given")
    if not (path / FORMAT_FILE).is_file():
        raise CommandError(
            f"{folder} is not a Dynamometer data folder (it has no file {FORMAT_FILE}): "
            "give the folder that `dyno serve --data` was given"
        )
    from dynamometer.storage.rocksdb import RocksStore

    return RocksStore(path, salvage=salvage)
