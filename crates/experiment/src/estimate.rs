//! How long a plan takes, as it is told before it is executed: its loads, and what its servers and
//! the program need beside them.
//!
//! # Where the figures come from
//!
//! Medians over cells, by the events of their runs and by the times in the experiment's journal:
//! 28 of `examples/experiments/target-28.toml` at a fifth of their length, 16 of
//! `nginx-tuning.toml` at a tenth, and 6 with Redis, memcached and the target in namespaces; on
//! two cores of an AMD EPYC with Linux 6.18 on which eight threads wanted to run. Without others
//! on the machine all is quicker: of cells of 3 s and more that is less than a tenth.

use std::time::Duration;

use plimsoll_plan::{Between, LoadShape, Plan, RateSource, RequestSource, WarmUp};
use plimsoll_testbed::Op;
use plimsoll_testbed::outline::Planned;
use plimsoll_testbed::thing::Thing;
use plimsoll_workload::request::{Order, RequestListReader};

use crate::prepare::Prepared;

/// What the program needs for a cell beside its load: to open connections, to wait for the last
/// answers, to write the run.
const CELL_S: f64 = 0.25;
/// One command, such as those of `ip`.
const COMMAND_S: f64 = 0.012;
/// The longest that reaching a host is thought to take, with this program copied there.
const HOST: Duration = Duration::from_secs(20);
/// Beginning a process that becomes a server.
const START_S: f64 = 0.003;
/// Removing a network interface, a network namespace, a cgroup.
const LINK_GONE_S: f64 = 0.04;
const NAMESPACE_GONE_S: f64 = 0.012;
const CGROUP_GONE_S: f64 = 0.002;
/// Dropping the page cache, where little waits for the disk.
const DROP_S: f64 = 0.1;

/// Servers of which it is known how long they take: the program's name, how long until it is ready,
/// and how long until it has ended.
const KNOWN: [(&str, f64, f64); 4] = [
    ("plimsoll", 0.04, 0.01),
    ("nginx", 0.09, 0.025),
    ("redis-server", 0.11, 0.1),
    ("memcached", 0.074, 0.67),
];

/// A length of time that is known as far as this, seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span {
    /// No less than this.
    pub least_s: f64,
    /// No more than this; `None` where it is not known. Equal to the least where it is known.
    pub most_s: Option<f64>,
}

impl Span {
    /// So long.
    #[must_use]
    pub fn exactly(of_s: f64) -> Self {
        Self { least_s: of_s, most_s: Some(of_s) }
    }

    fn up_to(most: Duration) -> Self {
        Self { least_s: 0.0, most_s: Some(most.as_secs_f64()) }
    }

    fn at_least(of_s: f64) -> Self {
        Self { least_s: of_s, most_s: None }
    }

    /// Whether it is known.
    #[must_use]
    pub fn is_known(self) -> bool {
        self.most_s == Some(self.least_s)
    }

    fn and(self, other: Self) -> Self {
        let most_s = self.most_s.zip(other.most_s).map(|(a, b)| a + b);
        Self { least_s: self.least_s + other.least_s, most_s }
    }

    fn times(self, least: f64, most: f64) -> Self {
        Self { least_s: self.least_s * least, most_s: self.most_s.map(|of_s| of_s * most) }
    }

    fn longer(self, other: Self) -> Self {
        let most_s = self.most_s.zip(other.most_s).map(|(a, b)| a.max(b));
        Self { least_s: self.least_s.max(other.least_s), most_s }
    }
}

/// How long a load is, seconds; `None` where its answers decide that.
pub(crate) fn length_s(plan: &Plan, prepared: &Prepared) -> Option<f64> {
    let offered_s = prepared.offer.duration_ns() as f64 / 1e9;
    let Some(requests) = plan.load.requests else { return Some(offered_s) };
    match &plan.load.shape {
        LoadShape::Open { source: RateSource::Constant { rate_per_s, .. }, .. } => {
            Some(offered_s.min(requests as f64 / rate_per_s))
        }
        shape => (!shape.is_as_long_as_its_answers()).then_some(offered_s),
    }
}

/// The cells of a plan.
pub struct Cells<'a> {
    /// How long their loads are in all, warm-ups as long as they may be, seconds.
    pub loads_s: f64,
    /// How many there are at least, and at most.
    pub number: (u64, u64),
    /// What is done for the servers of one.
    pub steps: &'a [Planned],
}

/// How long the cells of a plan take in all.
#[must_use]
pub fn takes(plan: &Plan, cells: &Cells<'_>) -> Span {
    let (least, most) = (cells.number.0 as f64, cells.number.1 as f64);
    let load = load(plan, cells.loads_s / least.max(1.0));
    let cell = Span::exactly(CELL_S).and(load).and(servers(cells.steps)).and(before(plan));
    let at_once = f64::from(plan.experiment.as_ref().map_or(1, |of| of.at_once).max(1));
    let all = cell.times(least / at_once, most / at_once);
    let every = plan.experiment.as_ref().and_then(|of| Some((of.every?, of.replications)));
    match every {
        Some((every, rounds)) => paced(all, every.as_secs_f64(), f64::from(rounds.max(1))),
        None => all,
    }
}

