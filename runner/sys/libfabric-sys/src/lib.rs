//! Bindings to `libfabric.so.1`.
