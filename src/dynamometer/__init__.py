"""Dynamometer: a DynamoDB-compatible state engine that any AWS SDK talks to unchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dynamometer.inprocess import Local, local, route_boto3

__version__ = "0.1.0"
__all__ = ["Local", "__version__", "local", "route_boto3"]


def __getattr__(name: str) -> Any:
    """What needs boto3 is imported when it is first asked for: importing the package itself stays quick."""
    if name in ("Local", "local", "route_boto3"):
        from dynamometer import inprocess

        return getattr(inprocess, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
