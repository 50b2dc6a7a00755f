"""Tables of a run, and the folder they are saved in."""

import json
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas
import pyarrow.parquet
import pytest

import fake_packet_run as fake
import shallows as sh
from shallows.registry import results
from shallows.results import TABLES


def test_flow_table():
    flows = fake.run().flows
    assert list(flows.columns) == list(TABLES["flows"])
    assert list(flows.cc) == ["dctcp"] * 4 + ["dx"] * 3
    assert list(flows.src) == ["h0"] * 7
    nan = float("nan")
    expected = {
        "bytes": [9_000, 90_000, 90_000, 90_000, nan, nan, nan],
        "start_us": [100, 110, 0, 200, 0, 0, 0],
        "fct_us": [20, 100, 50, nan, nan, nan, nan],
        "ideal_us": [10, 80, 40, 80, nan, nan, nan],
        "slowdown": [2, 1.25, 1.25, nan, nan, nan, nan],
        # 9 KB in 20 us; 90 KB in 100 and 50 us; 30 KB in the last 100 us; 25, 50, 75 KB in 200 us
        "goodput_gbps": [3.6, 7.2, 14.4, 2.4, 1, 2, 3],
    }
    for name, values in expected.items():
        np.testing.assert_allclose(flows[name].astype(float), values, err_msg=name)


def test_goodput_counts_only_the_time_a_flow_was_there():
    flows = fake.flows()
    flows.stop_ps[4] = 150 * fake.US  # 25 KB in the 50 us after the warm-up
    flows.stop_ps[5] = 90 * fake.US  # gone before it ended
    run = fake.made(fake.scenario(), fake.network(), flows, fake.answer(), 1.0)
    assert run.flows.goodput_gbps[4] == pytest.approx(4)
    assert np.isnan(run.flows.goodput_gbps[5])


def test_queue_table_counts_full_frames():
    queues = fake.run().queues
    assert list(queues.columns) == ["time_us", "port", "queue_pkt", "queue_bytes"]
    assert list(queues.port.unique()) == ["s0->h1"]
    assert list(queues.queue_pkt) == [0, 2, 4, 1]
    assert list(queues.time_us) == [0, 100, 200, 300]


def test_probe_table_names_its_values():
    probes = fake.run().probes
    assert list(zip(probes.time_us, probes.flow, probes.name, probes.value, strict=True)) == [
        (10, 0, "window_pkt", 10),
        (10, 0, "alpha", 0.5),
        (20, 1, "window_pkt", 12),
    ]


def test_port_table():
    ports = fake.run().ports.set_index("port")
    assert list(ports.loc["s0->h1"]) == [pytest.approx(0.9), 3, 2, 6, 8, 6, 12, 200, 40, 3, 5, 0, 2, 3]


def test_histogram_keeps_the_bins_that_were_visited():
    assert fake.run().queue_histograms.drop(columns="port").to_numpy().tolist() == [[0, 1, 50], [2, 3, 150]]


def test_queues_that_were_not_recorded_make_an_empty_table():
    nothing = {"time_ps": fake.column([]), "bytes": np.zeros((0, 0), np.uint32)}
    queues = fake.run(queues=nothing).queues
    assert len(queues) == 0
    assert list(queues.columns) == list(TABLES["queues"])


def test_save_and_load_give_the_same_run(tmp_path):
    run = fake.run()
    loaded = sh.Run.load(run.save(tmp_path / "a" / "b"))
    assert loaded.summary == run.summary
    assert loaded.scenario_toml == run.scenario_toml
    for name in TABLES:
        pandas.testing.assert_frame_equal(getattr(loaded, name), getattr(run, name))
        assert loaded.table(name).schema.equals(run.table(name).schema, check_metadata=True)


def test_a_loaded_run_can_be_saved_over_itself(tmp_path):
    fake.run().save(tmp_path)
    sh.Run.load(tmp_path).save(tmp_path)
    pandas.testing.assert_frame_equal(sh.Run.load(tmp_path).probes, fake.run().probes)


def test_many_rows_are_saved_in_pieces_and_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules["shallows.results.batches"], "BATCH_ROWS", 2)
    run = fake.run()
    run.save(tmp_path)
    assert pyarrow.parquet.ParquetFile(tmp_path / "probes.parquet").num_row_groups == 2
    pandas.testing.assert_frame_equal(sh.Run.load(tmp_path).probes, fake.run().probes)


