//! Policies of lists against lists: each a vector, the oldest first.

use proptest::prelude::*;

use super::{Case, Model, agrees, cases};

/// Takes an object out of whichever list it is in; which that was.
fn take(lists: &mut [Vec<u32>], object: u32) -> Option<usize> {
    let list = lists.iter().position(|list| list.contains(&object))?;
    lists[list].retain(|&other| other != object);
    Some(list)
}

fn is_full(case: &Case, lists: &[Vec<u32>], object: u32) -> bool {
    let used: u64 = lists.iter().map(|list| case.total(list)).sum();
    used + case.size(object) > case.capacity
}

/// FIFO with counters; CLOCK, and FIFO where they never count.
struct Chances {
    queue: Vec<(u32, u32)>,
    most: u32,
}

impl Model for Chances {
    fn hit(&mut self, _: &Case, _: usize, object: u32) -> bool {
        let most = self.most;
        let found = self.queue.iter_mut().find(|(other, _)| *other == object);
        found.map(|(_, chances)| *chances = (*chances + 1).min(most)).is_some()
    }

    fn insert(&mut self, case: &Case, _: usize, object: u32) {
        while case.size(object) <= case.capacity && is_full(case, &[self.inside()], object) {
            let (front, chances) = self.queue.remove(0);
            if chances > 0 {
                self.queue.push((front, chances - 1));
            }
        }
        if case.size(object) <= case.capacity {
            self.queue.push((object, 0));
        }
    }

    fn inside(&self) -> Vec<u32> {
        self.queue.iter().map(|&(object, _)| object).collect()
    }
}

/// LRU, as segmented LRU of one segment has it too.
struct Segmented {
    lists: Vec<Vec<u32>>,
    rooms: Vec<u64>,
}

impl Segmented {
    fn new(count: usize, case: &Case) -> Self {
        let room = (case.capacity / count as u64).max(1);
        Self { lists: vec![Vec::new(); count], rooms: vec![room; count] }
    }

    fn evict(&mut self, case: &Case) {
        let lowest = self.lists.iter_mut().find(|list| case.total(list) > 0);
        lowest.unwrap().remove(0);
    }

    fn cool(&mut self, case: &Case, list: usize) {
        while case.total(&self.lists[list]) > self.rooms[list] {
            if list == 0 {
                self.evict(case);
            } else {
                let oldest = self.lists[list].remove(0);
                self.lists[list - 1].push(oldest);
                self.cool(case, list - 1);
            }
        }
    }
}

impl Model for Segmented {
    fn hit(&mut self, case: &Case, _: usize, object: u32) -> bool {
        let Some(from) = take(&mut self.lists, object) else { return false };
        if from + 1 == self.lists.len() {
            self.lists[from].push(object);
        } else {
            self.lists[from + 1].push(object);
            self.cool(case, from + 1);
        }
        true
    }

    fn insert(&mut self, case: &Case, _: usize, object: u32) {
        let size = case.size(object);
        if size > self.rooms[0] || size > case.capacity {
            return;
        }
        while is_full(case, &self.lists, object) {
            self.evict(case);
        }
        let fits = |list: usize| case.total(&self.lists[list]) + size <= self.rooms[list];
        let lowest = (0..self.lists.len()).find(|&list| fits(list)).unwrap_or(0);
        self.lists[lowest].push(object);
    }

    fn inside(&self) -> Vec<u32> {
        self.lists.concat()
    }
}

/// Figure 4 of the paper; case IV once for each object that leaves.
#[derive(Default)]
struct Arc {
    t1: Vec<u32>,
    t2: Vec<u32>,
    b1: Vec<u32>,
    b2: Vec<u32>,
    p: f64,
}

impl Arc {
    #[expect(clippy::float_cmp, reason = "as the figure compares")]
    fn replace(&mut self, case: &Case, in_b2: bool) {
        let t1 = case.total(&self.t1) as f64;
        if t1 > 0.0 && (t1 > self.p || (in_b2 && t1 == self.p)) || case.total(&self.t2) == 0 {
            self.b1.push(self.t1.remove(0));
        } else {
            self.b2.push(self.t2.remove(0));
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "small numbers")]
impl Model for Arc {
    fn hit(&mut self, _: &Case, _: usize, object: u32) -> bool {
        let hit = self.t1.contains(&object) || self.t2.contains(&object);
        if hit {
            self.t1.retain(|&other| other != object);
            self.t2.retain(|&other| other != object);
            self.t2.push(object);
        }
        hit
    }

