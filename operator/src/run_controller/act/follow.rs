//! Reads records: what is kept of them, and what the log of worker 0 adds. I/O.

use super::{Look, Next};
use crate::campaign::collect::Collector;
use crate::run_controller::follow_logs::{Begun, Follower, Log};
use crate::run_controller::observe::Current;
use crate::run_controller::observed::AttemptId;
use crate::run_controller::reconcile::LookError;
use crate::run_controller::records::RecordStore;
use crate::run_controller::session::SessionRecords;

impl Look<'_> {
    pub(super) async fn read_records(&mut self) -> Result<Next, LookError> {
        let run = self.current.run;
        let Ok((plan, plan_hash)) = self.session.planned(run, &self.context.installation) else {
            // Decided of again as a run without a plan.
            self.session.legs = None;
            return Ok(Next::Again);
        };
        let mut collector = Collector::new(&plan, self.current.uid, &plan_hash);
        let read = RecordStore::read(&self.context.writer.client, self.current.key, run, |lines| {
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
        Ok(Next::Again)
    }

    /// Gets ready to take the first records.
    fn begin_records(&mut self) {
        let run = self.current.run;
        let Ok((plan, plan_hash)) = self.session.planned(run, &self.context.installation) else {
            self.session.legs = None;
            return;
        };
        let Current { key, uid, .. } = &self.current;
        self.session.records = SessionRecords::Read {
            store: Box::new(RecordStore::empty(&self.context.writer.client, key, run)),
            collector: Box::new(Collector::new(&plan, uid, &plan_hash)),
        };
    }

    pub(super) async fn follow(
        &mut self,
        attempt: AttemptId,
        pod: String,
        pod_uid: String,
    ) -> Result<Next, LookError> {
        match &self.session.records {
            SessionRecords::Read { .. } => {}
            SessionRecords::Empty => self.begin_records(),
            SessionRecords::Unread | SessionRecords::Broken(_) => {
                self.read_records().await?;
                return Ok(Next::Again);
            }
        }
        let SessionRecords::Read { collector, .. } = &mut self.session.records else {
            return Ok(Next::Again);
        };
        let mut streams = collector.reports().streams.iter();
        let known = streams.find(|stream| (stream.leg, stream.attempt) == (attempt.leg, attempt.attempt));
        let begun = Begun {
            lines: known.map_or(0, |stream| stream.lines),
        };
        // A stream that is known goes on where the records end; another one is new.
        if begun.lines == 0 {
            collector.end_of_input();
        }
        let log = Log {
            run: self.current.key.clone(),
            pod,
            pod_uid,
        };
        let queue = self.context.queue.clone();
        let run = self.current.key.clone();
        let due = move || queue.add(run.clone());
        let client = self.context.unlimited.clone();
        self.session.follower = Some(Box::new(Follower::start(client, log, begun, due)));
        Ok(Next::Again)
    }
}
