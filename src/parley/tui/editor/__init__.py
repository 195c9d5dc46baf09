"""The small editor of `parley nes demo`, which shows what next edit suggestions are like."""
