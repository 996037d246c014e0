"""The facts that the library returned about an arm's endpoints, and whether they match the spec."""

import ipaddress
import re

from .protocols import EMULATION, lanes_are_requested

# Name and fabric that libfabric returns for each provider in the spec; None stands for any fabric. Before libfabric
# 1.18, the native TCP provider was called `net`.
PROVIDERS = {
    "tcp": [("tcp", None), ("net", None)],
    "net": [("net", None)],
    "tcp;ofi_rxm": [("tcp;ofi_rxm", None)],
    "shm": [("shm", None)],
    "verbs": [("verbs;ofi_rxm", None)],
    "verbs;ofi_rxm": [("verbs;ofi_rxm", None)],
    "efa-direct": [("efa", "efa-direct")],
}


class Endpoints:
    """The endpoints in the records."""

    def __init__(self, records, arms):
        self.rounds = {}
        self.node = records.node
        for (*place, number), facts in sorted(records.endpoints.items(), key=lambda one: one[0]):
            if place[3] in arms:
                self.rounds.setdefault(tuple(place), []).append((number, facts))

    def of_case(self, case, rank):
        """The latest facts about the arm at `rank`, up to the round and restart of the case; None if there are none."""
        rounds = self.rounds.get((*case.stream, rank, case.key[2]), [])
        return next((facts for number, facts in reversed(rounds) if number <= (case.round, case.restart)), None)

    def first_in(self, rank, arm, includes):
        """The facts about the arm at `rank` from the first round for which the included streams recorded them, and their
        stream."""
        places = [place for place in self.rounds if place[2:] == (rank, arm) and includes(place[:2])]
        place = min(places, key=lambda one: (self.rounds[one][0][0], one[1]), default=None)
        return (place[:2], self.rounds[place][0][1]) if place else (None, None)

    def has_changed(self, case, rank):
        """Whether the library, its configuration, the provider, the fabric or the number of rails differs from the first
        round. If that round was on another node, an IP subnet is compared with the first round on the same node."""
        now, node, arm = self.of_case(case, rank), self.node(case.stream, rank), case.key[2]

        def moved(stream):
            other = self.node(stream, rank)
            return None not in (node, other) and node != other

        stream, first = self.first_in(rank, arm, lambda _: True)
        if not now or not first:
            return False
        fabric = first["fabric"]
        if moved(stream) and is_subnet(fabric) and is_subnet(now["fabric"]):
            fabric = self.first_in(rank, arm, lambda one: not moved(one))[1]["fabric"]
        return identity(now) != identity({**first, "fabric": fabric})

    def emulated(self, scenario, arm, found):
        """The first of `True`, `Unknown` and `False` that any worker reports for a scenario; None if no worker reports
        one.

        `found` contains, for each operation of the scenario, the protocols that the library used and whether they cover
        all chunks. An emulated protocol makes the value for its operation `True`. Otherwise, protocols that cover all
        chunks change an unknown value to `False`. For GPU memory, the protocols also show whether the memory is copied
        through host memory.
        """
        kinds = {"Read": "emulatedReads", "Write": "emulatedWrites", "WriteImmediate": "emulatedWrites"}
        of_arm = [facts.get("offload", {}) for place, rounds in self.rounds.items() if place[3] == arm for _, facts in rounds]
        answers = set()
        for operation, (protocols, covers_all) in found.items():
            known = {facts.get(kinds.get(operation)) for facts in of_arm} - {None}
            if known and any(description.startswith(EMULATION) for description, *_ in protocols):
                known = {"True"}
            elif covers_all:
                known = {"False" if one == "Unknown" else one for one in known}
            answers |= known
        if scenario.uses_gpu:
            reported = {facts.get("staged") for facts in of_arm} - {None}
            for protocols, covers_all in found.values():
                known = {staging(description, lanes) for description, lanes, *_ in protocols}
                if "True" in known and reported:
                    answers.add("True")
                elif known == {"False"} and covers_all:
                    answers |= {"False" if one == "Unknown" else one for one in reported}
                else:
                    answers |= reported
        return next((one for one in ("True", "Unknown", "False") if one in answers), None)

    def providers(self):
        """All providers, as `status.fabric.provider` lists them."""
        return ", ".join(sorted({facts["provider"] for rounds in self.rounds.values() for _, facts in rounds}))


def staging(description, lanes):
    """Whether a UCX protocol copies GPU memory through host memory."""
    transports = [word.split("/")[0] for word in re.split("[ ,]", lanes) if "/" in word]
    if description.startswith(EMULATION) or re.search("copy-in|copy-out|frag host", description):
        return "True"
    if {"tcp", "posix", "sysv", "cma", "knem", "xpmem"} & set(transports):
        return "True"
    is_direct = transports and all(re.match("cuda_ipc$|rc_|dc_", one) for one in transports)
    return "False" if is_direct and "zero-copy" in description else "Unknown"


def is_subnet(fabric):
    """Whether `fabric` is an IP address with a prefix length."""
    address, _, length = fabric.partition("/")
    try:
        ipaddress.ip_address(address)
    except ValueError:
        return False
    return "%" not in address and length.isascii() and length.isdigit() and int(length) < 256


def identity(facts):
    """The facts that must not change between rounds."""
    library = facts.get("library") or {}
    names = [library.get(name) for name in ("name", "version", "buildId")]
    return *names, facts["provider"], facts["fabric"], len(facts["rails"]), configuration(facts)


def configuration(facts):
    """The hash of the library configuration, and the files that it may come from; None if it is unknown."""
    found = facts.get("configurationSha256")
    return found and (found, *facts.get("configurationFiles", []))


def is_requested(facts, transport):
    """Whether the library returned what the transport in the spec requests."""
    library, options = next(iter(transport.items()))
    if library == "loopback":
        return not facts.get("library")
    if library == "ucx":
        is_ucx = (facts.get("library") or {}).get("name") == "ucx"
        return is_ucx and all(lanes_are_requested(rail.get("lanes", []), options) for rail in facts["rails"])
    if library != "libfabric":
        return library == "verbs" or library in (facts.get("library") or {}).get("name", "")
    if options["provider"] == "efa":
        return facts["provider"] == "efa" and facts["fabric"] != "efa-direct"
    names = PROVIDERS[options["provider"]]
    return any(facts["provider"] == name and fabric in (None, facts["fabric"]) for name, fabric in names)
