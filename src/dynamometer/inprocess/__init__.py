"""The engine inside the caller's own process: boto3 clients that never open a socket.

local.py      Local: an engine with clients, sessions and a clock
transport.py  a request of botocore to the protocol's bytes, and back
shortcut.py   the same with what a client on no network need not do left out
parsing.py    answers to Python objects, as botocore does it, but once compiled
routing.py    every client of the process, whoever made it, to one Local
"""

from dynamometer.inprocess.local import Local, local
from dynamometer.inprocess.routing import RoutingError, route_boto3

__all__ = ["Local", "RoutingError", "local", "route_boto3"]
