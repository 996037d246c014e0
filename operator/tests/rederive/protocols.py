"""The protocols that UCX or NIXL reported for an arm's messages."""

import collections

FUNCTIONS = {"Send": "ucp_tag_send", "Write": "ucp_put", "WriteImmediate": "ucp_put", "Read": "ucp_get"}
NIXL_FUNCTIONS = {"Write": "nixl WRITE", "WriteImmediate": "nixl WRITE", "Read": "nixl READ"}
EMULATION = "software emulation"
# Maximum number of protocols in one result in the status.
MOST = 4
# Names of the lanes that belong to a name in the spec: exact names, or prefixes that end with an underscore. Other names
# stand for themselves.
LANES = {
    "sm": ("posix", "sysv", "xpmem", "knem", "cma"),
    "ib": ("rc_", "ud_", "dc_"),
    "rc": ("rc_",),
    "rc_v": ("rc_verbs",),
    "rc_x": ("rc_mlx5",),
    "ud": ("ud_",),
    "ud_v": ("ud_verbs",),
    "ud_x": ("ud_mlx5",),
    "dc": ("dc_",),
    "dc_x": ("dc_mlx5",),
    "cuda": ("cuda_copy", "cuda_ipc", "gdr_copy"),
}


def names_lane(names, lane):
    """Whether one of the names, exact or a prefix that ends with an underscore, is that of the lane."""
    return any(lane.startswith(name) if name.endswith("_") else lane == name for name in names)


def lanes_are_requested(lanes, options, data=False):
    """Whether every lane, given as `transport/device`, uses a transport that the UCX spec lists. The names `rc`, `rc_v`
    and `rc_x` also allow ud lanes for the connection setup, but not for data, if there is such an rc lane. The name `all`
    allows every lane."""
    if "all" in options["transports"]:
        return True
    names = [name for requested in options["transports"] for name in LANES.get(requested, (requested,))]
    used = [lane.split("/")[0] for lane in lanes if "/" in lane]
    connected = [LANES[name] for name in ("rc", "rc_v", "rc_x") if name in options["transports"]]
    if not data and any(names_lane(lanes_of_rc, lane) for lanes_of_rc in connected for lane in used):
        names.append("ud_")
    return all(names_lane(names, lane) for lane in used)


class Protocols:
    """The protocols in the records, by arm. The counts of all workers and legs are added."""

    def __init__(self, records):
        self.of_arm = {}
        # Arms whose records omit protocols.
        self.incomplete = {arm for *_, arm in records.omitted_protocols}
        for (*_, arm), used in records.protocols.items():
            totals = self.of_arm.setdefault(arm, {})
            for one in used:
                key = (one["function"], one.get("memory"), one["fromBytes"], one.get("toBytes"), one["description"], one["lanes"])
                total = totals.setdefault(key, {"count": 0})
                total["count"] += one["count"]
                if "steps" in one:
                    steps = total.setdefault("steps", collections.Counter())
                    for name, value in one["steps"].items():
                        steps[name] += value

    def of_cell(self, arm, operation, chunks, transport, on_gpu):
        """Description, lanes, count and steps of each protocol for messages of any length in `chunks`.

        Also returns whether there is a UCX protocol for each of these lengths.
        """
        if "ucx" in transport:
            called = FUNCTIONS[operation]
            if operation == "Send" and transport["ucx"].get("messages") == "ActiveMessage":
                called = "ucp_am_send"
        elif "nixl" in transport:
            called = NIXL_FUNCTIONS.get(operation)
        else:
            return [], False
        found, covered = [], set()
        is_complete = arm not in self.incomplete
        for (function, memory, low, high, description, lanes), total in self.of_arm.get(arm, {}).items():
            served = {chunk for chunk in chunks if low <= chunk and (high is None or chunk <= high)}
            if function == called and served and (memory is None or (memory != "host") == on_gpu):
                steps = {name: value for name, value in total.get("steps", {}).items() if value}
                found.append((description, lanes, total["count"], steps))
                covered |= served
        return found, is_complete and "ucx" in transport and covered == set(chunks)

    def excluded(self, arm, transport):
        """Whether the arm used a transport or backend that the spec does not list, or emulation that it denies."""
        if "nixl" in transport:
            known = (transport["nixl"]["backend"], "unknown")
            return any(lanes not in known for *_, lanes in self.of_arm.get(arm, {}))
        options = transport.get("ucx")
        if not options:
            return False
        for *_, description, lanes in self.of_arm.get(arm, {}):
            if not lanes_are_requested(lanes.replace(",", " ").split(), options, data=True):
                return True
            if description.startswith(EMULATION) and options.get("emulation", "Deny") == "Deny":
                return True
        return False
