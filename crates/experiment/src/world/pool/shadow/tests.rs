//! A watched pool in time that is moved by hand: hosts that come, are silent and are heard again,
//! in 256 seeds.

use std::cell::Cell;
use std::collections::BTreeMap;

use plimsoll_elastic::controller::Terms;
use plimsoll_elastic::observation::Observation;
use plimsoll_elastic::policy::Verdict;
use plimsoll_runs::{Kind, RunMeta};
use plimsoll_workload::random::Stream;

use super::*;
use crate::control::Wish;

const MS: u64 = 1_000_000;
/// Hosts are asked four times a second, and each second is decided.
const EVERY: u64 = 250 * MS;
const TICK: u64 = 1000 * MS;

/// Figures that come at their times.
struct Script {
    now_ns: Cell<u64>,
    rounds: Vec<(u64, Round)>,
    next: usize,
}

impl Looks for Script {
    fn now(&self) -> u64 {
        self.now_ns.get()
    }

    fn hears(&mut self, within: Duration) -> Option<Round> {
        let until_ns = self.now() + nanoseconds(within);
        let next = self.rounds.get(self.next).filter(|(at_ns, _)| *at_ns <= until_ns);
        self.now_ns.set(next.map_or(until_ns, |(at_ns, _)| self.now().max(*at_ns)));
        let round = next.map(|(_, round)| round.clone());
        self.next += usize::from(round.is_some());
        round
    }

    fn store(&mut self, _: &mut RunWriter) -> Result<(), SinkError> {
        Ok(())
    }
}

/// Goes on, and is told nothing.
struct Calm;

impl Control for Calm {
    fn tell(&self, _: News<'_>) {}

    fn wish(&self) -> Wish {
        Wish::Continue
    }
}

/// Wants one more, unless it has acted.
#[derive(Default)]
struct Eager {
    has_acted: bool,
}

impl Decider for Eager {
    fn decide(&mut self, seen: &Observation<'_>) -> Verdict {
        let there = u32::try_from(seen.instances.len()).unwrap();
        let desired = there + u32::from(!self.has_acted);
        self.has_acted = true;
        Verdict { desired, limited_by: None, reason: "one more".to_owned() }
    }

    fn save(&self) -> serde_json::Result<String> {
        serde_json::to_string(&self.has_acted)
    }

