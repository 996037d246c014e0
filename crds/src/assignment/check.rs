//! Parses an assignment and checks that it is consistent.

use snafu::{Snafu, ensure};

use super::{ASSIGNMENT_VERSION, Assignment, MAX_ASSIGNMENT_BYTES, RoundAssignment};
use crate::v1alpha1::TransportSpec;

/// Error parsing an assignment.
#[derive(Debug, Snafu)]
pub enum AssignmentError {
    /// The assignment is too large.
    #[snafu(display("the assignment is {length} bytes long; the maximum is {MAX_ASSIGNMENT_BYTES}"))]
    TooLong {
        /// Size of the assignment, in bytes.
        length: usize,
    },
    /// The assignment is not valid JSON or does not match the schema.
    #[snafu(display("the assignment cannot be parsed: {source}"))]
    Syntax {
        /// Parser error.
        source: serde_json::Error,
    },
    /// The assignment has an unsupported version.
    #[snafu(display(
        "the assignment has version {version}, but this runner supports only version {ASSIGNMENT_VERSION}"
    ))]
    Version {
        /// Version of the assignment.
        version: u32,
    },
    /// A field is inconsistent with the rest of the assignment.
    #[snafu(display("assignment.{field}: {reason}"))]
    Inconsistent {
        /// Path of the field.
        field: String,
        /// Why the field is invalid.
        reason: String,
    },
}

impl Assignment {
    /// Parses and checks an assignment.
    ///
    /// # Errors
    /// The assignment is too large, is not valid JSON, has an unsupported version, or is inconsistent.
    pub fn parse(bytes: &[u8]) -> Result<Self, AssignmentError> {
        ensure!(
            bytes.len() <= MAX_ASSIGNMENT_BYTES,
            TooLongSnafu { length: bytes.len() }
        );
        let assignment: Self =
            serde_json::from_slice(bytes).map_err(|source| AssignmentError::Syntax { source })?;
        assignment.check()?;
        Ok(assignment)
    }

    fn check(&self) -> Result<(), AssignmentError> {
        ensure!(
            self.version == ASSIGNMENT_VERSION,
            VersionSnafu {
                version: self.version
            }
        );
        if let Some(pattern) = self.many_to_many {
            require(
                pattern.senders >= 1 && pattern.receivers >= 1 && pattern.workers() == self.workers,
                "manyToMany",
                "must have at least one sender and one receiver, and senders plus receivers must equal the number of \
                 workers",
            )?;
            require(
                self.scenarios
                    .iter()
                    .all(|scenario| scenario.workload.suits_many_to_many()),
                "scenarios[].workload",
                "must be a unidirectional closed loop with a duration, or parameter serving, because manyToMany is set",
            )?;
        }
        let transports = self
            .processes
            .iter()
            .filter_map(|process| process.transport.as_ref());
        let completes_writes_locally = std::iter::once(&self.transport)
            .chain(transports)
            .any(TransportSpec::completes_writes_locally);
        let many_to_many = self.many_to_many.is_some();
        let mut workloads = self.scenarios.iter().map(|scenario| &scenario.workload);
        require(
            !completes_writes_locally
                || workloads.all(|workload| workload.allows_local_write_completion(many_to_many)),
            "scenarios[].workload",
            "may write only in one direction and in a closed loop, without flushes, reading back and manyToMany, because \
             writeCompletion is Local",
        )?;
        let rails = self.transport.rails();
        require((2..=64).contains(&self.workers), "workers", "must be 2 to 64")?;
        require((1..=64).contains(&rails), "transport.rails", "must be 1 to 64")?;
        require(!self.arms.is_empty(), "arms", "must not be empty")?;
        require(
            self.bindings.is_empty() || self.bindings.len() == self.workers as usize,
            "bindings",
            "must be empty or have one element per worker",
        )?;
        for binding in &self.bindings {
            let fits = binding.rails.is_empty() || binding.rails.len() == rails as usize;
            require(
                fits,
                "bindings[].rails",
                "must be empty or have one element per rail",
            )?;
        }
        let nics = u64::from(rails) * u64::from(self.devices.groups());
        require(
            self.devices.nics.is_empty() || self.devices.nics.len() as u64 == nics,
            "devices.nics",
            "must be empty or have one element per rail of each GPU",
        )?;
        for arm in &self.arms {
            require(
                (arm.process as usize) < self.processes.len(),
                "arms[].process",
                "is not a valid process index",
            )?;
        }
        for scenario in &self.scenarios {
            scenario.workload.check().or_else(|found| {
                require(
                    false,
                    &format!("scenarios[].workload{}", found.field),
                    found.reason,
                )
            })?;
        }
        self.rounds.iter().try_for_each(|round| self.check_round(round))
    }

    fn check_round(&self, round: &RoundAssignment) -> Result<(), AssignmentError> {
        let is_permutation = |order: &[u32], count: usize| {
            let mut sorted = order.to_vec();
            sorted.sort_unstable();
            sorted.iter().copied().eq(0..count as u32)
        };
        require(
            is_permutation(&round.process_order, self.processes.len()),
            "rounds[].processOrder",
            "must contain every process index exactly once",
        )?;
        require(
            is_permutation(&round.arm_order, self.arms.len()),
            "rounds[].armOrder",
            "must contain every arm index exactly once",
        )?;
        for block in &round.blocks {
            let Some(scenario) = self.scenarios.get(block.scenario as usize) else {
                return require(
                    false,
                    "rounds[].blocks[].scenario",
                    "is not a valid scenario index",
                );
            };
            let fits = block.size_bytes <= scenario.max_size_bytes;
            require(
                fits,
                "rounds[].blocks[].sizeBytes",
                "exceeds maxSizeBytes of the scenario",
            )?;
            let known = block.order.iter().all(|arm| (*arm as usize) < self.arms.len());
            require(
                known && !block.order.is_empty(),
                "rounds[].blocks[].order",
                "must be a non-empty list of arm indexes",
            )?;
        }
        Ok(())
    }
}

fn require(holds: bool, field: &str, reason: &str) -> Result<(), AssignmentError> {
    ensure!(holds, InconsistentSnafu { field, reason });
    Ok(())
}
