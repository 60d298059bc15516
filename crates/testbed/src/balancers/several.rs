//! Several balancers of one pool behind one address: one has it and gives the requests, the others
//! know the same instances and stand by. Where it does not answer any more, the address moves.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{BalancerCounts, Balances, Newcomer};
use crate::error::TestbedError;

/// A balancer of them.
pub(super) struct One<'a> {
    /// Its name.
    pub(super) name: String,
    pub(super) balancer: Box<dyn Balances + 'a>,
    /// Whether it has failed before.
    pub(super) has_failed: bool,
    /// Whether it answers at all: asked before it is asked how all stands, as that may take long.
    pub(super) lives: Box<dyn Fn() -> bool + Send + Sync + 'a>,
}

/// Moves the address from a balancer to another, by their places.
pub(super) type Moves<'a> =
    Box<dyn Fn(usize, usize) -> Result<(), TestbedError> + Send + Sync + 'a>;

/// Several balancers behind one address.
pub(super) struct Several<'a> {
    all: Vec<One<'a>>,
    moves: Moves<'a>,
    standing: Mutex<Standing>,
}

#[derive(Debug, Default)]
struct Standing {
    /// The place of the one that has the address.
    active: usize,
    /// Whether each has failed, and what was seen of it last.
    has_failed: Vec<bool>,
    last: Vec<BalancerCounts>,
    notes: Vec<String>,
}

impl<'a> Several<'a> {
    /// The one at the place `active` has the address.
    pub(super) fn of(all: Vec<One<'a>>, active: usize, moves: Moves<'a>) -> Self {
        let standing = Standing {
            active,
            has_failed: all.iter().map(|of| of.has_failed).collect(),
            last: vec![BalancerCounts::default(); all.len()],
            ..Standing::default()
        };
        Self { all, moves, standing: Mutex::new(standing) }
    }

