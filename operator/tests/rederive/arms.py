"""The arms of a run, and what they post at each size with their settings."""

import copy

from .quantities import size

NIXL_THRESHOLD = 128 * 1024
NIXL_MIN_CHUNK = 16 * 1024
NIXL_GROUP = 16
# Prefixes of the variables that only libraries of transports read.
LIBRARY_VARIABLES = ("FI_", "UCX_", "NIXL_", "RDMAV_", "IBV_", "MLX4_", "MLX5_")


# Transports whose libraries have neither an inject call nor FI_MORE (docs/ucx.md, docs/nixl.md).
WITHOUT_INJECT_AND_MORE = ("ucx", "nixl")


def claims(given):
    """Claims as (groups, requests, alignment) with all defaults; None if there are none."""
    if not given:
        return None
    requests = [
        (one["name"], one["deviceClassName"], one.get("count", 1), one.get("selectors") or []) for one in given["requests"]
    ]
    return given.get("groups", 1), requests, given.get("align", "None")


class Arm:
    """A variant with its settings."""

    def __init__(self, spec, variant):
        self.name = variant["name"]
        self.inject = size(variant["inject"]["maxBytes"]) if variant.get("inject") else None
        self.doorbell = variant["doorbell"]["maxBatch"] if variant.get("doorbell") else None
        general, own = spec.get("striping") or {}, variant.get("striping") or {}
        self.policy = own.get("policy") or general.get("policy") or "Nixl"
        self.threshold = size(own.get("thresholdBytes") or general.get("thresholdBytes") or NIXL_THRESHOLD)
        self.min_chunk = size(own.get("minChunkBytes") or general.get("minChunkBytes") or NIXL_MIN_CHUNK)
        self.image = variant.get("image") or spec.get("image")
        self.claims = claims(variant.get("claims") or (spec.get("resources") or {}).get("claims"))
        environment = sorted((one["name"], one["value"]) for one in variant.get("env") or [])
        self.transport = variant.get("transport") or spec["transport"]
        self.channel = variant.get("channel", "Transport")
        self.arguments = variant.get("arguments") or []
        library = (variant.get("libraryImage"), variant["library"]) if variant.get("library") else None
        self.process = (environment, library, self.transport)
        self.can_inject_and_batch = not any(one in self.transport for one in WITHOUT_INJECT_AND_MORE)

    def other_variables(self):
        """The environment variables that may affect more than the library of a transport."""
        return [(name, value) for name, value in self.process[0] if not name.startswith(LIBRARY_VARIABLES)]

    def with_policy(self, policy):
        """Returns the same arm with a different striping policy."""
        other = copy.copy(self)
        other.policy = policy
        return other

    def stripes(self, length, rails):
        """Returns the number of chunks, the length of each chunk, and the length of the last one."""
        rails = max(min(rails, length), 1)
        used = 1
        if self.policy != "Single" and length >= self.threshold:
            used = rails
            if self.policy == "NixlCoalesce" and length // rails < self.min_chunk:
                used = max(min(length // self.min_chunk, rails), 1)
        chunk = length // used
        return used, chunk, length - chunk * (used - 1)

    def posting(self, scenario, length, rails):
        """Returns everything that determines what the arm posts."""
        used, chunk, last = self.stripes(length, rails)
        read = scenario.operation == "Read"
        group = NIXL_GROUP if self.policy != "Single" and not read else 1
        posts = scenario.batch
        if used == 1:
            groups = -(-scenario.batch // group)
            missing = groups * group - scenario.batch if (groups - 1) % rails == 0 else 0
            posts = -(-groups // rails) * group - missing
        batches = self.doorbell and self.can_inject_and_batch and not read
        doorbell = max(min(posts, self.doorbell), 1) if batches else 1
        injects = scenario.operation in ("Send", "WriteImmediate") and self.can_inject_and_batch
        limit = self.inject if injects else None
        injected = [limit is not None and one <= limit for one in (chunk, last)]
        rotation = min(group, scenario.batch) if used == 1 and rails > 1 else 1
        return used, chunk, last, posts, doorbell, injected, rotation
