"""A request's expressions, ready to be used: the one way in from requests to trees.

    check_mixing(body, kinds)   legacy parameters beside expressions; names or values without expressions
    bind(body, kinds)           names, values, legacy parameters, expressions; unused names and values: in that order

The two are apart because the service checks the values of items and keys between them. `kinds` are the members of
the request that hold expressions, in the order in which they are checked.

Everything that follows from the texts, the names and the keys of the values is a `Plan`, kept for the next request
that has the same. What depends on the values' types is a plan's rules; when one is broken, everything is checked anew,
because which of several errors is reported depends on all of them.
"""

from __future__ import annotations

import re
from typing import Any, TypeAlias

from dynamometer.base.errors import ValidationException
from dynamometer.expressions import check, legacy, parser, resolve, rules
from dynamometer.expressions.evaluate import AttributeValue, Item, Values, compile_condition
from dynamometer.expressions.key_condition import CompiledKeyCondition, compile_key_condition
from dynamometer.expressions.project import CompiledProjection, nested_names
from dynamometer.expressions.tree import Condition, Path
from dynamometer.expressions.update import CompiledUpdate
from dynamometer.model.values import NESTED_TOO_DEEP, normalize_value

PLANS_MAX = 4096
PLANS_TEXT_MAX = 2**18
"""Bytes of expressions and names in all plans, about: each costs some hundred bytes of tree and closures."""
PLACEHOLDER_BYTES_MAX = 255
SUBSTITUTION_BYTES_MAX = 2 * 2**20
"""Names and values of a request together (both: developer guide, "Constraints")."""

NAMES, VALUES = "ExpressionAttributeNames", "ExpressionAttributeValues"

Body: TypeAlias = dict[str, Any]
Kinds: TypeAlias = tuple[str, ...]

_NO_ITEM: Item = {}


class CompiledCondition:
    """A condition or filter, ready to be tested. `source` is how the service calls a filter in its errors."""

    __slots__ = ("_test", "attributes", "nested", "source", "tree")

    def __init__(self, tree: Condition, source: str = "Filter Expression") -> None:
        self.tree = tree
        self.source = source
        paths: list[Path] = list(resolve.paths_of(tree))
        self.attributes = frozenset(str(path.elements[0]) for path in paths)
        """Top-level attributes that are read."""
        self.nested = nested_names(paths)
        """Those that are looked into."""
        self._test = compile_condition(tree)

    def test(self, item: Item | None, values: Values) -> bool:
        """Does the item (None or {} if there is none) meet the condition?"""
        return self._test(item or _NO_ITEM, values)


class Bound:
    """What a request's expressions, or the parameters from before them, ask for. `values` are normalised."""

    __slots__ = ("condition", "filter", "key_condition", "projection", "update", "values")

    condition: CompiledCondition | None
    filter: CompiledCondition | None
    key_condition: CompiledKeyCondition | None
    projection: CompiledProjection | None
    update: CompiledUpdate | None
    values: dict[str, AttributeValue]

    def __init__(self, plan: Plan, values: dict[str, AttributeValue]) -> None:
        self.condition = plan.condition
        self.filter = plan.filter
        self.key_condition = plan.key_condition
        self.projection = plan.projection
        self.update = plan.update
        self.values = values


class Plan:
    """All of a request's expressions, compiled, and what further values have to be like."""

    __slots__ = (
        "condition",
        "filter",
        "key_condition",
        "names_bytes",
        "projection",
        "rules",
        "size",
        "types",
        "update",
    )

    def __init__(self) -> None:
        self.condition: CompiledCondition | None = None
        self.filter: CompiledCondition | None = None
        self.key_condition: CompiledKeyCondition | None = None
        self.projection: CompiledProjection | None = None
        self.update: CompiledUpdate | None = None
        self.types: list[tuple[str, frozenset[str]]] = []
        """Values' keys, and the types they may have."""
        self.rules: list[rules.Rule] = []
        """All other rules."""
        self.size = 0
        self.names_bytes = 0

    def fits(self, values: Values) -> bool:
        """Do the values meet every rule?"""
        for key, allowed in self.types:
            (kind,) = values[key]
            if kind not in allowed:
                return False
        for rule in self.rules:  # noqa: SIM110 (this runs for every request)
            if rule.problem(values) is not None:
                return False
        return True


# --- What may be used together -----------------------------------------------------------------------------------

