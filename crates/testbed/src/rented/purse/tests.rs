//! The books of an experiment by time that is moved by hand.

#![expect(clippy::cast_possible_truncation, reason = "numbers of tests are small")]

use super::*;
use plimsoll_units::hash::mix;
use std::cell::Cell;

thread_local! {
    /// The time of a test, nanoseconds since 1970.
    static NOW_NS: Cell<u64> = const { Cell::new(1_000_000 * SECOND) };
}

const SECOND: u64 = 1_000_000_000;
/// A budget is so many units of the least price, and a few.
const AHEAD_UNITS: u64 = 2;

fn now_ns() -> u64 {
    NOW_NS.get()
}

#[test]
fn instances_are_counted_and_charged_by_begun_units() {
    let folder = tempfile::tempdir().unwrap();
    let (path, ledgers) = (folder.path().join("a/list.jsonl"), folder.path());
    let terms = Terms { budget: 0.5, currency: "USD".to_owned(), most: 2, unit_s: 3600 };
    std::fs::create_dir(ledgers.join("bed")).unwrap();
    let open = || Purse::open((&path, ledgers), terms.clone(), now_ns).unwrap();
    let purse = open();
    let first = purse.begins("bed", "web-1", 0.2).unwrap();
    assert_eq!(first, "plimsoll-bed-web-1-1");
    purse.begins("bed", "web-2", 0.2).unwrap();
    let full = purse.begins("bed", "web-3", 0.1).unwrap_err().to_string();
    assert!(full.contains("`max` in [testbed] is 2"), "{full}");
    // Another process sees the same.
    purse.list().unwrap().has_id(&first, "i-1").unwrap();
    purse.list().unwrap().ends(&first, Some(now_ns() + 5 * SECOND)).unwrap();
    let purse = open();
    assert_eq!(purse.list().unwrap().get(&first).unwrap().id, "i-1");
    let poor = purse.begins("bed", "web-1", 0.2).unwrap_err().to_string();
    assert!(poor.contains("0.40 USD of the budget of 0.50 USD are spent"), "{poor}");
    assert_eq!(purse.begins("bed", "web-1", 0.05).unwrap(), "plimsoll-bed-web-1-2");
    assert_eq!(purse.is_reached().unwrap(), None);
    // The hours of those that go on end soon: what would begin then is too much.
    NOW_NS.set((1_000_000 + 3510) * SECOND);
    assert_eq!(purse.is_reached().unwrap(), None);
    NOW_NS.set((1_000_000 + 3511) * SECOND);
    let told = purse.is_reached().unwrap().unwrap();
    assert!(told.contains("0.45 USD are spent on instances, and 0.70 USD"), "{told}");
}

#[test]
fn what_was_never_ordered_costs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("list.jsonl");
    let terms = Terms { budget: 1.0, currency: "USD".to_owned(), most: 1, unit_s: 60 };
    let open = || Purse::open((&path, folder.path()), terms.clone(), now_ns).unwrap();
    open().begins("gone", "web-1", 30.0).unwrap();
    // Its bed has no ledger.
    let purse = open();
    assert_eq!(purse.begins("gone", "web-1", 30.0).unwrap(), "plimsoll-gone-web-1-2");
}

#[test]
fn an_instance_that_ends_in_the_second_in_which_it_began_is_charged_a_unit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("list.jsonl");
    let terms = Terms { budget: 5.0, currency: "USD".to_owned(), most: 1, unit_s: 3600 };
    std::fs::create_dir(folder.path().join("bed")).unwrap();
    let purse = Purse::open((&path, folder.path()), terms.clone(), now_ns).unwrap();
    for number in 1..=3 {
        let token = purse.begins("bed", "web-1", 1.0).unwrap();
        let mut list = purse.list().unwrap();
        list.ends(&token, Some(now_ns() + 900_000_000)).unwrap();
        let spent = list.spent(&terms, 1_000_000);
        assert!((spent - f64::from(number)).abs() < 1e-9, "{spent} after {number}");
    }
}

/// An instance as a person would note it, in whole numbers: its price an hour in ten-thousandths,
/// and the seconds in which it was there.
struct Stay {
    price: u64,
    from_s: u64,
    to_s: Option<u64>,
}

/// What stays cost up to a moment, in ten-thousandths of a 3,600th: each unit that has begun
/// before.
fn owed(stays: &BTreeMap<String, Stay>, unit_s: u64, now_s: u64) -> u64 {
    let of = |stay: &Stay| {
        let until_s = stay.to_s.unwrap_or(now_s.max(stay.from_s + 1));
        let begins = (0..).map(|unit| stay.from_s + unit * unit_s);
        let begun = begins.take_while(|at_s| *at_s < until_s).count() as u64;
        stay.price * begun * unit_s
    };
    stays.values().map(of).sum()
}

