//! Coordinates access to the nodes by concurrent tests. A test spends most of its time waiting, so two tests run
//! concurrently if neither needs exclusive use of the nodes.

use tokio::sync::{Semaphore, SemaphorePermit};

/// Maximum number of concurrent tests: the number of gangs that fit on two nodes with two CPUs each.
const MAX_CONCURRENT_TESTS: u32 = 2;

static NODES: Semaphore = Semaphore::const_new(MAX_CONCURRENT_TESTS as usize);

/// Waits until the nodes have room for a gang. This is for tests whose operator watches only the test's namespace, and
/// whose workers request one CPU each.
pub async fn share_nodes() -> SemaphorePermit<'static> {
    NODES.acquire().await.unwrap()
}

/// Waits until no other test is using the nodes. This is for tests that disturb nodes, whose operator watches all
/// namespaces, that start several gangs at once, or whose workers request two CPUs, as by default. Two such gangs of
/// different operators could each wait for the node of the other.
pub async fn reserve_nodes() -> SemaphorePermit<'static> {
    NODES.acquire_many(MAX_CONCURRENT_TESTS).await.unwrap()
}
