//! The tests that every transport passes.

use crds::v1alpha1::{Pipe as Spec, TransportSpec};

use super::Pipe;
use crate::transport::conformance::{Subject, config};
use crate::transport_conformance;

fn subjects() -> Vec<Subject> {
    vec![Subject {
        rails: Some(config(TransportSpec::Pipe(Spec { rails: 3 }))),
        cannot_wait: Some("a pipe can only be polled"),
        ..Subject::new(config(TransportSpec::Pipe(Spec { rails: 1 })))
    }]
}

transport_conformance!(traffic Pipe, subjects());
