//! Steers a load while it goes on: rules that stop it, let its measured phase begin, end its cell
//! early, or are told; and what the user wishes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use plimsoll_load::clock::Clock;
use plimsoll_load::run::Watch;
use plimsoll_net::url::Url;
use plimsoll_plan::{Plan, WarmUp, Watch as WatchPlan};
use plimsoll_runs::event::Class;
use plimsoll_runs::{Event, Interval, Tag};
use plimsoll_stats::availability::{Second, State};
use plimsoll_stats::figure::Round;
use plimsoll_stats::slo::{Rule, RuleState, SecondInputs};
use plimsoll_stats::steady::mser5;
use plimsoll_units::show_duration;

use crate::control::{Control, News, Wish};
use crate::prepare::Prepared;
use crate::world::watch::Zero;
use crate::world::webhook::{Change, Webhooks, url_of};

const SECOND_NS: u64 = 1_000_000_000;

/// The rules of a plan for one load.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    stop: Option<Rule>,
    ends: Option<Rule>,
    start: Option<Rule>,
    watches: Vec<(String, WatchPlan)>,
    /// The plan's name; may be empty.
    name: String,
    /// The URL that each of them is told to, where it has one.
    hooks: Vec<Option<Url>>,
    warm_up: WarmUp,
    waits: bool,
    /// The longest warm-up, and the length of the measured phase.
    warmup_ns: u64,
    measured_ns: u64,
    /// How often what is watched is sampled.
    period: Duration,
    patience_ns: u64,
    /// Whether it goes on until it is asked to end.
    is_for_ever: bool,
}

impl Rules {
    pub(crate) fn of(plan: &Plan, prepared: &Prepared) -> Self {
        let load = &plan.load;
        Self {
            name: plan.name.clone().unwrap_or_default(),
            hooks: hooks(plan),
            stop: load.stop_when.clone(),
            ends: load.ends_when.clone(),
            start: load.start_when.clone(),
            watches: plan.watches.clone(),
            warm_up: load.warm_up,
            waits: load.waits(),
            warmup_ns: prepared.warmup_ns,
            measured_ns: prepared.duration_ns,
            period: plan.collect.every,
            patience_ns: u64::try_from(load.patience.as_nanos()).unwrap_or(u64::MAX),
            is_for_ever: load.shape.is_for_ever(),
        }
    }

    /// What is told of a search. Its course is its own: nothing begins or ends it but itself.
    pub(crate) fn told(plan: &Plan) -> Self {
        let watches = plan.watches.iter().map(|(name, watch)| {
            let watch = WatchPlan { stop: false, ..watch.clone() };
            (name.clone(), watch)
        });
        Self {
            name: plan.name.clone().unwrap_or_default(),
            hooks: hooks(plan),
            stop: None,
            ends: None,
            start: None,
            watches: watches.collect(),
            warm_up: WarmUp::Lasting(Duration::ZERO),
            waits: false,
            warmup_ns: 0,
            measured_ns: 0,
            period: plan.collect.every,
            patience_ns: u64::try_from(plan.load.patience.as_nanos()).unwrap_or(u64::MAX),
            is_for_ever: false,
        }
    }
}

/// The URL that each rule is told to, where it has one.
fn hooks(plan: &Plan) -> Vec<Option<Url>> {
    // A URL that cannot be read was refused before.
    let hook = |(name, of): &(String, WatchPlan)| url_of(name, of.webhook.as_deref()?).ok();
    plan.watches.iter().map(hook).collect()
}

/// What is watched beside a load, as far as its steering takes part in it.
pub(crate) struct WatchedRounds {
    /// The figures of each period.
    pub(crate) rounds: Receiver<Round>,
    /// Where the run's time begins.
    pub(crate) zero: Zero,
}

/// How a load was ended before its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// By a rule of the user's.
    Rule(String),
    /// As it was lost already.
    Early(String),
    /// As its measured phase could not begin.
    NotBegun(String),
}

