"""Reads a record file: verifies the chain of every stream and returns the verified blocks."""

import hashlib
import json

FIRST = bytes(32)
RECORD = '"record":'


def lines(text):
    """Yields (sequence number, record) of each verified line. A line with the number 0 starts a stream; a line that does
    not continue its chain ends the stream before it."""
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
    """Returns the cases of each block that a stream finished. The first stream that finished a block counts."""
    done = {}
    pending = {}
    for sequence, record in lines(text):
        if sequence == 0:
            pending = {}
        if record["kind"] == "case":
            pending.setdefault(record["block"], []).append(record)
        if record["kind"] == "block":
            cases = pending.pop(record["block"], [])
            if len(cases) == record["cases"]:
                done.setdefault(record["block"], cases)
    return done
