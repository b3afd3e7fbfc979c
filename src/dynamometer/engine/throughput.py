"""The rules of provisioned, on-demand and warm throughput, for a table and for each of its global indexes.

An index is told apart in the texts; `index` is its name, None for the table. Everything here was measured on the
service, where no source is given: what may be combined, what a change shows at once, and the budget of decreases
(four a day, UTC, and after them one an hour).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from dynamometer.base.errors import LimitExceededException, ValidationException
from dynamometer.engine.records import ON_DEMAND, ON_DEMAND_READ, ON_DEMAND_WRITE, PROVISIONED, Throughput, Warm
from dynamometer.engine.schemas import INVALID, invalid

Body = dict[str, Any]

UNITS_OUT_OF_BOUNDS = 10**12
TABLE_UNITS_MAX = 40_000
ACCOUNT_UNITS_MAX = 80_000
"""Default quotas of an account (developer guide: quotas)."""
FREE_DECREASES = 4
DECREASE_SECONDS = 3600

NOT_ON_DEMAND = INVALID + (
    "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST"
)
_GUIDE = "Refer to the Amazon DynamoDB Developer Guide for current "
_INITIAL = (
    "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/on-demand-capacity-mode.html"
    "#on-demand-capacity-mode-initial"
)
_ON_DEMAND_MEMBERS = ("MaxReadRequestUnits", "MaxWriteRequestUnits")


def mode_of(body: Body) -> str:
    """The billing mode of a new table."""
    mode: str = body.get("BillingMode", PROVISIONED)
    return mode


def check_units(raw: Body, region: str, index: str | None = None) -> None:
    """Raise for provisioned units that nobody, or no account, may ask for."""
    for member in ("ReadCapacityUnits", "WriteCapacityUnits"):
        units = raw[member]
        if units > UNITS_OUT_OF_BOUNDS:
            tail = "" if index is None else f" for index {index}"
            raise ValidationException(f"Given value {units} for {member} is out of bounds{tail}")
        if units > TABLE_UNITS_MAX:
            what, owner = ("table", "") if index is None else ("index", f" for index {index}")
            raise LimitExceededException(
                f"The requested {member}{owner}, {units}, is above the per {what} maximum for the account in {region}. "
                f"Per {what} maximum: {TABLE_UNITS_MAX}. {_GUIDE}per {what} maximums and how to request higher "
                "maximums."
            )


def of_new_table(body: Body, region: str) -> Throughput:
    """The provisioned throughput of a new table. Raises when it does not go with the billing mode."""
    raw = body.get("ProvisionedThroughput")
    if mode_of(body) == ON_DEMAND:
        if raw is not None:
            raise ValidationException(NOT_ON_DEMAND)
        return Throughput()
    if raw is None:
        raise invalid("ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED")
    check_units(raw, region)
    return Throughput(raw["ReadCapacityUnits"], raw["WriteCapacityUnits"])


def of_new_index(raw: Body, mode: str, region: str, missing: str, unwanted: str) -> Throughput:
    """The provisioned throughput of a new index; `missing` and `unwanted` are the texts of the operation."""
    throughput, name = raw.get("ProvisionedThroughput"), raw["IndexName"]
    if mode == ON_DEMAND:
        if throughput is not None:
            raise invalid(unwanted.format(name))
        return Throughput()
    if throughput is None:
        raise invalid(missing.format(name))
    check_units(throughput, region, name)
    return Throughput(throughput["ReadCapacityUnits"], throughput["WriteCapacityUnits"])


def check_on_demand(raw: Body | None, mode: str, low: int, gate: str, index: str | None = None) -> None:
    """Raise for a maximum on demand that the billing mode or its range forbids. -1 is allowed where `low` is -1."""
    if not raw:
        return
    owner = "" if index is None else f" for index: {index}"
    if mode == PROVISIONED:
        member = next(member for member in _ON_DEMAND_MEMBERS if member in raw)
        raise invalid(f"{member} for OnDemandThroughput{owner} {gate}")
    for member in _ON_DEMAND_MEMBERS:
        value = raw.get(member)
        if value is not None and value < 1 and not (value == -1 and low == -1):
            whose = "table" if index is None else f"index : {index}"
            raise invalid(f"Requested {member} for OnDemandThroughput for {whose} is outside of valid range")


def merged_on_demand(old: dict[str, int], raw: Body) -> tuple[dict[str, int], dict[str, int]]:
    """What the answer shows, where -1 clears a member, and what is kept."""
    shown = old | {member: raw[member] for member in _ON_DEMAND_MEMBERS if member in raw}
    return shown, {member: value for member, value in shown.items() if value != -1}


def warm_of_new(raw: Body | None, mode: str, throughput: Throughput, index: str | None = None) -> Warm:
    """The warm throughput of a new table or index. Raises when less is asked for than there is anyway."""
    read, write = (ON_DEMAND_READ, ON_DEMAND_WRITE) if mode == ON_DEMAND else (throughput.read, throughput.write)
    warm = Warm(read, write)
    for member, least, provisioned in (
        ("ReadUnitsPerSecond", read, "ReadCapacityUnits"),
        ("WriteUnitsPerSecond", write, "WriteCapacityUnits"),
    ):
        if raw and member in raw and raw[member] < least:
            whose = "table" if index is None else f"index {index}"
            than = f"initial throughput for OnDemand. See: {_INITIAL}"
            if mode == PROVISIONED:
                than = f"{provisioned} of ProvisionedThroughput"
            raise invalid(f"Requested {member} for WarmThroughput for {whose} is lower than {than}")
    if raw:
        warm.next_read, warm.next_write = raw.get("ReadUnitsPerSecond"), raw.get("WriteUnitsPerSecond")
    return warm


def change_warm(warm: Warm, raw: Body, index: str | None = None) -> None:
    """Raise the warm throughput. Raises ValidationException when that would lower it."""
    for member, now in (("ReadUnitsPerSecond", warm.read), ("WriteUnitsPerSecond", warm.write)):
        if member in raw and raw[member] < now:
            whose = "table" if index is None else f"index {index}"
            raise invalid(
                f"Requested {member} for WarmThroughput for {whose} is lower than current WarmThroughput, decreasing "
                "WarmThroughput is not supported"
            )
    warm.next_read, warm.next_write = raw.get("ReadUnitsPerSecond"), raw.get("WriteUnitsPerSecond")


def change(old: Throughput, warm: Warm, raw: Body, now: float, index: str | None = None) -> None:
    """Change provisioned units, which take effect when the change is done.

    Raises ValidationException when nothing would change, LimitExceededException when the decreases are used up.
    """
    read, write = raw["ReadCapacityUnits"], raw["WriteCapacityUnits"]
    if (read, write) == (old.read, old.write):
        of, provisioned = ("the table", "the table") if index is None else (f"the index {index}", f"index {index}")
        raise ValidationException(
            f"The provisioned throughput for {of} will not change. The requested value equals the current value. "
            f"Current ReadCapacityUnits provisioned for {provisioned}: {old.read}. "
            f"Requested ReadCapacityUnits: {read}. "
            f"Current WriteCapacityUnits provisioned for {provisioned}: {old.write}. "
            f"Requested WriteCapacityUnits: {write}. {_GUIDE}limits and how to request higher limits."
        )
    if read < old.read or write < old.write:
        decreases = decreases_today(old, now)
        _check_decreases(old, decreases, now)
        old.decreases, old.next_decreases = decreases, decreases + 1
        old.decreased_at = now
    if read > old.read or write > old.write:
        old.increased_at = now
    old.next_read, old.next_write = read, write
    warm.raise_to(read, write)


def decreases_today(throughput: Throughput, now: float) -> int:
    """How often the units were lowered on this day (UTC)."""
    if throughput.decreased_at is None or _utc(throughput.decreased_at).date() != _utc(now).date():
        return 0
    return throughput.decreases


def _check_decreases(old: Throughput, decreases: int, now: float) -> None:
    if decreases < FREE_DECREASES or old.decreased_at is None or now >= old.decreased_at + DECREASE_SECONDS:
        return
    last = _utc(old.decreased_at)
    midnight = (last + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    following = min(last + timedelta(seconds=DECREASE_SECONDS), midnight)
    raise LimitExceededException(
        "Subscriber limit exceeded: Provisioned throughput decreases are limited within a given UTC day. After the "
        f"first {FREE_DECREASES} decreases, each subsequent decrease in the same UTC day can be performed at most once "
        f"every {DECREASE_SECONDS} seconds. Number of decreases today: {decreases}. Last decrease at {_spelled(last)}. "
        f"Next decrease can be made at {_spelled(following)}"
    )


def _utc(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _spelled(moment: datetime) -> str:
    """Friday, October 9, 2026 at 12:21:34 AM Coordinated Universal Time"""
    return f"{moment:%A, %B} {moment.day}, {moment.year} at {moment.hour % 12 or 12}:{moment:%M:%S %p} " + (
        "Coordinated Universal Time"
    )