def test_every_column_on_disk_says_unit_and_meaning(tmp_path):
    fake.run().save(tmp_path)
    for name, columns in TABLES.items():
        schema = pyarrow.parquet.read_schema(tmp_path / f"{name}.parquet")
        assert schema.names == list(columns)
        said = json.loads(schema.metadata[b"columns"])
        assert said == {key: {"unit": of.unit, "definition": of.definition} for key, of in columns.items()}
        for field in fake.run().table(name).schema:
            assert field.metadata[b"definition"].decode() == columns[field.name].definition
            assert field.metadata[b"unit"].decode() == columns[field.name].unit


def test_an_interrupted_run_is_readable_and_says_when(tmp_path):
    fake.run(interrupted=True).save(tmp_path)
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["interrupted"] is True
    assert summary["interrupted_at_s"] == pytest.approx(300e-6)
    loaded = sh.Run.load(tmp_path)
    assert loaded.interrupted
    assert len(loaded.flows) == 7


def test_a_run_that_ended_within_its_warmup_has_no_rates(tmp_path):
    run = fake.run(ended_ps=60 * fake.US, interrupted=True)
    assert run.summary["flows"]["goodput_gbps"] is None
    assert run.summary["flows"]["jain"] is None
    assert sh.Run.load(run.save(tmp_path)).summary == run.summary


def test_a_folder_without_a_result_is_a_users_mistake(tmp_path):
    message = f"{tmp_path}: no scenario.toml: expected a folder saved"
    with pytest.raises(sh.ScenarioError, match=re.escape(message)):
        sh.Run.load(tmp_path)


def test_open_books_raise_with_the_run():
    run = fake.run(books={"closed": False, "problems": ["a packet is missing"]})
    with pytest.raises(sh.BooksError, match="a packet is missing") as error:
        run.check_books()
    assert error.value.run is run


def test_the_guide_names_every_column():
    guide = results.expanded((Path(__file__).parents[1] / "docs" / "results.md").read_text())
    for name, columns in TABLES.items():
        assert f"`{name}.parquet`" in guide
        for column in columns:
            assert f"`{column}`" in guide, f"{name}.{column}"


def test_saving_a_run_does_not_import_pandas(tmp_path):
    code = "import sys, fake_packet_run as f; f.run().save(sys.argv[1]); print('pandas' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.stdout == "False\n", done.stderr


def test_a_run_goes_to_another_process():
    scenario = sh.Scenario(duration="1ms", topology={"kind": "star"}, cc="reno", traffic=[{"kind": "incast"}])
    again = pickle.loads(pickle.dumps(sh.run(scenario)))
    assert again.summary["books"]["closed"]
    assert len(again.flows) == again.summary["flows"]["offered"]


@pytest.mark.parametrize(
    ("call", "wrong", "instead"),
    [
        (sh.run, {"wrold": "fluid"}, r'wrold = "fluid": expected one of .*; did you mean "world"\?'),
        (sh.run, {"duration": "5ms"}, r'overrides=\{"duration": …\}'),
        (sh.run, {"traffic__0__flows": 3}, r'overrides=\{"traffic.0.flows": …\}'),
        (sh.compare, {"cc": ["dx"], "thread": 1}, 'did you mean "threads"'),
        (sh.sweep, {"seed": 3}, 'did you mean "seeds"'),
    ],
)
def test_a_keyword_that_there_is_not_is_a_sentence(call, wrong, instead):
    with pytest.raises(sh.ScenarioError, match=instead):
        call("dctcp-40", **wrong)


def test_times_late_in_a_long_run_are_exact():
    """Three months in, a float of picoseconds counts in steps of a microsecond."""
    late = 8 * 10**18
    flows = fake.flows()
    flows.start_ps[0] = late
    finish = fake.answer()["flows"]["finish_ps"].copy()
    finish[0] = late + 20 * fake.US
    answer = fake.answer(flows__start_ps=flows.start_ps, ended_ps=late + 30 * fake.US)
    answer["flows"]["finish_ps"] = finish
    run = fake.made(fake.scenario(), fake.network(), flows, answer, 1.0)
    assert run.flows.fct_us[0] == 20
