"""What the sync process syncs, noted by a library that is preloaded into it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dynamometer.storage.sync_process import SyncProcess
from tests.crash.power import Power


def test_every_log_is_synced_up_to_what_was_written_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = Power.library(tmp_path)
    if library is None:
        pytest.skip("needs Linux and a C compiler")
    power = Power(library, tmp_path / "synced")
    for name, value in power.environment.items():
        monkeypatch.setenv(name, value)
    folder = tmp_path / "db"
    folder.mkdir()
    old, new, other = folder / "000004.log", folder / "000009.log", folder / "000005.sst"
    process = SyncProcess(folder)

    def sync() -> None:
        process.ask()
        process.answer()

    old.write_bytes(b"1234")
    other.write_bytes(b"12")
    sync()
    assert power.synced() == {str(old): 4}
    with old.open("ab") as file:
        file.write(b"56")
    new.write_bytes(b"1")
    sync()
    assert power.synced() == {str(old): 6, str(new): 1}
    old.unlink()
    new.write_bytes(b"1234")
    sync()
    assert power.synced()[str(new)] == 4
    process.close()
