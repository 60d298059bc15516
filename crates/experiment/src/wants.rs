//! What a plan asks of the host that executes it, for who looks whether it is fit.

use plimsoll_load::run::Offer;
use plimsoll_monitor::doctor::Wants;

use crate::bench::{Text, plans_of};
use crate::error::ExperimentError;
use crate::factors::combinations;
use crate::prepare::{Place, Prepared, peak, prepare};

/// The most that any cell of a plan asks for.
///
/// # Errors
/// What is wrong with the plan.
pub fn wants(text: &Text, place: &Place<'_>) -> Result<Wants, ExperimentError> {
    let plan = text.plan(&[], None, place.environment)?;
    let text = Text { factors: plan.factors.clone(), ..text.clone() };
    let plans = plans_of(&text, &combinations(&plan.varied())?, place.environment)?;
    let mut most = Wants { connections: 0, opened_per_s: 0.0 };
    for plan in &plans {
        let prepared = prepare(plan, place, false)?;
        let one = of_cell(&prepared);
        most.connections = most.connections.max(one.connections);
        most.opened_per_s = most.opened_per_s.max(one.opened_per_s);
    }
    Ok(most)
}

/// What a load asks for: its connections, which are opened at once at its beginning, and as many a
/// second as requests where each has one of its own.
fn of_cell(prepared: &Prepared) -> Wants {
    let config = &prepared.config;
    let connections = u64::from(config.connections.1);
    let at_once = connections as f64;
    let opened_per_s = match (&prepared.offer, config.connection_per_request) {
        (Offer::Open { parts, .. }, true) => parts.iter().filter_map(peak).fold(at_once, f64::max),
        _ => at_once,
    };
    Wants { connections, opened_per_s }
}
