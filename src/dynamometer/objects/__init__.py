"""The buckets that the settings ask for. The client library is imported only where there is an endpoint to talk to."""

from __future__ import annotations

from pathlib import Path

from dynamometer.base.config import Settings, SettingsError
from dynamometer.engine.objects import FolderObjects, ObjectStore


def open_objects(settings: Settings) -> ObjectStore | None:
    """A folder, an S3-compatible endpoint, or None when neither is set. Raises SettingsError."""
    if settings.s3_endpoint is not None:
        from dynamometer.objects.s3 import S3Objects

        return S3Objects(settings.s3_endpoint)
    folder = settings.s3_folder
    if folder is None:
        return None
    if not Path(folder).is_dir():
        raise SettingsError(f"s3_folder is {folder!r}, which is not a folder: make it, and in it one for each bucket")
    return FolderObjects(folder)