/// A warm-up that goes on until something holds.
struct Start {
    rule: Option<RuleState>,
    /// The mean response time of each second, where they have to be steady.
    seconds: Option<Vec<f64>>,
    least_ns: u64,
    longest_ns: u64,
    /// Why the measured phase may begin, once it may.
    begins: Option<String>,
}

/// A rule that is told.
struct RuleCourse {
    name: String,
    rule: Rule,
    state: RuleState,
    stops: bool,
    holds: bool,
    hook: Option<Url>,
}

/// The availability that a run can still come to.
struct Reachable {
    patience_ns: u64,
    measured_ns: u64,
    /// Where the measured phase begins; `None` while that is not known.
    from_ns: Option<u64>,
    down_s: u64,
}

/// The rules of a load, and the user's wishes.
pub(crate) struct Steering<'a> {
    control: &'a dyn Control,
    seen: Option<WatchedRounds>,
    /// Takes events for the run.
    events: Option<Sender<Event>>,
    stop: Option<(Rule, RuleState)>,
    ends: Option<(Rule, RuleState)>,
    start: Option<Start>,
    watches: Vec<RuleCourse>,
    webhooks: Option<Webhooks>,
    reachable: Option<Reachable>,
    pub(crate) stopped: Option<Stopped>,
    pub(crate) wish: Wish,
    is_for_ever: bool,
    /// Set where somebody has asked that this run end.
    asked: Arc<AtomicBool>,
}

impl<'a> Steering<'a> {
    /// Steers by the user's wishes alone.
    pub(crate) fn new(control: &'a dyn Control) -> Self {
        Self {
            control,
            seen: None,
            events: None,
            stop: None,
            ends: None,
            start: None,
            watches: Vec::new(),
            webhooks: None,
            reachable: None,
            stopped: None,
            wish: Wish::Continue,
            is_for_ever: false,
            asked: Arc::default(),
        }
    }

    /// Steers by rules too.
    pub(crate) fn by(
        control: &'a dyn Control,
        rules: &Rules,
        seen: Option<WatchedRounds>,
        (events, asked): (Sender<Event>, Arc<AtomicBool>),
    ) -> Self {
        let state = |rule: &Rule| RuleState::new(rule, rules.period);
        let with_state = |rule: &Rule| (rule.clone(), state(rule));
        let told = |((name, watch), hook): (&(String, WatchPlan), &Option<Url>)| RuleCourse {
            name: name.clone(),
            rule: watch.when.clone(),
            state: state(&watch.when),
            stops: watch.stop,
            holds: false,
            hook: hook.clone(),
        };
        let least_ns = u64::try_from(rules.warm_up.least().as_nanos()).unwrap_or(u64::MAX);
        let start = rules.waits.then(|| Start {
            rule: rules.start.as_ref().map(state),
            seconds: (rules.warm_up == WarmUp::UntilSteady).then(Vec::new),
            least_ns,
            longest_ns: rules.warmup_ns,
            begins: None,
        });
        let reachable = rules.ends.as_ref().map(|_| Reachable {
            patience_ns: rules.patience_ns,
            measured_ns: rules.measured_ns,
            from_ns: (!rules.waits).then_some(rules.warmup_ns),
            down_s: 0,
        });
        let tells = rules.hooks.iter().any(Option::is_some);
        let webhooks = tells.then(|| Webhooks::start(&rules.name, events.clone()));
        Self {
            seen,
            events: Some(events),
            webhooks,
            stop: rules.stop.as_ref().map(with_state),
            ends: rules.ends.as_ref().map(with_state),
            start,
            watches: rules.watches.iter().zip(&rules.hooks).map(told).collect(),
            reachable,
            is_for_ever: rules.is_for_ever,
            asked,
            ..Self::new(control)
        }
    }

    /// Whether somebody has asked this run to end, or the experiment, whose cell it is.
    fn is_asked_to_end(&self) -> bool {
        self.asked.load(Ordering::Relaxed) || (self.is_for_ever && self.control.is_asked_to_end())
    }

