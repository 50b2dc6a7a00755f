"""Blocks of a table of a size that is quick to write."""

from collections.abc import Iterable, Iterator

from shallows.results.tables import Block, stacked

BATCH_ROWS = 1 << 16


def merged(blocks: Iterable[Block]) -> Iterator[Block]:
    """The same rows in blocks of at least `BATCH_ROWS`: each block of a file repeats all its names."""
    waiting, rows = list[Block](), 0
    for block in blocks:
        waiting.append(block)
        rows += len(block["time_us"])
        if rows >= BATCH_ROWS:
            yield _joined(waiting)
            waiting, rows = [], 0
    if waiting:
        yield _joined(waiting)


def _joined(blocks: list[Block]) -> Block:
    if len(blocks) == 1:
        return blocks[0]
    return {column: stacked([block[column] for block in blocks]) for column in blocks[0]}


def pieces(rows: int) -> Iterator[slice]:
    """Slices of at most `BATCH_ROWS` rows that cover `rows`."""
    return (slice(start, start + BATCH_ROWS) for start in range(0, rows, BATCH_ROWS))
