"""The buckets that the settings ask for. The client library is imported only where there is an endpoint to talk to."""

from __future__ import annotations

from dynamometer.base.config import Settings
from dynamometer.engine.objects import FolderObjects, ObjectStore


def open_objects(settings: Settings) -> ObjectStore | None:
    """A folder, an S3-compatible endpoint, or None when neither is set."""
    if settings.s3_endpoint is not None:
        from dynamometer.objects.s3 import S3Objects

        return S3Objects(settings.s3_endpoint)
    return None if settings.s3_folder is None else FolderObjects(settings.s3_folder)
