//! Compressed time: `speed = 60` lets a pool live an hour in a minute. The load's course, booting,
//! periods and what is billed are shorter alike; rates, service times, patience and SLOs stay, in
//! both worlds.

use std::time::Duration;

use plimsoll_plan::{Length, LoadShape, Plan, RateSource};
use plimsoll_workload::schedule::{Piece, Schedule};

use crate::error::ExperimentError;

/// The plan with the times of the clock: those of its load, of its instances and of its ticks. What
/// policies count in, and what is billed, stays in the time that they stand for.
///
/// # Errors
/// A load whose course cannot be compressed, or that has a speed of its own.
pub fn compressed(plan: &Plan) -> Result<Plan, ExperimentError> {
    let Some(speed) = plan.speed else { return Ok(plan.clone()) };
    let conflict = |text: &str| Err(ExperimentError::Conflict(text.to_owned()));
    let mut plan = plan.clone();
    let Some(elastic) = &mut plan.elastic else {
        return conflict("compress time by `speed`: only a pool has time that can be compressed");
    };
    let LoadShape::Open { source, .. } = &mut plan.load.shape else {
        return conflict(
            "compress users that wait for their answers: give `schedule`, `rate`, `trace` or \
             `profile` in [load]",
        );
    };
    let is_twice = match source {
        RateSource::Trace(of) => (of.options.speed - 1.0).abs() > f64::EPSILON,
        RateSource::Profile(of) => (of.options.speed - 1.0).abs() > f64::EPSILON,
        RateSource::Constant { .. } | RateSource::Schedule(_) => false,
    };
    if is_twice {
        return conflict(
            "compress time by `speed` and by that of the trace or profile: leave the latter out, \
             as `speed` is of both",
        );
    }
    match source {
        RateSource::Constant { length, .. } => {
            *length = match *length {
                Length::Lasting(span) => Length::Lasting(shorter(span, speed)),
                Length::Ever(most) => Length::Ever(shorter(most, speed)),
            };
        }
        RateSource::Schedule(schedule) => {
            let piece = |of: Piece| Piece { duration_ns: divided(of.duration_ns, speed), ..of };
            let compressed = Schedule::from_pieces(schedule.pieces().map(piece));
            *schedule = compressed.map_err(|error| {
                ExperimentError::Conflict(format!("compress `{schedule}`: {error}"))
            })?;
        }
        RateSource::Trace(of) => of.options.speed = speed,
        RateSource::Profile(of) => of.options.speed = speed,
    }
    let (pool, instance) = (&mut elastic.pool, &mut elastic.instance);
    pool.decide_every = pool.decide_every.map(|every| shorter(every, speed));
    instance.boot = instance.boot.scaled(1.0 / speed);
    instance.configure = instance.configure.scaled(1.0 / speed);
    if let Some((_, over)) = &mut instance.slow_start {
        *over = shorter(*over, speed);
    }
    if let Some((to_failure, to_repair)) = &mut instance.failures.0 {
        (*to_failure, *to_repair) = (shorter(*to_failure, speed), shorter(*to_repair, speed));
    }
    Ok(plan)
}

fn shorter(of: Duration, speed: f64) -> Duration {
    Duration::from_nanos(divided(u64::try_from(of.as_nanos()).unwrap_or(u64::MAX), speed))
}

fn divided(ns: u64, speed: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "above zero")]
    let shorter = (ns as f64 / speed).round() as u64;
    shorter.max(1)
}
