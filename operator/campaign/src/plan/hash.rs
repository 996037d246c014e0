//! A plan with the hash that identifies it.

use std::ops::Deref;

use crds::record::hex;
use sha2::{Digest, Sha256};

use super::Plan;

/// A plan with its hash, which is computed once. It is immutable, so the hash always matches.
#[derive(Clone, Debug, PartialEq)]
pub struct HashedPlan {
    plan: Plan,
    hash: String,
}

impl HashedPlan {
    /// SHA-256 of the plan's JSON (fields in declaration order, maps sorted), in hexadecimal.
    pub fn hash(&self) -> &str {
        &self.hash
    }
}

impl From<Plan> for HashedPlan {
    fn from(plan: Plan) -> Self {
        // A plan contains only text, numbers, lists and maps, so serializing it into memory cannot fail.
        let json = serde_json::to_vec(&plan).unwrap_or_default();
        let hash = hex(&Sha256::digest(&json));
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