    /// Waits for what webhooks are still to be told, for a bounded time.
    pub(crate) fn end(&mut self) {
        self.webhooks = None;
    }

    /// All rules that there are.
    fn states(&mut self) -> impl Iterator<Item = &mut RuleState> {
        let start = self.start.iter_mut().filter_map(|start| start.rule.as_mut());
        let others = self.stop.iter_mut().chain(&mut self.ends).map(|(_, state)| state);
        start.chain(others).chain(self.watches.iter_mut().map(|told| &mut told.state))
    }

    fn take_rounds(&mut self) {
        let Some(seen) = &self.seen else { return };
        let rounds: Vec<Round> = seen.rounds.try_iter().collect();
        for round in rounds {
            self.control.tell(News::Watched(&round));
            self.states().for_each(|state| state.round(&round));
        }
    }

    /// Judges a whole second by the rules.
    fn judge(&mut self, second: &Interval) {
        let at_ns = second.start_ns + second.len_ns;
        if let Some(reachable) = &mut self.reachable {
            reachable.take(second);
        }
        if self.states().next().is_some() {
            let failed: u64 = second.events.errors.iter().sum();
            let seconds = second.len_ns as f64 / 1e9;
            let (response, service) =
                (second.all_phases(Tag::Response), second.all_phases(Tag::Service));
            let inputs = SecondInputs {
                succeeded: second.events.succeeded,
                failed,
                completed_rate_per_s: second.events.completed as f64 / seconds,
                response: &response,
                service: &service,
                reachable: self.reachable.as_ref().and_then(Reachable::share),
            };
            self.states().for_each(|state| state.second(at_ns, &inputs));
        }
        self.tell_changes(at_ns);
        for event in self.control.happened(at_ns) {
            // The run takes no events any more where it has ended.
            self.events.iter().for_each(|to| drop(to.send(event.clone())));
        }
        self.may_start(at_ns, second);
        let at_s = at_ns / SECOND_NS;
        let held = |of: &Option<(Rule, RuleState)>| {
            let (rule, state) = of.as_ref()?;
            state.holds(at_ns).then(|| (format!("{rule} held after {at_s} s"), state.values()))
        };
        if self.stopped.is_none() {
            let ended =
                held(&self.ends).map(|(text, values)| Stopped::Early(format!("{text}: {values}")));
            self.stopped = held(&self.stop).map(|(text, _)| Stopped::Rule(text)).or(ended);
        }
    }

    /// Tells what has begun or ceased to hold, once for each change.
    fn tell_changes(&mut self, at_ns: u64) {
        for told in &mut self.watches {
            let holds = told.state.holds(at_ns);
            if holds == std::mem::replace(&mut told.holds, holds) {
                continue;
            }
            let (name, rule, values) = (&told.name, &told.rule, told.state.values());
            let how = if holds { "holds" } else { "holds no more" };
            let text = format!("{name}: {rule} {how}: {values}");
            self.control.tell(News::Warns(&text));
            let event = Event { at_ns, class: Class::Run, kind: "watch".to_owned(), text };
            // The run takes no events any more where it has ended.
            let send =
                |event: Event| self.events.iter().for_each(|to| drop(to.send(event.clone())));
            send(event);
            if let Some((url, webhooks)) = told.hook.as_ref().zip(self.webhooks.as_ref()) {
                let when = rule.to_string();
                let change = Change { rule: name, when, holds, values: &values, at_ns };
                if let Some(text) = webhooks.tell(url, &change) {
                    let kind = "webhook".to_owned();
                    send(Event { at_ns, class: Class::Failure, kind, text });
                }
            }
            if holds && told.stops {
                let at_s = at_ns / SECOND_NS;
                let text = format!("{name}: {rule} held after {at_s} s");
                self.stopped.get_or_insert(Stopped::Rule(text));
            }
        }
    }

