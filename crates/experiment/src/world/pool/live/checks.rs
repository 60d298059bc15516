//! What of a plan no live pool can do, refused before anything is started.

use std::time::Duration;

use plimsoll_elastic::observation::Metric;
use plimsoll_elastic::policy;
use plimsoll_units::show_duration;

use super::{OfCell, follow};
use crate::error::ExperimentError;

/// No tick is shorter.
const SHORTEST_TICK: Duration = Duration::from_millis(200);

/// Refuses a policy that goes by what nobody watches, or by memory that has no limit.
///
/// # Errors
/// With its name, and the figure's.
pub fn check_watched(of: OfCell<'_>) -> Result<(), ExperimentError> {
    follow::check(of.plan)?;
    let goes_by_memory = policy::metric(&of.named.parameters) == Some(Metric::Memory.name());
    let pool = of.plan.elastic.as_ref().and_then(|of| of.pool.role.as_ref());
    let role = of.plan.roles.iter().find(|(name, _)| Some(name) == pool);
    if let Some((name, _)) = role.filter(|(_, of)| goes_by_memory && of.memory.is_none()) {
        return Err(ExperimentError::Conflict(format!(
            "go by `memory` in policy.{}: it is the share of what an instance may have; say how \
             much that is, by `memory` in [role.{name}], which provider = \"namespace\" in \
             [testbed] keeps",
            of.named.label
        )));
    }
    let Some(figure) = policy::watched(&of.named.parameters) else { return Ok(()) };
    let is_watched = !of.plan.collect.from.is_empty();
    let text = format!(
        "go by `{figure}` in policy.{}: nothing is watched; say what is, by `from` in [collect]",
        of.named.label
    );
    if is_watched { Ok(()) } else { Err(ExperimentError::Conflict(text)) }
}

/// Refuses ticks that are too short to be seen in.
///
/// # Errors
/// With the highest speed that works.
pub fn check_period(of: OfCell<'_>) -> Result<(), ExperimentError> {
    let speed = of.plan.speed.unwrap_or(1.0);
    // By the clock.
    let every = of.model.pace_of(of.named);
    if every >= SHORTEST_TICK {
        return Ok(());
    }
    Err(ExperimentError::Conflict(format!(
        "see a pool at speed {speed}: `pool.decide_every` is less than {} of the clock, in which \
         metrics cannot be collected; say `speed = {}` at most",
        show_duration(u64::try_from(SHORTEST_TICK.as_nanos()).unwrap_or(u64::MAX)),
        (every.as_secs_f64() * speed / SHORTEST_TICK.as_secs_f64()).floor().max(1.0)
    )))
}
