"""All exports, imports and bulk puts of a store: begun once, found by ARN, listed, resumed, forgotten after 90 days."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dynamometer.base.errors import LimitExceededException, ServiceError, ValidationException
from dynamometer.engine import keyspace
from dynamometer.engine.catalog import World
from dynamometer.engine.objects import ObjectStore
from dynamometer.engine.transfers import transfer as records
from dynamometer.engine.transfers.bulk import BulkJob
from dynamometer.engine.transfers.exporting import ExportJob
from dynamometer.engine.transfers.importing import ImportJob
from dynamometer.engine.transfers.transfer import BULK, EXPORT, IMPORT, Transfer, save

if TYPE_CHECKING:
    from dynamometer.engine.engine import Engine, Job

Body = dict[str, Any]

KEPT_SECONDS = 90 * 86400
TOKEN_SECONDS = 8 * 3600
RUNNING_MAX = {EXPORT: 300, IMPORT: 50, BULK: 50}
"""At once in an account and region (developer guide: quotas; that of bulk puts is assumed)."""
PAGE_MAX = 25
_TOKEN_BYTES = 56
"""Page tokens are hexadecimal, 112 characters at the least (service model)."""

_JOBS: dict[str, Callable[[Engine, Transfer], Job]] = {EXPORT: ExportJob, IMPORT: ImportJob, BULK: BulkJob}

NO_BUCKETS = (
    "This server knows no buckets: start it with --s3-folder DIR, a folder whose sub-folders stand for buckets, or "
    "with --s3-endpoint URL"
)


class Transfers:
    """What there is, in memory; the records in the store are the truth."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._all: dict[tuple[str, str, str], dict[str, Transfer]] = {}
        for _, raw in list(engine.store.range(*keyspace.transfer_range())):
            transfer = records.loads(raw)
            self._of(transfer.account, transfer.region, transfer.kind)[transfer.label] = transfer
            if transfer.is_running:
                engine.jobs.append(_JOBS[transfer.kind](engine, transfer))
        engine.log.holders.append(self._oldest_needed)

    def buckets(self) -> ObjectStore:
        """Where the objects are. Raises ValidationException when nobody has said so."""
        objects = self._engine.objects
        if objects is None:
            raise ValidationException(NO_BUCKETS)
        return objects

    def new(self, world: World, kind: str, table_name: str, body: Body) -> Transfer:
        """A record with a name of its own, not kept yet. Raises LimitExceededException."""
        existing = self._of(world.account, world.region, kind)
        if sum(1 for each in existing.values() if each.is_running) >= RUNNING_MAX[kind]:
            raise LimitExceededException(
                f"Subscriber limit exceeded: There is a limit of {RUNNING_MAX[kind]} concurrent operations of this kind"
            )
        now = round(self._engine.clock.now(), 3)
        label = f"{int(now * 1000):014d}-{self._engine.rng.getrandbits(32):08x}"
        return Transfer(kind, world.account, world.region, table_name, label, body, now)

    def start(self, transfer: Transfer) -> None:
        """Keep the record and begin the work."""
        self._of(transfer.account, transfer.region, transfer.kind)[transfer.label] = transfer
        save(self._engine, transfer)
        self._engine.jobs.append(_JOBS[transfer.kind](self._engine, transfer))

    def with_token(self, world: World, kind: str, body: Body, mismatch: type[ServiceError]) -> Transfer | None:
        """What the request's token has begun already. Raises `mismatch` when that was another request."""
        token = body.get("ClientToken")
        if token is None:
            return None
        now = self._engine.clock.now()
        for transfer in self._of(world.account, world.region, kind).values():
            if transfer.token != token or (transfer.ended_at is not None and now >= transfer.ended_at + TOKEN_SECONDS):
                continue
            if transfer.request != body:
                raise mismatch("The client token was used before, with other parameters")  # assumed text
            return transfer
        return None

    def find(self, world: World, kind: str, arn: str) -> Transfer | None:
        """The transfer with this ARN."""
        transfer = self._of(world.account, world.region, kind).get(arn.rpartition("/")[2])
        return transfer if transfer is not None and transfer.arn == arn else None

    def page(
        self, world: World, kind: str, table_arn: str | None, size: int, token: str | None, by_arn: bool = False
    ) -> tuple[list[Transfer], str | None]:
        """A page, the latest first or, `by_arn`, in falling order of ARNs; and the token of the next page."""
        oldest = self._engine.clock.now() - KEPT_SECONDS
        everything = self._of(world.account, world.region, kind).values()
        wanted = [each for each in everything if table_arn in (None, each.table_arn) and each.started_at > oldest]
        order: Callable[[Transfer], str] = (lambda each: each.arn) if by_arn else (lambda each: each.label)
        wanted.sort(key=order, reverse=True)
        if token is not None:
            after = self._after(world, kind, token)
            wanted = [each for each in wanted if order(each) < order(after)]
        following = _page_token(wanted[size - 1]) if len(wanted) > size else None
        return wanted[:size], following

    def _after(self, world: World, kind: str, token: str) -> Transfer:
        try:
            label = bytes.fromhex(token).rstrip(b"\0").decode()
            return self._of(world.account, world.region, kind)[label]
        except (ValueError, KeyError):
            raise ValidationException("Invalid NextToken") from None  # assumed text

    def forget(self) -> None:
        """Remove what is older than it is kept."""
        oldest = self._engine.clock.now() - KEPT_SECONDS
        for existing in self._all.values():
            for label, transfer in list(existing.items()):
                if transfer.started_at <= oldest and not transfer.is_running:
                    self._engine.store.delete_range(*transfer.spool_range())
                    transaction = self._engine.store.begin()
                    transaction.delete(transfer.key)
                    transaction.commit()
                    del existing[label]

    def is_importing(self, world: World, table_name: str) -> bool:
        """Whether a running import is about to make a table of this name."""
        imports = self._of(world.account, world.region, IMPORT).values()
        return any(each.table_name == table_name and each.is_running for each in imports)

    def _of(self, account: str, region: str, kind: str) -> dict[str, Transfer]:
        return self._all.setdefault((account, region, kind), {})

    def _oldest_needed(self, table_number: int) -> int | None:
        """What of a table's change log running exports need."""
        needed = (
            transfer.first_sequence
            for (_, _, kind), existing in self._all.items()
            if kind == EXPORT
            for transfer in existing.values()
            if transfer.table_number == table_number and transfer.is_running
        )
        return min(needed, default=None)


def _page_token(transfer: Transfer) -> str:
    return transfer.label.encode().ljust(_TOKEN_BYTES, b"\0").hex()
