"""What a well-formed expression is refused for, and which of several reasons is given: rows that break two rules."""

from __future__ import annotations

from typing import Any

import pytest

from .helpers import QUERY, N, S, one, refusal, refusal_of

CONDITION, UPDATE, PROJECTION = "ConditionExpression", "UpdateExpression", "ProjectionExpression"

PARENTHESES = "The expression has redundant parentheses;"
UNKNOWN = "Invalid function name; function: "
MISUSED = "The function is not allowed to be used this way in an expression; function: "
RESERVED = "Attribute name is a reserved keyword; reserved keyword: "
NO_NAME = "An expression attribute name used in the document path is not defined; attribute name: "
NO_VALUE = "An expression attribute value used in expression is not defined; attribute value: "
COUNT = "Incorrect number of operands for operator or function; operator or function: "
DISTINCT = "The first operand must be distinct from the remaining operands for this operator or function; operator: "
TYPE = "Incorrect operand type for operator or function; operator or function: "
PATH = "Operator or function requires a document path; operator or function: "
ANY_TYPE = "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Parentheses before all else
        ("a=a and a > ((views))", PARENTHESES),
        ("(a)between(((b.c)).d)and(c)", PARENTHESES),
        ("a > whatever((:things), ((a)))", PARENTHESES),
        ("a=a AND ((a=a AND (a=a AND a=a)))", PARENTHESES),
        ("((a=a OR a=a))", PARENTHESES),
        ("((a = :s))", PARENTHESES),
        # Unknown functions before misused ones and reserved words
        ("a=a and whatever((:things)) > a", UNKNOWN + "whatever"),
        ("attRIbute_exIsts((views), #a)", UNKNOWN + "attRIbute_exIsts"),
        ("size(views) and f(g(a))", UNKNOWN + "g"),
        ("if_not_exists(a, b) = :s", "The function is not allowed in a condition expression; function: if_not_exists"),
        # Misused functions before reserved words
        ("a=a and attribute_exists((views), (#a)) > b", MISUSED + "attribute_exists"),
        ("contains(:things, c) > b", MISUSED + "contains"),
        ("size(contains(a, b)) > a", MISUSED + "contains"),
        ("size(things)", MISUSED + "size"),
        ("a = views and (size(a))", MISUSED + "size"),
        ("a between b and attribute_exists(things)", MISUSED + "attribute_exists"),
        ("a in (b, attribute_exists(things))", MISUSED + "attribute_exists"),
        # Reserved words before what a single clause has wrong
        ("attribute_exists(views, #a)", RESERVED + "views"),
        ("a = a AND :a < abOrT", RESERVED + "abOrT"),
        ("a.b.status = :s", RESERVED + "status"),
        # Clause by clause: undefined names and values in written order, before counts
        ("attribute_exists(#p.q, :a) and a=a", NO_NAME + "#p"),
        ("begins_with(p.#q)", NO_NAME + "#q"),
        ("(#p between :lo and :hi) and (#q in (:c, :d))", NO_NAME + "#p"),
        ("(a)between(b.c[45].#d)and(:a)", NO_NAME + "#d"),
        ("begins_with(:hello, #a, #b)", NO_VALUE + ":hello"),
        (":a < :b", NO_VALUE + ":a"),
        # ... counts before equal operands and types
        ("attribute_exists(a, b) and a=a", COUNT + "attribute_exists, number of operands: 2"),
        ("attribute_type(a)", COUNT + "attribute_type, number of operands: 1"),
        ("begins_with(a, size(a), b)", COUNT + "begins_with, number of operands: 3"),
        ("size(a, b) > b", COUNT + "size, number of operands: 2"),
        ("a = :s and size(a, b) > b and a = a", COUNT + "size, number of operands: 2"),
        # ... equal operands before types
        ("a = a AND #n = b", DISTINCT + "=, first operand: [a]"),
        ("#n <> n", DISTINCT + "<>, first operand: [n]"),
        ("((a=a) OR (a=a))", DISTINCT + "=, first operand: [a]"),
        ("contains(ab.bc[1].n, ab.bc[1].#n)", DISTINCT + "contains, first operand: [ab, bc, [1], n]"),
        ("attribute_type(b[1], b[1])", DISTINCT + "attribute_type, first operand: [b, [1]]"),
        ("a IN (b, a)", DISTINCT + "IN, first operand: [a]"),
        ("a BETWEEN b AND a", DISTINCT + "BETWEEN, first operand: [a]"),
        # ... and types last
        ("attribute_type(a, b)", TYPE + "attribute_type, operand type: " + ANY_TYPE),
        ("attribute_type(a, size(b)) and a=a", TYPE + "attribute_type, operand type: N"),
        ("attribute_type(a, :n)", TYPE + "attribute_type, operand type: N"),
        (
            "attribute_type(a, :s)",
            "Invalid attribute type name found; type: a, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}",
        ),
        ("begins_with(a, size(b)) and a=:x", TYPE + "begins_with, operand type: N"),
        ("begins_with(a, :n)", TYPE + "begins_with, operand type: N"),
        ("begins_with(:l, a)", TYPE + "begins_with, operand type: L"),
        ("size(size(a)) > :n", TYPE + "size, operand type: N"),
        ("attribute_not_exists(size(:n))", TYPE + "size, operand type: N"),
        ("attribute_not_exists(size(:s))", PATH + "attribute_not_exists"),
        ("attribute_exists(:s) and a=a", PATH + "attribute_exists"),
        ("a < :l", TYPE + "<, operand type: L"),
        (":l >= a", TYPE + ">=, operand type: L"),
        ("a BETWEEN :l AND :l", TYPE + "BETWEEN, operand type: L"),
        (
            "a between :n and :s",
            "The BETWEEN operator requires same data type for lower and upper bounds; lower bound operand: "
            "AttributeValue: {N:1}, upper bound operand: AttributeValue: {S:a}",
        ),
        (
            "a between :two and :n",
            "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound "
            "operand: AttributeValue: {N:2}, upper bound operand: AttributeValue: {N:1}",
        ),
    ],
)
def test_conditions(text: str, expected: str) -> None:
    values = {":s": S, ":n": N, ":l": {"L": []}, ":two": {"N": "2"}}
    assert refusal_of(CONDITION, text, {"#n": "n"}, values) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("set #z = :z set abOrt = b", RESERVED + "abOrt"),
        ("set a = abort set a = f(b)", RESERVED + "abort"),
        ("set a = f(b) set a = b", UNKNOWN + "f"),
        ("set a = LIST_APPEND(b, b)", UNKNOWN + "LIST_APPEND"),
        ("set a = size(b)", "The function is not allowed in an update expression; function: size"),
        (
            "set a = #z remove b set c = :z",
            'The "SET" section can only be used once in an update expression;',
        ),
        ("set a = :z, #z = b", NO_NAME + "#z"),
        ("set a = :z, a = b", NO_VALUE + ":z"),
        ("set b = if_not_exists(:z, :s)", NO_VALUE + ":z"),
        ("set a = if_not_exists(c)", COUNT + "if_not_exists, number of operands: 1"),
        ("set a = list_append(:l)", COUNT + "list_append, number of operands: 1"),
        ("set a = if_not_exists(:s, c)", PATH + "if_not_exists"),
        ("set a = if_not_exists(if_not_exists(a, b), c)", PATH + "if_not_exists"),
        ("set a = list_append(list_append(:l, b), c)", MISUSED + "list_append"),
        ("set a = list_append(:s, a)", TYPE + "list_append, operand type: S"),
        ("set a = list_append(a, :n)", TYPE + "list_append, operand type: N"),
        ("set a = :s + :n", TYPE + "+, operand type: S"),
        ("set a = a - :l", TYPE + "-, operand type: L"),
        (
            "set b = list_append(:s, a) add c.d :s",
            "Incorrect operand type for operator or function; operator: ADD, operand type: STRING",
        ),
        ("delete c :n", "Incorrect operand type for operator or function; operator: DELETE, operand type: NUMBER"),
        ("add c :l", "Incorrect operand type for operator or function; operator: ADD, operand type: LIST"),
        ("add c :m", "Incorrect operand type for operator or function; operator: ADD, operand type: MAP"),
        ("add c :b", "Incorrect operand type for operator or function; operator: ADD, operand type: BINARY"),
        ("add c :t", "Incorrect operand type for operator or function; operator: ADD, operand type: BOOLEAN"),
        ("delete c :0", "Incorrect operand type for operator or function; operator: DELETE, operand type: NULL"),
    ],
)
def test_updates(text: str, expected: str) -> None:
    values: dict[str, Any] = {":s": S, ":n": N, ":l": {"L": []}, ":m": {"M": {}}}
    values |= {":b": {"B": "YQ=="}, ":t": {"BOOL": True}, ":0": {"NULL": True}}
    assert refusal_of(UPDATE, text, None, values) == expected