/// How long rounds take of which each begins so long after the one before, or when that is through.
fn paced(all: Span, every_s: f64, rounds: f64) -> Span {
    let whole = |all_s: f64| {
        let round_s = all_s / rounds;
        (rounds - 1.0) * round_s.max(every_s) + round_s
    };
    Span { least_s: whole(all.least_s), most_s: all.most_s.map(whole) }
}

/// How long a load is, that is no longer than this.
fn load(plan: &Plan, longest_s: f64) -> Span {
    let of = &plan.load;
    let warm_up_s = (of.longest_warm_up() - of.warm_up.least()).as_secs_f64();
    let ends_early = of.stop_when.is_some() || of.ends_when.is_some();
    let least_s = if ends_early { 0.0 } else { (longest_s - warm_up_s).max(0.0) };
    Span { least_s, most_s: Some(longest_s) }
}

/// How long the load of a cell is waited for, while its servers stand.
fn before(plan: &Plan) -> Span {
    let mut span = Span::exactly(0.0);
    if plan.testbed.is_some() && plan.store.is_some() {
        // The records of the store: how long that takes hangs on the store.
        span = span.and(Span::at_least(0.0));
    }
    if plan.load.warm_up == WarmUp::Fill {
        span = span.and(Span::at_least(urls(plan) as f64 / plan.load.most_filled_per_s()));
    }
    let Some(of) = &plan.experiment else { return span };
    for before in &of.between {
        span = span.and(match before {
            Between::Holds(_) => Span::up_to(of.between_within),
            Between::PageCacheDropped => Span::exactly(DROP_S),
            Between::ServiceRestarted if plan.testbed.is_some() => Span::exactly(0.0),
            Between::ServiceRestarted => Span::up_to(2 * plan.target.restart_timeout),
        });
    }
    span
}

/// How many URLs the list of a plan has; none where it cannot be read, which is told elsewhere.
fn urls(plan: &Plan) -> usize {
    let RequestSource::List(file) = &plan.target.asked else { return 0 };
    let commas = matches!(plan.target.order, Some(Order::Weighted(_)));
    let reader = RequestListReader { base: plan.target.url.as_ref(), commas };
    reader.file(file).map_or(0, |list| list.requests.len())
}

/// How long servers take to stand, side by side where the steps allow it, and to end one by one.
fn servers(steps: &[Planned]) -> Span {
    let mut ready: Vec<Span> = Vec::new();
    for step in steps {
        let before = step.after.iter().filter_map(|at| ready.get(*at));
        let before = before.fold(Span::exactly(0.0), |all, one| all.longer(*one));
        let own = step.ops.iter().map(|op| act(op, step, steps));
        ready.push(own.fold(before, Span::and));
    }
    let up = ready.into_iter().fold(Span::exactly(0.0), Span::longer);
    let down = steps.iter().flat_map(|step| &step.ops).map(undo).sum();
    up.and(Span::exactly(down))
}

fn act(op: &Op, step: &Planned, steps: &[Planned]) -> Span {
    match op {
        Op::Make { by, .. } => Span::exactly(by.len() as f64 * COMMAND_S),
        // It depends on the network how long this program takes to arrive there.
        Op::Host { .. } => Span::up_to(HOST),
        Op::Start { .. } => Span::exactly(START_S),
        Op::Ready { instance, .. } => {
            let ops = steps.iter().flat_map(|step| &step.ops);
            let is_its = |op: &&Op| matches!(op, Op::Start { instance: of, .. } if of == instance);
            let start = ops.clone().find(is_its);
            match start.and_then(known) {
                Some((ready_s, _)) => Span::exactly(ready_s),
                None => Span::up_to(step.limit),
            }
        }
        Op::Run { .. } | Op::Rent { .. } | Op::Links { .. } => Span::up_to(step.limit),
        _ => Span::exactly(0.0),
    }
}

fn undo(op: &Op) -> f64 {
    match op {
        Op::Make { thing: Thing::Link { .. }, .. } => LINK_GONE_S,
        Op::Make { thing: Thing::Namespace { .. }, .. } => NAMESPACE_GONE_S,
        Op::Cgroup { .. } => CGROUP_GONE_S,
        Op::Start { .. } => known(op).map_or(0.0, |(_, ended_s)| ended_s),
        _ => 0.0,
    }
}

