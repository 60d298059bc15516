//! Which instance takes a request.

use std::net::IpAddr;

use plimsoll_units::hash::{fnv_1a, mix};
use plimsoll_workload::balancer::Rule;
use plimsoll_workload::pool::{Choice, Ties};

/// An instance that has a place free, as the rules see it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// Its number: greater than that of all that came before it.
    pub id: u64,
    /// A hash of its name.
    pub name: u64,
    /// Requests that it has.
    pub active: u32,
    /// How fast it is, beside the others; above 0.
    pub weight: f64,
}

/// Chooses, and remembers what a rule needs to know of the choices before.
#[derive(Debug)]
pub struct Chooser {
    rule: Rule,
    /// The number of the instance that was taken last.
    last: u64,
    /// What each instance has earned and not spent, by its number: for turns by weight.
    credit: Vec<(u64, f64)>,
    /// The state of the random numbers.
    random: u64,
}

impl Chooser {
    /// By a rule; random numbers follow from the seed.
    #[must_use]
    pub fn new(rule: Rule, seed: u64) -> Self {
        Self { rule, last: 0, credit: Vec::new(), random: seed }
    }

    /// The place in the list of the one that takes the next request of a client; the list is in
    /// the order of the numbers. `None` where it is empty.
    pub fn choose(&mut self, free: &[Candidate], client: IpAddr) -> Option<usize> {
        if free.is_empty() {
            return None;
        }
        let at = match self.rule {
            Rule::ByClient => of_client(free, client),
            Rule::Pool(Choice::RoundRobin) => self.next(free, |_| true),
            Rule::Pool(Choice::Weighted) => self.by_credit(free),
            Rule::Pool(Choice::Random) => self.below(free.len()),
            Rule::Pool(Choice::TwoChoices) => self.of_two(free),
            Rule::Pool(Choice::Fair(ties) | Choice::LeastConnections(ties)) => {
                self.fewest(free, ties)
            }
        };
        self.last = free[at].id;
        Some(at)
    }

    /// The next after the one that was taken last, of those that qualify; some do.
    fn next(&self, free: &[Candidate], is_one: impl Fn(&Candidate) -> bool) -> usize {
        let later = free.iter().position(|of| of.id > self.last && is_one(of));
        later.or_else(|| free.iter().position(is_one)).unwrap_or(0)
    }

    fn fewest(&mut self, free: &[Candidate], ties: Ties) -> usize {
        let fewest = free.iter().map(|of| of.active).min().unwrap_or(0);
        let is_one = |of: &Candidate| of.active == fewest;
        match ties {
            Ties::First => free.iter().position(is_one).unwrap_or(0),
            Ties::Next => self.next(free, is_one),
            Ties::Random => {
                let among = free.iter().filter(|of| is_one(of)).count();
                let taken = self.below(among);
                let mut ones = free.iter().enumerate().filter(|(_, of)| is_one(of));
                ones.nth(taken).map_or(0, |(at, _)| at)
            }
        }
    }

    /// In turn by weight, evenly spread: each earns its weight with a request, and who has most
    /// takes it and spends what all have earned.
    fn by_credit(&mut self, free: &[Candidate]) -> usize {
        self.credit.retain(|(id, _)| free.iter().any(|of| of.id == *id));
        let (mut best, mut most, mut all) = (0, f64::NEG_INFINITY, 0.0);
        for (at, of) in free.iter().enumerate() {
            let place = self.credit.iter().position(|(id, _)| *id == of.id).unwrap_or_else(|| {
                self.credit.push((of.id, 0.0));
                self.credit.len() - 1
            });
            self.credit[place].1 += of.weight;
            all += of.weight;
            if self.credit[place].1 > most {
                (best, most) = (at, self.credit[place].1);
            }
        }
        if let Some(taken) = self.credit.iter_mut().find(|(id, _)| *id == free[best].id) {
            taken.1 -= all;
        }
        best
    }

    fn of_two(&mut self, free: &[Candidate]) -> usize {
        let first = self.below(free.len());
        let second = self.below(free.len().saturating_sub(1).max(1));
        let second = if second >= first && free.len() > 1 { second + 1 } else { second };
        if free[second].active < free[first].active { second } else { first }
    }

    /// A random number below `bound`, which is above 0.
    fn below(&mut self, bound: usize) -> usize {
        self.random = mix(self.random.wrapping_add(1));
        let below = (u128::from(self.random) * bound as u128) >> 64;
        usize::try_from(below).unwrap_or(0)
    }
}

