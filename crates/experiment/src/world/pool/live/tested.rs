//! Servers of a live pool that test themselves when they start: one that is too slow beside the
//! others is replaced before it takes a request, and the others are weighed by what they found.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use plimsoll_testbed::self_test::Score;
use plimsoll_testbed::{Instance as Server, TestbedError};
use plimsoll_units::show_share;

use super::yard::Servers;

/// A server below this share of the median of the others is replaced.
const LEAST: f64 = 0.6;
/// So often a place is filled anew; whoever comes then is kept.
const MOST_REPLACED: u32 = 2;

/// Has a server test itself.
pub(super) type Test<'a> = &'a (dyn Fn(&Server) -> Result<Score, TestbedError> + Sync);

/// Servers that test themselves.
pub(super) struct Tested<'a> {
    servers: &'a dyn Servers,
    test: Test<'a>,
    /// They disturb each other: one tests itself at a time.
    turn: Mutex<()>,
    scores: Mutex<Scores>,
    /// Told when one of those at the beginning is tested.
    changed: Condvar,
}

/// The scores of the servers that are there, by their numbers.
#[derive(Debug, Default)]
struct Scores {
    /// The first that was told, which is a weight of 1.
    first: Option<f64>,
    of: BTreeMap<u32, f64>,
    /// So many of those at the beginning are not tested yet. Before that nobody is judged.
    awaited: u32,
}

impl Scores {
    fn note(&mut self, number: u32, score: f64) {
        self.first.get_or_insert(score);
        self.of.insert(number, score);
    }

    /// The score of a server as a share of the median of the others, where that is too little.
    fn shortfall(&self, number: u32) -> Option<f64> {
        let others = self.of.iter().filter(|(of, _)| **of != number);
        let mut others: Vec<f64> = others.map(|(_, score)| *score).collect();
        others.sort_by(f64::total_cmp);
        let middle = others.len() / 2;
        let median = match others.len() {
            0 => return None,
            even if even % 2 == 0 => f64::midpoint(others[middle - 1], others[middle]),
            _ => others[middle],
        };
        let share = self.of.get(&number)? / median;
        (share < LEAST).then_some(share)
    }

    fn weight(&self, number: u32) -> f64 {
        let score = self.of.get(&number).zip(self.first);
        let weight = score.map_or(1.0, |(score, first)| score / first);
        if weight.is_finite() && weight > 0.0 { weight } else { 1.0 }
    }
}

impl<'a> Tested<'a> {
    /// Servers of which so many are started at the beginning, and held against each other.
    pub(super) fn new(servers: &'a dyn Servers, test: Test<'a>, start: u32) -> Self {
        let scores = Mutex::new(Scores { awaited: start, ..Scores::default() });
        Self { servers, test, turn: Mutex::default(), scores, changed: Condvar::new() }
    }

    fn scores(&self) -> MutexGuard<'_, Scores> {
        self.scores.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a server, and has it test itself.
    fn start(&self, tells: &dyn Fn(&str)) -> Result<Server, TestbedError> {
        let server = self.servers.launch(tells)?;
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let tested = (self.test)(&server);
        drop(turn);
        match tested {
            Ok(Score { cpu, disk_write, disk_read }) => {
                tells(&format!(
                    "tested: {} does {cpu:.1} million steps a second; its disk {:.1} MB/s written, \
                     {:.1} MB/s read",
                    server.name,
                    disk_write / 1e6,
                    disk_read / 1e6
                ));
                self.scores().note(server.number, cpu);
                Ok(server)
            }
            Err(error) => {
                // What keeps it from ending stands in the ledger.
                let _ = self.servers.end(server.number);
                Err(error)
            }
        }
    }

