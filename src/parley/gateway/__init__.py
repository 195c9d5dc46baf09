"""Agents on the network: hosted and supervised, with more than one client on a session."""

from __future__ import annotations

from .app import GatewayApp
from .gateway import Gateway
from .hosted import Hosted
from .limits import HostLimits

__all__ = ["Gateway", "GatewayApp", "HostLimits", "Hosted"]
