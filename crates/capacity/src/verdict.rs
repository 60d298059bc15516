//! How a search that came to its end has ended: what may be called *found*.
//!
//! Nothing that was seen may be contradicted. An estimate is found only where a hold just below it
//! held, where no hold at or below it broke and none above its interval held, and where its curve
//! and the windows agree. Where a
//! part of that is missing, what is known is a bracket: the highest rate that held and the lowest
//! above it that broke.

use crate::conduct::Ended;
use crate::hold::CONFIRMS;
use crate::search::{Check, SearchEstimate};

/// Rounding of a rate that was held exactly at its least share.
const NEARLY: f64 = 1.0 - 1e-9;

/// How a search ends that has nothing more to ask.
#[must_use]
pub fn ending(found: &SearchEstimate) -> Ended {
    match found.estimate_per_s {
        Some(estimate) if is_confirmed(found, estimate) => Ended::Found,
        Some(_) => Ended::Bracketed,
        None if found.held_per_s.is_some() => Ended::Bracketed,
        None => Ended::SloUnreachable,
    }
}

fn is_confirmed(found: &SearchEstimate, estimate: f64) -> bool {
    let held = |least: f64| {
        let of = found.holds.iter().filter(|hold| hold.check == Check::Held);
        of.map(|hold| hold.rate_per_s).any(|rate| rate >= least * NEARLY)
    };
    held(CONFIRMS * estimate) && !found.disagrees && !is_contradicted(found, estimate)
}

/// Whether a hold says otherwise than an estimate: one at it or below broke, or one above its
/// interval held.
fn is_contradicted(found: &SearchEstimate, estimate: f64) -> bool {
    let high = found.ci95.map_or(f64::INFINITY, |(_, high)| high);
    let mut held = found.holds.iter().filter(|hold| hold.check == Check::Held);
    is_broken(found, estimate) || held.any(|hold| hold.rate_per_s > high)
}

/// Whether a hold broke at an estimate or below it.
fn is_broken(found: &SearchEstimate, estimate: f64) -> bool {
    let mut broken = found.holds.iter().filter(|hold| hold.check == Check::Broken);
    broken.any(|hold| hold.rate_per_s <= estimate)
}

/// Takes out of what was found what its ending does not allow, and says why.
pub fn settle(found: &mut SearchEstimate, ended: Ended) {
    let contradicted = || found.estimate_per_s.is_some_and(|of| is_contradicted(found, of));
    let takes_back = match ended {
        Ended::Bracketed | Ended::GeneratorLimited => true,
        Ended::Found | Ended::SloUnreachable => false,
        Ended::UnstableNetwork | Ended::TargetLost | Ended::Budget => contradicted(),
    };
    if ended == Ended::Bracketed {
        found.notes.insert(0, why(found));
    }
    if takes_back {
        (found.estimate_per_s, found.ci95, found.is_bound) = (None, None, false);
        (found.knee_per_s, found.saturation_per_s, found.model) = (None, None, None);
    }
    found.broken_per_s = found.broken_per_s.filter(|broken| Some(*broken) > found.held_per_s);
}

/// Why there is a bracket and no estimate.
fn why(found: &SearchEstimate) -> String {
    let of = |check| found.holds.iter().filter(move |hold| hold.check == check).count();
    let broke = of(Check::Broken);
    let reason = if broke > 0 {
        let times = if broke == 1 { "once".to_owned() } else { format!("{broke} times") };
        format!("the SLO broke {times} where the estimate was held")
    } else if found.disagrees {
        "what the windows show is another load line than the one that was fitted to them".to_owned()
    } else {
        "no estimate was held long enough to be believed".to_owned()
    };
    let bracket = match (found.held_per_s, found.broken_per_s) {
        (Some(held), Some(broken)) => {
            format!("it lies between {held:.4}/s, which held, and {broken:.4}/s, which broke")
        }
        (Some(held), None) => format!("{held:.4}/s held, and no rate above it broke"),
        (None, Some(broken)) => {
            format!("{broken:.4}/s broke, and no rate below it held for long enough")
        }
        (None, None) => "no rate clearly held or broke".to_owned(),
    };
    format!("there is no estimate, as {reason}; {bracket}")
}