    fn insert(&mut self, case: &Case, _: usize, object: u32) {
        let (size, all) = (case.size(object), case.capacity);
        if size > all {
            return;
        }
        let bytes = |list: &[u32]| case.total(list) as f64;
        let (in_b1, in_b2) = (self.b1.contains(&object), self.b2.contains(&object));
        let more = |ratio: f64| if ratio > 1.0 { ratio } else { 1.0 };
        if in_b1 {
            self.p = (self.p + more(bytes(&self.b2) / bytes(&self.b1))).min(all as f64);
        }
        if in_b2 {
            self.p = (self.p - more(bytes(&self.b1) / bytes(&self.b2))).max(0.0);
        }
        self.b1.retain(|&other| other != object);
        self.b2.retain(|&other| other != object);
        while case.total(&self.t1) + case.total(&self.t2) + size > all {
            let l1 = case.total(&self.t1) + case.total(&self.b1);
            let l2 = case.total(&self.t2) + case.total(&self.b2);
            if in_b1 || in_b2 {
                self.replace(case, in_b2);
            } else if l1 + size > all && case.total(&self.b1) == 0 {
                self.t1.remove(0);
            } else if l1 + size > all {
                self.b1.remove(0);
                self.replace(case, false);
            } else {
                if l1 + l2 >= 2 * all && !self.b2.is_empty() {
                    self.b2.remove(0);
                }
                self.replace(case, false);
            }
        }
        if in_b1 || in_b2 { &mut self.t2 } else { &mut self.t1 }.push(object);
    }

    fn inside(&self) -> Vec<u32> {
        [&self.t1[..], &self.t2].concat()
    }
}

#[derive(Default)]
struct TwoQ {
    a1_in: Vec<u32>,
    am: Vec<u32>,
    a1_out: Vec<u32>,
}

impl Model for TwoQ {
    fn hit(&mut self, _: &Case, _: usize, object: u32) -> bool {
        if take(std::slice::from_mut(&mut self.am), object).is_some() {
            self.am.push(object);
            return true;
        }
        self.a1_in.contains(&object)
    }

    fn insert(&mut self, case: &Case, _: usize, object: u32) {
        let room = (case.capacity / 4).max(1);
        let size = case.size(object);
        if size > room {
            return;
        }
        let again = take(std::slice::from_mut(&mut self.a1_out), object).is_some();
        while is_full(case, &[self.inside()], object) {
            if case.total(&self.am) > 0 && case.total(&self.a1_in) <= room {
                self.am.remove(0);
                continue;
            }
            let victim = self.a1_in.remove(0);
            if case.size(victim) <= case.capacity / 2 {
                while case.total(&self.a1_out) + case.size(victim) > case.capacity / 2 {
                    self.a1_out.remove(0);
                }
                self.a1_out.push(victim);
            }
        }
        if !again || size > case.capacity - room {
            self.a1_in.push(object);
            return;
        }
        while case.total(&self.am) + size > case.capacity - room {
            self.am.remove(0);
        }
        self.am.push(object);
    }

    fn inside(&self) -> Vec<u32> {
        [&self.a1_in[..], &self.am].concat()
    }
}

/// `s` has the bottom of the stack first; `q` and `nonresident` share no object.
#[derive(Default)]
struct Lirs {
    s: Vec<u32>,
    lir: Vec<u32>,
    q: Vec<u32>,
    nonresident: Vec<u32>,
}

impl Lirs {
    fn top(&mut self, object: u32) {
        self.s.retain(|&other| other != object);
        self.s.push(object);
    }

