//! Calls over the arm's transport.
//!
//! Since calls are nested, the messages of a sample alternate between the two sides: first the requests, then the
//! replies. Messages are numbered from 1. The initiator sends the messages with odd numbers, and the target sends those
//! with even numbers.

use crds::assignment::RpcWorkload;
use crds::record::CaseFailure;

use super::samples::{self, SampleSource};
use super::{is_echoed, message_count};
use crate::measure::clock;
use crate::measure::deadline::Deadline;
use crate::measure::recorder::Recorder;
use crate::memory::available;
use crate::scenario::budget::Budget;
use crate::scenario::case::Case;
use crate::scenario::case_protocol::Work;
use crate::scenario::engine::Engine;
use crate::scenario::isolated::own_memory_bytes;
use crate::scenario::schedule::Schedule;
use crate::scenario::thread_report::{CallMeasurement, ThreadMeasurement};
use crate::transport::Transport;

/// Side that makes the first call of each sample.
pub(in crate::scenario) struct Caller {
    workload: RpcWorkload,
    messages: CallerMessages,
    recorder: Option<Recorder>,
    /// Intended start times; `None` for a closed loop.
    schedule: Option<Schedule>,
    memory_before_bytes: Option<u64>,
}

/// Side that answers the first call of each sample.
pub(in crate::scenario) struct Callee {
    exchange: Exchange,
    messages: u32,
    /// Number of the next message from the initiator.
    next: u32,
    /// Whether that message is already expected.
    is_expected: bool,
}

/// The caller's messages of a sample.
struct CallerMessages {
    exchange: Exchange,
    /// Number of messages of both sides in a sample.
    count: u32,
}

/// Messages of one side.
struct Exchange {
    hops: u32,
    is_echoed: bool,
    /// The caller's arguments, outside registered memory.
    payload: Vec<u8>,
    /// The callee's copy of the arguments.
    received: Vec<u8>,
    /// Number of messages with a payload that have been expected so far.
    payloads: u64,
    /// Number of messages without a payload that have been expected so far.
    replies: u64,
}

impl Exchange {
    /// Allocates the memory outside registered memory before `deadline`.
    ///
    /// # Errors
    /// Returns `NotEnoughMemory` if the machine or the cgroup has less available memory, and `DeadlineExceeded` if the deadline
    /// passes.
    fn new(workload: &RpcWorkload, bytes: u64, deadline: &Deadline) -> Result<Self, CaseFailure> {
        let _reservation = available::reserve(2 * bytes, "the arguments and the received copy of a payload")?;
        Ok(Self {
            hops: workload.hops,
            is_echoed: is_echoed(bytes),
            payload: available::touched_bytes(bytes, deadline)?,
            received: available::touched_bytes(bytes, deadline)?,
            payloads: 0,
            replies: 0,
        })
    }

    fn has_payload(&self, message: u32) -> bool {
        message <= self.hops || self.is_echoed
    }

    /// Copies the payload into registered memory, unless the message has none, and posts message number `message`.
    fn send<T: Transport>(&self, engine: &mut Engine<'_, T>, message: u32) -> Result<(), CaseFailure> {
        if !self.has_payload(message) {
            return engine.reply_to_call();
        }
        // All messages of a side use the same memory.
        while engine.outgoing.in_flight() > 0 {
            if !engine.poll()? {
                engine.idle("waiting for the completion of an earlier message")?;
            }
        }
        let offset = engine.geometry.source.first().copied().unwrap_or(0);
        let memory = engine.memory()?;
        memory.write_from(offset as usize, &self.payload)?;
        engine.post_burst(1)
    }

    /// Records that the next expected message from the other side is message number `message`.
    fn set_expected(&mut self, message: u32) {
        let expected = if self.has_payload(message) {
            &mut self.payloads
        } else {
            &mut self.replies
        };
        *expected += 1;
    }

    fn has_arrived<T: Transport>(&self, engine: &Engine<'_, T>) -> bool {
        engine.incoming.arrived() >= self.payloads && engine.inbox.call_replies >= self.replies
    }

