//! How far the error that a fit claims is from the error that it makes: the parametric bootstrap
//! (B. Efron, R. Tibshirani, *An Introduction to the Bootstrap*, 1993, 6.5).
//!
//! The server that was fitted is simulated under the same windows, many times, and fitted anew each
//! time. So what the variances of a fit only approximate, how requests of one queue cluster, is
//! there as it would be.

use super::evidence::Evidence;
use super::fit::Fit;
use crate::conduct::World;
use crate::simulated::Simulated;
use crate::window::{Offer, Window};

/// Replicates; fewer where windows hold so many requests that these would take long.
const REPLICATES: u64 = 32;
const FEWEST: u64 = 12;
const MOST_REQUESTS: u64 = 4_000_000;

/// By which factor the error of a fit to these windows is greater than it claims; `None` where the
/// fit is of no server that can be simulated.
pub(super) fn inflation(windows: &[Window], fit: &Fit, slo: (f64, u64), most: f64) -> Option<f64> {
    let model = fit.model()?;
    let requests: u64 = windows.iter().map(|window| window.due).sum();
    let replicates = (MOST_REQUESTS / requests.max(1)).clamp(FEWEST, REPLICATES);
    let bound_s = slo.1 as f64 / 1e9;
    let (mut lines, mut claimed) = (Vec::new(), 0.0);
    for seed in 0..replicates {
        let mut world = Simulated::new(model.clone(), slo.1, seed);
        let again = |window: &Window| {
            let settle_s = (window.seconds - bound_s - window.counted_s).max(0.0);
            let Ok(again) = world.window(&Offer {
                rate_per_s: window.rate_per_s,
                seconds: window.seconds,
                settle_s,
                phase: window.phase,
                may_cut: false,
                fresh: false,
            });
            again
        };
        let again: Vec<Window> = windows.iter().map(again).collect();
        let Some(other) = Evidence::of(&again).fit((slo.0, bound_s), most, Some(fit)) else {
            continue;
        };
        lines.push(other.line_per_s.ln());
        claimed += other.error;
    }
    if (lines.len() as u64) < FEWEST {
        return None;
    }
    let n = lines.len() as f64;
    let mean = lines.iter().sum::<f64>() / n;
    let variance = lines.iter().map(|line| (line - mean).powi(2)).sum::<f64>() / (n - 1.0);
    Some(variance.sqrt() / (claimed / n))
}
