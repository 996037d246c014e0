"""The protocols that UCX reported for the messages of an arm."""

FUNCTIONS = {"Send": "ucp_tag_send", "Write": "ucp_put", "WriteImmediate": "ucp_put", "Read": "ucp_get"}
EMULATION = "software emulation"
# Number of protocols in a result of the status.
MOST = 4
# Names of the lanes that belong to a name in the spec: exact names, or prefixes that end with an underscore. Other names
# stand for themselves.
LANES = {"sm": ("posix", "sysv", "xpmem", "knem", "cma"), "rc": ("rc_", "ud_"), "ud": ("ud_",), "dc": ("dc_",)}


def lanes_are_requested(lanes, options):
    """Whether every lane, given as `transport/device`, uses a transport that the spec of UCX names."""
    names = [name for requested in options["transports"] for name in LANES.get(requested, (requested,))]
    used = [lane.split("/")[0] for lane in lanes if "/" in lane]
    return all(any(lane.startswith(name) if name.endswith("_") else lane == name for name in names) for lane in used)


class Protocols:
    """The protocols in the records, by arm. The counts of all workers and legs are added."""

    def __init__(self, records):
        self.of_arm = {}
        for (*_, arm), used in records.protocols.items():
            totals = self.of_arm.setdefault(arm, {})
            for one in used:
                key = (one["function"], one["fromBytes"], one.get("toBytes"), one["description"], one["lanes"])
                totals[key] = totals.get(key, 0) + one["count"]

    def of_cell(self, arm, operation, chunks, transport):
        """Description, lanes and count of each protocol for messages of any length in `chunks`."""
        if "ucx" not in transport:
            return []
        called = FUNCTIONS[operation]
        if operation == "Send" and transport["ucx"].get("messages") == "ActiveMessage":
            called = "ucp_am_send"
        return [
            (description, lanes, count)
            for (function, low, high, description, lanes), count in self.of_arm.get(arm, {}).items()
            if function == called
            and any(low <= chunk and (high is None or chunk <= high) for chunk in chunks)
        ]

    def excluded(self, arm, transport):
        """Whether the arm used a transport that the spec does not name, or emulated operations that it denies."""
        options = transport.get("ucx")
        if not options:
            return False
        for *_, description, lanes in self.of_arm.get(arm, {}):
            if not lanes_are_requested(lanes.replace(",", " ").split(), options):
                return True
            if description.startswith(EMULATION) and options.get("emulation", "Deny") == "Deny":
                return True
        return False
