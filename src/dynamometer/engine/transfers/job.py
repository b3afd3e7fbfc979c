"""What the jobs of transfers have in common: steps of a generator, and a plain end when something is in the way."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

from dynamometer.base.errors import StoreError, where
from dynamometer.engine.objects import ObjectsError, ObjectStore
from dynamometer.engine.transfers.transfer import FAILED, Transfer, end

if TYPE_CHECKING:
    from dynamometer.engine.catalog import Table, World
    from dynamometer.engine.engine import Engine

log = logging.getLogger(__name__)


class Stopped(Exception):
    """The transfer can't go on. `code` and `message` are for FailureCode and FailureMessage."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class TransferJob:
    """The work of one transfer. A subclass's `work` yields after each bounded piece and cleans up when closed."""

    def __init__(self, engine: Engine, transfer: Transfer) -> None:
        self.engine = engine
        self.transfer = transfer
        self._pieces: Iterator[None] | None = None

    def work(self) -> Iterator[None]:
        """All pieces, from what the record says is done."""
        raise NotImplementedError

    def fail(self, code: str, message: str) -> None:
        """The work stops here: keep how it ended."""
        end(self.engine, self.transfer, FAILED, code, message)

    def step(self) -> bool:
        """Do one piece; whether the transfer has ended."""
        if not self.transfer.is_running:
            return True
        if self._pieces is None:
            self._pieces = self.work()
        try:
            next(self._pieces)
            return False
        except StopIteration:
            return True
        except (Stopped, ObjectsError) as error:
            self.fail(error.code, error.message)
        except StoreError:
            # nothing can be kept, not even that this failed: the next step, or start, goes on from the last commit
            self._pieces = None
            raise
        except Exception as bug:
            log.error("a bug in %s: %s", self.transfer.arn, where(bug))
            self.fail("InternalServerError", "The server encountered an internal error.")
        return True

    @property
    def objects(self) -> ObjectStore:
        """The buckets; they may have been taken from the settings since the request."""
        if self.engine.objects is None:
            raise Stopped("S3NoSuchBucket", "This server knows no buckets any more")
        return self.engine.objects

    @property
    def world(self) -> World:
        return self.engine.world(self.transfer.account, self.transfer.region)

    def table(self) -> Table | None:
        """The table that the transfer is about, if that is still there."""
        table = self.world.tables.get(self.transfer.table_name)
        if table is None or table.number != self.transfer.table_number or table.record.status == "DELETING":
            return None
        return table