/// Instances that begin, fail and end in some order, and whether the budget lets them.
struct Course {
    purse: Purse,
    unit_s: u64,
    ahead_s: u64,
    budget: u64,
    most: usize,
    stays: BTreeMap<String, Stay>,
    state: u64,
}

impl Course {
    fn draw(&mut self, below: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.state) % below
    }

    fn is_too_much(&self, at_s: u64, more: u64) -> bool {
        owed(&self.stays, self.unit_s, at_s + self.ahead_s) + more > self.budget * 3600
    }

    /// Lets seconds pass. Returns whether the budget has ended it, which it does with the first
    /// second that says so.
    fn passes(&mut self, seconds: u64) -> bool {
        let now_s = NOW_NS.get() / SECOND;
        let ends = (now_s..=now_s + seconds).find(|at_s| self.is_too_much(*at_s, 0));
        if let Some(at_s) = ends.filter(|at_s| *at_s > now_s) {
            NOW_NS.set((at_s - 1) * SECOND + 999_999_999);
            assert_eq!(self.purse.is_reached().unwrap(), None, "a second before {at_s}");
        }
        NOW_NS.set(ends.unwrap_or(now_s + seconds) * SECOND);
        let told = self.purse.is_reached().unwrap();
        assert_eq!(told.is_some(), ends.is_some(), "{told:?} at {}", NOW_NS.get());
        let owes = owed(&self.stays, self.unit_s, NOW_NS.get() / SECOND);
        assert!(owes <= self.budget * 3600, "{owes} are owed of {}", self.budget * 3600);
        ends.is_some()
    }

    /// Orders an instance, which the cloud may refuse.
    fn begins(&mut self) {
        let (price, name) = ([1000, 1700, 2000, 3400][self.draw(4) as usize], self.draw(3));
        NOW_NS.set(NOW_NS.get() + self.draw(SECOND));
        let from_s = NOW_NS.get() / SECOND;
        let there = self.stays.values().filter(|of| of.to_s.is_none()).count();
        let units = self.ahead_s.div_ceil(self.unit_s);
        let is_refused =
            there >= self.most || self.is_too_much(from_s, price * units * self.unit_s);
        let begun = self.purse.begins("bed", &format!("web-{name}"), price as f64 / 1e4);
        assert_eq!(begun.is_err(), is_refused, "{begun:?} with {there} there");
        let Ok(token) = begun else { return };
        let is_failed = self.draw(4) == 0;
        if is_failed {
            self.purse.list().unwrap().ends(&token, None).unwrap();
        }
        let stay = Stay { price, from_s, to_s: is_failed.then_some(from_s) };
        assert!(self.stays.insert(token, stay).is_none(), "each has a token of its own");
    }

    /// Ends an instance, be it there or not: of one that is not any more, nothing changes.
    fn ends(&mut self) {
        let at = self.draw(self.stays.len().max(1) as u64) as usize;
        NOW_NS.set(NOW_NS.get() + self.draw(SECOND));
        let Some((token, stay)) = self.stays.iter_mut().nth(at) else { return };
        self.purse.list().unwrap().ends(token, Some(NOW_NS.get())).unwrap();
        let ended_s = NOW_NS.get().div_ceil(SECOND).max(stay.from_s + 1);
        stay.to_s.get_or_insert(ended_s);
    }
}

/// In whatever order instances begin, fail and end: none is ordered for which there is no money,
/// and the run ends with the first second at which what has begun, and what is about to, exceeds
/// it.
#[test]
fn a_budget_ends_with_the_first_second_that_exceeds_it_in_any_order() {
    // Each line is synced, which costs nothing in memory.
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    std::fs::create_dir(folder.path().join("bed")).unwrap();
    let (mut ended, mut lasted) = (0, 0);
    for seed in 0..256 {
        let unit_s = [1, 60, 3600][seed as usize % 3];
        let path = folder.path().join(format!("{seed}.jsonl"));
        let (most, budget) = (1 + mix(seed) as u32 % 4, 1 + mix(!seed) % 40);
        // So that some are spent to the last unit: prices are of units then.
        let budget = (budget * 1000 * unit_s * AHEAD_UNITS).div_ceil(3600);
        let (budget_of, currency) = (budget as f64 / 1e4, "USD".to_owned());
        let terms = Terms { budget: budget_of, currency, most, unit_s };
        let ahead_s = if unit_s < 60 { 2 } else { 90 };
        let purse = Purse::open((&path, folder.path()), terms, now_ns).unwrap();
        let (most, stays) = (most as usize, BTreeMap::new());
        let mut of = Course { purse, unit_s, ahead_s, budget, most, stays, state: seed };
        let is_over = (0..12).any(|_| {
            match of.draw(3) {
                0 | 1 => of.begins(),
                _ => of.ends(),
            }
            let seconds = 1 + of.draw(2 * unit_s + 5);
            of.passes(seconds)
        });
        ended += u32::from(is_over);
        lasted += u32::from(!is_over);
    }
    assert!(ended > 50 && lasted > 50, "{ended} ended, {lasted} did not");
}
