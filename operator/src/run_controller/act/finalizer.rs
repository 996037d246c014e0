//! Adds and removes the finalizer of the run. I/O.

use super::Look;
use crate::run_controller::apply::ApplyError;
use crate::run_controller::session::Written;

impl Look<'_> {
    /// Adds or removes the finalizer. Gives the new version of the run; `None` where it is gone.
    pub(super) async fn patch_finalizer(&self, present: bool) -> Result<Option<String>, ApplyError> {
        let finalizers = self.current.run.metadata.finalizers.clone().unwrap_or_default();
        self.applier()
            .finalizer(present, &finalizers, &self.current.version)
            .await
    }

    pub(super) fn finalizer_is(&mut self, present: bool, version: Option<String>) {
        let Some(version) = version else { return };
        self.session.written = Some(Box::new(Written {
            version,
            status: self.current.status.clone(),
            finalizer: present,
        }));
    }
}
