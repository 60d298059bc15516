//! Probes on a session of the load engine: the driver, the pacing and the clock of any other load,
//! at a rate that hardly adds to it.
//!
//! Probes are offered without a break. What is shown to the state machine are all those due before
//! the oldest that is still unanswered: to leave out only the slow ones would make the server seem
//! fast.

use super::estimate::Probe;
use super::probing::{Probing, Step};
use crate::live::LiveError;
use plimsoll_load::run::Wish;
use plimsoll_load::session::Load;
use plimsoll_load::{Config, Session, Times};
use plimsoll_runs::{ErrorKind, Sample, Tag};
use plimsoll_stats::Histogram;
use plimsoll_workload::arrivals::Arrivals;
use plimsoll_workload::schedule::Schedule;
use std::sync::Arc;
use std::time::Duration;

/// How long a slice is waited for before the user's wishes are looked at.
const PATIENCE: Duration = Duration::from_millis(50);
/// So much longer than the mean the probes may take until all are due, by chance.
const MARGIN: f64 = 1.5;
const MARGIN_S: f64 = 60.0;
/// The generator is the limit where a tenth of the probes is later than this, nanoseconds.
pub(super) const LATENESS_NS: u64 = 1_500_000;

/// What to send.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sending {
    /// So many probes at most.
    pub probes: u64,
    /// Their rate, per second.
    pub rate_per_s: f64,
    /// For so long at most, seconds.
    pub seconds: f64,
}

/// Watches; what it wishes is done.
pub trait Listener {
    /// Called when something is new: so many responses are known, and so many are asked for in all
    /// so far.
    fn probes(&mut self, known: u64, asked: u64);
    /// What the user wishes.
    fn wish(&mut self) -> Wish;
}

/// How it went.
#[derive(Debug, Clone, PartialEq)]
pub struct Probed {
    /// The answer, or that there is none.
    pub step: Step,
    /// For how long was probed, seconds.
    pub seconds: f64,
    /// Probes that failed by the target's fault, before an answer would have been slow.
    pub failed: u64,
    /// Whether the generator itself was late.
    pub generator_limited: bool,
    /// Whether the user ended it.
    pub stopped: bool,
}

/// Sends probes until the state machine has an answer, or sees that there is none. The calling
/// thread gives way to the engine's.
///
/// # Errors
/// When the session cannot start (nothing has been sent then), or the engine cannot go on.
pub fn probe(
    config: &Config,
    probing: &mut Probing,
    sending: Sending,
    listener: &mut dyn Listener,
) -> Result<Probed, LiveError> {
    let config = Config { samples: true, measured_from_ns: 0, ..config.clone() };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded")]
    let nanoseconds = |seconds: f64| (seconds.min(3e8) * 1e9) as u64;
    let mean_s = sending.probes as f64 / sending.rate_per_s;
    let length_ns = nanoseconds(MARGIN * mean_s + MARGIN_S);
    let schedule = Schedule::constant(sending.rate_per_s, length_ns)?;
    let load = Load::Open { limit: Some(sending.probes) };
    let stopped = || listener.wish() != Wish::Continue;
    let mut session = Session::start_unless(&config, &load, stopped)?;
    plimsoll_load::sys::give_way();
    session.offer(0, &Times::Schedule(Arc::new(schedule), Arrivals::Poisson));
    session.end_at(length_ns.min(nanoseconds(sending.seconds)));
    let mut seen = ProbeResults { bound_s: probing.bound_s(), ..ProbeResults::default() };
    let mut step = probing.next(None);
    while let Step::Probe(more) = step {
        listener.probes(probing.probes(), probing.probes() + more);
        let stopped = listener.wish() != Wish::Continue;
        let over = stopped || session.has_ended() || seen.is_whole(sending.probes);
        if let Some(slice) = session.next_slice(PATIENCE) {
            if let Some(fault) = &slice.fault {
                return Err(LiveError::Engine(fault.clone()));
            }
            let interval = &slice.interval;
            seen.late.add(&interval.all_phases(Tag::Lateness));
            let outstanding = interval.in_flight + interval.waiting > 0;
            let age_ns = if outstanding { interval.oldest_outstanding_ns } else { 0 };
            seen.end_ns = interval.start_ns + interval.len_ns;
            let until_ns = seen.end_ns.saturating_sub(age_ns);
            slice.samples.iter().for_each(|sample| seen.take(sample));
            step = seen.show(until_ns, probing).unwrap_or(step);
        } else if over {
            seen.stopped = stopped;
            step = seen.show(u64::MAX, probing).unwrap_or(step);
            if matches!(step, Step::Probe(_)) {
                step = probing.conclude();
            }
        }
        if stopped && matches!(step, Step::Probe(_)) {
            seen.stopped = true;
            step = probing.conclude();
        }
    }
    session.abort();
    let late = seen.late.value_at_quantile(0.9).unwrap_or(0);
    Ok(Probed {
        step,
        seconds: seen.end_ns as f64 / 1e9,
        failed: seen.failed,
        generator_limited: late > LATENESS_NS,
        stopped: seen.stopped,
    })
}

/// What has come back.
#[derive(Default)]
struct ProbeResults {
    /// Not shown yet.
    waiting: Vec<Probe>,
    /// An answer that takes longer is slow.
    bound_s: f64,
    ended: u64,
    failed: u64,
    late: Histogram,
    end_ns: u64,
    stopped: bool,
}

impl ProbeResults {
    fn take(&mut self, sample: &Sample) {
        self.ended += 1;
        if let Some(probe) = probe_of(sample, self.bound_s) {
            self.failed += u64::from(probe.response_s.is_none());
            self.waiting.push(probe);
        }
    }

    fn is_whole(&self, probes: u64) -> bool {
        self.ended >= probes
    }

    /// Shows what was due before a time; what the state machine says to it.
    fn show(&mut self, until_ns: u64, probing: &mut Probing) -> Option<Step> {
        self.waiting.sort_by(|a, b| a.due_s.total_cmp(&b.due_s));
        let until_s = until_ns as f64 / 1e9;
        let after = self.waiting.partition_point(|probe| probe.due_s < until_s);
        let shown: Vec<Probe> = self.waiting.drain(..after).collect();
        (!shown.is_empty()).then(|| probing.next(Some(&shown)))
    }
}

/// What a request says of the target; `None` where it failed by no fault of that. One that was
/// waited for longer than the bound has taken so long, whatever came of it.
pub(super) fn probe_of(sample: &Sample, bound_s: f64) -> Option<Probe> {
    if sample.error.is_some_and(|kind| !is_targets(kind)) {
        return None;
    }
    let took_s = sample.done_ns.saturating_sub(sample.due_ns) as f64 / 1e9;
    let response_s = (sample.error.is_none() || took_s >= bound_s).then_some(took_s);
    Some(Probe { due_s: sample.due_ns as f64 / 1e9, response_s })
}

/// Whether a failure says something of the target.
fn is_targets(kind: ErrorKind) -> bool {
    !matches!(
        kind,
        ErrorKind::Cut
            | ErrorKind::Dns
            | ErrorKind::InFlightAtEnd
            | ErrorKind::ClientSaturated
            | ErrorKind::Local
            | ErrorKind::Variable
    )
}