    fn standing(&self) -> MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Those that have not failed.
    fn living(&self) -> Vec<&One<'a>> {
        let standing = self.standing();
        let all = self.all.iter().zip(&standing.has_failed);
        all.filter(|(_, has_failed)| !**has_failed).map(|(of, _)| of).collect()
    }

    /// Has all that live obey an order. One that does not, while another does, has failed.
    fn order(
        &self,
        order: impl Fn(&dyn Balances) -> Result<(), TestbedError>,
    ) -> Result<(), TestbedError> {
        let results: Vec<_> = self.living().iter().map(|of| order(&*of.balancer)).collect();
        let is_obeyed = results.iter().any(Result::is_ok);
        if is_obeyed {
            // Whether the others live is seen at the next look.
            return Ok(());
        }
        Err(results.into_iter().find_map(Result::err).unwrap_or_else(none_answers))
    }

    /// Sees who lives, and moves the address where the one that has it does not; whether it did.
    fn mend(&self) -> Result<bool, TestbedError> {
        let mut standing = self.standing();
        for (at, of) in self.all.iter().enumerate() {
            if !standing.has_failed[at] && !(of.lives)() {
                standing.has_failed[at] = true;
                standing.notes.push(format!("{} does not answer any more", of.name));
            }
        }
        let from = standing.active;
        if !standing.has_failed[from] {
            return Ok(false);
        }
        let Some(to) = standing.has_failed.iter().position(|has_failed| !has_failed) else {
            return Err(none_answers());
        };
        (self.moves)(from, to)?;
        standing.active = to;
        let (old, new) = (&self.all[from].name, &self.all[to].name);
        let text = format!("{new} has the address of {old}");
        standing.notes.push(text);
        Ok(true)
    }

    fn seen(
        &self,
        look: impl Fn(&dyn Balances) -> Result<BalancerCounts, TestbedError>,
    ) -> Result<BalancerCounts, TestbedError> {
        self.mend()?;
        if let Err(error) = self.look_at_each(&look) {
            // One that lived a moment ago may have died meanwhile.
            if !self.mend()? {
                return Err(error);
            }
            self.look_at_each(&look)?;
        }
        Ok(self.summed())
    }

    /// Asks each that lives how it stands, and fails where the one that has the address does not
    /// tell.
    fn look_at_each(
        &self,
        look: impl Fn(&dyn Balances) -> Result<BalancerCounts, TestbedError>,
    ) -> Result<(), TestbedError> {
        let mut standing = self.standing();
        for (at, of) in self.all.iter().enumerate() {
            if standing.has_failed[at] {
                continue;
            }
            match look(&*of.balancer) {
                Ok(mut seen) => {
                    // What was told and not yet handed on is told once only.
                    seen.times.splice(0..0, std::mem::take(&mut standing.last[at].times));
                    standing.last[at] = seen;
                }
                Err(error) if at == standing.active => return Err(error),
                // It is seen at the next look whether it lives.
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// What was seen last of all of them, as of one.
    fn summed(&self) -> BalancerCounts {
        let mut standing = self.standing();
        let notes = std::mem::take(&mut standing.notes);
        let mut all = BalancerCounts { notes, ..BalancerCounts::default() };
        let Standing { active, has_failed, last, .. } = &mut *standing;
        // First those that live: they know which instances there are.
        let mut order: Vec<usize> = (0..last.len()).collect();
        order.sort_by_key(|at| has_failed[*at]);
        for at in order {
            sum(&mut all, &last[at], has_failed[at], at == *active);
            last[at].times.clear();
        }
        all
    }
}

fn none_answers() -> TestbedError {
    let text = "give requests to the pool: no balancer of it answers any more";
    TestbedError::Wrong(text.to_owned())
}

/// Adds what is seen of one balancer to what is seen of all. What one that has failed had is over,
/// and nobody tells how it ended.
fn sum(all: &mut BalancerCounts, one: &BalancerCounts, has_failed: bool, is_active: bool) {
    let under_way = one.active + one.waiting;
    all.requests += one.requests;
    all.answered += one.answered;
    all.response_us += one.response_us;
    all.lost = all.lost.plus(&one.lost);
    all.untold += one.untold + if has_failed { under_way } else { 0 };
    if !has_failed {
        all.connections += one.connections;
        all.active += one.active;
        all.waiting += one.waiting;
    }
    all.times.extend(&one.times);
    for member in &one.instances {
        match all.instances.iter_mut().find(|of| of.name == member.name) {
            Some(of) => {
                of.answered += member.answered;
                of.failed += member.failed;
                if is_active {
                    (of.state, of.ill) = (member.state, member.ill);
                }
                of.active = of.active.zip(member.active).map(|(a, b)| a + b);
            }
            // Instances of one that has failed are those of the others, or gone.
            None if has_failed => {}
            None => all.instances.push(member.clone()),
        }
    }
}

impl Balances for Several<'_> {
    fn add(&self, newcomer: &Newcomer) -> Result<(), TestbedError> {
        self.order(|of| of.add(newcomer))
    }

    fn drain(&self, name: &str, within: Duration) -> Result<(), TestbedError> {
        self.order(|of| of.drain(name, within))
    }

    fn remove(&self, name: &str) -> Result<(), TestbedError> {
        self.order(|of| of.remove(name))
    }

    fn forget(&self) -> Result<(), TestbedError> {
        let mut standing = self.standing();
        standing.has_failed.fill(false);
        standing.last.fill(BalancerCounts::default());
        drop(standing);
        self.order(|of| of.forget())
    }

    fn look(&self) -> Result<BalancerCounts, TestbedError> {
        self.seen(|of| of.look())
    }

    fn take(&self) -> Result<BalancerCounts, TestbedError> {
        self.seen(|of| of.take())
    }

    fn settled(&self) -> Result<BalancerCounts, TestbedError> {
        self.seen(|of| of.settled())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::balance::State;
    use crate::balancers::Member;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// One that has what it was told last.
    #[derive(Default)]
    struct StandIn {
        seen: Mutex<BalancerCounts>,
        is_gone: AtomicBool,
        /// The next look is its last, and is not answered.
        dies_when_looked_at: AtomicBool,
    }

    impl Balances for &StandIn {
        fn add(&self, newcomer: &Newcomer) -> Result<(), TestbedError> {
            if self.is_gone.load(Ordering::Relaxed) {
                return Err(TestbedError::Wrong("gone".to_owned()));
            }
            let (name, state) = (newcomer.name.clone(), State::In);
            let active = Some(0);
            let member = Member { name, state, active, answered: 0, failed: 0, ill: None };
            self.seen.lock().unwrap().instances.push(member);
            Ok(())
        }

        fn drain(&self, _: &str, _: Duration) -> Result<(), TestbedError> {
            Ok(())
        }

        fn remove(&self, _: &str) -> Result<(), TestbedError> {
            Ok(())
        }

        fn forget(&self) -> Result<(), TestbedError> {
            Ok(())
        }

        fn look(&self) -> Result<BalancerCounts, TestbedError> {
            if self.dies_when_looked_at.swap(false, Ordering::Relaxed) {
                self.is_gone.store(true, Ordering::Relaxed);
                return Err(TestbedError::Wrong("gone".to_owned()));
            }
            Ok(self.seen.lock().unwrap().clone())
        }

        fn take(&self) -> Result<BalancerCounts, TestbedError> {
            self.look()
        }
    }

    /// Both behind one address, which the first has; where it goes is written down.
    fn several<'a>(both: &'a [StandIn; 2], moved: &'a Mutex<Vec<(usize, usize)>>) -> Several<'a> {
        let all = both.iter().zip(["balancer-1", "balancer-2"]).map(|(of, name)| One {
            name: name.to_owned(),
            balancer: Box::new(of),
            has_failed: false,
            lives: Box::new(|| !of.is_gone.load(Ordering::Relaxed)),
        });
        let moves = |from, to| {
            moved.lock().unwrap().push((from, to));
            Ok(())
        };
        Several::of(all.collect(), 0, Box::new(moves))
    }

    #[test]
    fn the_address_moves_from_one_that_dies_while_it_is_looked_at() {
        let (both, moved) = ([StandIn::default(), StandIn::default()], Mutex::default());
        let several = several(&both, &moved);
        both[1].seen.lock().unwrap().times = vec![(5, 1)];
        both[0].dies_when_looked_at.store(true, Ordering::Relaxed);
        let seen = several.take().unwrap();
        assert_eq!(*moved.lock().unwrap(), [(0, 1)]);
        assert_eq!((seen.notes.len(), &seen.times[..]), (2, &[(5, 1)][..]), "{:?}", seen.notes);
        // With none left, that is an error.
        both[1].dies_when_looked_at.store(true, Ordering::Relaxed);
        assert!(several.look().is_err());
    }

    #[test]
    fn the_address_moves_and_what_was_under_way_is_not_told() {
        let (both, moved) = ([StandIn::default(), StandIn::default()], Mutex::default());
        let several = several(&both, &moved);
        let newcomer =
            Newcomer { name: "web-1".to_owned(), address: ([127, 0, 0, 1], 1).into(), weight: 1.0 };
        several.add(&newcomer).unwrap();
        {
            let mut seen = both[0].seen.lock().unwrap();
            (seen.requests, seen.answered, seen.active) = (100, 90, 10);
            seen.instances[0].answered = 90;
        }
        let seen = several.look().unwrap();
        assert_eq!((seen.requests, seen.active, seen.untold), (100, 10, 0));
        both[0].is_gone.store(true, Ordering::Relaxed);
        {
            let mut seen = both[1].seen.lock().unwrap();
            (seen.requests, seen.answered) = (40, 40);
            seen.instances[0].answered = 40;
        }
        let seen = several.look().unwrap();
        assert_eq!(*moved.lock().unwrap(), [(0, 1)]);
        assert_eq!((seen.requests, seen.answered, seen.active, seen.untold), (140, 130, 0, 10));
        assert_eq!((seen.instances.len(), seen.instances[0].answered), (1, 130));
        assert_eq!(seen.notes.len(), 2, "{:?}", seen.notes);
        // One that lives obeys; where none does, that is an error.
        several.add(&Newcomer { name: "web-2".to_owned(), ..newcomer.clone() }).unwrap();
        assert!(several.look().unwrap().notes.is_empty());
        both[1].is_gone.store(true, Ordering::Relaxed);
        assert!(several.look().is_err() && several.add(&newcomer).is_err());
    }
}
