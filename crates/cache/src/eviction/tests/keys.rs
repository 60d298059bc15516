//! Policies of priorities, each against a scan for the least of all.

use proptest::prelude::*;

use super::super::cost::Cost;
use super::super::sketch::Sketch;
use super::super::{KINDS, Settings};
use super::{Case, Model, agrees, cases, equal_cases};

/// One object that is inside.
#[derive(Debug, Clone, Copy)]
struct Member {
    object: u32,
    frequency: u32,
    priority: f64,
    latest: usize,
}

/// `L + worth(frequency, object)`; the least leaves, then the oldest.
struct Greedy<W> {
    members: Vec<Member>,
    l: f64,
    ages: bool,
    worth: W,
}

impl<W: Fn(&Case, u32, u32) -> f64> Greedy<W> {
    fn new(ages: bool, worth: W) -> Self {
        Self { members: Vec::new(), l: 0.0, ages, worth }
    }
}

impl<W: Fn(&Case, u32, u32) -> f64> Model for Greedy<W> {
    fn hit(&mut self, case: &Case, at: usize, object: u32) -> bool {
        let found = self.members.iter_mut().find(|member| member.object == object);
        found
            .map(|member| {
                member.frequency += 1;
                member.priority = self.l + (self.worth)(case, object, member.frequency);
                member.latest = at;
            })
            .is_some()
    }

    fn insert(&mut self, case: &Case, at: usize, object: u32) {
        if case.size(object) > case.capacity {
            return;
        }
        while case.total(&self.inside()) + case.size(object) > case.capacity {
            let order = |one: &&Member, other: &&Member| {
                one.priority.total_cmp(&other.priority).then(one.latest.cmp(&other.latest))
            };
            let least = *self.members.iter().min_by(order).unwrap();
            if self.ages {
                self.l = least.priority;
            }
            self.members.retain(|member| member.object != least.object);
        }
        let priority = self.l + (self.worth)(case, object, 1);
        self.members.push(Member { object, frequency: 1, priority, latest: at });
    }

    fn inside(&self) -> Vec<u32> {
        self.members.iter().map(|member| member.object).collect()
    }
}

#[derive(Default)]
struct Belady {
    /// In the order in which they were last asked for.
    members: Vec<u32>,
}

impl Model for Belady {
    fn hit(&mut self, _: &Case, _: usize, object: u32) -> bool {
        let hit = self.members.contains(&object);
        self.members.retain(|&other| other != object);
        if hit {
            self.members.push(object);
        }
        hit
    }

    fn insert(&mut self, case: &Case, at: usize, object: u32) {
        if case.size(object) > case.capacity {
            return;
        }
        let coming = |object: u32| {
            let ahead = case.requests[at..].iter().position(|&other| other == object);
            ahead.unwrap_or(usize::MAX)
        };
        while case.total(&self.members) + case.size(object) > case.capacity {
            // Of those that never come again the last of the list.
            let latest = self.members.iter().map(|&member| coming(member)).max().unwrap();
            let victim = self.members.iter().rposition(|&member| coming(member) == latest);
            self.members.remove(victim.unwrap());
        }
        self.members.push(object);
    }

    fn inside(&self) -> Vec<u32> {
        self.members.clone()
    }
}

/// Each object's requests, remembered after it has left or not.
struct LruK {
    requests: Vec<Vec<usize>>,
    members: Vec<u32>,
    k: usize,
    is_kept: bool,
}

impl Model for LruK {
    fn hit(&mut self, _: &Case, at: usize, object: u32) -> bool {
        let hit = self.members.contains(&object);
        if hit {
            self.requests[object as usize].push(at);
        }
        hit
    }

    fn insert(&mut self, case: &Case, at: usize, object: u32) {
        if case.size(object) > case.capacity {
            return;
        }
        while case.total(&self.members) + case.size(object) > case.capacity {
            let order = |&&member: &&u32| {
                let all = &self.requests[member as usize];
                let kth = all.len().checked_sub(self.k).map(|place| all[place]);
                // No K-th request is infinitely long ago: before every `Some`.
                (kth, *all.last().unwrap())
            };
            let victim = *self.members.iter().min_by_key(order).unwrap();
            self.members.retain(|&other| other != victim);
            if !self.is_kept {
                self.requests[victim as usize].clear();
            }
        }
        self.requests[object as usize].push(at);
        self.members.push(object);
    }

    fn inside(&self) -> Vec<u32> {
        self.members.clone()
    }
}

/// The window, and the two segments of the main part from the lower one.
struct WTinyLfu {
    window: Vec<u32>,
    main: [Vec<u32>; 2],
    rooms: [u64; 2],
    sketch: Sketch,
    hits: u64,
}

impl WTinyLfu {
    fn new(case: &Case) -> Self {
        let main = case.capacity - (case.capacity / 100).max(1);
        Self {
            window: Vec::new(),
            main: Default::default(),
            rooms: [(main / 5).max(1), (main * 4 / 5).max(1)],
            sketch: Sketch::new(main, case.sizes.len()),
            hits: 0,
        }
    }

    fn room(case: &Case) -> u64 {
        case.capacity - (case.capacity / 100).max(1)
    }

    fn victim(&self, case: &Case) -> Option<u32> {
        let lowest = self.main.iter().find(|list| case.total(list) > 0)?;
        lowest.first().copied()
    }

