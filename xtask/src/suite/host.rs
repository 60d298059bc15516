//! Whether others were at work: the processor time that the hypervisor took (steal), what processes
//! outside of the suite's own tree took, and how late a timer is on the idle machine.
//!
//! Of the tree is what descends from the runner, and what has left its parent but carries the
//! suite's socket in its environment. A process's time stays with the tree when its parent waits
//! for it, and is remembered where it had no parent there any more.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::clock;

/// How often the host is looked at.
const EVERY: Duration = Duration::from_secs(1);
/// Others took the processor where the hypervisor took more than this share of it,
const MUCH_STEAL: f64 = 0.02;
/// or other processes more than this share.
const MUCH_OF_OTHERS: f64 = 0.25;
/// How late a timer may be on a calm machine: its 99th percentile.
const LATE: Duration = Duration::from_millis(1);
/// Wakes of the timer, a millisecond each.
const WAKES: usize = 500;

/// Shares of the machine's processor time, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Shares {
    pub(super) steal: f64,
    pub(super) others: f64,
}

impl Shares {
    pub(super) fn are_much(self) -> bool {
        self.steal > MUCH_STEAL || self.others > MUCH_OF_OTHERS
    }
}

impl std::fmt::Display for Shares {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (steal, others) = (self.steal * 100.0, self.others * 100.0);
        write!(out, "steal {steal:.0}%, other processes {others:.0}%")
    }
}

/// Processor time so far, in ticks.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    at: Duration,
    all: u64,
    busy: u64,
    steal: u64,
    tree: u64,
}

/// Looks at the host once a second, as long as the process runs.
pub(super) struct Host {
    samples: Mutex<Vec<Sample>>,
}

impl Host {
    /// Begins to look. `mark` is what the environment of the suite's processes holds.
    pub(super) fn watch(mark: String) -> Arc<Self> {
        let mut tree = Tree::new(mark);
        let host = Arc::new(Self { samples: Mutex::new(vec![sample(&mut tree)]) });
        let watching = Arc::clone(&host);
        std::thread::spawn(move || {
            loop {
                clock::sleep(EVERY);
                let now = sample(&mut tree);
                watching.samples.lock().unwrap_or_else(PoisonError::into_inner).push(now);
            }
        });
        host
    }

    /// What others took between two times, widened to whole samples.
    pub(super) fn shares(&self, from: Duration, to: Duration) -> Shares {
        let samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        let first = samples.iter().rev().find(|sample| sample.at <= from).or(samples.first());
        let last = samples.iter().find(|sample| sample.at >= to).or(samples.last());
        match (first, last) {
            (Some(first), Some(last)) => between(first, last),
            _ => Shares::default(),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "ticks of hours are far below 2^52")]
fn between(first: &Sample, last: &Sample) -> Shares {
    let all = last.all.saturating_sub(first.all).max(1) as f64;
    let steal = last.steal.saturating_sub(first.steal) as f64;
    let busy = last.busy.saturating_sub(first.busy);
    let others = busy.saturating_sub(last.tree.saturating_sub(first.tree)) as f64;
    Shares { steal: steal / all, others: others / all }
}

fn sample(tree: &mut Tree) -> Sample {
    // The tree first: what it takes meanwhile counts as of others, never the other way round.
    let tree = tree.ticks();
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let (all, busy, steal) = processor(&stat);
    Sample { at: clock::now(), all, busy, steal, tree }
}

/// All ticks, the busy ones and the stolen ones of `/proc/stat` (proc(5)).
fn processor(stat: &str) -> (u64, u64, u64) {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu ")).unwrap_or_default();
    let ticks: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let of = |place: usize| ticks.get(place).copied().unwrap_or(0);
    // user, nice, system, idle, iowait, irq, softirq, steal; guests are in user and nice.
    let busy = of(0) + of(1) + of(2) + of(5) + of(6);
    (busy + of(3) + of(4) + of(7), busy, of(7))
}

/// A process as `/proc/PID/stat` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Process {
    parent: u32,
    /// Its own ticks and those of children that it waited for.
    ticks: u64,
    started: u64,
}

/// The runner's processes.
struct Tree {
    mark: String,
    /// By number and start, as numbers are used again.
    members: BTreeMap<(u32, u64), Process>,
    strangers: BTreeSet<(u32, u64)>,
    /// Ticks of members that ended without a parent in the tree.
    gone: u64,
}

impl Tree {
    fn new(mark: String) -> Self {
        Self { mark, members: BTreeMap::new(), strangers: BTreeSet::new(), gone: 0 }
    }

    /// The ticks of all members so far.
    fn ticks(&mut self) -> u64 {
        self.take(&processes());
        self.gone + self.members.values().map(|process| process.ticks).sum::<u64>()
    }

    fn take(&mut self, processes: &BTreeMap<u32, Process>) {
        let known: BTreeSet<u32> = self.members.keys().map(|(number, _)| *number).collect();
        let still = |(number, started): &(u32, u64)| {
            processes.get(number).is_some_and(|process| process.started == *started)
        };
        for (key, process) in std::mem::take(&mut self.members) {
            if still(&key) {
                self.members.insert(key, process);
            } else if !known.contains(&process.parent) {
                // Nobody in the tree has its time.
                self.gone += process.ticks;
            }
        }
        self.strangers.retain(still);
        // Children may have lower numbers than their parents: until nobody new is found.
        loop {
            let before = self.members.len();
            for (number, process) in processes {
                self.look_at(*number, *process, processes);
            }
            if self.members.len() == before {
                break;
            }
        }
    }

