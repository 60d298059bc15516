//! A balancer that obeys the test, with the manners of each of the real ones.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use plimsoll_testbed::TestbedError;
use plimsoll_testbed::balance::{Ill, Lost, State};
use plimsoll_testbed::balancers::{BalancerCounts, Balances, Member, Newcomer};

use super::time::ByHand;

/// What is said by one that takes no instances.
pub(super) const NOT_TAKEN: &str = "have the balancer take another: its table is full";

/// How a balancer has instances leave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// As the built-in one and HAProxy: one that drains stays in the list, and is lost with it.
    Listed,
    /// As nginx: it is forgotten at once, its last requests end with the workers of before, and who
    /// is to be served is known until it is said that all is forgotten.
    Reloaded,
}

/// A balancer that obeys the test.
pub(super) struct Board {
    time: Arc<ByHand>,
    manner: Manner,
    table: Mutex<Table>,
}

/// What it has.
#[derive(Default)]
pub(super) struct Table {
    pub(super) is_gone: bool,
    /// It takes no instances.
    pub(super) refuses: bool,
    pub(super) members: Vec<Member>,
    /// The threads that wait for the last requests of an instance.
    pub(super) draining: BTreeMap<u64, String>,
    pub(super) counted: BalancerCounts,
    /// What it has told last of what was lost, and what those before had told.
    pub(super) told: Lost,
    pub(super) told_before: Lost,
    /// How often it was made anew, and whether it is not told yet that all is forgotten.
    pub(super) revivals: u64,
    remembers: bool,
    /// What should not have been asked.
    pub(super) faults: Vec<String>,
}

fn gone<T>() -> Result<T, TestbedError> {
    Err(TestbedError::Wrong("give an order to the balancer: it is gone".to_owned()))
}

impl Board {
    pub(super) fn new(time: &Arc<ByHand>, manner: Manner) -> Self {
        Self { time: Arc::clone(time), manner, table: Mutex::default() }
    }

    pub(super) fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap()
    }

    /// Whether an instance gets requests.
    pub(super) fn gives_to(&self, name: &str) -> bool {
        let table = self.table();
        !table.is_gone && table.members.iter().any(|of| of.name == name && of.state == State::In)
    }

    /// The names of those that it has, but for those that drain.
    pub(super) fn names(&self) -> Vec<String> {
        let table = self.table();
        let there = table.members.iter().filter(|of| of.state != State::Draining);
        let mut names: Vec<String> = there.map(|of| of.name.clone()).collect();
        names.sort();
        names
    }

    /// The balancer is killed: whoever waits for it is told so.
    pub(super) fn dies(&self) {
        let mut table = self.table();
        table.is_gone = true;
        table.draining.keys().for_each(|thread| self.time.releases(*thread));
    }

    /// Another one stands in its place.
    pub(super) fn begins_anew(&self) {
        let mut table = self.table();
        table.is_gone = false;
        table.told_before = table.told_before.plus(&table.told);
        (table.counted, table.told) = (BalancerCounts::default(), Lost::default());
        table.revivals += 1;
        table.remembers = true;
        if self.manner == Manner::Listed {
            table.members.clear();
        }
    }

    /// The last requests of an instance that drains have ended, or were closed.
    pub(super) fn drained(&self, thread: u64) {
        self.time.releases(thread);
    }

    /// Requests come: an instance each answers so many, and some are lost.
    pub(super) fn serves(&self, lost: u64) {
        let mut table = self.table();
        let takes = |of: &&mut Member| of.state == State::In;
        let mut count = 0;
        for of in table.members.iter_mut().filter(takes) {
            of.answered += 10;
            count += 10;
        }
        let counted = &mut table.counted;
        counted.requests += count + lost;
        counted.answered += count;
        counted.response_us += 5000 * count;
        counted.lost.instance_failed += lost / 2;
        counted.lost.no_slot += lost - lost / 2;
    }

    /// A health check of an instance has failed, or has been passed again.
    pub(super) fn checks(&self, name: &str, state: State) {
        self.judges(name, state, None);
    }

    /// Health checks of an instance have come out so, and the balancer has it so.
    pub(super) fn judges(&self, name: &str, state: State, ill: Option<Ill>) {
        let mut table = self.table();
        let of = table.members.iter_mut().find(|of| of.name == name);
        if let Some(of) = of.filter(|of| of.state != State::Draining) {
            (of.state, of.ill) = (state, ill);
        }
    }
}

impl Balances for Board {
    fn add(&self, newcomer: &Newcomer) -> Result<(), TestbedError> {
        self.time.yields();
        let mut table = self.table();
        if table.is_gone {
            return gone();
        }
        let name = newcomer.name.clone();
        if table.members.iter().any(|of| of.name == name) {
            if !table.remembers {
                table.faults.push(format!("{name} is added twice"));
            }
            let text = format!("add the instance {name}: one has that name");
            return Err(TestbedError::Wrong(text));
        }
        if table.refuses {
            return Err(TestbedError::Wrong(NOT_TAKEN.to_owned()));
        }
        let (state, active) = (State::In, Some(0));
        let member = Member { name, state, active, answered: 0, failed: 0, ill: None };
        table.members.push(member);
        drop(table);
        self.time.yields();
        Ok(())
    }

    fn drain(&self, name: &str, _: Duration) -> Result<(), TestbedError> {
        self.time.yields();
        let mut table = self.table();
        let Some(at) = table.members.iter().position(|of| of.name == name && !table.is_gone) else {
            return gone();
        };
        match self.manner {
            Manner::Listed => table.members[at].state = State::Draining,
            Manner::Reloaded => drop(table.members.remove(at)),
        }
        table.draining.insert(ByHand::own(), name.to_owned());
        let revivals = table.revivals;
        drop(table);
        self.time.holds();
        let mut table = self.table();
        table.draining.remove(&ByHand::own());
        if self.manner == Manner::Reloaded {
            return Ok(());
        }
        if table.is_gone || table.revivals != revivals {
            return gone();
        }
        table.members.retain(|of| of.name != name || of.state != State::Draining);
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<(), TestbedError> {
        self.time.yields();
        let mut table = self.table();
        let before = table.members.len();
        if !table.is_gone {
            table.members.retain(|of| of.name != name);
        }
        if table.members.len() < before { Ok(()) } else { gone() }
    }

    fn forget(&self) -> Result<(), TestbedError> {
        self.time.yields();
        let mut table = self.table();
        if table.is_gone {
            return gone();
        }
        table.remembers = false;
        if self.manner == Manner::Reloaded {
            table.members.clear();
        }
        Ok(())
    }

    fn look(&self) -> Result<BalancerCounts, TestbedError> {
        self.time.yields();
        let mut table = self.table();
        if table.is_gone {
            return gone();
        }
        table.told = table.counted.lost;
        Ok(BalancerCounts { instances: table.members.clone(), ..table.counted.clone() })
    }

    fn take(&self) -> Result<BalancerCounts, TestbedError> {
        self.look()
    }
}
