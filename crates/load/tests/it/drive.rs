//! Settings for the tests, and the ways to drive a server with them.

use crate::books;
use plimsoll_load::http1::encode::Head;
use plimsoll_load::run::{Ended, Offer, RunError, Watch, Wish, run};
use plimsoll_load::session::Load;
use plimsoll_load::{Config, Endpoint, Expected, Pacing, Part, Protocol, Session, Slice, Times};
use plimsoll_runs::{
    Counters, ErrorKind, Event, Interval, Phase, PhaseSlice, Sample, Sink, SinkError,
};
use plimsoll_workload::arrivals::Arrivals;
use plimsoll_workload::distribution::Distribution;
use plimsoll_workload::request::{Request, Requests, Url};
use plimsoll_workload::schedule::Schedule;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

pub(crate) const MS: u64 = 1_000_000;

/// `GET /`.
pub(crate) fn get() -> Request {
    Request::new(Url::parse("http://test.example/").expect("a URL"))
}

/// Two connections of one thread, thrifty, samples kept, patient.
pub(crate) fn config(endpoint: Endpoint) -> Config {
    Config {
        endpoint,
        tls: None,
        protocol: Protocol::Http1,
        requests: Arc::new(Requests::one(get())),
        sequence: None,
        names: None,
        users: None,
        checks: [].into(),
        store: None,
        head: Head { user_agent: "plimsoll".into(), host: None, close: false, proxy: None },
        follow: 0,
        way: plimsoll_load::way::Way::default(),
        connection_per_request: false,
        expected: Expected::default(),
        connections: (2, 2),
        streams_per_connection: 64,
        threads: 1,
        pacing: Pacing::Thrifty,
        timeout_ns: 20_000 * MS,
        drain_ns: 20_000 * MS,
        max_waiting: None,
        measured_from_ns: 0,
        renew_ns: None,
        traceparents: None,
        seed: 7,
        samples: true,
        part: Part::WHOLE,
    }
}

pub(crate) fn to(address: SocketAddr) -> Config {
    config(Endpoint::Tcp(address))
}

/// Even arrivals of one rate.
pub(crate) fn times(per_s: f64, ms: u64) -> Times {
    Times::Schedule(Arc::new(Schedule::constant(per_s, ms * MS).expect("a rate")), Arrivals::Even)
}

/// An open loop of one rate.
pub(crate) fn open(per_s: f64, ms: u64) -> Offer {
    Offer::Open { parts: vec![times(per_s, ms)], limit: None }
}

/// Users who do not think; at most `limit` requests.
pub(crate) fn closed(users: u32, ms: u64, limit: Option<u64>) -> Offer {
    let think = Distribution::NONE;
    Offer::Closed(Load::Closed { users, think, end_ns: ms * MS, limit }, ms * MS)
}

/// All that a run gave out.
#[derive(Default)]
pub(crate) struct Output {
    pub(crate) intervals: Vec<Interval>,
    pub(crate) samples: Vec<Sample>,
    pub(crate) events: Vec<Event>,
    pub(crate) ended: Ended,
}

impl Output {
    /// One phase, summed up over time.
    pub(crate) fn phase(&self, phase: Phase) -> PhaseSlice {
        let mut sum = PhaseSlice::default();
        for interval in &self.intervals {
            sum.add(&interval.phases[phase as usize]);
        }
        sum
    }

    /// The measured phase's counts.
    pub(crate) fn counts(&self) -> Counters {
        self.phase(Phase::Measured).counters
    }

    pub(crate) fn errors(&self, kind: ErrorKind) -> u64 {
        self.counts().errors_of(kind)
    }

    pub(crate) fn sum(&self, of: impl Fn(&Interval) -> u64) -> u64 {
        self.intervals.iter().map(of).sum()
    }

    /// The samples that were sent, by due time.
    pub(crate) fn by_due(&self) -> Vec<Sample> {
        let mut samples = self.samples.clone();
        samples.sort_by_key(|sample| (sample.due_ns, sample.done_ns));
        samples
    }
}

impl Sink for Output {
    fn interval(&mut self, interval: &Interval) -> Result<(), SinkError> {
        self.intervals.push(interval.clone());
        Ok(())
    }
    fn samples(&mut self, samples: &[Sample]) -> Result<(), SinkError> {
        self.samples.extend_from_slice(samples);
        Ok(())
    }
    fn event(&mut self, event: &Event) -> Result<(), SinkError> {
        self.events.push(event.clone());
        Ok(())
    }
}

struct Silent;
impl Watch for Silent {
    fn watch(&mut self, _: &Interval, _: bool) -> Wish {
        Wish::Continue
    }
}

/// Runs a load and checks its books.
pub(crate) fn drive(config: &Config, offer: &Offer) -> Output {
    watched(config, offer, &mut Silent)
}

/// The same with a watcher.
pub(crate) fn watched(config: &Config, offer: &Offer, watch: &mut dyn Watch) -> Output {
    let mut seen = Output::default();
    match run(config, offer, &mut seen, watch) {
        Ok(ended) => seen.ended = ended,
        Err(error) => panic!("the run ends well, not by {error:?}"),
    }
    books::balance(&seen.intervals, &seen.samples, config);
    seen
}

/// Why a run does not start; nothing has been observed by then.
pub(crate) fn refused(config: &Config) -> plimsoll_load::SessionError {
    let mut seen = Output::default();
    match run(config, &open(100.0, 100), &mut seen, &mut Silent) {
        Err(RunError::Session(error)) => {
            assert!(seen.intervals.is_empty() && seen.samples.is_empty());
            error
        }
        other => panic!("the run does not start, but: {other:?}"),
    }
}

/// An open-loop session without an end of its own.
pub(crate) fn session(config: &Config) -> Session {
    Session::start(config, &Load::Open { limit: None }).expect("a session")
}

/// Takes slices, numbered without a gap, until one is enough or the session has ended.
pub(crate) fn take(
    session: &mut Session,
    seen: &mut Output,
    mut enough: impl FnMut(&Slice) -> bool,
) {
    let mut empty = 0;
    while !session.has_ended() {
        let Some(slice) = session.next_slice(Duration::from_millis(100)) else {
            empty += 1;
            assert!(empty < 600, "no slice within a minute");
            continue;
        };
        assert_eq!(slice.number, seen.intervals.len() as u64, "slices are numbered without a gap");
        seen.intervals.push(slice.interval.clone());
        seen.samples.extend_from_slice(&slice.samples);
        if enough(slice) {
            return;
        }
    }
}

/// Takes the rest of a session's slices and checks its books.
pub(crate) fn finish(mut session: Session, mut seen: Output, config: &Config) -> Output {
    take(&mut session, &mut seen, |_| false);
    books::balance(&seen.intervals, &seen.samples, config);
    seen
}