    fn evict(&mut self, case: &Case) {
        if let Some(victim) = self.victim(case) {
            self.main.iter_mut().for_each(|list| list.retain(|&other| other != victim));
        }
    }

    fn admit(&mut self, case: &Case, object: u32) {
        let fits =
            |list: &usize| case.total(&self.main[*list]) + case.size(object) <= self.rooms[*list];
        let list = [0, 1].into_iter().find(fits);
        while list.is_none()
            && case.total(&self.main.concat()) + case.size(object) > Self::room(case)
        {
            self.evict(case);
        }
        self.main[list.unwrap_or(0)].push(object);
    }
}

impl Model for WTinyLfu {
    fn hit(&mut self, case: &Case, _: usize, object: u32) -> bool {
        if self.window.contains(&object) {
            self.window.retain(|&other| other != object);
            self.window.push(object);
            return true;
        }
        if !self.main.concat().contains(&object) {
            return false;
        }
        self.main.iter_mut().for_each(|list| list.retain(|&other| other != object));
        self.main[1].push(object);
        while case.total(&self.main[1]) > self.rooms[1] {
            let oldest = self.main[1].remove(0);
            self.main[0].push(oldest);
            while case.total(&self.main[0]) > self.rooms[0] {
                self.evict(case);
            }
        }
        self.sketch.add(object);
        self.hits += 1;
        if self.hits >= (32 * Self::room(case)).max(1) {
            self.hits = 0;
            self.sketch.halve();
        }
        true
    }

    fn insert(&mut self, case: &Case, _: usize, object: u32) {
        let size = case.size(object);
        if size > (case.capacity / 100).max(1) || size > self.rooms[0] {
            return;
        }
        while case.total(&self.inside()) + size > case.capacity {
            if case.total(&self.window) == 0 {
                self.evict(case);
                continue;
            }
            let candidate = self.window.remove(0);
            let used = case.total(&self.main.concat());
            if used + case.size(candidate) <= Self::room(case) {
                self.admit(case, candidate);
            } else {
                let estimate = |object| self.sketch.estimate(object);
                let victim = self.victim(case);
                if victim.is_some_and(|victim| estimate(candidate) > estimate(victim)) {
                    self.evict(case);
                    self.admit(case, candidate);
                }
            }
            self.sketch.add(candidate);
        }
        self.window.push(object);
        self.sketch.add(object);
    }

    fn inside(&self) -> Vec<u32> {
        [&self.window[..], &self.main[0], &self.main[1]].concat()
    }
}

#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn bytes(case: &Case, object: u32) -> f64 {
    case.size(object).max(1) as f64
}

proptest! {
    #[test]
    fn least_frequently_used(case in cases()) {
        let frequency = |_: &Case, _: u32, frequency: u32| f64::from(frequency);
        agrees("lfu", &case, Greedy::new(false, frequency))?;
        agrees("lfuda", &case, Greedy::new(true, frequency))?;
    }

    #[test]
    fn greedy_dual(case in cases(), which in 0..6usize) {
        let settings = ["", "cost=1", "cost=size", "cost=packets", "cost=latency", "cost=hops"];
        let settings = settings[which];
        let cost = Cost::of_settings(&Settings::parse(settings).unwrap()).unwrap();
        let worth = |case: &Case, object: u32, _: u32| {
            cost.of(object, case.size(object).max(1)) / bytes(case, object)
        };
        agrees("gds", &case.with(settings), Greedy::new(true, worth))?;
    }

    #[test]
    fn greedy_dual_with_frequency(case in cases()) {
        let worth = |case: &Case, object: u32, frequency: u32| {
            f64::from(frequency) * 1e6 / bytes(case, object)
        };
        agrees("gdsf", &case, Greedy::new(true, worth))?;
    }

    #[test]
    fn belady(case in cases()) {
        agrees("belady", &case, Belady::default())?;
    }

    /// Enough objects inside for next uses to change sides.
    #[test]
    fn belady_of_many(
        requests in proptest::collection::vec(0..32u32, 1..400),
        capacity in 6..30u64,
    ) {
        agrees("belady", &Case::new(&requests, &[1; 32], capacity), Belady::default())?;
    }

    #[test]
    fn lru_k(case in cases(), k in 1..4usize, is_kept in any::<bool>()) {
        let history = if is_kept { "kept" } else { "dropped" };
        let settings = format!("k={k}:history={history}");
        let requests = vec![Vec::new(); case.sizes.len()];
        agrees("lru-k", &case.with(&settings), LruK { requests, members: Vec::new(), k, is_kept })?;
    }

    #[test]
    fn w_tiny_lfu(any in cases(), equal in equal_cases(), capacity in 100..500u64) {
        let sizes = any.sizes.iter().map(|size| size % 6).collect();
        let small = Case { sizes, capacity, ..any.clone() };
        for case in [any, equal, small] {
            agrees("wtinylfu", &case, WTinyLfu::new(&case))?;
        }
    }
}

#[test]
fn policies_say_what_they_need() {
    let needing = |of: fn(super::super::Needs) -> bool| -> Vec<&str> {
        KINDS.iter().filter(|kind| of(kind.needs)).map(|kind| kind.name).collect()
    };
    assert_eq!(needing(|needs| needs.next), ["belady"]);
    assert_eq!(needing(|needs| needs.seconds), ["squid-heap-lru", "squid-heap-gdsf"]);
}
