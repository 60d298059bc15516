//! The fast path: least connections over up to 24 instances of one or two cores, first come first
//! served, each with a limit of up to 15 requests; ties go to the first instance.
//!
//! Nothing is ordered and no event is kept:
//!
//! - With first come first served a request's departure is known when it is accepted: it begins
//!   when it is there and the core that is free first is free. So it is handed to the tally at
//!   once, which counts it when it has left.
//! - The balancer needs to know only which requests have left by now. Each core is a *lane* with
//!   the time at which the request in service leaves, its *head*; all heads are compared with the
//!   time of an arrival at once ([`super::compare`]). What waits behind the head is in a ring; a
//!   mask says which lanes have one, so it costs nothing until requests wait.
//! - How many requests each instance has are four *bit planes*, a bit an instance: departures are
//!   subtracted for all instances at once, and the least of them is found by four and-nots.
//! - The comparison for the next arrival is made before this one is placed. That this one has left
//!   again by then is a branch of its own, seldom taken: so neither the comparison nor the new
//!   departure's time is part of the chain from request to request.

use super::Account;
use super::compare::{Compare, Heads, LANES, Plain, has_vectors};
use super::tally::Tally;
use crate::outcome::Loss;

/// The most instances.
pub(super) const SLOTS: usize = 24;
/// The most requests that an instance can have: what four bit planes can count.
pub(super) const MOST: u32 = 15;
/// Requests behind a head: a power of two, and not fewer than an instance can have.
const RING: usize = 16;
/// The lanes of the first core.
const FIRST: u64 = (1 << SLOTS) - 1;
/// Heads so long after the base, or longer, are one: they have not come before the base moves on.
const FAR: u64 = i32::MAX as u64;
/// Requests are taken up to so long after the base: 69 s, and less than [`FAR`].
const SPAN: u64 = 1 << 30;
/// Places of an instance in an array: with 32 no index has to be checked.
const PLACES: usize = 32;

/// The state of all instances.
pub(super) struct Lanes {
    /// The time that heads are relative to.
    base: u64,
    live: Live<Plain>,
    /// The head's time, of a lane with requests behind it; that of another is in `free`.
    at: [u64; LANES],
    /// When each core of an instance has done all that it was given; the greatest time where there
    /// is no core.
    free: [[u64; 2]; PLACES],
    rings: [[u64; RING]; LANES],
    /// Where a ring begins, as a number of which the remainder counts, and how many are in it.
    ring: [(u8, u8); LANES],
    /// Instances that take requests.
    open: u32,
    limit: u32,
    /// Service times are multiplied by this over 2³².
    slowness: [u64; PLACES],
    /// What an instance was given.
    given: [Given; PLACES],
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "no such vectors"))]
    has_vectors: bool,
}

/// What an instance was given.
#[derive(Clone, Copy, Default)]
pub(super) struct Given {
    /// The work since it was opened, ticks of cores.
    pub(super) work: u64,
    /// How many requests were ever accepted at its place.
    pub(super) count: u64,
    /// How long these stay, ticks, modulo 2⁶⁴.
    stay: u64,
}

/// What changes with every request: in registers while requests are offered.
#[derive(Clone, Copy)]
struct Live<C> {
    heads: C,
    /// Bit k of the number of requests, of each instance.
    planes: [u32; 4],
    /// Lanes with a request in service.
    busy: u64,
    /// Lanes with requests behind it.
    waiting: u64,
}

impl<C: Compare> Live<C> {
    /// The same, compared in another way.
    #[inline(always)]
    fn by<D: Compare>(&self) -> Live<D> {
        let mut heads: Heads = [0; LANES];
        self.heads.store(&mut heads);
        let Self { planes, busy, waiting, .. } = *self;
        Live { heads: D::load(&heads), planes, busy, waiting }
    }

