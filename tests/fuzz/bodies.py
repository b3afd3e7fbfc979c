"""Request bodies from the service's own model: any operation, every member, now and then something that is wrong.

A body that is wrong in many places is refused at the first and tests nothing behind it. So members with a meaning
(table names, keys, expressions and what they refer to) mostly take values that belong together and that the fuzzed
tables know, and most bodies have no fault or one.
"""

from __future__ import annotations

import base64
import json
import re
from random import Random
from typing import Any

from botocore.loaders import Loader

from dynamometer.wire.sigv4 import account_of
from tests.fuzz import grammar

Shape = dict[str, Any]
Json = Any

MODELS = {
    "DynamoDB_20120810": Loader().load_service_model("dynamodb", "service-2"),
    "DynamoDBStreams_20120810": Loader().load_service_model("dynamodbstreams", "service-2"),
}
TABLES = ("Simple", "Sorted", "Indexed", "Numbers", "Nothing")
INDEXES = ("ByStatus", "ByDate", "Nothing")
INDEXED_TABLE = "Indexed"
KNOWN: dict[str, list[str]] = {}
"""What only the service can name (streams, shards, iterators), by member; filled by the harness, the same each time."""
ATTRIBUTES = ("a", "b", "c", "lst", "mp", "num", "txt", "st", "gpk", "lsk")
LEGACY = frozenset(
    {
        *("AttributesToGet", "AttributeUpdates", "Expected", "ConditionalOperator"),
        *("KeyConditions", "QueryFilter", "ScanFilter"),
    }
)
SELDOM = frozenset(
    {
        *("ConditionalOperator", "DisassociationProtectionEnabled", "GlobalTableSettingsReplicationMode"),
        *("GlobalTableSourceArn", "GlobalTableWitnessUpdates", "MultiRegionConsistency", "ReplicaUpdates", "Select"),
        *("VectorIndexes", "VectorIndexUpdates"),
    }
)
"""Members that usually end a request at once."""
ONE_OF = frozenset({"WriteRequest", "TransactWriteItem", "GlobalSecondaryIndexUpdate"})
BOUND = {
    ":s": {"S": "x"},
    ":n": {"N": "1"},
    ":b": {"B": "AAAA"},
    ":l": {"L": [{"N": "1"}]},
    ":m": {"M": {"a": {"S": "x"}}},
    ":ss": {"SS": ["a", "b"]},
    ":ns": {"NS": ["1", "2"]},
    ":bool": {"BOOL": True},
    ":null": {"NULL": True},
}
ACCESS_KEY = "FUZZ"
ARN = f"arn:aws:dynamodb:us-east-1:{account_of(ACCESS_KEY)}:table/"
DEPTH_MAX = 6
NUMBERS = (
    "0",
    "1",
    "-1",
    "1.50",
    "1e10",
    "9" * 38,
    "9" * 39,
    "1e126",
    "-1e-130",
    "1e-131",
    "NaN",
    "",
    "0x1",
    " 1",
    "٣",
)
TEXTS = ("", "x", "pk", "\x00", "é", "𝄞", "\ud7ff", "a" * 255, "a" * 1025, "a" * 2049, "#", "../..", "%s%n")
BYTES = ("", "AA==", "AAAA", "////", "A", "====", "not base64", "QUJD\n")
ODD = (
    None,
    True,
    False,
    0,
    -1,
    1.5,
    2**63,
    -(2**63),
    2**70,
    1e308,
    "",
    "x",
    [],
    {},
    [[]],
    {"": None},
    [None],
    "1",
    "true",
)


def operations() -> dict[str, tuple[str, Shape]]:
    """Operation name to its target header and input shape, both services."""
    found = {}
    for prefix, model in MODELS.items():
        for name, operation in model["operations"].items():
            found[name] = (f"{prefix}.{name}", {"shape": operation["input"]["shape"], "model": prefix})
    return found


def body(rng: Random, shape: Shape) -> Json:
    """A body of an input shape."""
    if shape["shape"] == "CreateTableInput" and rng.random() < 0.6:
        return new_table(rng)
    return _Maker(rng, MODELS[shape["model"]]["shapes"]).make(shape["shape"], "", 0)


