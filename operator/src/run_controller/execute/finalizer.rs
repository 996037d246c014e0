//! Adds and removes the run's finalizer. Performs I/O.

use super::Reconciler;
use crate::run_controller::apply::ApplyError;
use crate::run_controller::session::LastWrite;

impl Reconciler<'_> {
    /// Adds or removes the finalizer. Returns the run's new resource version; `None` if the run is gone.
    pub(super) async fn patch_finalizer(&self, present: bool) -> Result<Option<String>, ApplyError> {
        let finalizers = self.snapshot.object.metadata.finalizers.clone();
        self.applier()
            .set_finalizer(
                present,
                &finalizers.unwrap_or_default(),
                &self.snapshot.resource_version,
            )
            .await
    }

    /// Stores the result of [`Self::patch_finalizer`] until the cache reflects it.
    pub(super) fn note_finalizer(&mut self, present: bool, resource_version: Option<String>) {
        let Some(resource_version) = resource_version else {
            return;
        };
        self.session.last_write = Some(Box::new(LastWrite {
            resource_version,
            status: self.snapshot.status.clone(),
            has_finalizer: present,
        }));
    }
}