    /// One request fewer in the instances of these lanes.
    #[inline(always)]
    fn subtract(&mut self, lanes: u64) {
        #[expect(clippy::cast_possible_truncation, reason = "24 bits each")]
        let cores = [(lanes & FIRST) as u32, (lanes >> SLOTS) as u32];
        for mut borrow in cores {
            for plane in &mut self.planes {
                let before = *plane;
                *plane ^= borrow;
                borrow &= !before;
            }
        }
    }

    /// One request more in an instance.
    #[inline(always)]
    fn add(&mut self, slot: usize) {
        let mut carry = 1_u32 << slot;
        for plane in &mut self.planes {
            let before = *plane;
            *plane ^= carry;
            carry &= before;
        }
    }

    /// Of some instances those with the fewest requests, and how many those have.
    #[inline(always)]
    fn least(&self, mut among: u32) -> (u32, u32) {
        let mut fewest = 0;
        for (bit, plane) in self.planes.iter().enumerate().rev() {
            let fewer = among & !plane;
            fewest |= u32::from(fewer == 0) << bit;
            among = if fewer == 0 { among } else { fewer };
        }
        (among, fewest)
    }
}

impl Lanes {
    /// No instance is open. `limit` is from 1 to [`MOST`]; vector instructions are used where they
    /// are allowed and the machine has them.
    pub(super) fn new(limit: u32, with_vectors: bool) -> Self {
        let heads = Plain::load(&[0; LANES]);
        Self {
            base: 0,
            live: Live { heads, planes: [0; 4], busy: 0, waiting: 0 },
            at: [0; LANES],
            free: [[u64::MAX; 2]; PLACES],
            rings: [[0; RING]; LANES],
            ring: [(0, 0); LANES],
            open: 0,
            limit,
            slowness: [super::ONE; PLACES],
            given: [Given::default(); PLACES],
            has_vectors: with_vectors && has_vectors(),
        }
    }

    /// Begins to send requests to an instance of one or two cores, which has none.
    pub(super) fn open(&mut self, slot: usize, cores: u32, slowness: u64, now: u64) {
        debug_assert_eq!(self.present(slot), 0, "instance {slot} still has requests");
        self.open |= 1 << slot;
        self.free[slot] = [now, if cores > 1 { now } else { u64::MAX }];
        self.slowness[slot] = slowness;
        self.given[slot].work = 0;
    }

    /// Changes the speed of an instance, for requests that it accepts from now on.
    pub(super) fn set_slowness(&mut self, slot: usize, slowness: u64) {
        self.slowness[slot] = slowness;
    }

    /// Sends no more requests to an instance; it finishes those that it has.
    pub(super) fn close(&mut self, slot: usize) {
        self.open &= !(1 << slot);
    }

    pub(super) fn is_open(&self, slot: usize) -> bool {
        self.open >> slot & 1 == 1
    }

    pub(super) fn slowness(&self, slot: usize) -> u64 {
        self.slowness[slot]
    }

    /// How many requests an instance has.
    pub(super) fn present(&self, slot: usize) -> u32 {
        if slot >= SLOTS {
            return 0;
        }
        let bit = |plane: usize| (self.live.planes[plane] >> slot & 1) << plane;
        bit(0) | bit(1) | bit(2) | bit(3)
    }

