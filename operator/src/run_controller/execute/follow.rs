//! Reads the persisted records, and starts following worker 0's log. Performs I/O.

use campaign::collect::Collector;

use super::{Reconciler, StepResult};
use crate::run_controller::attempt_id::AttemptId;
use crate::run_controller::error::ReconcileError;
use crate::run_controller::follow_logs::{Follower, LogSource, ResumePoint};
use crate::run_controller::records::RecordStore;
use crate::run_controller::session::SessionRecords;
use crate::run_controller::snapshot::RunSnapshot;

impl Reconciler<'_> {
    /// Reads the persisted records of the run into the session.
    pub(super) async fn read_records(&mut self) -> Result<StepResult, ReconcileError> {
        let run = self.snapshot.object;
        let Ok(plan) = self.session.plan(run, &self.context.config) else {
            // The legs are cleared so that the next step tries to compute the plan again and stores the reason for the
            // failure.
            self.session.legs = None;
            return Ok(StepResult::Continue);
        };
        let mut collector = Collector::new(&plan, self.snapshot.uid);
        let read = RecordStore::read(&self.context.writer.client, self.snapshot.key, run, |lines| {
            collector.feed(lines)
        });
        self.session.records = match read.await? {
            Err(broken) => SessionRecords::Broken(broken.to_string()),
            Ok(store) if store.reference().is_none() => SessionRecords::Empty,
            Ok(store) => SessionRecords::Read {
                store: Box::new(store),
                collector: Box::new(collector),
            },
        };
        self.session.evaluation = None;
        Ok(StepResult::Continue)
    }

    /// Prepares the session for the first records of the run.
    fn start_records(&mut self) {
        let run = self.snapshot.object;
        let Ok(plan) = self.session.plan(run, &self.context.config) else {
            self.session.legs = None;
            return;
        };
        let RunSnapshot { key, uid, .. } = &self.snapshot;
        self.session.records = SessionRecords::Read {
            store: Box::new(RecordStore::empty(&self.context.writer.client, key, run)),
            collector: Box::new(Collector::new(&plan, uid)),
        };
    }

    /// Starts following the log of a pod.
    pub(super) async fn follow_log(
        &mut self,
        attempt: AttemptId,
        pod: String,
        pod_uid: String,
    ) -> Result<StepResult, ReconcileError> {
        match &self.session.records {
            SessionRecords::Read { .. } => {}
            SessionRecords::Empty => self.start_records(),
            SessionRecords::Unread | SessionRecords::Broken(_) => {
                self.read_records().await?;
                return Ok(StepResult::Continue);
            }
        }
        let SessionRecords::Read { collector, .. } = &mut self.session.records else {
            return Ok(StepResult::Continue);
        };
        let mut streams = collector.reports().streams.iter();
        let known = streams.find(|stream| (stream.leg, stream.attempt) == (attempt.leg, attempt.attempt));
        let resume = ResumePoint {
            persisted_lines: known.map_or(0, |stream| stream.lines),
        };
        // The lines of a stream that already has persisted lines continue the records. A new stream must start on a new
        // line.
        if resume.persisted_lines == 0 {
            collector.end_of_input();
        }
        let source = LogSource {
            run: self.snapshot.key.clone(),
            attempt,
            pod,
            pod_uid,
        };
        let queue = self.context.queue.clone();
        let run = self.snapshot.key.clone();
        let enqueue = move || queue.add(run.clone());
        let client = self.context.unlimited.clone();
        let follower = Follower::start(client, source, resume, enqueue);
        self.session.follower = Some(Box::new(follower));
        Ok(StepResult::Continue)
    }
}
