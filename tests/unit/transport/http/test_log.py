from __future__ import annotations

from parley.transport.http._app.event_log import EventsForgotten, MemoryEventLog


def test_a_log_is_bounded_by_bytes_and_by_time() -> None:
    now = [0.0]
    log = MemoryEventLog(1000, 60.0, lambda: now[0])
    for n in range(1, 101):
        log.append("s" if n % 2 else None, n, b"x" * 72)
        assert log.kept_bytes <= 1000
    assert log.after("s", 98) == [(99, b"x" * 72)]
    assert log.after(None, 100) == []
    assert log.after("s", 95) == [(97, b"x" * 72), (99, b"x" * 72)]
    assert log.after("s", 94) == log.after("s", 1) == EventsForgotten(95)
    assert log.after("quiet", 0) == []
    now[0] = 61.0
    assert log.after("s", 98) == EventsForgotten(99)
    assert log.after("s", 99) == []
    assert log.kept_bytes == 0


def test_a_log_remembers_of_many_streams_what_is_forgotten() -> None:
    log = MemoryEventLog(200, 60.0, lambda: 0.0)
    for n in range(1, 10_001):
        log.append(f"s{n}", n, b"x")
    assert isinstance(log.after("s1", 0), EventsForgotten)  # by the number of all together
    assert isinstance(log.after("quiet", 1), EventsForgotten)  # to be sure
    assert log.after("s9998", 9997) == EventsForgotten(9998)
    assert log.after("s10000", 9999) == [(10_000, b"x")]


def test_a_log_keeps_more_where_there_are_more_streams_within_a_bound() -> None:
    log = MemoryEventLog(1000, 60.0, lambda: 0.0, stream_bytes=400)
    for n in range(1, 101):
        log.append("one", n, b"x" * 72)
    assert log.kept_bytes == 1000
    for n in range(101, 201):
        log.append(f"of {n % 3}", n, b"x" * 72)
    assert log.kept_bytes == 1800  # of three
    for n in range(201, 301):
        log.append(f"of {n}", n, b"x" * 72)
    assert log.kept_bytes == 4000