    /// When each core of an instance has done all that it was given; none where it was never open.
    pub(super) fn free(&self, slot: usize) -> impl Iterator<Item = u64> + '_ {
        self.free.get(slot).into_iter().flatten().copied().filter(|&at| at < u64::MAX)
    }

    /// When the requests of a core leave, in order.
    pub(super) fn held(&self, slot: usize, core: usize) -> impl Iterator<Item = u64> + '_ {
        let lane = slot + core * SLOTS;
        let head = (self.live.busy >> lane & 1 == 1).then(|| self.head(lane));
        let (from, len) = self.ring[lane];
        let behind = (0..len).map(move |place| usize::from(from.wrapping_add(place)));
        head.into_iter().chain(behind.map(move |place| self.rings[lane][place % RING]))
    }

    /// What an instance was given.
    pub(super) fn given(&self, slot: usize) -> Given {
        self.given.get(slot).copied().unwrap_or_default()
    }

    /// The work that an instance has done since it was opened, up to a time, ticks of cores.
    pub(super) fn worked(&self, slot: usize, now: u64) -> u64 {
        // It was given all that keeps its cores from being free.
        self.given(slot).work - self.free(slot).map(|at| at.saturating_sub(now)).sum::<u64>()
    }

    /// What was done at a place, up to a time by which all who left have left.
    pub(super) fn account(&self, slot: usize, now: u64) -> Account {
        if slot >= SLOTS {
            return Account::default();
        }
        let present = u64::from(self.present(slot));
        let stayed = self.stay_origin(slot).wrapping_add(present.wrapping_mul(now));
        Account { served: self.given(slot).count - present, stayed }
    }

    /// How long requests would have stayed at a place by time zero, if none of those present left:
    /// ticks, modulo 2⁶⁴.
    pub(super) fn stay_origin(&self, slot: usize) -> u64 {
        let leave = [0, 1].into_iter().flat_map(|core| self.held(slot, core));
        leave.fold(self.given(slot).stay, u64::wrapping_sub)
    }

    /// The time of a lane's head, where it has one.
    fn head(&self, lane: usize) -> u64 {
        let free = self.free[lane % SLOTS][lane / SLOTS];
        if self.live.waiting >> lane & 1 == 1 { self.at[lane] } else { free }
    }

    /// Lets any time pass without a request, up to `now`, which becomes the base.
    pub(super) fn pass(&mut self, now: u64) {
        let come = (0..LANES).filter(|&lane| self.head(lane) <= now);
        let left = come.fold(0, |mask, lane| mask | 1 << lane) & self.live.busy;
        let mut live = self.live;
        self.leave(&mut live, left, now, u64::MAX, &mut 0);
        self.live = live;
        self.base = now;
        for lane in 0..LANES {
            self.live.heads.set(lane, self.relative(self.head(lane)));
        }
    }

    /// A time relative to the base.
    #[inline(always)]
    fn relative(&self, at: u64) -> i32 {
        at.saturating_sub(self.base).min(FAR) as i32
    }

    /// Offers requests in order, none earlier than the base.
    pub(super) fn offer(&mut self, mut due: &[u64], mut service: &[u64], tally: &mut Tally) {
        tally.offered += due.len() as u64;
        if self.open == 0 {
            tally.lose(Loss::NoSlot, due.len() as u64);
            return;
        }
        while let (Some(&first), Some(&last)) = (due.first(), due.last()) {
            let end = self.base.saturating_add(SPAN);
            let near = if last < end { due.len() } else { due.partition_point(|&t| t < end) };
            if near == 0 {
                self.pass(first);
                continue;
            }
            self.offer_near(&due[..near], &service[..near], tally);
            (due, service) = (&due[near..], &service[near..]);
        }
    }

    /// Offers requests that are due within [`SPAN`] of the base.
    fn offer_near(&mut self, due: &[u64], service: &[u64], tally: &mut Tally) {
        #[cfg(target_arch = "x86_64")]
        if self.has_vectors {
            #[expect(unsafe_code, reason = "vector instructions")]
            // SAFETY: the machine has them.
            return unsafe { self.offer_avx2(due, service, tally) };
        }
        self.offer_by::<Plain>(due, service, tally);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
    fn offer_avx2(&mut self, due: &[u64], service: &[u64], tally: &mut Tally) {
        self.offer_by::<super::compare::x86::Avx2>(due, service, tally);
    }

    #[inline(always)]
    fn offer_by<C: Compare>(&mut self, due: &[u64], service: &[u64], tally: &mut Tally) {
        let Some(&first) = due.first() else { return };
        let last = due.len() - 1;
        let mut live: Live<C> = self.live.by();
        let mut left = live.heads.come(self.relative(first)) & live.busy;
        let (mut sums, counts, later) = tally.running();
        let mut lost = 0;
        for (index, (&t, &service)) in due.iter().zip(service).enumerate() {
            let next = due[(index + 1).min(last)];
            let mut come = live.heads.come(self.relative(next));
            self.leave(&mut live, left, t, next, &mut come);
            left = come & live.busy;
            match self.place(&mut live, t, service, next, &mut left) {
                Some(at) => sums.serve(counts, later, t, at),
                None => lost += 1,
            }
        }
        tally.resume(sums);
        tally.lose(Loss::NoSlot, lost);
        self.live = live.by();
    }

    /// Takes away what has left by `now`; corrects what has come by `next` where a head changes.
    #[inline(always)]
    fn leave<C: Compare>(
        &mut self,
        live: &mut Live<C>,
        left: u64,
        now: u64,
        next: u64,
        come: &mut u64,
    ) {
        let mut behind = left & live.waiting;
        live.busy &= !left | behind;
        live.subtract(left);
        while behind != 0 {
            let lane = behind.trailing_zeros() as usize;
            behind &= behind - 1;
            self.follow(live, lane, now, next, come);
        }
    }

    /// What waited behind a head that has left is the head now, and may have left as well.
    #[inline(always)]
    fn follow<C: Compare>(
        &mut self,
        live: &mut Live<C>,
        lane: usize,
        now: u64,
        next: u64,
        come: &mut u64,
    ) {
        let bit = 1 << lane;
        loop {
            let (from, len) = self.ring[lane];
            let head = self.rings[lane][usize::from(from) % RING];
            self.ring[lane] = (from.wrapping_add(1), len - 1);
            if len == 1 {
                live.waiting &= !bit;
            }
            if head > now {
                live.heads.set(lane, self.relative(head));
                self.at[lane] = head;
                if head > next {
                    *come &= !bit;
                }
                return;
            }
            live.subtract(bit);
            if len == 1 {
                live.busy &= !bit;
                return;
            }
        }
    }

    /// Gives a request to the first instance with the fewest: when it leaves. None where all are
    /// full.
    #[inline(always)]
    fn place<C: Compare>(
        &mut self,
        live: &mut Live<C>,
        t: u64,
        service: u64,
        next: u64,
        left: &mut u64,
    ) -> Option<u64> {
        let (among, fewest) = live.least(self.open);
        if fewest == self.limit {
            return None;
        }
        let slot = among.trailing_zeros() as usize % PLACES;
        let [one, other] = self.free[slot];
        let core = usize::from(other < one);
        let free = one.min(other);
        let work = super::scaled(service, self.slowness[slot]);
        let at = free.max(t) + work;
        self.free[slot][core] = at;
        let given = &mut self.given[slot];
        given.work += work;
        given.count += 1;
        given.stay = given.stay.wrapping_add(at - t);
        live.add(slot);
        let lane = slot + core * SLOTS;
        let bit = 1_u64 << lane;
        if live.busy & bit == 0 {
            live.busy |= bit;
            live.heads.set(lane, self.relative(at));
            if at <= next {
                // Opaque, so that it stays a branch: see the top of the file.
                *left |= std::hint::black_box(bit);
            }
        } else {
            self.wait(lane, free, at);
            live.waiting |= bit;
        }
        Some(at)
    }

    /// A request waits in a lane, where all before it are done at `free`.
    #[inline(always)]
    fn wait(&mut self, lane: usize, free: u64, at: u64) {
        let (from, len) = self.ring[lane];
        if len == 0 {
            self.at[lane] = free;
        }
        self.rings[lane][usize::from(from.wrapping_add(len)) % RING] = at;
        self.ring[lane].1 = len + 1;
    }
}
