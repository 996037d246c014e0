//! Tests with real traffic between two transports in one process. They use the system's libfabric, and the libfabric
//! 2.x in the directory that `FABRICBENCH_TEST_LIBFABRIC_2` specifies. The traffic uses only loopback addresses and
//! shared memory.

mod harness;
mod rejections;
mod traffic;
