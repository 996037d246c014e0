//! Tests with real traffic between two transports in one process, with the library on this machine and with the
//! libfabric 2.x in the directory that `FABRICBENCH_TEST_LIBFABRIC_2` specifies. Uses only loopback addresses and
//! shared memory.

mod harness;
mod rejections;
mod traffic;
