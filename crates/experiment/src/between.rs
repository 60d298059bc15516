//! What comes before each cell: deeds, and then rules that the host has to hold, so that no cell
//! begins in what the one before has left. It is told in the events of the cell, and is no part of
//! its load. A cell of a simulated world has none of it.

use std::path::Path;
use std::time::Duration;

use plimsoll_load::clock::Clock;
use plimsoll_monitor::Source;
use plimsoll_plan::{Between as Before, Collect, Experiment, Plan};
use plimsoll_runs::Event;
use plimsoll_runs::event::Class;
use plimsoll_stats::slo::{Rule, RuleState};
use plimsoll_testbed::outline::Planned;
use plimsoll_units::show_duration;

use crate::control::{Control, News};
use crate::error::ExperimentError;
use crate::prepare::{Place, Prepared};
use crate::servers;
use crate::steps::cold;
use crate::world::watch::Watching;

/// How often the host is looked at while it is waited for.
const PERIOD: Duration = Duration::from_millis(200);
/// How often it is looked whether there is something new.
const STEP: Duration = Duration::from_millis(20);

/// What a plan has before each cell.
#[must_use]
pub fn of(plan: &Plan) -> &[Before] {
    plan.experiment.as_ref().map_or(&[], |of| of.between.as_slice())
}

/// Whether the service is started anew before each cell.
pub(crate) fn restarts(plan: &Plan) -> bool {
    of(plan).contains(&Before::ServiceRestarted)
}

/// Refuses what this process may not do.
///
/// # Errors
/// A page cache that it may not drop.
pub fn check(plan: &Plan, system: &Path) -> Result<(), ExperimentError> {
    if of(plan).contains(&Before::PageCacheDropped) && !cold::may_empty(system) {
        let text = "drop the page cache before each cell as a user without rights; run it as root, \
                    or leave `page_cache dropped` out of `between` in [experiment]";
        return Err(ExperimentError::Conflict(text.to_owned()));
    }
    Ok(())
}

/// What is done before each cell, for who is told before.
#[derive(Debug, Default)]
pub struct Between {
    /// What the plan has for it, a sentence each.
    pub each: Vec<String>,
    /// What is done to its servers where they stand already.
    pub standing: Vec<Planned>,
}

/// What is done before each cell. Nothing is done yet.
///
/// # Errors
/// As for [`servers::bed`].
pub fn described(plan: &Plan, place: &Place<'_>) -> Result<Between, ExperimentError> {
    let text = |of: &Before| match of {
        Before::Holds(rule) => format!("wait until {rule}, up to {}", shown(within(plan))),
        Before::PageCacheDropped => cold::described(place.system),
        Before::ServiceRestarted => match (&plan.testbed, &plan.target.restart) {
            (None, Some(command)) => format!("restart the service by: {command}"),
            _ => "make servers anew that stand already".to_owned(),
        },
    };
    let each = of(plan).iter().map(text).collect();
    let bed = servers::bed(plan, "example".to_owned(), place)?;
    let standing = bed.map(|bed| bed.later(&bed.outline()?.instances)).transpose()?;
    Ok(Between { each, standing: standing.unwrap_or_default() })
}

fn within(plan: &Plan) -> Duration {
    plan.experiment.as_ref().map_or(Duration::ZERO, |of: &Experiment| of.between_within)
}

/// Something that came before the load, as the run keeps it.
pub(crate) fn event(text: String) -> Event {
    Event { at_ns: 0, class: Class::Action, kind: "between".to_owned(), text }
}

/// Does what a plan has before a load, but for a restart. Returns the events; `None` where the user
/// has ended it.
///
/// # Errors
/// A page cache that could not be dropped; a rule that did not come to hold in time.
pub(crate) fn pause(
    plan: &Plan,
    prepared: &Prepared,
    place: &Place<'_>,
    control: &dyn Control,
) -> Result<Option<Vec<Event>>, ExperimentError> {
    let mut events = Vec::new();
    if of(plan).contains(&Before::PageCacheDropped) {
        control.tell(News::Says("dropping the page cache"));
        let clock = Clock::start();
        cold::empty(place.system)?;
        let took = show_duration(clock.now());
        events.push(event(format!("the page cache was dropped, in {took}")));
    }
    let rules = of(plan).iter().filter_map(|of| match of {
        Before::Holds(rule) => Some(rule),
        _ => None,
    });
    let rules: Vec<&Rule> = rules.collect();
    if rules.is_empty() {
        return Ok(Some(events));
    }
    let waited = wait(plan, &rules, place.system, control)?;
    match waited {
        Waited::Held(text) => events.push(event(text)),
        Waited::Interrupted => return Ok(None),
        Waited::Not(why) => {
            return Err(ExperimentError::Silent { subject: prepared.subject.clone(), why });
        }
    }
    Ok(Some(events))
}

/// How waiting for rules ended.
enum Waited {
    /// All of them held.
    Held(String),
    /// Not all of them did in time.
    Not(String),
    /// The user ended it.
    Interrupted,
}

/// Waits until all rules hold of the host at once.
fn wait(
    plan: &Plan,
    rules: &[&Rule],
    system: &Path,
    control: &dyn Control,
) -> Result<Waited, ExperimentError> {
    let shown_rules = rules.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    control.tell(News::Says(&format!("waiting until {shown_rules}")));
    let (clock, limit) = (Clock::start(), within(plan));
    let source = Source { root: system.to_owned(), limit: PERIOD, ..Source::default() };
    let every = PERIOD.min(plan.collect.every);
    let watched = Plan { collect: Collect { every, ..plan.collect.clone() }, ..plan.clone() };
    let started = Watching::start(&[("host".to_owned(), source)], &watched, plan.seed)?;
    let Some((_watching, seen)) = started else { return Ok(Waited::Held(String::new())) };
    seen.zero.set(clock);
    let mut states: Vec<RuleState> = rules.iter().map(|rule| RuleState::new(rule, every)).collect();
    loop {
        for round in seen.rounds.try_iter() {
            states.iter_mut().for_each(|state| state.round(&round));
        }
        let now_ns = clock.now();
        let values = || states.iter().map(RuleState::values).collect::<Vec<_>>().join(", ");
        if states.iter().all(|state| state.holds(now_ns)) {
            let waited = show_duration(now_ns);
            return Ok(Waited::Held(format!("waited {waited} until {shown_rules}: {}", values())));
        }
        if !control.goes_on() {
            return Ok(Waited::Interrupted);
        }
        if now_ns >= u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX) {
            let of = states.iter().zip(rules).find(|(state, _)| !state.holds(now_ns));
            let why = of.map_or_else(String::new, |(state, rule)| {
                let limit = shown(limit);
                format!("{rule} did not hold within {limit} before it: {}", state.shortfall())
            });
            return Ok(Waited::Not(why));
        }
        pause_for(STEP);
    }
}

fn shown(of: Duration) -> String {
    show_duration(u64::try_from(of.as_nanos()).unwrap_or(u64::MAX))
}

#[expect(clippy::disallowed_methods, reason = "waits for the host between two cells")]
fn pause_for(span: Duration) {
    std::thread::sleep(span);
}
