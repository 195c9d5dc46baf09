import logging

log = logging.getLogger(__name__)
PRICES = {"pear": 3, "walnut": 2}


def price(item: str) -> int:
    log.debug("price of %s", item)
    return PRICES[item]


def total(items: list[str]) -> int:
    log.debug("total of %s", items)
    return sum(price(item) for item in items)


def discount(items: list[str]) -> float:
    log.debug("discount of %s", items)
    return total(items) * 0.9
