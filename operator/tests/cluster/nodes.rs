//! Coordinates access to the nodes by concurrent tests. A test spends most of its time waiting, so two tests run
//! concurrently if neither needs exclusive use of the nodes.

use tokio::sync::{Semaphore, SemaphorePermit};

/// Maximum number of concurrent tests: the number of gangs that fit on two nodes with two CPUs each.
const CONCURRENT: u32 = 2;

static NODES: Semaphore = Semaphore::const_new(CONCURRENT as usize);

/// Waits until the nodes have room for a gang. For tests whose operator watches only the test's namespace.
pub async fn share_nodes() -> SemaphorePermit<'static> {
    NODES.acquire().await.unwrap()
}

/// Waits until no other test uses the nodes. For tests that disturb nodes, whose operator watches all namespaces, or
/// that start several gangs at once.
pub async fn reserve_nodes() -> SemaphorePermit<'static> {
    NODES.acquire_many(CONCURRENT).await.unwrap()
}
