"""Measures transfers between two processes over NIXL's Python interface, and prints the throughput in MB/s.

Usage: PYTHON nixl_loop.py WRITE|READ SIZE WINDOW TRANSFERS. PYTHON must be able to import numpy and nixl_cu12. Requests are
prepared once for each transfer in flight and posted again, as the runner does. Neither side has a progress thread: the target
polls. Both sides use tcp on the loopback interface, and each side has its own CPU.
"""

import base64
import json
import os
import subprocess
import sys
import time

import numpy as np
from nixl_cu12._api import nixl_agent, nixl_agent_config

PARAMETERS = {"engine_config": "TLS=tcp,NET_DEVICES=lo"}
WARM_UP = 100


def open_agent(name, cpu):
    os.sched_setaffinity(0, {cpu})
    agent = nixl_agent(name, nixl_agent_config(enable_prog_thread=False, backends=[]))
    agent.create_backend("UCX", PARAMETERS)
    return agent


def serve(length):
    """Registers memory, prints its address and the agent's metadata, and polls until the other side closes its pipe."""
    agent = open_agent("target", 1)
    memory = np.zeros(length, dtype=np.uint8)
    agent.register_memory([(memory.ctypes.data, length, 0, "")], "DRAM")
    metadata = base64.b64encode(agent.get_agent_metadata()).decode()
    print(json.dumps({"address": memory.ctypes.data, "metadata": metadata}), flush=True)
    os.set_blocking(0, False)
    while sys.stdin.buffer.raw.read(1) is None:
        for _ in range(1000):
            agent.get_new_notifs()


def post(agent, handles, transfers):
    """Keeps all handles in flight until the given number of transfers is complete. Returns the time in seconds."""
    start = time.perf_counter()
    posted = completed = 0
    in_flight = []
    for handle in handles[:transfers]:
        if agent.transfer(handle) == "ERR":
            raise RuntimeError("a transfer failed")
        in_flight.append(handle)
        posted += 1
    while in_flight:
        remaining = []
        for handle in in_flight:
            state = agent.check_xfer_state(handle)
            if state == "PROC":
                remaining.append(handle)
                continue
            if state != "DONE":
                raise RuntimeError("a transfer failed")
            completed += 1
            if posted < transfers:
                if agent.transfer(handle) == "ERR":
                    raise RuntimeError("a transfer failed")
                posted += 1
                remaining.append(handle)
        in_flight = remaining
    assert completed == transfers
    return time.perf_counter() - start


def measure(operation, size, window, transfers):
    length = size * window
    command = [sys.executable, __file__, "serve", str(length)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as target:
        peer = json.loads(target.stdout.readline())
        agent = open_agent("initiator", 0)
        memory = np.ones(length, dtype=np.uint8)
        agent.register_memory([(memory.ctypes.data, length, 0, "")], "DRAM")
        name = agent.add_remote_agent(base64.b64decode(peer["metadata"]))
        agent.make_connection(name)

        def descriptors(address):
            return [(address + index * size, size, 0) for index in range(window)]

        local = agent.prep_xfer_dlist("NIXL_INIT_AGENT", descriptors(memory.ctypes.data), "DRAM")
        remote = agent.prep_xfer_dlist(name, descriptors(peer["address"]), "DRAM")
        handles = [
            agent.make_prepped_xfer(operation, local, [index], remote, [index]) for index in range(window)
        ]
        post(agent, handles, max(WARM_UP, window))
        seconds = post(agent, handles, transfers)
        target.stdin.close()
    print(transfers * size / seconds / 1e6, flush=True)


def main():
    if sys.argv[1] == "serve":
        serve(int(sys.argv[2]))
    else:
        operation, *numbers = sys.argv[1:]
        measure(operation, *map(int, numbers))
    # A NIXL destructor crashes when the process exits normally.
    os._exit(0)


if __name__ == "__main__":
    main()
