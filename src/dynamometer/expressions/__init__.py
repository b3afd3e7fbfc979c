"""Expressions and the legacy parameters before them: parsed, checked with the service's texts, compiled, applied.

Everything here is a pure function of a request's members and of items in the wire's own JSON, normalised
(`model.values`). `bind` is the way in for requests; PartiQL and tools make trees (`tree`) and compile those.
"""

from __future__ import annotations

from dynamometer.expressions.bind import Bound, CompiledCondition, bind, check_mixing
from dynamometer.expressions.evaluate import get_path
from dynamometer.expressions.key_condition import (
    CompiledKeyCondition,
    KeyClause,
    check_filter_keys,
    check_scalar_keys,
    match_key_schema,
)
from dynamometer.expressions.project import CompiledProjection
from dynamometer.expressions.update import CompiledUpdate

__all__ = [
    "Bound",
    "CompiledCondition",
    "CompiledKeyCondition",
    "CompiledProjection",
    "CompiledUpdate",
    "KeyClause",
    "bind",
    "check_filter_keys",
    "check_mixing",
    "check_scalar_keys",
    "get_path",
    "match_key_schema",
]
