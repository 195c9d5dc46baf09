"""The sample text, and hints for it."""

from __future__ import annotations

__all__ = ["FIRST", "HINT", "SAMPLE", "SAMPLE_NAME"]

SAMPLE_NAME = "shop.py"
FIRST = (8, 8)
"""The initial position of the cursor."""
HINT = (
    "Change debug to info where the cursor is: the same is suggested for the other lines, "
    "and Tab takes it."
)
SAMPLE = '''\
"""A shop, for trying next edit suggestions."""

import logging

log = logging.getLogger(__name__)


def sell(basket, customer):
    log.debug("selling to %s", customer.name)
    for item in basket:
        log.debug("taking %s", item.name)
        item.stock -= 1
    log.debug("sold %d items", len(basket))
    return sum(item.price for item in basket)


def restock(item, count):
    log.debug("restocking %s", item.name)
    item.stock += count


def refund(basket, customer):
    log.debug("refunding %s", customer.name)
    for item in basket:
        item.stock += 1
'''