    fn look_at(&mut self, number: u32, process: Process, all: &BTreeMap<u32, Process>) {
        let key = (number, process.started);
        let parent = all.get(&process.parent).map(|parent| (process.parent, parent.started));
        let is_known = self.members.contains_key(&key);
        let is_child = parent.is_some_and(|parent| self.members.contains_key(&parent));
        if is_known || is_child || number == std::process::id() || self.is_marked(key) {
            self.members.insert(key, process);
        }
    }

    /// Whether a process that nobody in the tree owns carries the mark: it is looked at once.
    fn is_marked(&mut self, key: (u32, u64)) -> bool {
        let is_new = !self.mark.is_empty() && self.strangers.insert(key);
        is_new && {
            let environment = std::fs::read(format!("/proc/{}/environ", key.0)).unwrap_or_default();
            let mark = self.mark.as_bytes();
            environment.split(|byte| *byte == 0).any(|variable| variable == mark)
        }
    }
}

fn processes() -> BTreeMap<u32, Process> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter_map(|number: u32| Some((number, process(number)?))).collect()
}

fn process(number: u32) -> Option<Process> {
    let path = PathBuf::from(format!("/proc/{number}/stat"));
    process_in(&std::fs::read_to_string(path).ok()?)
}

/// The name of a program, in brackets, may hold anything.
fn process_in(stat: &str) -> Option<Process> {
    let (_, fields) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let of = |place: usize| fields.get(place)?.parse::<u64>().ok();
    let ticks = of(11)? + of(12)? + of(13)? + of(14)?;
    Some(Process { parent: fields.get(1)?.parse().ok()?, ticks, started: of(19)? })
}

/// How the machine is while the suite does nothing: `None` where it is calm, else why not.
pub(super) fn unrest() -> Option<String> {
    let mut nothing = Tree::new(String::new());
    let first = sample(&mut nothing);
    let mut late: Vec<Duration> = (0..WAKES).map(|_| lateness()).collect();
    let last = sample(&mut nothing);
    late.sort();
    let p99 = late[WAKES * 99 / 100];
    let shares = between(&first, &last);
    if p99 > LATE {
        return Some(format!("timers are {:.1} ms late at p99", p99.as_secs_f64() * 1e3));
    }
    shares.are_much().then(|| shares.to_string())
}

fn lateness() -> Duration {
    let wanted = Duration::from_millis(1);
    let before = clock::now();
    clock::sleep(wanted);
    (clock::now() - before).saturating_sub(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_read_and_shared_out() {
        let first = processor("cpu  100 0 50 800 10 5 5 30 0 0\ncpu0 1 2 3\n");
        assert_eq!(first, (1000, 160, 30));
        let sample = |all, busy, steal, tree| Sample { at: Duration::ZERO, all, busy, steal, tree };
        let shares = between(&sample(0, 0, 0, 0), &sample(200, 140, 10, 80));
        assert!((shares.steal - 0.05).abs() < 1e-9 && (shares.others - 0.3).abs() < 1e-9);
        assert!(shares.are_much());
        // The tree may be ahead of what the system has counted.
        assert!(!between(&sample(0, 0, 0, 0), &sample(200, 140, 0, 150)).are_much());
        assert_eq!(processor(""), (0, 0, 0));
    }

    #[test]
    fn a_process_is_read_whatever_its_name() {
        let stat = "7 (a) b) S 3 7 7 0 -1 4 1 1 0 0 10 20 30 40 20 0 1 0 99 1 1";
        let expected = Process { parent: 3, ticks: 100, started: 99 };
        assert_eq!(process_in(stat), Some(expected));
        assert_eq!(process_in("7 (a"), None);
    }

    fn of(parent: u32, ticks: u64) -> Process {
        Process { parent, ticks, started: 1 }
    }

    #[test]
    fn the_time_of_a_child_is_not_lost_with_it() {
        let own = std::process::id();
        let sum = |tree: &Tree| tree.gone + tree.members.values().map(|it| it.ticks).sum::<u64>();
        let mut tree = Tree::new(String::new());
        // One child is below its parent by number, and one is nobody's.
        tree.take(&BTreeMap::from([
            (own, of(1, 5)),
            (3, of(own, 7)),
            (2, of(3, 11)),
            (4, of(1, 99)),
        ]));
        assert_eq!(sum(&tree), 23);
        // A child that was waited for is in its parent's time.
        tree.take(&BTreeMap::from([(own, of(1, 5)), (3, of(own, 18))]));
        assert_eq!(sum(&tree), 23);
        // One that left its parent stays, and is remembered when it ends.
        tree.take(&BTreeMap::from([(own, of(1, 5)), (3, of(1, 20))]));
        tree.take(&BTreeMap::from([(own, of(1, 6))]));
        assert_eq!(sum(&tree), 26);
    }

    #[test]
    fn this_process_is_of_its_own_tree() {
        let mut tree = Tree::new(String::new());
        tree.ticks();
        assert!(tree.members.keys().any(|(number, _)| *number == std::process::id()));
    }
}
