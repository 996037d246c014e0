//! Real traffic between two transports of one process, on the library of this machine and, where
//! `FABRICBENCH_TEST_LIBFABRIC_2` names its folder, on one of 2.x. Loopback addresses and shared memory only.

mod harness;
mod refusals;
mod traffic;
