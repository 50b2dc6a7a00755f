"""Run in a network namespace of its own: attaches an algorithm to loopback, uses it, takes it off; JSON."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

NAME, CGROUP = sys.argv[1:]
WHAT = ["--receiver", "inigo"] if NAME == "receiver" else [NAME]
# Loopback's delays vary by that.
PARAMETERS = ["--set", "headroom=100us"] if NAME == "dx" else []
COMMAND = [sys.executable, "-c", "from shallows.cli import main; main()", "live"]


def shallows(*words):
    done = subprocess.run([*COMMAND, *words], capture_output=True, text=True, check=False)
    return {"status": done.returncode, "said": done.stdout + done.stderr}


def transfer(size=20_000_000):
    """Congestion control of both ends of a connection, after `size` bytes."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname())
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        end, _ = server.accept()
        sent = bytes(1 << 16)
        received = 0
        while received < size:
            client.sendall(sent)
            got = 0
            while got < len(sent):
                got += len(end.recv(1 << 20))
            received += got
        return [control(client), control(end)]


def control(connection):
    name = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
    return name.rstrip(b"\0").decode()


def segments():
    text = subprocess.run(
        ["ip", "-d", "link", "show", "lo"], capture_output=True, text=True, check=True
    ).stdout
    words = text.split()
    return words[words.index("gso_max_segs") + 1]


def errors():
    rows = [line.split() for line in Path("/proc/thread-self/net/snmp").read_text().splitlines()]
    tcp = [row for row in rows if row[0] == "Tcp:"]
    return int(tcp[1][tcp[0].index("InCsumErrors")])


def main():
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    Path(CGROUP, "cgroup.procs").write_text(str(os.getpid()))
    report = {"before": transfer(), "segments": [segments()]}
    report["attach"] = shallows("attach", *WHAT, "--iface", "lo", "--cgroup", CGROUP, *PARAMETERS)
    report["segments"].append(segments())
    report["again"] = shallows("attach", *WHAT, "--iface", "lo", "--cgroup", CGROUP)
    report["during"] = transfer()
    report["detach"] = shallows("detach")
    report["after"] = transfer()
    report["segments"].append(segments())
    report["checksum_errors"] = errors()
    print(json.dumps(report))


main()