@pytest.mark.parametrize(
    ("text", "clash", "one", "two"),
    [
        ("a, a", "overlap", "[a]", "[a]"),
        ("a, a.b", "overlap", "[a]", "[a, b]"),
        ("a.b.d.e, a.b", "overlap", "[a, b, d, e]", "[a, b]"),
        ("a[1], a[1]", "overlap", "[a, [1]]", "[a, [1]]"),
        ("a.b, a[1]", "conflict", "[a, b]", "[a, [1]]"),
        ("a.b[1], a.b.c", "conflict", "[a, b, [1]]", "[a, b, c]"),
        ("a.b, a[1], c, c", "overlap", "[c]", "[c]"),
        ("#c[3].#d, #c.#d[3]", "conflict", "[c, [3], [3]]", "[c, [3], [3]]"),
    ],
)
def test_paths_that_clash(text: str, clash: str, one: str, two: str) -> None:
    names = {"#c": "c", "#d": "[3]"}
    expected = (
        f"Two document paths {clash} with each other; must remove or rewrite one of these paths; "
        f"path one: {one}, path two: {two}"
    )
    assert refusal_of(PROJECTION, text, names) == expected
    assert refusal_of(UPDATE, f"REMOVE {text}", names) == expected


@pytest.mark.parametrize("text", ["a, b", "a.b, a.c", "a.b.d, a.b.e", "a[1], a[2]", "a.b, a.c[2]"])
def test_paths_that_do_not_clash(text: str) -> None:
    assert one(PROJECTION, text).projection is not None


