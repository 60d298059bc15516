//! `for = "ever"` of `[load]`: a load that goes on until it is asked to stop is live, and is alone or
//! beside others, never before others.

use crate::section::Section;
use crate::sections::experiment::{Experiment, FactorPlan};
use crate::sections::load::Load;

/// Notes where a load cannot go on for ever: in a pool that is only simulated, in cells that are
/// repeated, or one after another. `varied` is how often the plan is repeated, and what it varies.
pub(crate) fn check(
    (section, load): (&Section<'_>, Option<&Load>),
    (repeat, experiment, factors): (u32, Option<&Experiment>, &[FactorPlan]),
    is_of_model: bool,
) {
    if load.is_none_or(|load| !load.shape.is_for_ever()) {
        return;
    }
    if is_of_model {
        refuse_simulated(section);
        return;
    }
    let replications = experiment.map_or(1, |of| of.replications).max(repeat);
    if replications > 1 || experiment.is_some_and(|of| of.until.is_some()) {
        refuse(section, "cells that are repeated", "repeat a load of a length");
        return;
    }
    let cells = factors.iter().map(|of| of.levels.len()).fold(1, usize::saturating_mul);
    let at_once = experiment.map_or(1, |of| of.at_once as usize);
    if cells > at_once {
        let hint = format!("say `at_once = {cells}` in [experiment], or give a length");
        refuse(section, "cells one after the other", &hint);
    }
}

/// Notes that what is simulated has a length.
pub(crate) fn refuse_simulated(section: &Section<'_>) {
    refuse(section, "what is simulated", "give a length: for = \"30m\"");
}

fn refuse(section: &Section<'_>, what: &str, hint: &str) {
    section.fault("for", format!("`ever` does not go with {what}"), Some(hint));
}
