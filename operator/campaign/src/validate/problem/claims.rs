//! Problems of device claims.

use crds::v1alpha1::Claims;
use snafu::Snafu;

/// Cause and fix of a problem.
#[derive(Clone, Debug, PartialEq, Snafu)]
pub enum ClaimsProblem {
    /// A group has more devices than a claim can hold.
    #[snafu(display(
        "the requests of a group have {devices} devices in total, but a claim holds at most {}. Request fewer devices for \
         each group, and raise `groups`",
        Claims::MAX_DEVICES
    ))]
    TooManyDevices {
        /// Number of devices.
        devices: u32,
    },
    /// A group with one device has an alignment.
    #[snafu(display(
        "a group with a single device has no other device to align it with. Request a second device, or remove `align`"
    ))]
    SingleDevice,
    /// A variant claims no devices, but another one does.
    #[snafu(display(
        "variant \"{claiming}\" claims devices, but this variant claims none. Set `spec.resources.claims`, or the claims of \
         every variant"
    ))]
    WithoutClaims {
        /// Name of the variant that claims devices.
        claiming: String,
    },
    /// A variant claims fewer devices than a worker has rails.
    #[snafu(display(
        "every rail needs an EFA device: a worker has {rails} rails, but claims only {devices} devices. Request more \
         devices, or use fewer rails"
    ))]
    FewerDevicesThanRails {
        /// Number of rails.
        rails: u32,
        /// Number of devices.
        devices: u32,
    },
}
