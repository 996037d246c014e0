//! Checks that the variant declared by an image matches an arm. Performs no I/O.

use crds::assignment::ArmAssignment;
use crds::names::ENV_VARIANT;
use crds::record::{CaseFailure, FailureReason};
use crds::striping::StripingPolicy;

/// Checks that `image`, the value of `FABRICBENCH_VARIANT`, matches the tuning of `arm`.
///
/// # Errors
/// Returns an error if the variant does not match the tuning, because the results would then be attributed to the wrong
/// variant.
pub fn check(image: Option<&str>, arm: &ArmAssignment) -> Result<(), CaseFailure> {
    let Some(image) = image else {
        return Ok(());
    };
    let tuning = tuning_name(arm);
    if image == tuning {
        return Ok(());
    }
    Err(CaseFailure {
        reason: FailureReason::VariantMismatch,
        message: format!(
            "the image declares {ENV_VARIANT}={image}, but the tuning of arm {} is {tuning}; use the image for that \
             variant, or an image that does not set {ENV_VARIANT}",
            arm.name
        ),
    })
}

/// Variant name that images declare for the tuning of `arm`; `mixed` if no image is built for this tuning.
fn tuning_name(arm: &ArmAssignment) -> &'static str {
    let coalesces = arm.striping.policy == StripingPolicy::NixlCoalesce;
    match (
        arm.inject_max_bytes.is_some(),
        arm.doorbell_max_batch.is_some(),
        coalesces,
    ) {
        (false, false, false) => "baseline",
        (true, false, false) => "fi-inject",
        (false, true, false) => "doorbell",
        (false, false, true) => "coalesce",
        (true, true, true) => "combined",
        _ => "mixed",
    }
}

#[cfg(test)]
mod tests {
    use crds::striping::StripingRule;

    use super::*;

    fn arm(inject_max_bytes: Option<u64>, doorbell_max_batch: Option<u32>) -> ArmAssignment {
        ArmAssignment {
            name: "an-arm".into(),
            process: 0,
            inject_max_bytes,
            doorbell_max_batch,
            channel: crds::v1alpha1::RpcChannel::Transport,
            arguments: Vec::new(),
            striping: StripingRule {
                policy: StripingPolicy::Nixl,
                threshold_bytes: 1,
                min_chunk_bytes: 1,
            },
        }
    }

    #[test]
    fn rejects_an_image_for_another_variant() {
        assert!(check(None, &arm(Some(64), None)).is_ok());
        assert!(check(Some("fi-inject"), &arm(Some(64), None)).is_ok());
        assert!(check(Some("baseline"), &arm(None, None)).is_ok());
        for (image, arm) in [
            ("doorbell", arm(Some(64), None)),
            ("baseline", arm(Some(64), Some(2))),
        ] {
            let failure = check(Some(image), &arm).unwrap_err();
            assert_eq!(failure.reason, FailureReason::VariantMismatch);
            assert!(failure.message.contains(image) && failure.message.contains("an-arm"));
        }
    }
}