    /// Decides whether the measured phase may begin, or never will.
    fn may_start(&mut self, at_ns: u64, second: &Interval) {
        let Some(start) = &mut self.start else { return };
        start.take(second);
        if start.begins.is_none() && at_ns >= start.least_ns {
            start.begins = start.reason(at_ns);
        }
        // The phases part at the end of the longest warm-up: that is not waited for.
        if start.begins.is_none() && at_ns + SECOND_NS >= start.longest_ns {
            let within = show_duration(start.longest_ns);
            let why = format!("its warm-up did not end within {within}: {}", start.shortfall());
            self.stopped.get_or_insert(Stopped::NotBegun(why));
        }
    }
}

impl Start {
    fn take(&mut self, second: &Interval) {
        let Some(seconds) = &mut self.seconds else { return };
        match second.all_phases(Tag::Response).mean() {
            Some(mean) => seconds.push(mean),
            // A second without an answer is like no other.
            None => seconds.clear(),
        }
    }

    /// Why the measured phase may begin; `None` where it may not.
    fn reason(&self, at_ns: u64) -> Option<String> {
        let rule = match &self.rule {
            Some(rule) => Some(rule.holds(at_ns).then(|| rule.values())?),
            None => None,
        };
        let steady = match &self.seconds {
            Some(seconds) => {
                let found = mser5(seconds).filter(|found| !found.is_late)?;
                Some(format!("its seconds are steady from the {}th on", found.from + 1))
            }
            None => None,
        };
        Some(rule.into_iter().chain(steady).collect::<Vec<_>>().join("; "))
    }

    fn shortfall(&self) -> String {
        let rule = self.rule.as_ref().map(RuleState::shortfall);
        let steady = self
            .seconds
            .as_ref()
            .map(|seconds| format!("{} seconds with answers were not steady yet", seconds.len()));
        rule.into_iter().chain(steady).collect::<Vec<_>>().join("; ")
    }
}

impl Reachable {
    fn take(&mut self, second: &Interval) {
        let is_measured = self.from_ns.is_some_and(|from_ns| {
            (from_ns..from_ns.saturating_add(self.measured_ns)).contains(&second.start_ns)
        });
        let seen = Second {
            succeeded: second.events.succeeded,
            failed: second.events.errors.iter().sum(),
            oldest_outstanding_ns: second.oldest_outstanding_ns,
            len_ns: second.len_ns,
        };
        let is_down = is_measured && seen.state(self.patience_ns) == State::Down;
        self.down_s += u64::from(is_down);
    }

    /// The share of the planned seconds that were not down.
    fn share(&self) -> Option<f64> {
        self.from_ns?;
        let planned_s = self.measured_ns as f64 / 1e9;
        (planned_s > 0.0).then(|| 1.0 - self.down_s as f64 / planned_s)
    }
}

impl Watch for Steering<'_> {
    fn watch(&mut self, second: &Interval, complete: bool) -> Wish {
        self.control.tell(News::Second(second, complete));
        self.take_rounds();
        if complete {
            self.judge(second);
        }
        if self.stopped.is_some() { Wish::Stop } else { Wish::Continue }
    }

    fn wish(&mut self) -> Wish {
        let wish = match self.control.wish() {
            Wish::Continue if self.is_asked_to_end() => Wish::End,
            wish => wish,
        };
        if wish != Wish::Continue {
            self.wish = wish;
        }
        wish
    }

    fn starts(&mut self, clock: Clock) {
        self.seen.iter().for_each(|seen| seen.zero.set(clock));
    }

    fn waits(&self) -> bool {
        self.start.is_some()
    }

    fn may_measure(&mut self) -> Option<String> {
        if self.stopped.is_some() {
            return None;
        }
        self.start.as_mut()?.begins.take()
    }

    fn measures_from(&mut self, at_ns: u64) {
        self.start = None;
        if let Some(reachable) = &mut self.reachable {
            reachable.from_ns = Some(at_ns);
        }
    }
}

#[cfg(test)]
mod tests;