class _Maker:
    """Values of one model's shapes."""

    def __init__(self, rng: Random, shapes: dict[str, Shape]) -> None:
        self._rng = rng
        self._shapes = shapes
        self._table = rng.choice(TABLES)
        self._shunned = rng.choice((LEGACY, LEGACY, LEGACY, frozenset(grammar.KINDS), frozenset()))
        self._likely = rng.choice((0.05, 0.15, 0.3))
        self._fault_rate = rng.choice((0.0, 0.0, 0.002, 0.02))

    def make(self, name: str, member: str, depth: int) -> Json:
        """A value of a shape, for the member of that name."""
        rng = self._rng
        if rng.random() < self._fault_rate:
            return rng.choice(ODD)
        if name == "AttributeValue":
            return attribute_value(rng, faults=self._fault_rate)
        if name == "Key" or member == "ExclusiveStartKey":
            return key(rng, self._table)
        if member == "KeyConditions":
            return _key_conditions(rng)
        if member == "Item":
            return item(rng, self._table, self._fault_rate)
        shape = self._shapes[name]
        if shape["type"] == "structure":
            return self._structure(name, shape, depth)
        if shape["type"] in ("list", "map"):
            return self._collection(shape, member, depth)
        return self._scalar(shape, member)

    def _structure(self, name: str, shape: Shape, depth: int) -> Json:
        rng = self._rng
        members = shape["members"]
        if "TableName" in members:
            self._table = rng.choice(TABLES)
        chosen = {}
        for member in self._chosen(name, shape, depth):
            if depth < DEPTH_MAX:
                chosen[member] = self.make(members[member]["shape"], member, depth + 1)
        if "ExpressionAttributeNames" in members:
            chosen |= self._bindings(chosen)
        if rng.random() < self._fault_rate:
            chosen[rng.choice(TEXTS)] = rng.choice(ODD)
        return chosen

    def _chosen(self, name: str, shape: Shape, depth: int) -> list[str]:
        """The members that this structure is to have."""
        rng = self._rng
        if name in ONE_OF and rng.random() >= self._fault_rate:
            return [rng.choice(sorted(shape["members"]))]
        likely = self._likely / (1 + depth / 2)
        wanted = [
            member
            for member in shape["members"]
            if member in shape.get("required", ())
            or (member not in self._shunned and rng.random() < (likely / 10 if member in SELDOM else likely))
        ]
        if "KeyConditions" in shape["members"]:
            wanted.append("KeyConditionExpression" if self._shunned is LEGACY else "KeyConditions")
            if self._table != INDEXED_TABLE:
                wanted = [member for member in wanted if member != "IndexName"]
        return [member for member in wanted if not member.startswith("ExpressionAttribute")]

    def _bindings(self, chosen: dict[str, Json]) -> Json:
        """The names and values that the expressions of a structure ask for."""
        rng = self._rng
        text = " ".join(chosen[member] for member in grammar.KINDS if isinstance(chosen.get(member), str))
        names = {found: rng.choice(ATTRIBUTES) for found in sorted(set(re.findall(r"#\w+", text)))}
        values = {found: BOUND.get(found, {"S": "y"}) for found in sorted(set(re.findall(r":\w+", text)))}
        if rng.random() < 0.03:
            values[rng.choice((*BOUND, ":", "s", ""))] = attribute_value(rng, faults=0.1)
        if rng.random() < 0.03:
            names[rng.choice(("#a", "#unused", "#", "a", ""))] = rng.choice((*ATTRIBUTES, *TEXTS, None, 1))
        found = {"ExpressionAttributeNames": names, "ExpressionAttributeValues": values}
        return {member: bound for member, bound in found.items() if bound or rng.random() < 0.01}

    def _collection(self, shape: Shape, member: str, depth: int) -> Json:
        rng = self._rng
        count = 0 if depth > DEPTH_MAX else rng.choice((1, 1, 1, 1, 2, 2, 3, rng.choice((0, 30))))
        if shape["type"] == "list":
            return [self.make(shape["member"]["shape"], member, depth + 1) for _ in range(count)]
        made = {}
        for _ in range(min(count, 3)):
            name = str(self._scalar(self._shapes[shape["key"]["shape"]], member))
            if member == "RequestItems":
                self._table = name
            made[name] = self.make(shape["value"]["shape"], member, depth + 1)
        return made

    def _scalar(self, shape: Shape, member: str) -> Json:
        rng = self._rng
        kind = shape["type"]
        if kind == "boolean":
            return rng.random() < 0.5
        if kind in ("integer", "long"):
            return rng.choice((1, 1, 2, 5, 100, rng.choice((0, -1, 1000, 2**31, 2**63 - 1))))
        if kind in ("double", "float", "timestamp"):
            return rng.choice((0, 0.5, 1700000000, -1, 1e308))
        if kind == "blob":
            return rng.choice(BYTES)
        if "enum" in shape and rng.random() >= self._fault_rate:
            return rng.choice(shape["enum"])
        return self._text(member)

    def _text(self, member: str) -> str:
        rng = self._rng
        if member in grammar.KINDS:
            return grammar.expression(rng, member)
        if rng.random() < self._fault_rate:
            return rng.choice(TEXTS)
        if member == "TableName":
            return self._table if rng.random() < 0.97 else ARN + self._table
        if member in ("RequestItems", "SourceTableName", "TargetTableName"):
            return rng.choice(TABLES)
        if member in KNOWN and rng.random() < 0.95:
            return forged(rng, rng.choice(KNOWN[member])) if rng.random() < 0.1 else rng.choice(KNOWN[member])
        if member.endswith("Arn"):
            return ARN + rng.choice((*TABLES, "Simple/index/ByStatus", "Sorted/stream/2025-01-01T00:00:00.000", ""))
        if member == "IndexName":
            return rng.choice(INDEXES)
        if member in ("Statement", "Statements"):
            return rng.choice(("SELECT * FROM Simple", "SELECT * FROM", "INSERT INTO Simple VALUE {'pk': 'x'}", ""))
        return rng.choice(ATTRIBUTES)