/// The instance that draws the client's longest straw, each instance's straw the longer the greater
/// its weight: who comes or goes takes or gives only its own clients.
fn of_client(free: &[Candidate], client: IpAddr) -> usize {
    let client = match client {
        IpAddr::V4(address) => fnv_1a(&address.octets()),
        IpAddr::V6(address) => fnv_1a(&address.octets()),
    };
    let straw = |of: &Candidate| {
        // Above 0 and below 1.
        let share = ((mix(client ^ of.name) >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        of.weight / -share.ln()
    };
    let straws = free.iter().map(straw).enumerate();
    straws.max_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn three() -> Vec<Candidate> {
        let of =
            |id: u64| Candidate { id, name: fnv_1a(&id.to_le_bytes()), active: 0, weight: 1.0 };
        (1..=3).map(of).collect()
    }

    fn client(n: u32) -> IpAddr {
        Ipv4Addr::from(0x0a00_0000 + n).into()
    }

    fn taken(rule: Rule, free: &[Candidate], times: u32) -> Vec<u32> {
        let (mut chooser, mut counts) = (Chooser::new(rule, 1), vec![0; free.len()]);
        for n in 0..times {
            counts[chooser.choose(free, client(n)).unwrap()] += 1;
        }
        counts
    }

    #[test]
    fn fair_takes_the_first_and_turns_take_all() {
        let free = three();
        assert_eq!(taken(Rule::Pool(Choice::Fair(Ties::First)), &free, 9), [9, 0, 0]);
        assert_eq!(taken(Rule::Pool(Choice::RoundRobin), &free, 9), [3, 3, 3]);
        assert_eq!(taken(Rule::Pool(Choice::LeastConnections(Ties::Next)), &free, 9), [3, 3, 3]);
        for rule in [Choice::Random, Choice::TwoChoices, Choice::Fair(Ties::Random)] {
            let counts = taken(Rule::Pool(rule), &free, 3000);
            assert!(counts.iter().all(|n| (900..1100).contains(n)), "{rule:?}: {counts:?}");
        }
    }

    #[test]
    fn the_fewest_is_taken_where_that_is_asked() {
        let mut free = three();
        (free[0].active, free[1].active, free[2].active) = (2, 1, 2);
        for rule in [Choice::Fair(Ties::First), Choice::LeastConnections(Ties::Next)] {
            assert_eq!(taken(Rule::Pool(rule), &free, 4), [0, 4, 0]);
        }
        // Of two that are drawn the one with fewer: whenever it is among them.
        let counts = taken(Rule::Pool(Choice::TwoChoices), &free, 3000);
        assert!((1900..2100).contains(&counts[1]), "{counts:?}");
    }

    #[test]
    fn turns_by_weight_are_spread_and_exact() {
        let mut free = three();
        (free[0].weight, free[1].weight, free[2].weight) = (5.0, 1.0, 1.0);
        let mut chooser = Chooser::new(Rule::Pool(Choice::Weighted), 1);
        let order: Vec<usize> = (0..7).filter_map(|n| chooser.choose(&free, client(n))).collect();
        assert_eq!(order, [0, 0, 1, 0, 2, 0, 0]);
    }

    #[test]
    fn who_goes_takes_only_its_own_clients_along() {
        let free = three();
        let mut chooser = Chooser::new(Rule::ByClient, 1);
        let mut of = |free: &[Candidate], n| free[chooser.choose(free, client(n)).unwrap()].id;
        let before: Vec<u64> = (0..1000).map(|n| of(&free, n)).collect();
        let after: Vec<u64> = (0..1000).map(|n| of(&free[..2], n)).collect();
        for (before, after) in before.iter().zip(&after) {
            assert!(before == after || *before == 3);
        }
        let third = before.iter().filter(|id| **id == 3).count();
        assert!((270..400).contains(&third), "{third}");
    }

    #[test]
    fn a_newcomer_takes_only_its_share_of_the_clients() {
        let of =
            |id: u64| Candidate { id, name: fnv_1a(&id.to_le_bytes()), active: 0, weight: 1.0 };
        let all: Vec<Candidate> = (1..=9).map(of).collect();
        let mut chooser = Chooser::new(Rule::ByClient, 1);
        let mut of = |free: &[Candidate], n| free[chooser.choose(free, client(n)).unwrap()].id;
        let before: Vec<u64> = (0..1000).map(|n| of(&all[..8], n)).collect();
        let after: Vec<u64> = (0..1000).map(|n| of(&all, n)).collect();
        let same = before.iter().zip(&after).filter(|(before, after)| before == after).count();
        let moved = after.iter().filter(|id| **id == 9).count();
        assert!(same >= 800 && same + moved == 1000, "{same} {moved}");
    }

    #[test]
    fn a_heavy_instance_has_more_clients() {
        let mut free = three();
        free[1].weight = 2.0;
        let counts = taken(Rule::ByClient, &free, 4000);
        assert!((1800..2200).contains(&counts[1]), "{counts:?}");
    }

    #[test]
    fn nobody_is_chosen_of_none() {
        let mut chooser = Chooser::new(Rule::Pool(Choice::Random), 1);
        assert_eq!(chooser.choose(&[], client(1)), None);
    }
}