    /// One of those at the beginning is tested, or failed. Waits for the others.
    fn waits_for_others(&self) {
        let mut scores = self.scores();
        if scores.awaited == 0 {
            return;
        }
        scores.awaited -= 1;
        self.changed.notify_all();
        while scores.awaited > 0 {
            scores = self.changed.wait(scores).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Servers for Tested<'_> {
    fn launch(&self, tells: &dyn Fn(&str)) -> Result<Server, TestbedError> {
        let started = self.start(tells);
        self.waits_for_others();
        let mut server = started?;
        for replaced in 0..=MOST_REPLACED {
            let Some(share) = self.scores().shortfall(server.number) else { break };
            let (name, share) = (&server.name, show_share(share));
            if replaced == MOST_REPLACED {
                tells(&format!(
                    "kept: {name} has {share} of the median, and its place was filled anew twice"
                ));
                break;
            }
            tells(&format!("replaced: {name} has {share} of the median of the others"));
            self.end(server.number)?;
            server = self.start(tells)?;
        }
        Ok(server)
    }

    fn end(&self, number: u32) -> Result<(), TestbedError> {
        self.scores().of.remove(&number);
        self.servers.end(number)
    }

    fn again(&self, server: &Server) -> Result<(), TestbedError> {
        self.servers.again(server)
    }

    fn weight(&self, server: &Server) -> f64 {
        self.scores().weight(server.number)
    }

    fn is_away(&self, server: &Server) -> Option<TestbedError> {
        self.servers.is_away(server)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Servers whose scores are told beforehand, in the order of their numbers.
    #[derive(Default)]
    struct Scripted {
        scores: Vec<f64>,
        started: Mutex<u32>,
        ended: Mutex<Vec<u32>>,
    }

    impl Servers for Scripted {
        fn launch(&self, _: &dyn Fn(&str)) -> Result<Server, TestbedError> {
            let mut number = self.started.lock().unwrap();
            *number += 1;
            Ok(Server {
                role: "web".to_owned(),
                name: format!("web-{number}"),
                number: *number,
                place: 0,
                host: None,
                address: "127.0.0.1".to_owned(),
                port: 1,
                folder: "/nowhere".into(),
                cgroups: Vec::new(),
                collect: BTreeMap::new(),
            })
        }

        fn end(&self, number: u32) -> Result<(), TestbedError> {
            self.ended.lock().unwrap().push(number);
            Ok(())
        }

        fn again(&self, _: &Server) -> Result<(), TestbedError> {
            Ok(())
        }
    }

    /// Starts so many, one after the other. Returns the names that are left with their weights, the
    /// numbers of those that were ended, and what was told.
    fn run(scores: &[f64], count: usize) -> (Vec<(String, f64)>, Vec<u32>, Vec<String>) {
        let servers = Scripted { scores: scores.to_vec(), ..Scripted::default() };
        let test = |server: &Server| {
            let cpu = servers.scores[server.number as usize - 1];
            Ok(Score { cpu, disk_write: 1e6, disk_read: 1e6 })
        };
        let tested = Tested::new(&servers, &test, 0);
        let said = Mutex::new(Vec::new());
        let tells = |text: &str| said.lock().unwrap().push(text.to_owned());
        let kept: Vec<Server> = (0..count).map(|_| tested.launch(&tells).unwrap()).collect();
        let weigh = |of: &Server| (of.name.clone(), tested.weight(of));
        let ended = servers.ended.lock().unwrap().clone();
        (kept.iter().map(weigh).collect(), ended, said.into_inner().unwrap())
    }

    #[test]
    fn who_is_too_slow_is_replaced_twice_and_then_kept_and_that_is_said() {
        let (kept, ended, said) = run(&[100.0, 59.0, 90.0], 2);
        let names: Vec<&str> = kept.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!((names, ended), (vec!["web-1", "web-3"], vec![2]));
        assert!((kept[1].1 - 0.9).abs() < 1e-9, "{kept:?}");
        assert!(said.iter().any(|text| text.starts_with("replaced: web-2 has 59%")), "{said:?}");
        let (kept, ended, said) = run(&[100.0, 50.0, 40.0, 55.0], 2);
        assert_eq!((kept[1].0.as_str(), ended), ("web-4", vec![2, 3]));
        assert!((kept[1].1 - 0.55).abs() < 1e-9, "{kept:?}");
        assert!(said.last().unwrap().starts_with("kept: web-4 has 55%"), "{said:?}");
        // Nobody is there to be held against.
        assert_eq!(run(&[1.0], 1).1, Vec::<u32>::new());
    }

    #[test]
    fn those_at_the_beginning_are_held_against_each_other() {
        // Whichever is tested first: the slow one goes.
        let servers =
            Scripted { scores: vec![30.0, 100.0, 100.0, 100.0, 100.0], ..Scripted::default() };
        let test = |server: &Server| {
            let cpu = servers.scores[server.number as usize - 1];
            Ok(Score { cpu, disk_write: 1e6, disk_read: 1e6 })
        };
        let tested = Tested::new(&servers, &test, 3);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| tested.launch(&|_| {}).unwrap());
            }
        });
        assert_eq!(*servers.ended.lock().unwrap(), [1]);
    }
}
