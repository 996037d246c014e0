"""Decides whether the log lines of a command contradict the requested data path."""

from .protocols import LANES, names_lane

# Names that the libraries print for each class of data path. A name that ends with `*` stands for all names with this
# prefix. The part after `;` of a libfabric provider is ignored.
CLASSES = {
    "Rdma": "ib ibext* iw roce rdma efa efa-direct verbs cxi psm psm2 psm3 opx rc rc_* ud ud_* dc dc_* srd srd_* gga gga_* barex",
    "Sockets": "tcp net socket sockets udp",
    "Memory": "shm sm mm posix sysv cma knem xpmem cuda_ipc rocm_ipc ze_ipc nvlink nvlink_intra musa maca hip",
    "Local": "self cuda cuda_copy rocm rocm_copy ze_copy gdr_copy gaudi_gdr",
}


def class_of(name):
    core = name.strip().lower().split(";")[0]
    for kind, names in CLASSES.items():
        for known in names.split():
            if core == known or (known.endswith("*") and core.startswith(known[:-1])):
                return kind
    return "Unknown"


def requested_classes(transport):
    """Classes of paths that the spec requests; None if it requests no path for commands."""
    (library, options), = transport.items()
    if library == "loopback" or "all" in options.get("transports", ()):
        return None
    if library == "libfabric":
        return {class_of(options["provider"])}
    if library == "ucx":
        return {class_of(name) for name in options["transports"]}
    return {"Rdma"}


def is_requested(name, transport):
    """Whether a name in a line is exactly what the spec requests."""
    (library, options), = transport.items()
    if library == "libfabric":
        provider = "verbs;ofi_rxm" if options["provider"] == "verbs" else options["provider"]
        return name in (provider, provider.split(";")[0]) or (provider == "efa-direct" and name == "efa")
    if library == "ucx":
        return any(is_lane_of(name, requested) for requested in options["transports"])
    return library == "nixl" and name == options["backend"]


def is_lane_of(name, requested):
    return requested == name or (requested != "all" and names_lane(LANES.get(requested, ()), name))


def is_socket(lane):
    """Whether a lane in a record of an earlier runner is a kernel socket."""
    return any(word in lane for word in ("tcp/", "NET/Socket", "network Socket"))


def contradict(report, logs, size, transport):
    """Whether a line of the client's report, or of the logs of round 0, contradicts the spec."""
    report_log = report.get("log") or {}
    if any(one.get("fallbacks") for one in (report, report_log, *logs)):
        return True
    recorded_lanes = [log["lanes"] for log in logs if log.get("lanes")]
    if "Rdma" in (requested_classes(transport) or ()) and any(all(map(is_socket, lanes)) for lanes in recorded_lanes):
        return True
    lines = [line for log in (report_log, *logs) for line in log.get("lines") or [] if applies(line, size)]
    used = {name for line in lines if line["kind"] == "Path" for name in line.get("names") or []}
    return any(contradicts(line, transport, used) for line in lines)


def applies(line, size):
    return line.get("fromBytes", 0) <= size <= line.get("toBytes", size)


def paths(line):
    """Classes of the paths between processes that a line names."""
    return {class_of(name) for name in line.get("names") or []} - {"Local", "Unknown"}


def replaced(name, refused, used, transport):
    """Whether UCX uses another lane of each alias in the spec that contains the refused lane."""
    (library, options), = transport.items()
    if library != "ucx" or name in options["transports"]:
        return False
    owners = [one for one in options["transports"] if is_lane_of(name, one)]
    return all(any(is_lane_of(lane, one) for lane in used - set(refused)) for one in owners)


def contradicts(line, transport, used):
    names_rdma = any(class_of(name) == "Rdma" for name in used)
    requested = requested_classes(transport)
    wants_rdma = bool(requested) and "Rdma" in requested
    names = line.get("names") or []
    if line["kind"] == "Path":
        if not wants_rdma or not paths(line) - requested or "Rdma" in paths(line):
            return False
        return "Sockets" in paths(line) or not names_rdma
    if line["kind"] == "Emulation":
        if "ucx" in transport:
            return transport["ucx"].get("emulation", "Deny") == "Deny"
        return wants_rdma
    if line["kind"] == "Refusal" and not names_rdma:
        may_be_rdma = not names or any(class_of(name) in ("Rdma", "Unknown") for name in names)
        return (wants_rdma and may_be_rdma) or any(
            is_requested(name, transport) and not replaced(name, names, used, transport) for name in names
        )
    return False
