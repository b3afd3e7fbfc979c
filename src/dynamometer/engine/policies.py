"""Resource policies: documents checked, put into the form in which the service gives them back, and revisions.

A policy belongs to a table or to one of its streams; each has its own document and its own revisions. A revision is
the moment of its change in milliseconds, and so is the deletion of a policy: it leaves a revision without a document.
Two documents that say the same are one revision, however they are written (all this was measured on the service).

Policies are kept and told here. Nothing is refused because of one: this engine does not know who asks.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import orjson

from dynamometer.base.errors import (
    PolicyNotFoundException,
    ResourceInUseException,
    ResourceNotFoundException,
    ThrottlingException,
    ValidationException,
)
from dynamometer.engine import arns, records
from dynamometer.engine.catalog import Table, World
from dynamometer.engine.records import Policy, TableRecord
from dynamometer.engine.schemas import invalid

if TYPE_CHECKING:
    from dynamometer.engine.engine import Engine

Body = dict[str, Any]

POLICY_BYTES_MAX = 20 * 1024
"""With white space (developer guide: quotas)."""
NO_POLICY = "NO_POLICY"
"""The ExpectedRevisionId of a resource that has no policy."""
LOCK_SECONDS = 15
"""How long after a change no other is taken; only where changes of a table take time at all."""
VERSIONS = ("2012-10-17", "2008-10-17")
STREAM_ACTIONS = frozenset({"DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"})

_UNBOUNDED = (
    "Resource-based policy grants unbounded access in one or more elements. Please revise the policy to ensure "
    "least-privilege form of access"
)
_STATEMENT = (
    *("Sid", "Effect", "Principal", "NotPrincipal", "Action", "NotAction", "Resource", "NotResource", "Condition"),
)
"""The members of a statement, in the order in which they are given back."""
_ACCOUNT = re.compile(r"\d{12}")
_NOT_FOUND = "Resource-based policy not found for the provided ResourceArn: "


def _bad(text: str) -> ValidationException:
    return invalid(f"Invalid policy document: {text}")


# --- Documents ---------------------------------------------------------------------------------------------------


def canonical(text: str, stream: bool = False) -> str:
    """The document as it is kept. Raises ValidationException for one that is no policy, or none for this resource."""
    if len(text.encode()) > POLICY_BYTES_MAX:
        raise invalid(f"Maximum policy size of {POLICY_BYTES_MAX} bytes exceeded")
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError:
        raise _bad("This policy contains invalid Json") from None
    if type(document) is not dict:
        raise _bad("This policy contains invalid Json")
    if document.get("Version", VERSIONS[0]) not in VERSIONS:
        raise _bad("The policy must contain a valid version string")  # assumed: as IAM says it
    statements = document.get("Statement")
    if type(statements) is dict:
        statements = [statements]
    if type(statements) is not list or not statements:
        raise _bad("Could not parse the policy: Statement is empty!")
    whole = {name: document[name] for name in ("Version", "Id") if name in document}
    whole["Statement"] = [_statement(statement, stream) for statement in statements]
    names = [statement["Sid"] for statement in whole["Statement"] if "Sid" in statement]
    if len(set(names)) < len(names):
        raise _bad("The Statement Ids in the policy are not unique")
    return orjson.dumps(whole).decode()


def shown(document: str) -> str:
    """The document as GetResourcePolicy gives it: one that was written without a version has the old one."""
    policy = orjson.loads(document)
    return orjson.dumps({"Version": policy.pop("Version", VERSIONS[1])} | policy).decode()


def _statement(raw: Any, stream: bool) -> Body:
    if type(raw) is not dict or not raw.keys() <= set(_STATEMENT):
        raise _bad("Syntax error")  # assumed: the service adds a position
    effect = str(raw.get("Effect", "")).capitalize()
    if effect not in ("Allow", "Deny"):
        raise _bad("Missing required field Effect")  # the words of a missing Resource, which were measured
    for name in ("Principal", "Action", "Resource"):
        if name not in raw and f"Not{name}" not in raw:
            raise _bad(f"Missing required field {name}")
    statement = dict(raw) | {"Effect": effect}
    for name in ("Action", "NotAction", "Resource", "NotResource"):
        if name in statement:
            statement[name] = _texts(statement[name])
    if "Principal" in statement:
        statement["Principal"] = _principals(statement["Principal"])
        if effect == "Allow" and statement["Principal"] in ("*", {"AWS": "*"}) and not statement.get("Condition"):
            raise ValidationException(_UNBOUNDED)
    _check_actions(statement, stream)
    _check_resources(statement, stream)
    return {name: statement[name] for name in _STATEMENT if name in statement}


def _texts(value: Any) -> str | list[str]:
    """A text, or a list of several: a list of one is the one."""
    if type(value) is str:
        return value
    if type(value) is not list or not value or any(type(each) is not str for each in value):
        raise _bad("Syntax error")
    return value[0] if len(value) == 1 else value


def _listed(value: Any) -> list[str]:
    return [value] if type(value) is str else list(value)


def _principals(value: Any) -> Any:
    if value == "*":
        return value
    if type(value) is not dict or not value:
        raise _bad("Syntax error")
    principals = {}
    for kind, raw in value.items():
        names = _listed(_texts(raw))
        if kind == "AWS":
            names = [f"arn:aws:iam::{name}:root" if _ACCOUNT.fullmatch(name) else name for name in names]
        principals[kind] = _texts(list(dict.fromkeys(names)))
    return principals


def _check_actions(statement: Body, stream: bool) -> None:
    """A table's policy knows no actions of streams, and the reverse is told by the resource."""
    actions = _listed(statement.get("Action", statement.get("NotAction", [])))
    wrong = [
        action
        for action in actions
        if not stream and action.startswith("dynamodb:") and action.removeprefix("dynamodb:") in STREAM_ACTIONS
    ]
    if wrong:
        names = ", ".join(f'"{action}"' for action in wrong)
        raise _bad(f"The following action names are invalid: {names}")


