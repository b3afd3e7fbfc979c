"""Expressions: mostly grammatical, sometimes with one thing wrong, rarely a heap of tokens."""

from __future__ import annotations

from random import Random

NAMES = (
    "a",
    "b",
    "c",
    "lst",
    "mp",
    "num",
    "txt",
    "st",
    "sk",
    "gpk",
    "#a",
    "#b",
    "a",
    "b",
    "lst",
    "mp",
    "num",
    "pk",
    "name",
)
VALUES = (":s", ":n", ":s", ":n", ":b", ":l", ":m", ":ss", ":ns", ":bool", ":null")
TYPES_AND_TEXTS = ('"', "'", "\\", "\x00", "é", "𝄞", "--", "/*", ";", "{}", "$", "`")
TOKENS = (
    *NAMES,
    *VALUES,
    *("(", ")", "[", "]", ",", ".", "=", "<>", "<", "<=", ">", ">=", "+", "-", "[0]", "[99999999999999999999]", " "),
    *("AND", "OR", "NOT", "BETWEEN", "IN", "SET", "REMOVE", "ADD", "DELETE", "set", "and"),
    *("attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains", "size"),
    *("if_not_exists", "list_append", "unknown_function", "0", "1", "-1", "1e400"),
    *TYPES_AND_TEXTS,
)
DEEP = 600


def path(rng: Random) -> str:
    """A document path."""
    text = rng.choice(NAMES)
    while rng.random() < 0.4:
        text += (
            f".{rng.choice(NAMES)}"
            if rng.random() < 0.6
            else f"[{rng.choice((0, 0, 1, 1, 7, rng.choice((1, 2**31, 10**20))))}]"
        )
    return text


def operand(rng: Random, depth: int = 0) -> str:
    """What stands on one side of a comparator."""
    kind = rng.random()
    if kind < 0.45:
        return rng.choice(VALUES)
    if kind < 0.85 or depth > 3:
        return path(rng)
    return f"{rng.choice(('size', 'SIZE', 'if_not_exists'))}({operand(rng, depth + 1)})"


def condition(rng: Random, depth: int = 0) -> str:
    """A condition or filter expression."""
    if depth > 5 or rng.random() < 0.5:
        return _comparison(rng)
    kind = rng.randrange(4)
    if kind == 0:
        return f"NOT {condition(rng, depth + 1)}"
    if kind == 1:
        return f"({condition(rng, depth + 1)})"
    return f"{condition(rng, depth + 1)} {rng.choice(('AND', 'OR', 'and', 'oR'))} {condition(rng, depth + 1)}"


def _comparison(rng: Random) -> str:
    kind = rng.randrange(5)
    if kind == 0:
        return f"{operand(rng)} BETWEEN {operand(rng)} AND {operand(rng)}"
    if kind == 1:
        return f"{operand(rng)} IN ({', '.join(operand(rng) for _ in range(rng.choice((1, 2, 5, 101))))})"
    if kind == 2:
        name = rng.choice(("attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains"))
        return f"{name}({', '.join(operand(rng) for _ in range(rng.choice((0, 1, 1, 2, 2, 3))))})"
    return f"{operand(rng)} {rng.choice(('=', '<>', '<', '<=', '>', '>='))} {operand(rng)}"


def key_condition(rng: Random) -> str:
    """A key condition expression."""
    first = (
        f"{rng.choice(('pk', 'pk', 'pk', '#pk', 'gpk', 'a'))} = {rng.choice((':s', ':s', ':s', rng.choice(VALUES)))}"
    )
    if rng.random() < 0.3:
        return first
    second = rng.choice(
        (
            f"sk {rng.choice(('=', '<', '<=', '>', '>=', '<>'))} {rng.choice((':s', ':n'))}",
            rng.choice(("sk BETWEEN :s AND :s", "sk BETWEEN :n AND :n", "sk BETWEEN :s AND :n")),
            f"begins_with(sk, {rng.choice((':s', ':s', ':n'))})",
            condition(rng, 4),
        )
    )
    return f"{first} AND {second}" if rng.random() < 0.8 else f"({second}) AND ({first})"


def update(rng: Random) -> str:
    """An update expression."""
    clauses = []
    for clause in rng.sample(("SET", "REMOVE", "ADD", "DELETE"), rng.choice((1, 1, 2, 3, 4))):
        actions = [_action(rng, clause) for _ in range(rng.choice((1, 1, 2, 3)))]
        clauses.append(f"{clause} {', '.join(actions)}")
    return " ".join(clauses)


def _action(rng: Random, clause: str) -> str:
    if clause == "REMOVE":
        return path(rng)
    if clause != "SET":
        return f"{path(rng)} {rng.choice(VALUES)}"
    return f"{path(rng)} = {_set_value(rng)}"


def _set_value(rng: Random) -> str:
    return rng.choice(
        (
            operand(rng),
            f"{operand(rng)} {rng.choice('+-')} {operand(rng)}",
            f"if_not_exists({path(rng)}, {operand(rng)})",
            f"list_append({operand(rng)}, {operand(rng)})",
            f"if_not_exists({path(rng)}, {operand(rng)}) + {operand(rng)}",
        )
    )


def projection(rng: Random) -> str:
    """A projection expression."""
    return ", ".join(path(rng) for _ in range(rng.choice((1, 2, 3, 20))))


def spoil(rng: Random, text: str) -> str:
    """One thing wrong with it."""
    kind = rng.randrange(6)
    at = rng.randrange(len(text) + 1)
    if kind == 0:
        return text[:at]
    if kind == 1:
        return text[:at] + rng.choice(TOKENS) + text[at:]
    if kind == 2:
        return text[:at] + text[at + rng.randrange(8) :]
    if kind == 3:
        return f"{text} {text}"
    if kind == 4:
        return nest(rng, text)
    return " ".join(rng.choice(TOKENS) for _ in range(rng.choice((0, 1, 5, 50))))


def nest(rng: Random, text: str) -> str:
    """Deeper or longer than anybody writes."""
    depth = rng.choice((10, 100, DEEP, 5 * DEEP))
    return rng.choice(
        (
            "(" * depth + text + ")" * depth,
            "(" * depth + text,
            "NOT " * depth + text,
            " AND ".join([text] * min(depth, 4 * DEEP // (len(text) + 1) + 2)),
            "size(" * depth + text + ")" * depth,
            "a" + ".a" * depth,
            "a" + "[0]" * depth,
            "SET a = " + " + ".join([":n"] * depth),
            "SET a = " + "if_not_exists(a, " * depth + ":n" + ")" * depth,
            "a" * 30 * depth,
        )
    )


KINDS = {
    "ConditionExpression": condition,
    "FilterExpression": condition,
    "KeyConditionExpression": key_condition,
    "ProjectionExpression": projection,
    "UpdateExpression": update,
}


def expression(rng: Random, member: str) -> str:
    """A text for the member of that name."""
    text = KINDS[member](rng)
    return spoil(rng, text) if rng.random() < 0.15 else text
