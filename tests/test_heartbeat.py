"""Long commands of the Makefile print progress."""

import importlib.util
import sys
from pathlib import Path

HEARTBEAT = Path(__file__).parent.parent / "packaging" / "heartbeat.py"


def test_a_silent_command_prints_its_time_and_keeps_its_status(capfd):
    spec = importlib.util.spec_from_file_location("heartbeat", HEARTBEAT)
    heartbeat = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(heartbeat)
    command = [sys.executable, "-c", "import time; time.sleep(0.5); raise SystemExit(3)"]
    assert heartbeat.main(command, interval_s=0.1) == 3
    assert 2 <= capfd.readouterr().err.count("… ") <= 40
    assert heartbeat.INTERVAL_S <= 10
