"""Reads the records of a run: verifies the chain of every stream and returns the verified blocks."""

import hashlib
import json
import zlib

FIRST = bytes(32)
RECORD = '"record":'


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
    """Yields (sequence number, record) of each verified line. A line with the number 0 starts a stream; a line that does
    not continue the chain ends the current stream."""
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
        if previous is None:
            continue
        digest = hashlib.sha256(previous + sequence.to_bytes(8, "big") + raw.encode())
        if digest.hexdigest() != stated:
            chain = None
            continue
        chain = digest.digest()
        yield sequence, envelope["record"]


def blocks(text):
    """Returns the cases of each finished block. Each case contains the hosts of the ranks. If several streams finished
    the same block, the first one counts."""
    done = {}
    pending = {}
    hosts = {}
    for sequence, record in lines(text):
        if sequence == 0:
            pending, hosts = {}, {}
        if record["kind"] == "hello":
            hosts[record["rank"]] = record["environment"]["hostname"]
        if record["kind"] == "case":
            record["hosts"] = hosts
            pending.setdefault(record["block"], []).append(record)
        if record["kind"] == "block":
            cases = pending.pop(record["block"], [])
            if len(cases) == record["cases"]:
                done.setdefault(record["block"], cases)
    return done