def forged(rng: Random, token: str) -> str:
    """An opaque text of the service with another inside, where it has one that is readable."""
    head, bar, inside = token.rpartition("|")
    try:
        fields = json.loads(base64.b64decode(inside, validate=True))
    except ValueError:
        return token[: rng.randrange(len(token))]
    if isinstance(fields, list) and fields and rng.random() < 0.7:
        fields[rng.randrange(len(fields))] = rng.choice(ODD)
    else:
        fields = rng.choice(ODD)
    return head + bar + base64.b64encode(json.dumps(fields).encode()).decode()


def attribute_value(rng: Random, depth: int = 0, faults: float = 0.01) -> Json:
    """One value, of any type, mostly sound."""
    if rng.random() < faults:
        return rng.choice((*ODD, {"S": "x", "N": "1"}, {"X": 1}, {"S": 1}, {"NULL": False}, {"M": []}, {"SS": "x"}))
    kind = rng.choice("SSSNNB" if depth > 3 else ("S", "S", "N", "N", "B", "L", "M", "SS", "NS", "BS", "BOOL", "NULL"))
    if kind == "L":
        return {"L": [attribute_value(rng, depth + 1, faults) for _ in range(rng.randrange(4))]}
    if kind == "M":
        return {"M": {rng.choice(ATTRIBUTES): attribute_value(rng, depth + 1, faults) for _ in range(rng.randrange(4))}}
    if kind in ("SS", "NS", "BS"):
        members = {_plain(rng, kind[0], faults) for _ in range(rng.choice((1, 2, 3)))}
        return {kind: sorted(members) if rng.random() >= faults else [*members, *members]}
    return {kind: rng.random() < 0.5 if kind == "BOOL" else True if kind == "NULL" else _plain(rng, kind, faults)}


def _plain(rng: Random, kind: str, faults: float) -> str:
    if rng.random() < faults:
        return rng.choice({"S": TEXTS, "N": NUMBERS, "B": BYTES}[kind])
    if kind == "N":
        return rng.choice((str(rng.randrange(-5, 100)), "1.50", "9" * 38, "1e100", "-1e-130"))
    return rng.choice(("QUJD", "AAA=", "/w==")) if kind == "B" else rng.choice(("x", "y", "z", "abc", "text", ""))