def _check_resources(statement: Body, stream: bool) -> None:
    for resource in _listed(statement.get("Resource", statement.get("NotResource", []))):
        relative = resource.partition(":table/")[2]
        if relative and ("/stream/" in relative) is not stream and "*" not in relative:
            raise _bad(f'The relative-id "table/{relative}" is invalid for ARN "{resource}"')  # the end is assumed


# --- Revisions ---------------------------------------------------------------------------------------------------


class Slot:
    """The policy of one table or stream, found by its ARN and about to be read or changed."""

    def __init__(self, engine: Engine, world: World, arn: str) -> None:
        self.arn = arn
        self._catalog = engine.catalog
        self._world = world
        self._now = engine.clock.now()
        self._lock_seconds = LOCK_SECONDS if engine.settings.table_transition_seconds else 0
        self.table, self.stream = _find(engine, world, arn)

    @property
    def policy(self) -> Policy | None:
        """What is there: a policy, or the trace of one that was deleted."""
        return self.table.record.policies.get(self.stream)

    def get(self) -> Body:
        """Policy and RevisionId. Raises PolicyNotFoundException."""
        policy = self.policy
        if policy is None or policy.document is None:
            raise PolicyNotFoundException(_NOT_FOUND + self.arn)
        return {"Policy": shown(policy.document), "RevisionId": policy.revision}

    def put(self, text: str, expected: str | None) -> str:
        """The revision of the new document, which is the old one's when both say the same."""
        document = canonical(text, bool(self.stream))
        self._check_expected(expected)
        self._check_state()
        policy = self.policy
        if policy is not None and policy.document == document:
            return policy.revision
        self._check_lock()
        return self._save(document)

    def delete(self, expected: str | None) -> str | None:
        """The revision that was deleted; that of the deletion, if it was before; None where never was a policy."""
        self._check_expected(expected)
        self._check_state()
        policy = self.policy
        if policy is None or policy.document is None:
            return None if policy is None else policy.revision
        self._check_lock()
        self._save(None)
        return policy.revision

    def _check_expected(self, expected: str | None) -> None:
        """Raise unless the policy is what the request takes it to be."""
        policy, name = self.policy, self.table.name
        if expected is None:
            return
        if expected == NO_POLICY:
            if policy is not None and policy.document is not None:
                raise PolicyNotFoundException(
                    f"{_NOT_FOUND}Requested policy update expecting none to be present for table {name}, but a policy "
                    f"exists with revision id {policy.revision}."
                )
            return
        if policy is None:
            raise PolicyNotFoundException(
                f"{_NOT_FOUND}Requested update for policy with revision id {expected}, but table {name} has no "
                "associated policy."
            )
        if policy.revision != expected or policy.document is None:
            raise PolicyNotFoundException(
                f"{_NOT_FOUND}Requested update for policy with revision id {expected}, but the policy associated to "
                f"target table {name} has revision id {policy.revision}."
            )

    def _check_state(self) -> None:
        if self.table.record.status == "DELETING":
            raise ResourceInUseException(
                f"Attempt to change a resource which is still in use: Table is being deleted: {self.table.name}"
            )

    def _check_lock(self) -> None:
        policy = self.policy
        if policy is None or not self._lock_seconds:
            return
        until = int(policy.revision) / 1000 + self._lock_seconds
        if self._now < until:
            what = f"stream {self.stream}" if self.stream else f"table {self.table.name}"
            moment = datetime.fromtimestamp(until, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]
            raise ThrottlingException(
                f"Resource-based policy for {what} modified within the previous "
                f"{int(self._lock_seconds * 1000)} milliseconds. Please try again after {moment}Z."
            )

    def _save(self, document: str | None) -> str:
        revision = int(self._now * 1000)
        if self.policy is not None:
            revision = max(revision, int(self.policy.revision) + 1)
        record = records.copy(self.table.record)
        record.policies[self.stream] = Policy(document, str(revision))
        self._catalog.save(self._world, self.table, record)
        return str(revision)


def attach(record: TableRecord, text: str, now: float) -> None:
    """Give a new table its policy. Raises ValidationException."""
    record.policies[""] = Policy(canonical(text), str(int(now * 1000)))


def _find(engine: Engine, world: World, arn: str) -> tuple[Table, str]:
    """The table of a policy's resource and the stream's label, or "" for the table itself."""
    target = arns.policy_target(world, arn)
    name, _, label = target.partition("/stream/")
    try:
        table = engine.catalog.find(world, name)
    except ResourceNotFoundException:
        if label:
            raise PolicyNotFoundException(_NOT_FOUND + arn) from None
        raise
    if table.record.status == "CREATING":
        raise ResourceNotFoundException(f"Requested resource not found: Table: {name} not found")
    if label:
        try:
            engine.streams.find(world, arn)
        except ResourceNotFoundException:
            raise ResourceNotFoundException(
                f"Requested resource not found: Stream: {label} not found for Table: {name}"
            ) from None
    return table, label