_EXPRESSIONS = (
    "ProjectionExpression",
    "FilterExpression",
    "KeyConditionExpression",
    "UpdateExpression",
    "ConditionExpression",
    "SearchConditionExpression",
)
"""In the order in which the service prints them."""
_LEGACY = (
    "AttributesToGet",
    "QueryFilter",
    "ScanFilter",
    "AttributeUpdates",
    "Expected",
    "ConditionalOperator",
    "KeyConditions",
)
"""In the order in which the service prints them."""

_MEMBERS = frozenset({*_EXPRESSIONS, *_LEGACY, NAMES, VALUES})

_SHAPES_MAX = 1024
_SHAPE_MEMBERS_MAX = 64
_sound_shapes: set[tuple[Kinds, tuple[str, ...]]] = set()
"""Sets of members that were found to go together."""


def legacy_members(kinds: Kinds) -> tuple[str, ...]:
    """The parameters that an operation with these expressions has had before them."""
    members: set[str] = set()
    if "ProjectionExpression" in kinds:
        members.add("AttributesToGet")
    if "KeyConditionExpression" in kinds:
        members |= {"QueryFilter", "KeyConditions", "ConditionalOperator"}
    elif "FilterExpression" in kinds:
        members |= {"ScanFilter", "ConditionalOperator"}
    if "UpdateExpression" in kinds:
        members.add("AttributeUpdates")
    if "ConditionExpression" in kinds:
        members |= {"Expected", "ConditionalOperator"}
    return tuple(member for member in _LEGACY if member in members)


def check_mixing(body: Body, kinds: Kinds, with_legacy: bool = True) -> None:
    """Refuse expressions beside legacy parameters, and names or values without expressions.

    `with_legacy` is False for operations that have no legacy parameters (transactions).
    """
    shape = (kinds, tuple(body))
    if shape in _sound_shapes:
        return
    expressions = [kind for kind in _EXPRESSIONS if kind in kinds and body.get(kind) is not None]
    older = legacy_members(kinds) if with_legacy else ()
    _check_legacy_beside(body, expressions, older)
    if body.get(NAMES) is not None and not expressions:
        raise ValidationException(f"{NAMES} can only be specified when using expressions")
    using_values = [kind for kind in _EXPRESSIONS if kind in kinds and kind != "ProjectionExpression"]
    if using_values and body.get(VALUES) is not None and not any(kind in expressions for kind in using_values):
        verb = "are" if len(using_values) > 1 else "is"
        raise ValidationException(
            f"{VALUES} can only be specified when using expressions: {' and '.join(using_values)} {verb} null"
        )
    if "ConditionalOperator" in older:
        legacy.check_conditional_operator(body, ("Expected", "QueryFilter", "ScanFilter"))
    _remember(shape, body)


def _remember(shape: tuple[Kinds, tuple[str, ...]], body: Body) -> None:
    """Keep a sound set of members, unless it is more than the set that makes it sound."""
    if "ConditionalOperator" in body or any(body[member] is None for member in body.keys() & _MEMBERS):
        return
    if len(body) > _SHAPE_MEMBERS_MAX or max(map(len, body), default=0) > _SHAPE_MEMBERS_MAX:
        return  # members that nobody knows may be many and their names long
    if len(_sound_shapes) >= _SHAPES_MAX:
        _sound_shapes.clear()
    _sound_shapes.add(shape)


def _check_legacy_beside(body: Body, expressions: list[str], older: tuple[str, ...]) -> None:
    if not expressions:
        return
    beside = [member for member in older if body.get(member) is not None]
    # KeyConditions alone may stand beside the expressions that filter and project: measured on the service.
    if "KeyConditionExpression" not in expressions and "KeyConditions" in beside:
        beside.remove("KeyConditions")
    if beside:
        raise ValidationException(
            "Can not use both expression and non-expression parameters in the same request: "
            f"Non-expression parameters: {{{', '.join(beside)}}} Expression parameters: {{{', '.join(expressions)}}}"
        )


# --- Binding -----------------------------------------------------------------------------------------------------

_plans: dict[tuple[Any, ...], Plan] = {}
_plans_text = 0

_name_key = re.compile(r"#[0-9A-Za-z_]+").fullmatch
_value_key = re.compile(r":[0-9A-Za-z_]+").fullmatch


