"""ExecuteStatement: one PartiQL statement."""

from __future__ import annotations

from dynamometer.base.errors import ValidationException
from dynamometer.engine.catalog import World
from dynamometer.engine.commit import Commit
from dynamometer.engine.engine import Answer, Engine
from dynamometer.engine.partiql import writes
from dynamometer.engine.partiql.literals import check_parameters
from dynamometer.engine.partiql.prepare import Parsed, Target, prepare
from dynamometer.engine.partiql.reads import Query, check_token, digest_of
from dynamometer.engine.requests import Body, write_capacity

EXISTS_ELSEWHERE = "EXISTS can only be used in ExecuteTransaction write requests."


def run(engine: Engine, world: World, body: Body) -> Answer:
    parameters = body.get("Parameters", [])
    check_parameters(parameters)
    text = body["Statement"]
    parsed = Parsed(text)
    if parsed.exists:
        raise ValidationException(EXISTS_ELSEWHERE)
    target = Target(world, parsed.node, text)
    prepared, values = prepare(parsed, parameters)
    table = target.require()
    digest = digest_of(table, text, parameters) if "NextToken" in body or parsed.is_read else ""
    if parsed.is_read:
        query = Query(target, prepared, values, body.get("ConsistentRead", False))
        return query.page(engine.store, body, target.table_name, digest), table.last_sequence
    if "NextToken" in body:
        check_token(body["NextToken"], digest)
    action = writes.action_of(parsed, prepared, values, table, body, single=True)

    def decide(commit: Commit) -> Body:
        before = commit.read(action.key)
        after = action.decide(before)
        charge = commit.change(table, action.key, before, after, action.entries)
        item = writes.returned(prepared, before, after)
        answer: Body = {"Items": [] if item is None else [item]}
        capacity = write_capacity({**body, "TableName": target.table_name}, charge)
        if capacity is not None:
            answer["ConsumedCapacity"] = capacity
        return answer

    return engine.transact(decide)