/// How long a server takes until it is ready, and until it has ended, where that is known.
fn known(start: &Op) -> Option<(f64, f64)> {
    let Op::Start { order, .. } = start else { return None };
    let named = |word: &String| {
        let name = word.rsplit('/').next().unwrap_or_default();
        KNOWN.iter().find(|(of, ..)| *of == name)
    };
    order.words.iter().find_map(named).map(|(_, ready_s, ended_s)| (*ready_s, *ended_s))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_plan::Written;
    use proptest::prelude::*;

    fn plan(text: &str) -> Plan {
        let text = format!("[target]\nurl = 'http://127.0.0.1:9/'\n{text}");
        crate::plans::read(&Written::text(&text, "plan.toml", &[])).unwrap()
    }

    fn takes_s(text: &str, loads_s: f64, number: (u64, u64)) -> (f64, Option<f64>) {
        let span = takes(&plan(text), &Cells { loads_s, number, steps: &[] });
        (span.least_s, span.most_s)
    }

    const LOAD: &str = "[load]\nusers = 1\nfor = '3s'\n";

    #[test]
    fn what_a_plan_leaves_open_is_a_range() {
        let near = |found: (f64, Option<f64>), least: f64, most: Option<f64>| {
            let is_near = |a: f64, b: f64| (a - b).abs() < 1e-9;
            assert!(is_near(found.0, least), "{found:?}");
            assert_eq!(found.1.is_some(), most.is_some(), "{found:?}");
            assert!(found.1.zip(most).is_none_or(|(a, b)| is_near(a, b)), "{found:?}");
        };
        let fixed = 4.0 * (3.0 + CELL_S);
        near(takes_s(LOAD, 12.0, (4, 4)), fixed, Some(fixed));
        near(takes_s(LOAD, 12.0, (4, 8)), fixed, Some(2.0 * fixed));
        let early = format!("{LOAD}ends_when = 'availability<99%'\n");
        near(takes_s(&early, 12.0, (4, 4)), 4.0 * CELL_S, Some(fixed));
        let waits = format!("{LOAD}start_when = 'p99<1s'\nstart_within = '7s'\n");
        near(takes_s(&waits, 40.0, (4, 4)), fixed, Some(4.0 * (10.0 + CELL_S)));
        let rule = "[experiment]\nbetween = ['host.load<9']\nbetween_within = '5s'\n";
        let rule = format!("{rule}{LOAD}");
        near(takes_s(&rule, 12.0, (4, 4)), fixed, Some(fixed + 20.0));
        let both = format!("[experiment]\nat_once = 2\n{LOAD}");
        near(takes_s(&both, 12.0, (4, 4)), fixed / 2.0, Some(fixed / 2.0));
    }

    /// A step with these ops behind these.
    fn step(after: Vec<usize>, ops: Vec<Op>) -> Planned {
        let class = plimsoll_testbed::flow::Class::Service;
        let limit = Duration::from_secs(20);
        let (name, instance) = (String::new(), String::new());
        Planned { name, instance, host: None, class, after, limit, ops }
    }

    fn server(program: &str, instance: usize, after: usize) -> [Planned; 2] {
        let (instance, folder) = (format!("a-{instance}"), std::path::PathBuf::new());
        let order = plimsoll_testbed::launch::Order {
            words: ["setpriv", program].map(str::to_owned).to_vec(),
            ..Default::default()
        };
        let stop = plimsoll_testbed::recipe::Stop::default();
        let check = plimsoll_testbed::recipe::Check { http: None, within_s: 20 };
        let address = ([127, 0, 0, 1], 80).into();
        [
            step(
                if after == 0 { Vec::new() } else { vec![after - 1] },
                vec![Op::Start { instance: instance.clone(), folder: folder.clone(), order, stop }],
            ),
            step(vec![after], vec![Op::Ready { instance, folder, address, check }]),
        ]
    }

    #[test]
    fn a_server_that_is_not_known_takes_up_to_its_limit() {
        let known = servers(&server("/usr/sbin/nginx", 1, 0));
        assert!(known.is_known() && known.least_s > START_S, "{known:?}");
        let own = servers(&server("python3", 1, 0));
        assert_eq!((own.least_s, own.most_s), (START_S, Some(START_S + 20.0)));
    }

    proptest! {
        /// However steps stand on each other, they take no less than the longest of them and no
        /// more than all of them.
        #[test]
        fn steps_side_by_side_take_no_longer_than_one_by_one(
            commands in prop::collection::vec((0_usize..5, prop::bool::ANY), 0..20),
        ) {
            let words = plimsoll_testbed::command::Words::of(&["ip"]);
            let steps: Vec<Planned> = commands
                .iter()
                .enumerate()
                .map(|(at, (count, follows))| {
                    let after = if *follows && at > 0 { vec![at - 1] } else { Vec::new() };
                    let thing = Thing::Folder { path: std::path::PathBuf::new() };
                    step(after, vec![Op::Make { thing, by: vec![words.clone(); *count] }])
                })
                .collect();
            let all = commands.iter().map(|(count, _)| *count as f64 * COMMAND_S);
            let (sum, most) = (all.clone().sum::<f64>(), all.fold(0.0, f64::max));
            let found = servers(&steps);
            prop_assert!(found.is_known());
            prop_assert!(found.least_s >= most - 1e-9 && found.least_s <= sum + 1e-9, "{found:?}");
        }
    }
}
