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
use plimsoll_stats::figure::Round;
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
    let bed = servers::bed(plan, servers::EXAMPLE.to_owned(), place)?;
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
#[derive(Debug, PartialEq, Eq)]
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
    control.tell(News::Says(&format!("waiting until {}", shown_rules(rules))));
    let (clock, limit) = (Clock::start(), within(plan));
    let source = Source { root: system.to_owned(), limit: PERIOD, ..Source::default() };
    let every = PERIOD.min(plan.collect.every);
    let watched = Plan { collect: Collect { every, ..plan.collect.clone() }, ..plan.clone() };
    let started = Watching::start(&[("host".to_owned(), source)], &watched, plan.seed)?;
    let Some((_watching, seen)) = started else { return Ok(Waited::Held(String::new())) };
    seen.zero.set(clock);
    let mut wait = Wait::new(rules, every, limit);
    loop {
        seen.rounds.try_iter().for_each(|round| wait.take(&round));
        if let Some(waited) = wait.look(clock.now(), control.goes_on()) {
            return Ok(waited);
        }
        pause_for(STEP);
    }
}

/// What was seen of the host so far, while it is waited for.
struct Wait<'a> {
    rules: &'a [&'a Rule],
    states: Vec<RuleState>,
    limit: Duration,
}

impl<'a> Wait<'a> {
    /// Nothing was seen yet. What is watched is sampled once a period.
    fn new(rules: &'a [&'a Rule], period: Duration, limit: Duration) -> Self {
        let states = rules.iter().map(|rule| RuleState::new(rule, period)).collect();
        Self { rules, states, limit }
    }

    fn take(&mut self, round: &Round) {
        self.states.iter_mut().for_each(|state| state.round(round));
    }

    /// How waiting has ended by so long after its beginning, where it has.
    fn look(&self, now_ns: u64, goes_on: bool) -> Option<Waited> {
        let each = || self.states.iter().zip(self.rules);
        let Some((state, rule)) = each().find(|(state, _)| !state.holds(now_ns)) else {
            let values = self.states.iter().map(RuleState::values).collect::<Vec<_>>().join(", ");
            let (waited, rules) = (show_duration(now_ns), shown_rules(self.rules));
            return Some(Waited::Held(format!("waited {waited} until {rules}: {values}")));
        };
        if !goes_on {
            return Some(Waited::Interrupted);
        }
        let is_over = now_ns >= u64::try_from(self.limit.as_nanos()).unwrap_or(u64::MAX);
        is_over.then(|| {
            let limit = shown(self.limit);
            let why = state.shortfall();
            Waited::Not(format!("{rule} did not hold within {limit} before it: {why}"))
        })
    }
}

fn shown_rules(rules: &[&Rule]) -> String {
    rules.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn shown(of: Duration) -> String {
    show_duration(u64::try_from(of.as_nanos()).unwrap_or(u64::MAX))
}

#[expect(clippy::disallowed_methods, reason = "waits for the host between two cells")]
fn pause_for(span: Duration) {
    std::thread::sleep(span);
}

#[cfg(test)]
#[expect(clippy::cast_possible_truncation, reason = "numbers of tests are small")]
mod tests {
    use super::*;
    use plimsoll_units::hash::mix;

    const MS: u64 = 1_000_000;
    const FIGURE: &str = "host.tcp.time_wait";

    fn round(at_ns: u64, value: f64) -> Round {
        Round { at_ns, figures: [(FIGURE.to_owned(), value)].into() }
    }

    /// It is waited until the first look at which each rule has held for as long as it asks, and no
    /// longer than the limit: whichever of them is first.
    #[test]
    fn waiting_ends_when_all_rules_hold_and_at_its_limit() {
        let (mut held, mut not) = (0, 0);
        for seed in 0..256_u64 {
            let mut state = seed;
            let mut draw = |below: u64| {
                state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                mix(state) % below
            };
            let (lasting, limit) = (2 + draw(4), Duration::from_millis(200 * (3 + draw(12))));
            let lasts = format!("{FIGURE} <= 100 for {}ms", lasting * 200);
            let rules =
                [Rule::parse(&lasts).unwrap(), Rule::parse(&format!("{FIGURE} > 9")).unwrap()];
            let rules: Vec<&Rule> = rules.iter().collect();
            let mut wait = Wait::new(&rules, PERIOD, limit);
            // How many samples on end were at most 100, and whether the last is above 9.
            let (mut row, mut is_above) = (0, false);
            let ended = (1..).find_map(|number: u64| {
                let (at_ns, value) = (number * 200 * MS, [5.0, 50.0, 50.0, 50.0, 500.0]);
                let value = value[draw(5) as usize];
                wait.take(&round(at_ns, value));
                (row, is_above) = (if value <= 100.0 { row + 1 } else { 0 }, value > 9.0);
                let now_ns = at_ns + 10 * MS;
                let ended = wait.look(now_ns, true);
                let holds = row >= lasting && is_above;
                match &ended {
                    Some(Waited::Held(_)) => assert!(holds, "{seed} at {number}"),
                    Some(Waited::Not(_)) => {
                        assert!(!holds && Duration::from_nanos(now_ns) >= limit, "{seed}");
                    }
                    _ => assert!(!holds && Duration::from_nanos(now_ns) < limit, "{seed}"),
                }
                ended
            });
            held += u32::from(matches!(ended, Some(Waited::Held(_))));
            not += u32::from(matches!(ended, Some(Waited::Not(_))));
        }
        assert!(held > 20 && not > 20, "{held} held, {not} did not");
    }

    #[test]
    fn the_user_ends_it_but_not_what_holds() {
        let rule = Rule::parse(&format!("{FIGURE} <= 100")).unwrap();
        let rules = [&rule];
        let mut wait = Wait::new(&rules, PERIOD, Duration::from_secs(30));
        assert_eq!(wait.look(0, true), None);
        assert_eq!(wait.look(0, false), Some(Waited::Interrupted));
        wait.take(&round(200 * MS, 3.0));
        let text = format!("waited 210 ms until {FIGURE}<=100: {FIGURE} 3");
        assert_eq!(wait.look(210 * MS, false), Some(Waited::Held(text)));
    }

    /// A host that stands still: what was seen before says nothing of now.
    #[test]
    fn what_held_before_a_host_stood_still_does_not_hold() {
        let rule = Rule::parse(&format!("{FIGURE} <= 100")).unwrap();
        let rules = [&rule];
        let mut wait = Wait::new(&rules, PERIOD, Duration::from_secs(300));
        wait.take(&round(200 * MS, 3.0));
        let now_ns = 60_000 * MS;
        assert_eq!(wait.look(now_ns, true), None);
        wait.take(&round(now_ns, 3.0));
        assert!(matches!(wait.look(now_ns, true), Some(Waited::Held(_))));
    }
}