    fn restore(&mut self, text: &str) -> serde_json::Result<()> {
        self.has_acted = serde_json::from_str(text)?;
        Ok(())
    }
}

fn meta() -> RunMeta {
    RunMeta {
        id: "watched".to_owned(),
        kind: Kind::Pool,
        cell: 0,
        name: "watched".to_owned(),
        subject: String::new(),
        about: String::new(),
        factors: BTreeMap::new(),
        tags: [].into(),
        started_unix_ns: 1_790_000_000_000_000_000,
        version: "0.1.0".to_owned(),
        seed: 1,
        plan_text: String::new(),
        plan_sha256: String::new(),
        inputs_sha256: None,
        warmup_ns: 0,
        duration_ns: 0,
        slo: None,
        load: None,
        world: Takes::Shadow,
        host: Vec::new(),
    }
}

/// What was heard of a host: when, how busy it was, and its rate.
type Heard = (u64, f64, f64);

/// Watches for so long what is heard of hosts. Returns the decisions, which are written.
fn watched(heard: &[(&str, Vec<Heard>)], limit_ns: u64, writer: &mut RunWriter) -> Vec<Decided> {
    let mut rounds: BTreeMap<u64, Round> = BTreeMap::new();
    for (name, all) in heard {
        for (at_ns, busy, rate) in all {
            let new = || Round { at_ns: *at_ns, figures: BTreeMap::new() };
            let of = rounds.entry(*at_ns).or_insert_with(new);
            of.figures.insert(format!("instance.{name}.host.cpu"), *busy);
            of.figures.insert(format!("instance.{name}.nginx.requests"), *rate);
        }
    }
    let mut script = Script { now_ns: Cell::new(0), rounds: rounds.into_iter().collect(), next: 0 };
    let of = Watched {
        named: "eager",
        kind: "eager",
        control: &Calm,
        tick: Duration::from_nanos(TICK),
        every: Duration::from_nanos(EVERY),
        limit: Some(Duration::from_nanos(limit_ns)),
    };
    let terms = Terms { bounds: (1, 100), delay_ns: 0, of_day_s: 0.0, speed: 1.0 };
    let (mut policy, mut decided) = (Eager::default(), Vec::new());
    of.run(&mut script, writer, |controller, at_ns, instances| {
        let of = shadow(controller, &terms, &mut policy, (at_ns, instances));
        decided.push(of.clone());
        of
    })
    .unwrap();
    decided
}

/// Writes a run. Returns how many decisions there are, of which none has done anything, and which
/// hosts were silent.
fn written(with: impl FnOnce(&mut RunWriter)) -> (usize, Vec<String>) {
    let root = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::create(root.path(), &meta()).unwrap();
    with(&mut writer);
    let run = writer.finish(End::new(Ended::Complete)).unwrap();
    let rows = run.decisions().unwrap();
    assert!(rows.iter().all(|of| of.done == 0), "nothing is done");
    let events = run.events().unwrap().into_iter().map(|of| of.text);
    (rows.len(), events.filter(|text| text.ends_with("silent")).collect())
}

fn mean(of: &[f64]) -> f64 {
    of.iter().sum::<f64>() / of.len() as f64
}

/// What is to be seen at the end of a tick: how many hosts there are, and the mean of what was
/// heard of each in the tick.
fn expected(heard: &[(&str, Vec<Heard>)], at_ns: u64) -> (u32, Option<f64>, Option<f64>) {
    let (mut hosts, mut busy, mut rates) = (0, Vec::new(), Vec::new());
    for (_, all) in heard {
        let last_ns = all.iter().map(|of| of.0).filter(|ns| *ns <= at_ns).max();
        if last_ns.is_none_or(|ns| ns + 2 * EVERY < at_ns) {
            continue;
        }
        hosts += 1;
        let is_of = |of: &&Heard| of.0 <= at_ns && of.0 > at_ns - TICK;
        let (cpu, rate): (Vec<f64>, Vec<f64>) =
            all.iter().filter(is_of).map(|of| (of.1, of.2)).unzip();
        if !cpu.is_empty() {
            busy.push(mean(&cpu));
            rates.push(mean(&rate));
        }
    }
    let some = |of: &[f64], value: f64| (!of.is_empty()).then_some(value);
    (hosts, some(&busy, 100.0 * mean(&busy)), some(&rates, rates.iter().sum()))
}

#[test]
fn a_host_that_is_silent_for_two_periods_is_out_until_it_is_heard_again() {
    let all = |from: u64, to: u64| (from..to).map(|at| (at * EVERY + MS, 0.5, 10.0));
    let heard = [
        ("web1", all(0, 40).collect()),
        // Silent from 2 s on, and heard again at 6 s.
        ("web2", all(0, 8).chain(all(24, 40)).collect::<Vec<Heard>>()),
    ];
    let mut decided = Vec::new();
    let (rows, silent) = written(|writer| decided = watched(&heard, 10 * TICK - 1, writer));
    let there: Vec<u32> = decided.iter().map(|of| of.from).collect();
    // At 2 s it was heard 249 ms before.
    assert_eq!(there, [2, 2, 1, 1, 1, 1, 2, 2, 2]);
    assert_eq!((rows, silent), (9, vec!["instance web2 silent".to_owned()]));
    // It has not acted, so it is asked as one that has not.
    assert!(decided.iter().all(|of| of.to == of.from + 1 && of.done == 0), "{decided:?}");
}

#[test]
fn what_is_seen_of_hosts_in_any_order_is_what_was_heard_in_the_tick() {
    let (mut count, seeds) = (0, 0..256);
    let (rows, silent) = written(|writer| {
        for seed in seeds {
            count += seen_of_hosts(seed, writer);
        }
    });
    assert_eq!(rows, count);
    assert!(silent.len() > 256, "{}", silent.len());
}

/// What is seen in one seed. Returns how often was decided.
fn seen_of_hosts(seed: u64, writer: &mut RunWriter) -> usize {
    let mut chance = Stream::named(seed, "hosts");
    let mut heard: Vec<(&str, Vec<Heard>)> = Vec::new();
    for name in ["web1", "web2", "web3"] {
        let (mut at_ns, mut all) = (1 + chance.below(2 * TICK), Vec::new());
        while at_ns < 20 * TICK {
            let busy = chance.below(100) as f64 / 100.0;
            all.push((at_ns, busy, chance.below(50) as f64));
            let is_silent = chance.below(12) == 0;
            at_ns += if is_silent { chance.below(3 * TICK) } else { EVERY } + chance.below(MS) + 1;
        }
        heard.push((name, all));
    }
    let limit_ns = TICK + chance.below(18 * TICK);
    let decided = watched(&heard, limit_ns, writer);
    let count = limit_ns.div_ceil(TICK) - 1;
    assert_eq!(decided.len() as u64, count, "seed {seed}: within {limit_ns} ns");
    for (of, tick) in decided.iter().zip(1..) {
        let at_ns = tick * TICK;
        assert_eq!(of.at_ns, at_ns, "seed {seed}");
        let (hosts, cpu, rate) = expected(&heard, at_ns);
        assert_eq!((of.from, of.to), (hosts, hosts + 1), "seed {seed} at {at_ns}");
        let seen = |metric: Metric| of.seen[metric as usize];
        let is = |seen: f64, told: Option<f64>| match told {
            Some(told) => (seen - told).abs() < 1e-6,
            None => seen.is_nan(),
        };
        assert!(is(seen(Metric::Cpu), cpu), "seed {seed} at {at_ns}: {of:?} {cpu:?}");
        assert!(is(seen(Metric::Rate), rate), "seed {seed} at {at_ns}: {of:?} {rate:?}");
    }
    decided.len()
}