def bind(body: Body, kinds: Kinds, with_legacy: bool = True) -> Bound:
    """The request's expressions and legacy parameters, compiled; its values, normalised in place."""
    if body.keys().isdisjoint(_MEMBERS) and "KeyConditionExpression" not in kinds:
        return _NOTHING
    names = body.get(NAMES)
    values = body.get(VALUES)
    texts = [body.get(kind) for kind in kinds]
    key = (
        kinds,
        *texts,
        None if names is None else tuple(names.items()),
        None if values is None else tuple(values),
    )
    plan = _plans.get(key)
    names_bytes = _check_keys(names, values) if plan is None else plan.names_bytes
    values_bytes = 0
    if values is None:
        values = {}
    else:
        for value_key, value in values.items():
            try:
                values_bytes += normalize_value(value) + len(value_key)
            except ValidationException as error:
                raise _invalid_value(error, value_key) from None
    if names_bytes + values_bytes > SUBSTITUTION_BYTES_MAX:
        raise _too_much(names_bytes, values_bytes)
    if with_legacy and (texts.count(None) == len(texts) or _has_key_conditions(body, kinds)):
        return _bind_legacy(body, kinds, names, values)
    if plan is None:
        plan = _plan(body, kinds, names, values)
        _keep(key, plan)
    elif not plan.fits(values):
        _plan(body, kinds, names, values)
        raise AssertionError("a broken rule raises")
    return Bound(plan, values)


def _has_key_conditions(body: Body, kinds: Kinds) -> bool:
    return "KeyConditions" in body and "KeyConditionExpression" in kinds


def _keep(key: tuple[Any, ...], plan: Plan) -> None:
    global _plans_text
    if len(_plans) >= PLANS_MAX or _plans_text > PLANS_TEXT_MAX:
        _plans.clear()
        _plans_text = 0
    _plans[key] = plan
    _plans_text += plan.size


def _invalid_value(error: ValidationException, key: str) -> ValidationException:
    # Nesting alone is reported as of an item: measured on the service.
    return error if error.message == NESTED_TOO_DEEP else _invalid_entry(VALUES, error, key)


def _invalid_entry(member: str, error: ValidationException, key: str) -> ValidationException:
    return ValidationException(f"{member} contains invalid value: {error.message} for key {key}")


def _too_much(names_bytes: int, values_bytes: int) -> ValidationException:
    """The texts are those of Amazon's own client for DAX."""
    what = f"Combined size of {NAMES} and {VALUES}"
    if names_bytes > SUBSTITUTION_BYTES_MAX:
        what = NAMES
    elif values_bytes > SUBSTITUTION_BYTES_MAX:
        what = VALUES
    return ValidationException(f"{what} exceeds max size")


_TOO_LONG = "The expression attribute map contains a key that is too long"


def _check_keys(names: dict[str, str] | None, values: dict[str, AttributeValue] | None) -> int:
    """The maps may not be empty, and what is looked up in them has to look like it. How many bytes the names have."""
    for member, entries, proper in ((NAMES, names, _name_key), (VALUES, values, _value_key)):
        if entries is None:
            continue
        if type(entries) is not dict:
            raise TypeError(f"{member} is a map")
        if not entries:
            raise ValidationException(f"{member} must not be empty")
        for key in entries:
            if len(key) > PLACEHOLDER_BYTES_MAX:
                raise ValidationException(f"{member} contains invalid key: {_TOO_LONG}; size of key: {len(key)}")
            if proper(key) is None:
                raise ValidationException(f'{member} contains invalid key: Syntax error; key: "{key}"')
    names_bytes = 0
    for reference, name in (names or {}).items():
        if type(name) is not str:
            raise TypeError("names are strings")
        try:
            resolve.check_name(name)
        except ValidationException as error:
            raise _invalid_entry(NAMES, error, reference) from None
        names_bytes += len(reference) + len(name.encode())
    return names_bytes


def _plan(body: Body, kinds: Kinds, names: dict[str, str] | None, values: dict[str, AttributeValue]) -> Plan:
    """Parse, check and compile every expression of a request."""
    _check_key_condition(body, kinds)
    known = names or {}
    plan = Plan()
    plan.size = plan.names_bytes = sum(len(key) + len(name.encode()) for key, name in known.items())
    used_names: set[str] = set()
    used_values: set[str] = set()
    key_tree: Condition | None = None
    for kind in kinds:
        text = body.get(kind)
        if text is None:
            continue
        if type(text) is not str:
            raise TypeError("expressions are strings")
        plan.size += len(text)
        if kind == "KeyConditionExpression":
            key_tree, notes = _condition_tree(kind, text, known, values, plan)
        else:
            notes = _compile(kind, text, known, values, plan)
        for path in notes.paths:
            used_names.update([e for e in path.elements if type(e) is str and e[0] == "#"])
        used_values.update(notes.values)
    _check_unused(NAMES, known, used_names)
    _check_unused(VALUES, values, used_values)
    if key_tree is not None:
        plan.key_condition = compile_key_condition(key_tree)
    return plan


