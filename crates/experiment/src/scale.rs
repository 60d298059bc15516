//! The same cells, but shorter or longer: `--scale 20%` makes every load, its warm-up and its
//! phases a fifth as long. Rates, replications and designs stay. Durations are keys of the plan, so
//! scaled cells are other cells.

use std::time::Duration;

use plimsoll_plan::{Length, LoadShape, Plan, RateSource, Setting, WarmUp};
use plimsoll_units::{show_duration_exact, show_share_exact};
use plimsoll_workload::schedule::{Piece, Schedule};

use crate::error::ExperimentError;

/// What errors call it.
const ORIGIN: &str = "--scale";

/// The settings that make the load of a plan longer by a factor.
///
/// # Errors
/// A load whose length is not the plan's to say, and one that would offer nothing.
pub fn scaled(plan: &Plan, share: f64) -> Result<Vec<Setting>, ExperimentError> {
    let set = |key: &str, value: String| Setting::new(key, value, ORIGIN);
    let length = |of: Duration| show_duration_exact(times(nanoseconds(of), share));
    let refuse = |what: &str| {
        Err(ExperimentError::Conflict(format!("scale {what}: its length is not the plan's to say")))
    };
    if plan.search.is_some() {
        return refuse("a search");
    }
    let mut settings = match &plan.load.shape {
        LoadShape::Closed { length: of, .. }
        | LoadShape::Open { source: RateSource::Constant { length: of, .. }, .. } => match of {
            Length::Lasting(span) => vec![set("load.for", length(*span))],
            Length::Ever(_) => return refuse("a load for ever"),
        },
        LoadShape::Open { source: RateSource::Schedule(schedule), .. } => {
            let piece = |of: Piece| Piece { duration_ns: times(of.duration_ns, share), ..of };
            let scaled = Schedule::from_pieces(schedule.pieces().map(piece));
            let scaled = scaled.map_err(|error| {
                ExperimentError::Conflict(format!("scale `{schedule}`: {error}"))
            })?;
            vec![set("load.schedule", scaled.to_string())]
        }
        LoadShape::Open { source: RateSource::Trace(_), .. } => return refuse("a recorded trace"),
        LoadShape::Open { source: RateSource::Profile(_), .. } => return refuse("a profile"),
        LoadShape::Replay => return refuse("a replay"),
    };
    // One that goes on until it is steady is as long as it has to be.
    if let WarmUp::Lasting(span) = plan.load.warm_up
        && !span.is_zero()
    {
        settings.push(set("load.warm_up", length(span)));
    }
    Ok(settings)
}

/// What a reader of scaled results has to know.
#[must_use]
pub fn note(share: f64) -> String {
    let share = show_share_exact(share);
    format!("loads and their warm-ups are {share} as long as the plan says (--scale {share})")
}

fn times(ns: u64, share: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "above zero")]
    let scaled = (ns as f64 * share).round() as u64;
    scaled.max(1)
}

fn nanoseconds(of: Duration) -> u64 {
    u64::try_from(of.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_plan::Written;

    fn plan(load: &str, settings: &[Setting]) -> Plan {
        let text = format!("[target]\nurl = 'http://h/'\n[load]\n{load}\n");
        crate::plans::read(&Written::text(&text, "plan.toml", settings)).unwrap()
    }

    #[test]
    fn loads_warm_ups_and_phases_are_scaled_and_rates_are_not() {
        for (load, by, same_as) in [
            (
                "users = 4\nfor = '10s'\nwarm_up = '2s'",
                0.2,
                "users = 4\nfor = '2s'\nwarm_up = '400ms'",
            ),
            ("rate = '5/s'\nfor = '1m'", 2.0, "rate = '5/s'\nfor = '2m'"),
            (
                "schedule = '100/s for 1m, 100/s..600/s in 10m'\narrivals = 'poisson'",
                0.1,
                "schedule = '100/s for 6s, 100/s..600/s in 1m'\narrivals = 'poisson'",
            ),
        ] {
            let settings = scaled(&plan(load, &[]), by).unwrap();
            assert_eq!(plan(load, &settings), plan(same_as, &[]), "{load}");
            // And back again.
            let back = scaled(&plan(load, &settings), 1.0 / by).unwrap();
            assert_eq!(plan(load, &[settings, back].concat()), plan(load, &[]), "{load}");
        }
    }

    #[test]
    fn what_has_no_length_of_its_own_is_refused() {
        let trace = plan("trace = 'day.csv'", &[]);
        let told = scaled(&trace, 0.5).unwrap_err().to_string();
        assert!(told.contains("a recorded trace"), "{told}");
    }
}
