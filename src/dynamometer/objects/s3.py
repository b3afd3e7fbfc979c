"""Buckets of an S3-compatible endpoint, through boto3.

Jobs run between requests and must not wait for a network, so a few threads do: the next pieces of an object are fetched
ahead, and parts are uploaded behind. `is_ready` and `is_busy` tell whether the threads have kept up. What blocks the
caller is a page of a list, and the beginning and the end of an upload: one short request each.

Pieces are fetched by range under the ETag that the list had, so an object that is overwritten meanwhile is noticed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from dynamometer.engine.objects import Encryption, Listed, ObjectsError, modified, no_such_bucket

PIECE_BYTES = 4 << 20
PART_BYTES = 8 << 20
"""Of an upload in parts; S3 takes none below 5 MB."""
AHEAD = 2
BEHIND = 2
LISTED_AT_ONCE = 1000
THREADS = 8


@contextmanager
def _explained(url: str) -> Iterator[None]:
    """Turn the client library's errors into ours, here and nowhere else."""
    try:
        yield
    except ClientError as error:
        answer = error.response.get("Error", {})
        code, text = str(answer.get("Code", "")), answer.get("Message", "")
        if code == "NoSuchBucket":
            raise no_such_bucket() from error
        if code in ("PreconditionFailed", "412", "NoSuchKey", "404"):
            raise modified() from error
        named = "S3AccessDenied" if code in ("AccessDenied", "403", "Forbidden") else f"S3{code or 'Error'}"
        raise ObjectsError(named, text or f"{error.operation_name} was refused: {code}") from error
    except BotoCoreError as error:
        code = "S3" + type(error).__name__.removesuffix("Error")
        raise ObjectsError(code, f"The S3 endpoint {url} can't be used: {error}") from error


class S3Objects:
    """Buckets behind one URL."""

    def __init__(self, url: str) -> None:
        self.url = url
        session = boto3.Session()
        options: dict[str, Any] = {"region_name": session.region_name or "us-east-1"}
        if session.get_credentials() is None:
            options |= {"aws_access_key_id": "local", "aws_secret_access_key": "local"}
        config = Config(
            s3={"addressing_style": "path"},
            # stores other than Amazon's do not know the checksums that are sent by default
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
            retries={"mode": "standard", "max_attempts": 4},
            max_pool_connections=THREADS + 2,
        )
        self.client = session.client("s3", endpoint_url=url, config=config, **options)
        self.threads = ThreadPoolExecutor(THREADS, "s3")

    def list(self, bucket: str, prefix: str) -> Iterator[Listed]:
        with _explained(self.url):
            pages = self.client.get_paginator("list_objects_v2").paginate(
                Bucket=bucket, Prefix=prefix, PaginationConfig={"PageSize": LISTED_AT_ONCE}
            )
            for page in pages:
                for each in page.get("Contents", ()):
                    yield Listed(each["Key"], each["Size"], each["ETag"].strip('"'))

    def open(self, bucket: str, listed: Listed) -> S3Source:
        return S3Source(self, bucket, listed)

    def create(self, bucket: str, key: str, encryption: Encryption) -> S3Sink:
        return S3Sink(self, {"Bucket": bucket, "Key": key}, _encrypted(encryption))


def _encrypted(encryption: Encryption) -> dict[str, str]:
    if encryption.algorithm is None:
        return {}
    if encryption.algorithm != "KMS":
        return {"ServerSideEncryption": encryption.algorithm}
    return {"ServerSideEncryption": "aws:kms"} | ({"SSEKMSKeyId": encryption.key} if encryption.key else {})


class S3Source:
    """An object that is being fetched, a few pieces ahead of its reader."""

    def __init__(self, store: S3Objects, bucket: str, listed: Listed) -> None:
        self._store = store
        self._bucket = bucket
        self._listed = listed
        self._next = 0
        self._coming: deque[Future[bytes]] = deque()
        self._fetch_ahead()

    def _fetch_ahead(self) -> None:
        while len(self._coming) < AHEAD and self._next < self._listed.size_bytes:
            start = self._next
            self._next = min(start + PIECE_BYTES, self._listed.size_bytes)
            self._coming.append(self._store.threads.submit(self._fetch, start, self._next - 1))

    def _fetch(self, first: int, last: int) -> bytes:
        with _explained(self._store.url):
            answer = self._store.client.get_object(
                Bucket=self._bucket,
                Key=self._listed.key,
                Range=f"bytes={first}-{last}",
                IfMatch=f'"{self._listed.etag}"',
            )
            piece: bytes = answer["Body"].read()
        if len(piece) != last - first + 1:
            raise modified()
        return piece

    @property
    def is_ready(self) -> bool:
        return not self._coming or self._coming[0].done()

    def read(self) -> bytes:
        if not self._coming:
            return b""
        piece = self._coming.popleft().result()
        self._fetch_ahead()
        return piece

    def close(self) -> None:
        for future in self._coming:
            future.cancel()
        self._coming.clear()


class S3Sink:
    """An object that is being uploaded: at once if it is small, otherwise in parts."""

    def __init__(self, store: S3Objects, place: dict[str, str], options: dict[str, str]) -> None:
        self._store = store
        self._place = place
        self._options = options
        self._waiting = bytearray()
        self._upload: str | None = None
        self._parts: list[Future[str]] = []
        self._is_over = False

    @property
    def is_busy(self) -> bool:
        return len(self._parts) >= BEHIND and not self._parts[-BEHIND].done()

    def write(self, data: bytes) -> None:
        self._waiting += data
        while len(self._waiting) >= PART_BYTES:
            part = bytes(self._waiting[:PART_BYTES])
            del self._waiting[:PART_BYTES]
            self._send(part)

    def _send(self, part: bytes) -> None:
        if self._upload is None:
            with _explained(self._store.url):
                answer = self._store.client.create_multipart_upload(**self._place, **self._options)
            self._upload = answer["UploadId"]
        if len(self._parts) >= BEHIND:
            # no more than a few parts are ever held, and an error is told at the next part
            self._parts[-BEHIND].result()
        self._parts.append(self._store.threads.submit(self._send_part, len(self._parts) + 1, part))

    def _send_part(self, number: int, part: bytes) -> str:
        with _explained(self._store.url):
            answer = self._store.client.upload_part(**self._place, UploadId=self._upload, PartNumber=number, Body=part)
        return str(answer["ETag"])

    def finish(self) -> str:
        data = bytes(self._waiting)
        if self._upload is None:
            with _explained(self._store.url):
                answer = self._store.client.put_object(**self._place, **self._options, Body=data)
        else:
            if data:
                self._send(data)
            parts = [{"PartNumber": number, "ETag": sent.result()} for number, sent in enumerate(self._parts, 1)]
            with _explained(self._store.url):
                answer = self._store.client.complete_multipart_upload(
                    **self._place, UploadId=self._upload, MultipartUpload={"Parts": parts}
                )
        self._is_over = True
        return str(answer["ETag"]).strip('"')

    def abort(self) -> None:
        if self._is_over or self._upload is None:
            return
        self._is_over = True
        for sent in self._parts:
            sent.cancel()
        try:
            with _explained(self._store.url):
                self._store.client.abort_multipart_upload(**self._place, UploadId=self._upload)
        except ObjectsError:
            # the bucket's own rules remove what is never completed
            return
