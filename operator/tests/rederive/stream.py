"""Reads a run's records: verifies every stream's chain and returns the verified records."""

import hashlib
import json
import zlib

FIRST = bytes(32)
RECORD = '"record":'
# Integers in the record of a case from which it is damaged or forged.
OVERSIZED = 10**15


def read(directory):
    """Returns the text of the records, and the digest that the status must contain. A run directory contains the file
    `records.jsonl`. The records of a run in a cluster are the gzip members in its ConfigMaps, which the test
    concatenates in `records.jsonl.gz`."""
    plain = directory / "records.jsonl"
    if plain.exists():
        data = plain.read_bytes()
        return data.decode(errors="replace"), hashlib.sha256(data).hexdigest()
    rest, text, digest = plain.with_suffix(".jsonl.gz").read_bytes(), b"", FIRST
    while rest:
        member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        text += member.decompress(rest)
        digest = hashlib.sha256(digest + rest[: len(rest) - len(member.unused_data)]).digest()
        rest = member.unused_data
    return text.decode(errors="replace"), digest.hex()


def lines(text):
    """Yields (sequence number, record) for each verified line. A line with sequence number 0 starts a stream; a line
    that does not continue the chain ends the current stream."""
    chain = None
    for line in text.split("\n"):
        try:
            envelope = json.loads(line)
            sequence, stated = envelope["seq"], envelope["chain"]
            raw = line[line.index(RECORD) + len(RECORD) : -1]
        except (ValueError, KeyError, TypeError):
            chain = None
            continue
        previous = FIRST if sequence == 0 else chain
        # A claim record is a stream of a single line, and does not end the stream in which it stands.
        if sequence == 0 and envelope["record"]["kind"] == "claim":
            if hashlib.sha256(FIRST + bytes(8) + raw.encode()).hexdigest() == stated:
                yield sequence, envelope["record"]
            continue
        if previous is None:
            continue
        digest = hashlib.sha256(previous + sequence.to_bytes(8, "big") + raw.encode())
        if digest.hexdigest() != stated:
            chain = None
            continue
        chain = digest.digest()
        yield sequence, envelope["record"]


def is_oversized(value):
    """Whether an integer below `value` is larger than any measurement."""
    if isinstance(value, dict):
        return any(map(is_oversized, value.values()))
    if isinstance(value, list):
        return any(map(is_oversized, value))
    return isinstance(value, int) and abs(value) >= OVERSIZED


class Records:
    """The verified records of the run with this uid and plan.

    `blocks` contains the cases of each block that a stream finished, each with the leg and the attempt of its stream.
    If several streams finished a block, the first of them counts. `hellos` and `endpoints` contain the records of each
    stream, and `protocols` contains the protocols of each leg. `omitted_protocols` contains the keys of the protocol
    records that omit some protocols. `configurations` contains the loaded files, and what they know about environment
    variables, by arm, command scenario and rank. `claims` contains the claim records by leg, attempt, rank and group.
    """

    def __init__(self, text, uid, plan_hash):
        self.blocks, self.hellos, self.endpoints, self.protocols = {}, {}, {}, {}
        self.omitted_protocols, self.configurations, self.claims = set(), {}, {}
        stream, pending = None, {}
        for sequence, record in lines(text):
            if record["kind"] == "claim":
                self.add_claim(record, uid, plan_hash)
                continue
            if sequence == 0:
                identity, pending = record["identity"], {}
                belongs = (identity["uid"], identity["planHash"]) == (uid, plan_hash)
                stream = (identity["leg"], identity["attempt"]) if belongs else None
            if stream:
                self.add(stream, pending, record)

    def add(self, stream, pending, record):
        """Adds a record of `stream`. `pending` contains the cases of its unfinished blocks."""
        if record["kind"] == "hello":
            self.hellos.setdefault((*stream, record["rank"]), record)
        if record["kind"] == "endpoints" and record.get("fabric"):
            place = (record["round"], record.get("restart", 0))
            self.endpoints.setdefault((*stream, record["rank"], record["arm"], place), record["fabric"])
        if record["kind"] == "protocols":
            # If several attempts recorded protocols, the first attempt counts.
            key = (stream[0], record["round"], record.get("restart", 0), record["rank"], record["arm"])
            if key not in self.protocols and record.get("omitted"):
                self.omitted_protocols.add(key)
            self.protocols.setdefault(key, record["protocols"])
        if record["kind"] == "configuration":
            for arm in record["arms"]:
                for rank in record["ranks"]:
                    self.configure((arm, record.get("scenario"), rank), record)
        if record["kind"] == "case":
            if is_oversized(record):
                failed = {"reason": "Internal", "message": "oversized"}
                record = {**record, "result": {"failed": failed}, "startedNanos": 0, "spanNanos": None}
            pending.setdefault(record["block"], []).append({**record, "stream": stream})
        if record["kind"] == "block":
            cases = pending.pop(record["block"], [])
            if len(cases) == record["cases"]:
                self.blocks.setdefault(record["block"], cases)

    def add_claim(self, record, uid, plan_hash):
        """Adds a claim record of the run. The first record about a claim counts."""
        identity = record["identity"]
        if (identity["uid"], identity["planHash"]) == (uid, plan_hash):
            key = (identity["leg"], identity["attempt"], record["rank"], record["group"])
            self.claims.setdefault(key, record)

    def configure(self, key, record):
        """Adds a configuration record. If several attempts or legs recorded different files, the files are unknown."""
        files = record.get("filesSha256")
        new = {"variables": {}, "files": set(), "hash": files}
        known = self.configurations.setdefault(key, new)
        for one in record.get("variables") or []:
            known["variables"].setdefault(one["name"], one)
        known["files"] |= {one["sha256"] for one in record.get("files") or [] if "sha256" in one}
        if known["hash"] != files:
            known["hash"] = None

    def configuration(self, arm, scenario):
        """The configurations of an arm by rank, in a command scenario or, with None, of its instrument process."""
        return {key[2]: one for key, one in self.configurations.items() if key[:2] == (arm, scenario)}

    def lanes(self, arm, rank):
        """The lanes of an arm's endpoints at a rank, as `transport/device`; None if a rail does not report its lanes."""
        facts = [one for (*_, of, name, _), one in self.endpoints.items() if (of, name) == (rank, arm)]
        rails = [rail.get("lanes") for one in facts for rail in one.get("rails", [])]
        return {lane for lanes in rails for lane in lanes} if rails and all(rails) else None

    def cases(self, purpose):
        """The cases of this pass, in block order."""
        return [case for block in self.blocks.values() for case in block if case["pass"] == purpose]

    def host(self, stream, rank):
        """The network namespace of a worker, or its hostname; a unique name if there is no hello record."""
        hello = self.hellos.get((*stream, rank))
        if not hello:
            return f"rank {rank}"
        return hello["environment"].get("networkNamespace") or hello["environment"]["hostname"]

    def node(self, stream, rank):
        """Name of a worker's node, or its hostname if it did not report a node; None if there is no hello record."""
        if hello := self.hellos.get((*stream, rank)):
            return hello["environment"].get("node") or hello["environment"]["hostname"]
        return None

    def nodes(self, stream=None):
        """Nodes by rank: those of an attempt or, by default, of each rank's last attempt at the last leg; None if there
        are no records."""
        if not self.hellos:
            return None
        last = max(leg for leg, *_ in self.hellos)
        chosen = [key for key in sorted(self.hellos) if key[:2] == stream or (not stream and key[0] == last)]
        attempts = {rank: (leg, attempt) for leg, attempt, rank in chosen}
        return [self.node(place, rank) for rank, place in sorted(attempts.items())]
