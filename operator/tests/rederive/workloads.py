"""Maps every workload in a spec to one of six kinds: ping-pong, transfer, RPC, footprint, parameter serving or command."""

from . import calls, footprint, serving


def workload(spec, receivers):
    """Returns (kind, fields, default metric). `kind` is "pingPong", "transfer", "rpc", "footprint", "parameterServing"
    or "command", and `fields` contains its fields. `receivers` is the number of receivers in the ManyToMany pattern, or
    None."""
    for name, convert in CONVERSIONS.items():
        if spec.get(name) is not None:
            return convert(spec[name])
    if spec.get("parameterServing") is not None:
        return serving.workload(spec["parameterServing"], receivers)
    raise ValueError(f"scenario {spec.get('name')} has no known workload")


def ping_pong(given):
    return "pingPong", given, "LatencyP50"


def transfer(given):
    return "transfer", given, "LatencyP99" if given.get("load") else "Throughput"


def large_array(given):
    fields = {"sizes": ["1Gi"], "iterations": 3, **given, "operation": "Send", "window": 1}
    return "transfer", fields, "Throughput"


def small_messages(given):
    given = {"sizes": ["1Ki"], "concurrency": 64, "batches": 10, **given}
    window = given["concurrency"]
    fields = {
        "sizes": given["sizes"],
        "operation": "Send",
        "window": window,
        "batch": 1 if given.get("load") else window,
        "iterations": given["batches"] * window,
        "load": given.get("load"),
    }
    return "transfer", fields, "LatencyP99" if given.get("load") else "CompletionRate"


def pingpong_flag(given):
    return "pingPong", {"sizes": [1], "iterations": 1000, **given}, "LatencyP50"


def streaming_duplex(given):
    fields = {"sizes": ["4Mi"], "window": 4, "iterations": 64, **given, "operation": "Send", "direction": "Bidirectional"}
    return "transfer", fields, "Throughput"


def segment_transfer(given):
    given = {"workload": "Read", "sizes": ["64Ki"], "batch": 16, "threads": 4, "duration": "10s", **given}
    mix = given["workload"] == "Mix"
    fields = {
        "sizes": given["sizes"],
        "operation": "Write" if mix else given["workload"],
        "readBack": mix,
        "window": given["batch"],
        "batch": given["batch"],
        "threads": given["threads"],
        "duration": given["duration"],
        "secondMemory": "Cuda" if given.get("useVram") else None,
    }
    return "transfer", fields, "Throughput"


def rpc(given):
    lengths = {name: length for length, name in calls.PAYLOADS.items()}
    sizes = [lengths[name] for name in given.get("payloads", ["SmallInt", "SmallString"])]
    iterations = given.get("iterations", 100 if given.get("quick") else 1000)
    fields = {"sizes": sizes, "iterations": iterations, "operation": "Send", "hops": calls.hops(given)}
    fields["load"] = given.get("load")
    return "rpc", fields, "LatencyP99" if given.get("load") else "LatencyP50"


def memory_footprint(given):
    given = {"sizes": ["1Mi", "2Gi"], "iterations": 5, **given, "consumers": footprint.counts(given)[0]}
    operations = given["iterations"] * given["consumers"]
    fields = {"sizes": given["sizes"], "iterations": operations, "operation": "Send", "consumers": given["consumers"]}
    return "footprint", fields, "MemoryPerConsumer"


def command(given):
    work = {"sizes": given["sizes"], "operation": "Send", "iterations": 1, "tool": given["tool"]}
    return "command", work, None


CONVERSIONS = {
    "pingPong": ping_pong,
    "transfer": transfer,
    "largeArray": large_array,
    "smallMessages": small_messages,
    "pingpongFlag": pingpong_flag,
    "streamingDuplex": streaming_duplex,
    "segmentTransfer": segment_transfer,
    "rpc": rpc,
    "memoryFootprint": memory_footprint,
    "command": command,
}