def test_reserved_and_undefined_names_come_before_clashes() -> None:
    assert refusal_of(PROJECTION, "#a, b, b, name") == RESERVED + "name"
    assert refusal_of(PROJECTION, "b, b, #a") == NO_NAME + "#a"


def test_32_elements_are_the_limit_of_a_path() -> None:
    assert one(PROJECTION, "a" + ".b" * 31).projection is not None
    expected = "The document path has too many nesting levels; nesting levels: 33"
    assert refusal_of(PROJECTION, "a" + ".b" * 32) == expected
    assert refusal_of(CONDITION, "a = x" + ".b" * 32) == expected


def test_list_indexes_have_32_bits() -> None:
    assert one(PROJECTION, "a[2147483647]").projection is not None
    expected = "List index is not within the allowable range; index: [99999999999999]"
    assert refusal_of(PROJECTION, "a[99999999999999]") == expected


def test_100_choices_are_the_limit_of_in() -> None:
    values = {f":{i}": {"N": str(i)} for i in range(101)}
    keys = list(values)
    last = values.pop(":100")
    assert one(CONDITION, f"a IN ({', '.join(keys[:100])})", None, values).condition is not None
    values[":100"] = last
    expected = "The IN operator is provided with too many operands; number of operands: 101"
    assert refusal_of(CONDITION, f"a IN ({', '.join(keys)})", None, values) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a > b and size(b) > c or a > c", "Invalid operator used in KeyConditionExpression: OR"),
        ("a in (b, size(c), d)", "Invalid operator used in KeyConditionExpression: IN"),
        ("attribute_exists(a)", "Invalid operator used in KeyConditionExpression: attribute_exists"),
        ("contains(a.d, b)", "Invalid operator used in KeyConditionExpression: contains"),
        ("not a > b", "Invalid operator used in KeyConditionExpression: NOT"),
        ("a <> b", "Invalid operator used in KeyConditionExpression: <>"),
        ("size(b) > a AND a.b > b AND b > c", "KeyConditionExpressions cannot contain nested operations"),
        ("a between size(b) and size(a)", "KeyConditionExpressions cannot contain nested operations"),
        ("b.d > a AND c.d > e.f", "KeyConditionExpressions cannot have conditions on nested attributes"),
        ("b > a.b", "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition"),
        (
            "a between b and size(a)",
            "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition",
        ),
        ("p", 'Invalid KeyConditionExpression: Syntax error; token: "<EOF>", near: "p"'),
    ],
)
def test_key_conditions_without_values(text: str, expected: str) -> None:
    assert refusal({"KeyConditionExpression": text}, QUERY) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            ":a between size(b) and size(a) and b > :b",
            "Invalid condition in KeyConditionExpression: BETWEEN operator must have the key attribute as its first "
            "operand",
        ),
        (
            "begins_with(:a, b) and a > :b",
            "Invalid condition in KeyConditionExpression: begins_with operator must have the key attribute as its "
            "first operand",
        ),
        (":b > :a AND a < :b", "Invalid condition in KeyConditionExpression: No key attribute specified"),
        ("b > :a AND b < :b and c = :a", "KeyConditionExpressions must only contain one condition per key"),
        ("(a > :a and b > :a) and (b > :b)", "KeyConditionExpressions must only contain one condition per key"),
        (
            "a between :b and :a",
            "Invalid KeyConditionExpression: The BETWEEN operator requires upper bound to be greater than or equal "
            "to lower bound; lower bound operand: AttributeValue: {S:b}, upper bound operand: AttributeValue: {S:a}",
        ),
    ],
)
def test_key_conditions_with_values(text: str, expected: str) -> None:
    values = {":a": {"S": "a"}, ":b": {"S": "b"}}
    assert refusal({"KeyConditionExpression": text, "ExpressionAttributeValues": values}, QUERY) == expected


def test_key_conditions_are_looked_at_behind_all_expressions() -> None:
    body: dict[str, Any] = {"KeyConditionExpression": "a <> b", "FilterExpression": "", "ProjectionExpression": ""}
    assert refusal(body, QUERY) == "Invalid FilterExpression: The expression can not be empty;"
    body["FilterExpression"] = "a > b"
    assert refusal(body, QUERY) == "Invalid ProjectionExpression: The expression can not be empty;"
    body["ProjectionExpression"] = "c"
    body["ExpressionAttributeNames"] = {"#x": "y"}
    assert refusal(body, QUERY) == "Value provided in ExpressionAttributeNames unused in expressions: keys: {#x}"