def _check_key_condition(body: Body, kinds: Kinds) -> None:
    """A Query has to have one."""
    if (
        "KeyConditionExpression" in kinds
        and body.get("KeyConditionExpression") is None
        and body.get("KeyConditions") is None
    ):
        raise ValidationException(
            "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request."
        )


def _check_unused(member: str, entries: dict[str, Any], used: set[str]) -> None:
    unused = [key for key in entries if key not in used]
    if unused:
        raise ValidationException(f"Value provided in {member} unused in expressions: keys: {{{', '.join(unused)}}}")


def _compile(
    kind: str, text: str, names: dict[str, str], values: dict[str, AttributeValue], plan: Plan
) -> parser.Notes:
    if kind == "UpdateExpression":
        update, notes = parser.parse_update(kind, text)
        _add_rules(plan, check.check_update(kind, update, notes, names, values))
        plan.update = CompiledUpdate(resolve.resolve_update(update, names))
        return notes
    if kind == "ProjectionExpression":
        projection, notes = parser.parse_projection(kind, text)
        check.check_projection(kind, projection, notes, names)
        plan.projection = CompiledProjection(resolve.resolve_projection(projection, names))
        return notes
    tree, notes = _condition_tree(kind, text, names, values, plan)
    if kind == "FilterExpression":
        plan.filter = CompiledCondition(tree)
    else:
        plan.condition = CompiledCondition(tree)
    return notes


def _condition_tree(
    kind: str, text: str, names: dict[str, str], values: dict[str, AttributeValue], plan: Plan
) -> tuple[Condition, parser.Notes]:
    tree, notes = parser.parse_condition(kind, text)
    _add_rules(plan, check.check_condition(kind, tree, notes, names, values))
    return resolve.resolve_condition(tree, names), notes


def _add_rules(plan: Plan, added: tuple[rules.Rule, ...]) -> None:
    for rule in added:
        if type(rule) is rules.TypeRule:
            plan.types.append((rule.key, rule.allowed))
        else:
            plan.rules.append(rule)


# --- Legacy parameters -------------------------------------------------------------------------------------------


def _bind_legacy(body: Body, kinds: Kinds, names: dict[str, str] | None, values: dict[str, AttributeValue]) -> Bound:
    """Lower the parameters from before expressions. Only KeyConditions can stand beside expressions."""
    lowered = dict(values)
    bound = Bound(_EMPTY_PLAN, lowered)
    connective = body.get("ConditionalOperator")
    for kind, member in (("KeyConditionExpression", "QueryFilter"), ("FilterExpression", "ScanFilter")):
        if kind in kinds and body.get(member) and not (member == "ScanFilter" and "KeyConditionExpression" in kinds):
            tree = legacy.lower_filter(member, body[member], connective, lowered)
            bound.filter = CompiledCondition(tree, member)
    if "ProjectionExpression" in kinds and body.get("AttributesToGet"):
        bound.projection = CompiledProjection(legacy.lower_attributes_to_get(body["AttributesToGet"]))
    if "UpdateExpression" in kinds and body.get("AttributeUpdates"):
        bound.update = CompiledUpdate(legacy.lower_updates(body["AttributeUpdates"], lowered))
    if "ConditionExpression" in kinds and body.get("Expected"):
        bound.condition = CompiledCondition(legacy.lower_expected(body["Expected"], connective, lowered))
    if "KeyConditionExpression" in kinds:
        _bind_key_conditions(body, kinds, names, values, bound)
    return bound


def _bind_key_conditions(
    body: Body, kinds: Kinds, names: dict[str, str] | None, values: dict[str, AttributeValue], bound: Bound
) -> None:
    plan = _plan(body, kinds, names, values)
    if body.get("KeyConditions") is None:
        return
    bound.filter = plan.filter or bound.filter
    bound.projection = plan.projection or bound.projection
    bound.key_condition = legacy.lower_key_conditions(body["KeyConditions"], bound.values)


_EMPTY_PLAN = Plan()
_NOTHING = Bound(_EMPTY_PLAN, {})
