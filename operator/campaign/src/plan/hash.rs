//! A plan with the hash that identifies it.

use std::ops::Deref;
use std::sync::OnceLock;

use crds::assignment::AttemptIdentity;
use crds::record::hex;
use sha2::{Digest, Sha256};

use super::model::Plan;

/// A plan with its hash. The hash is computed when it is first requested, and the plan cannot change afterwards.
#[derive(Clone, Debug)]
pub struct HashedPlan {
    plan: Plan,
    hash: OnceLock<String>,
}

impl HashedPlan {
    /// SHA-256 of the plan's JSON (fields in declaration order, maps sorted), in hexadecimal.
    pub fn hash(&self) -> &str {
        self.hash.get_or_init(|| hash(&self.plan))
    }

    /// Identity of attempt `attempt` at leg `leg` of the run with `uid`.
    pub fn identity(&self, uid: &str, leg: u32, attempt: u32) -> AttemptIdentity {
        AttemptIdentity {
            run: self.plan.run.clone(),
            uid: uid.to_owned(),
            plan_hash: self.hash().to_owned(),
            leg,
            attempt,
        }
    }
}

impl From<Plan> for HashedPlan {
    fn from(plan: Plan) -> Self {
        let hash = OnceLock::new();
        Self { plan, hash }
    }
}

impl From<HashedPlan> for Plan {
    fn from(hashed: HashedPlan) -> Self {
        hashed.plan
    }
}

impl Deref for HashedPlan {
    type Target = Plan;

    fn deref(&self) -> &Plan {
        &self.plan
    }
}

#[expect(
    clippy::expect_used,
    reason = "a plan contains only strings, numbers, lists and maps with string keys"
)]
fn hash(plan: &Plan) -> String {
    let json = serde_json::to_vec(plan).expect("a plan can be serialized");
    hex(&Sha256::digest(&json))
}