    /// Brings the LIR objects down to `room`; `q` takes what loses its status, up to `q_room`.
    fn demote(&mut self, case: &Case, room: u64, q_room: u64) {
        while case.total(&self.lir) > room {
            self.prune();
            let bottom = self.s.remove(0);
            assert!(self.lir.contains(&bottom));
            self.lir.retain(|&other| other != bottom);
            self.shrink(case, q_room - case.size(bottom));
            self.q.push(bottom);
            self.prune();
        }
    }

    fn shrink(&mut self, case: &Case, room: u64) {
        while case.total(&self.q) > room {
            let victim = self.q.remove(0);
            if self.s.contains(&victim) {
                self.nonresident.push(victim);
            }
        }
    }

    fn prune(&mut self) {
        while self.s.len() > 1 && !self.lir.contains(&self.s[0]) {
            let bottom = self.s.remove(0);
            self.nonresident.retain(|&other| other != bottom);
        }
    }

    fn limit(&mut self, case: &Case) {
        while case.total(&self.s) > 2 * case.capacity && !self.nonresident.is_empty() {
            let oldest = self.nonresident.remove(0);
            self.s.retain(|&other| other != oldest);
        }
    }
}

impl Model for Lirs {
    fn hit(&mut self, case: &Case, _: usize, object: u32) -> bool {
        let q_room = (case.capacity / 100).max(1);
        let room = case.capacity - q_room;
        if self.lir.contains(&object) {
            self.top(object);
            self.prune();
        } else if self.q.contains(&object) {
            let in_stack = self.s.contains(&object);
            self.q.retain(|&other| other != object);
            if in_stack {
                self.top(object);
            } else {
                self.q.push(object);
            }
            self.demote(case, room - case.size(object), q_room);
            self.top(object);
            if in_stack {
                self.lir.push(object);
            } else if !self.q.contains(&object) {
                self.nonresident.push(object);
            }
        } else {
            return false;
        }
        self.limit(case);
        true
    }

    fn insert(&mut self, case: &Case, _: usize, object: u32) {
        let q_room = (case.capacity / 100).max(1);
        let (size, room) = (case.size(object), case.capacity - q_room);
        if size > room || size > q_room {
            return;
        }
        if self.s.contains(&object) {
            self.top(object);
            self.demote(case, room - size, q_room);
            self.nonresident.retain(|&other| other != object);
            self.lir.push(object);
        } else if case.total(&self.lir) + size <= room {
            self.top(object);
            self.lir.push(object);
        } else {
            self.shrink(case, q_room - size);
            self.top(object);
            self.q.push(object);
        }
        self.limit(case);
    }

    fn inside(&self) -> Vec<u32> {
        [&self.lir[..], &self.q].concat()
    }
}

/// Objects of up to a hundredth of the cache, for policies that refuse larger ones.
fn small_objects() -> impl Strategy<Value = Case> {
    (cases(), 1..4u64).prop_map(|(case, scale)| {
        let sizes: Vec<u64> = case.sizes.iter().map(|&size| size % 5).collect();
        let capacity =
            if sizes.iter().all(|&size| size <= 1) { 2 + scale } else { 100 * scale + 7 };
        Case { sizes, capacity, ..case }
    })
}

proptest! {
    #[test]
    fn fifo_and_clock(case in cases()) {
        agrees("fifo", &case, Chances { queue: Vec::new(), most: 0 })?;
        agrees("clock", &case, Chances { queue: Vec::new(), most: 1 })?;
        agrees("clock", &case.with("bits=3"), Chances { queue: Vec::new(), most: 7 })?;
    }

    #[test]
    fn lru_and_segmented_lru(case in cases()) {
        agrees("lru", &case, Segmented::new(1, &case))?;
        agrees("squid-lru", &case, Segmented::new(1, &case))?;
        agrees("slru", &case.with("segments=2"), Segmented::new(2, &case))?;
        agrees("slru", &case, Segmented::new(4, &case))?;
    }

    #[test]
    fn arc(case in cases()) {
        agrees("arc", &case, Arc::default())?;
    }

    #[test]
    fn two_q(case in cases()) {
        agrees("2q", &case, TwoQ::default())?;
    }

    #[test]
    fn lirs(any in cases(), small in small_objects()) {
        agrees("lirs", &any, Lirs::default())?;
        agrees("lirs", &small, Lirs::default())?;
    }
}