    /// Copies the payload of message number `message` out of registered memory, unless it has none.
    fn accept<T: Transport>(&mut self, engine: &Engine<'_, T>, message: u32) -> Result<(), CaseFailure> {
        let Some(receives) = engine.geometry.receives.filter(|_| self.has_payload(message)) else {
            return Ok(());
        };
        let memory = engine.memory()?;
        let stripes = engine.geometry.stripes;
        for index in 0..stripes.rails {
            let (start, length) = stripes.chunk(index);
            // All receives on a rail share their memory.
            let offset = engine.geometry.landing_base + receives.offset(index as usize, 0);
            let part = &mut self.received[start as usize..(start + length) as usize];
            memory.read_into(offset as usize, part)?;
        }
        std::hint::black_box(&self.received);
        Ok(())
    }
}

impl Caller {
    /// # Errors
    /// Returns the errors of [`Exchange::new`].
    pub(in crate::scenario) fn new(
        workload: &RpcWorkload,
        case: &Case<'_>,
        deadline: &Deadline,
    ) -> Result<Self, CaseFailure> {
        Ok(Self {
            messages: CallerMessages {
                exchange: Exchange::new(workload, case.size_bytes, deadline)?,
                count: message_count(workload),
            },
            recorder: Some(Recorder::new(workload.measured)),
            schedule: workload.open_loop.map(|load| Schedule::new(load, case.seed)),
            workload: workload.clone(),
            memory_before_bytes: None,
        })
    }
}

impl<T: Transport> SampleSource<T> for CallerMessages {
    fn call(&mut self, engine: &mut Engine<'_, T>) -> Result<(), CaseFailure> {
        for message in (1..self.count).step_by(2) {
            self.exchange.set_expected(message + 1);
            self.exchange.send(engine, message)?;
            while !self.exchange.has_arrived(engine) {
                if !engine.poll()? {
                    engine.idle("waiting for the reply to a call")?;
                }
            }
            self.exchange.accept(engine, message + 1)?;
        }
        Ok(())
    }
}

impl<T: Transport> Work<T> for Caller {
    fn warm_up(&mut self, engine: &mut Engine<'_, T>) -> Result<(), CaseFailure> {
        let now = clock::now();
        let budget = Budget::new(self.workload.warmup, now);
        samples::take(engine, &mut self.messages, budget, now, None, None)?;
        self.memory_before_bytes = own_memory_bytes();
        Ok(())
    }

    fn run(&mut self, engine: &mut Engine<'_, T>) -> Result<Option<ThreadMeasurement>, CaseFailure> {
        let mut recorder = self.recorder.take();
        let first_post = clock::now();
        let budget = Budget::new(self.workload.measured, first_post);
        let (schedule, messages) = (self.schedule.take(), &mut self.messages);
        let taken = samples::take(engine, messages, budget, first_post, schedule, recorder.as_mut())?;
        Ok(recorder.map(|recorder| ThreadMeasurement {
            calls: Some(CallMeasurement {
                memory_before_bytes: self.memory_before_bytes,
                ..CallMeasurement::default()
            }),
            open_loop: taken.open_loop,
            ..ThreadMeasurement::new(taken.count, first_post, taken.end, recorder)
        }))
    }

    fn conclude(&mut self, measurement: &mut ThreadMeasurement) {
        if let Some(measured) = &mut measurement.calls {
            measured.memory_after_bytes = own_memory_bytes();
        }
    }
}

impl Callee {
    /// # Errors
    /// Returns the errors of [`Exchange::new`].
    pub(in crate::scenario) fn new(
        workload: &RpcWorkload,
        bytes: u64,
        deadline: &Deadline,
    ) -> Result<Self, CaseFailure> {
        Ok(Self {
            exchange: Exchange::new(workload, bytes, deadline)?,
            messages: message_count(workload),
            next: 1,
            is_expected: false,
        })
    }
}

/// The target reports no operations, because its messages are part of the initiator's calls.
impl<T: Transport> Work<T> for Callee {
    fn serve(
        &mut self,
        engine: &mut Engine<'_, T>,
        activity: &'static str,
        until: impl Fn(&Engine<'_, T>) -> bool,
    ) -> Result<(), CaseFailure> {
        while !until(engine) {
            if !self.is_expected {
                self.exchange.set_expected(self.next);
                self.is_expected = true;
            }
            if self.exchange.has_arrived(engine) {
                self.exchange.accept(engine, self.next)?;
                self.exchange.send(engine, self.next + 1)?;
                self.next = (self.next + 1) % self.messages + 1;
                self.is_expected = false;
            } else if !engine.poll()? {
                engine.idle(activity)?;
            }
        }
        Ok(())
    }
}