def deep_value(rng: Random) -> Json:
    """Nested beyond the service's 32 levels, by little or by much."""
    value: Json = {"S": "x"}
    for _ in range(rng.choice((31, 32, 33, 200))):
        value = {"L": [value]} if rng.random() < 0.5 else {"M": {"a": value}}
    return value


def new_table(rng: Random) -> Json:
    """A CreateTable body that is sound, or nearly: keys and indexes of any kind."""
    names = rng.sample(ATTRIBUTES, 4)
    kinds = {name: rng.choice("SNB") for name in names}
    made = {
        "TableName": rng.choice((*TABLES, "Other")),
        "KeySchema": _schema(names[: rng.choice((1, 2, 2))]),
        "BillingMode": rng.choice(("PAY_PER_REQUEST", "PAY_PER_REQUEST", "PROVISIONED")),
    }
    if made["BillingMode"] == "PROVISIONED":
        made["ProvisionedThroughput"] = {"ReadCapacityUnits": 5, "WriteCapacityUnits": rng.choice((0, 1, 5, 2**40))}
    for member, hashes in (("GlobalSecondaryIndexes", names), ("LocalSecondaryIndexes", names[:1])):
        if rng.random() < 0.4:
            made[member] = [_index(rng, name, rng.choice(hashes), names) for name in rng.sample(INDEXES, 2)]
    keys = [made["KeySchema"], *(each["KeySchema"] for member in made if "Indexes" in member for each in made[member])]
    used = {part["AttributeName"] for schema in keys for part in schema}
    if rng.random() < 0.05:
        used ^= {rng.choice(names)}
    made["AttributeDefinitions"] = [{"AttributeName": name, "AttributeType": kinds[name]} for name in sorted(used)]
    return made


def _index(rng: Random, name: str, hash_name: str, names: list[str]) -> Json:
    others = [each for each in names if each != hash_name]
    projection: Json = {"ProjectionType": rng.choice(("ALL", "KEYS_ONLY", "INCLUDE"))}
    if projection["ProjectionType"] == "INCLUDE":
        projection["NonKeyAttributes"] = [rng.choice(ATTRIBUTES)]
    return {"IndexName": name, "KeySchema": _schema([hash_name, rng.choice(others)]), "Projection": projection}


def _schema(names: list[str]) -> Json:
    return [{"AttributeName": name, "KeyType": kind} for name, kind in zip(names, ("HASH", "RANGE"), strict=False)]


def _key_conditions(rng: Random) -> Json:
    """The legacy form of a key condition."""
    conditions = {"pk": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "x"}]}}
    if rng.random() < 0.5:
        comparison = rng.choice(("EQ", "LE", "LT", "GE", "GT", "BEGINS_WITH", "BETWEEN", "NE"))
        bounds = [rng.choice(({"S": "b"}, {"N": "9"})) for _ in range(2 if comparison == "BETWEEN" else 1)]
        conditions["sk"] = {"ComparisonOperator": comparison, "AttributeValueList": bounds}
    return conditions


def key(rng: Random, table: str) -> Json:
    """A primary key, most often one that the table takes and has."""
    made = {"pk": {"S": rng.choice("xyz")}}
    if table == "Numbers":
        made["sk"] = {"N": str(rng.randrange(60))}
    elif table != "Simple":
        made["sk"] = {"S": rng.choice("abcdef")}
    if rng.random() < 0.03:
        made[rng.choice(("pk", "sk", "a", ""))] = attribute_value(rng, faults=0.1)
    if rng.random() < 0.01:
        del made["pk"]
    return made


def item(rng: Random, table: str, faults: float) -> Json:
    """An item that the table may take."""
    made = key(rng, table)
    if rng.random() < 0.5:
        made["gpk"] = {"S": rng.choice("pqr")}
    for name in rng.sample(ATTRIBUTES[:-2], rng.choice((0, 1, 3))):
        made[name] = deep_value(rng) if rng.random() < faults else attribute_value(rng, faults=faults)
    return made
