//! What is offered: the plan's rate as a schedule, its warm-up before it.

use super::requests::PreparedRequests;
use super::{nanoseconds, recorded};
use crate::error::ExperimentError;
use plimsoll_load::Times;
use plimsoll_load::run::Offer;
use plimsoll_load::session::Load;
use plimsoll_plan::{LoadShape, Plan, RateSource};
use plimsoll_workload::arrivals::Arrivals;
use plimsoll_workload::request::Order;
use plimsoll_workload::schedule::Schedule;
use plimsoll_workload::trace::{Moment, Notes, Trace};
use std::sync::Arc;

/// The greatest rate of due times, per second: of a list, in any of its seconds.
#[must_use]
pub fn peak(times: &Times) -> Option<f64> {
    match times {
        Times::Schedule(schedule, _) => Some(schedule.peak()),
        Times::Listed(times) => {
            let (mut most, mut from) = (0, 0);
            for (at, time) in times.iter().enumerate() {
                while times[from] + 1_000_000_000 <= *time {
                    from += 1;
                }
                most = most.max(at + 1 - from);
            }
            Some(most as f64)
        }
    }
}

/// The greatest rate of an offer, per second; 0 where answers make the next requests due.
pub(super) fn peak_of(offer: &Offer) -> f64 {
    match offer {
        Offer::Open { parts, .. } => parts.iter().filter_map(peak).fold(0.0, f64::max),
        Offer::Closed(..) => 0.0,
    }
}

/// The same where it is known for all of it; `None` where it is not.
pub(crate) fn known_peak_of(offer: &Offer) -> Option<f64> {
    match offer {
        Offer::Open { parts, .. } => {
            parts.iter().try_fold(0.0, |most, part| Some(f64::max(most, peak(part)?)))
        }
        Offer::Closed(..) => None,
    }
}

/// The offer of a plan.
pub(super) fn make(
    plan: &Plan,
    asked: &PreparedRequests,
    notes: &mut Vec<String>,
) -> Result<Offer, ExperimentError> {
    let warmup_ns = nanoseconds(plan.load.longest_warm_up());
    let limit = match (&asked.sequence, &asked.requests.order) {
        (Some(sequence), _) => Some(sequence.len() as u64),
        (None, Order::InOrder) => Some(asked.requests.list.len() as u64),
        _ => None,
    };
    let limit = limit.into_iter().chain(plan.load.requests).min();
    match &plan.load.shape {
        LoadShape::Closed { users, think, length } => {
            let end_ns = warmup_ns + nanoseconds(length.longest());
            let load = Load::Closed { users: *users, think: *think, end_ns, limit };
            Ok(Offer::Closed(load, end_ns))
        }
        LoadShape::Replay => {
            let times = asked.times.clone().ok_or(ExperimentError::NoTarget)?;
            if warmup_ns > 0 {
                let text = "warm up before a replay: a log has no rate to warm up with; leave out \
                            `load.warm_up`, or give `load.rate` or `load.trace`";
                return Err(ExperimentError::Conflict(text.to_owned()));
            }
            Ok(Offer::Open { parts: vec![Times::Listed(times)], limit })
        }
        LoadShape::Open { source, arrivals } => {
            let Rates { schedule, .. } = rates(source, plan.seed, notes)?;
            let is_exact = matches!(arrivals, Arrivals::Even | Arrivals::Random);
            if schedule.total() == 0 && is_exact {
                let expected = schedule.cumulative(schedule.duration_ns());
                return Err(ExperimentError::Nothing { expected });
            }
            let mut parts = Vec::new();
            if warmup_ns > 0 {
                let warm = Schedule::constant(warm_rate(&schedule), warmup_ns)?;
                parts.push(Times::Schedule(Arc::new(warm), *arrivals));
            }
            parts.push(Times::Schedule(schedule, *arrivals));
            Ok(Offer::Open { parts, limit })
        }
    }
}

/// The rate to warm up with: that of the schedule's start, or its mean where it starts at nothing.
fn warm_rate(schedule: &Schedule) -> f64 {
    let start = schedule.rate_at(0);
    if start > 0.0 {
        return start;
    }
    schedule.cumulative(schedule.duration_ns()) / (schedule.duration_ns() as f64 / 1e9)
}

/// What a rate's source comes to.
pub(crate) struct Rates {
    /// The rate over time.
    pub(crate) schedule: Arc<Schedule>,
    /// When what was recorded begins, where it says so.
    pub(crate) starts: Option<Moment>,
}

/// The rates of a source, with the draws of a seed; the notes say what was done to them.
pub(crate) fn rates(
    source: &RateSource,
    seed: u64,
    notes: &mut Vec<String>,
) -> Result<Rates, ExperimentError> {
    let mut starts = None;
    let schedule = match source {
        RateSource::Constant { rate_per_s, length } => {
            Schedule::constant(*rate_per_s, nanoseconds(length.longest()))?
        }
        RateSource::Schedule(schedule) => schedule.clone(),
        RateSource::Trace(trace) if recorded::is_run(trace) => {
            let (schedule, found) = recorded::trace(trace, notes)?.schedule(&trace.options)?;
            starts = found.starts;
            schedule
        }
        RateSource::Trace(trace) => {
            let read = match (&trace.files[..], &trace.format) {
                ([file], None) => Trace::read_as(file, trace.counts_per, trace.columns.as_deref())?,
                (logs, format) => Trace::from_logs(logs, format.as_ref())?,
            };
            let (schedule, found) = read.schedule(&trace.options)?;
            let name = trace.shown();
            notes.extend(read.remarks().iter().map(|remark| format!("{name}: {remark}")));
            note(&name, &found, notes);
            starts = found.starts;
            schedule
        }
        RateSource::Profile(profile) => {
            let trace = profile.name.profile().trace(seed);
            let (schedule, found) = trace.schedule(&profile.options)?;
            note("the profile", &found, notes);
            starts = found.starts;
            schedule
        }
    };
    Ok(Rates { schedule: Arc::new(schedule), starts })
}

fn note(name: &str, found: &Notes, notes: &mut Vec<String>) {
    if found.filled > 0 {
        notes.push(format!(
            "{name}: {} of {} intervals were drops, and were filled with the interval before",
            found.filled, found.rows
        ));
    }
    if found.missing > 0 {
        notes.push(format!(
            "{name}: {} intervals have no row, and count as nothing requested",
            found.missing
        ));
    }
}
