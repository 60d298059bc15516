//! The fast path: least connections over up to 24 instances of one or two cores, first come first
//! served, each with a limit of up to 15 requests; ties go to the first instance.
//!
//! Nothing is ordered and no event is kept:
//!
//! - With first come first served a request's departure is known when it is accepted: it begins when
//!   it is there and the core that is free first is free. So it is counted at once.
//! - The balancer needs to know only which requests have left by now. Each core is a *lane* with the
//!   time at which the request in service leaves, its *head*; all heads are compared with the time
//!   of an arrival at once ([`super::compare`]). What waits behind the head is in a ring; a mask says
//!   which lanes have one, so it costs nothing until requests wait.
//! - How many requests each instance has are four *bit planes*, a bit an instance: departures are
//!   subtracted for all instances at once, and the least of them is found by four and-nots.
//! - The comparison for the next arrival is made before this one is placed, and mended for the lanes
//!   that change: the comparison's latency is then not part of the chain from request to request.

use super::compare::{Compare, Heads, LANES, Plain};
use super::tally::{Loss, Tally};

/// The most instances.
pub(super) const SLOTS: usize = 24;
/// The most requests that an instance can have: what four bit planes can count.
pub(super) const MOST: u32 = 15;
/// Requests behind a head: a power of two, and not fewer than an instance can have.
const RING: usize = 16;
/// The lanes of the first core.
const FIRST: u64 = (1 << SLOTS) - 1;
/// Times are compared up to so many ticks after the base; later ones are as good as never.
pub(super) const REACH: u64 = i32::MAX as u64;

/// The state of all instances.
#[derive(Clone)]
pub struct Lanes {
    /// The time that heads are relative to.
    base: u64,
    heads: Heads,
    /// The heads' times themselves, for a new base.
    at: [u64; LANES],
    /// Lanes with a request in service.
    busy: u64,
    /// Lanes with requests behind it.
    waiting: u64,
    /// When a lane has done all that it was given; the greatest time where there is no core.
    free: [u64; LANES],
    rings: [[u64; RING]; LANES],
    /// Where a ring begins, and how many are in it.
    ring: [(u8, u8); LANES],
    /// Bit k of the number of requests, of each instance.
    planes: [u32; 4],
    /// Instances that take requests.
    open: u32,
    limit: u32,
    /// Service times are multiplied by this over 2³².
    slowness: [u64; SLOTS],
}

impl Lanes {
    /// No instance is open. `limit` is from 1 to [`MOST`].
    pub(super) fn new(limit: u32) -> Self {
        Self {
            base: 0,
            heads: Heads([0; LANES]),
            at: [0; LANES],
            busy: 0,
            waiting: 0,
            free: [u64::MAX; LANES],
            rings: [[0; RING]; LANES],
            ring: [(0, 0); LANES],
            planes: [0; 4],
            open: 0,
            limit,
            slowness: [super::ONE; SLOTS],
        }
    }

    /// Begins to send requests to an instance of one or two cores, which has none.
    pub(super) fn open(&mut self, slot: usize, cores: u32, slowness: u64, now: u64) {
        self.open |= 1 << slot;
        self.free[slot] = now;
        self.free[slot + SLOTS] = if cores > 1 { now } else { u64::MAX };
        self.slowness[slot] = slowness;
    }

    /// Sends no more requests to an instance; it finishes those that it has.
    pub(super) fn close(&mut self, slot: usize) {
        self.open &= !(1 << slot);
    }

    /// How many requests an instance has.
    pub(super) fn present(&self, slot: usize) -> u32 {
        let bit = |plane: usize| (self.planes[plane] >> slot & 1) << plane;
        bit(0) | bit(1) | bit(2) | bit(3)
    }

    /// When an instance has done all that it was given.
    pub(super) fn done_at(&self, slot: usize) -> u64 {
        let cores = [self.free[slot], self.free[slot + SLOTS]];
        cores.into_iter().filter(|&at| at < u64::MAX).max().unwrap_or(0)
    }

    /// Work that was accepted and is not yet done at a time, ticks of cores.
    pub(super) fn backlog(&self, now: u64) -> u64 {
        let left = |&at: &u64| if at < u64::MAX { at.saturating_sub(now) } else { 0 };
        self.free.iter().map(left).sum()
    }

    /// Lets time pass without a request, up to `now`, which becomes the base.
    pub(super) fn pass(&mut self, now: u64) {
        let mut next = 0;
        let come = Plain::come(&self.heads, self.relative(now));
        self.leave(come, now, 0, &mut next);
        self.base = now;
        for lane in 0..LANES {
            self.heads.0[lane] = self.relative(self.at[lane]);
        }
    }

    /// A time relative to the base, as far as lanes reach.
    #[inline(always)]
    fn relative(&self, at: u64) -> i32 {
        #[expect(clippy::cast_possible_truncation, reason = "bounded")]
        let relative = at.saturating_sub(self.base).min(REACH) as i32;
        relative
    }

    /// Offers requests in order, none earlier than the base nor [`REACH`] after it.
    pub(super) fn offer(&mut self, due: &[u64], service: &[u64], tally: &mut Tally) {
        #[cfg(target_arch = "x86_64")]
        {
            if std::arch::is_x86_feature_detected!("avx512f") {
                #[expect(unsafe_code, reason = "vector instructions")]
                // SAFETY: the machine has them.
                return unsafe { self.offer_avx512(due, service, tally) };
            }
            if std::arch::is_x86_feature_detected!("avx2") {
                #[expect(unsafe_code, reason = "vector instructions")]
                // SAFETY: the machine has them.
                return unsafe { self.offer_avx2(due, service, tally) };
            }
        }
        self.offer_by::<Plain>(due, service, tally);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,bmi1,lzcnt,popcnt")]
    fn offer_avx512(&mut self, due: &[u64], service: &[u64], tally: &mut Tally) {
        self.offer_by::<super::compare::x86::Avx512>(due, service, tally);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,lzcnt,popcnt")]
    fn offer_avx2(&mut self, due: &[u64], service: &[u64], tally: &mut Tally) {
        self.offer_by::<super::compare::x86::Avx2>(due, service, tally);
    }

    #[inline(always)]
    pub(super) fn offer_by<C: Compare>(
        &mut self,
        due: &[u64],
        service: &[u64],
        tally: &mut Tally,
    ) {
        let Some(&first) = due.first() else { return };
        tally.offered += due.len() as u64;
        let mut come = C::come(&self.heads, self.relative(first));
        for (index, (&t, &service)) in due.iter().zip(service).enumerate() {
            let after = self.relative(due.get(index + 1).copied().unwrap_or(t));
            let mut next = C::come(&self.heads, after);
            self.leave(come, t, after, &mut next);
            self.place(t, service, after, &mut next, tally);
            come = next;
        }
    }

    /// Takes away what has left by `now`; mends the comparison for `after` where a head changes.
    #[inline(always)]
    fn leave(&mut self, come: u64, now: u64, after: i32, next: &mut u64) {
        let left = come & self.busy;
        let behind = left & self.waiting;
        self.busy &= !left | behind;
        self.subtract(left);
        if behind != 0 {
            self.follow(behind, now, after, next);
        }
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

    /// What waited behind a head that has left is the head now, and may have left as well.
    fn follow(&mut self, mut behind: u64, now: u64, after: i32, next: &mut u64) {
        while behind != 0 {
            let lane = behind.trailing_zeros() as usize;
            let bit = 1 << lane;
            behind &= behind - 1;
            loop {
                let (from, len) = self.ring[lane];
                let head = self.rings[lane][usize::from(from)];
                self.ring[lane] = ((from + 1) % RING as u8, len - 1);
                if len == 1 {
                    self.waiting &= !bit;
                }
                if head > now {
                    self.set_head(lane, head, after, next);
                    break;
                }
                self.subtract(bit);
                if len == 1 {
                    self.busy &= !bit;
                    break;
                }
            }
        }
    }

    #[inline(always)]
    fn set_head(&mut self, lane: usize, at: u64, after: i32, next: &mut u64) {
        let relative = self.relative(at);
        self.heads.0[lane] = relative;
        self.at[lane] = at;
        *next = *next & !(1 << lane) | u64::from(relative <= after) << lane;
    }

    /// Gives a request to the instance with the fewest, or loses it.
    #[inline(always)]
    fn place(&mut self, t: u64, service: u64, after: i32, next: &mut u64, tally: &mut Tally) {
        let [p0, p1, p2, p3] = self.planes;
        let is = |plane: u32, bit: u32| if self.limit >> bit & 1 == 1 { plane } else { !plane };
        let full = is(p0, 0) & is(p1, 1) & is(p2, 2) & is(p3, 3);
        let mut among = self.open & !full;
        if among == 0 {
            tally.lose(Loss::NoSlot, 1);
            return;
        }
        for plane in [p3, p2, p1, p0] {
            let fewer = among & !plane;
            among = if fewer == 0 { among } else { fewer };
        }
        let slot = among.trailing_zeros() as usize & 31;
        let (one, other) = (self.free[slot], self.free[slot + SLOTS]);
        let (lane, free) = if other < one { (slot + SLOTS, other) } else { (slot, one) };
        let work = service * self.slowness[slot] >> 32;
        let at = free.max(t) + work;
        self.free[lane] = at;
        let mut carry = 1_u32 << slot;
        for plane in &mut self.planes {
            let before = *plane;
            *plane ^= carry;
            carry &= before;
        }
        let bit = 1_u64 << lane;
        if self.busy & bit == 0 {
            self.busy |= bit;
            self.set_head(lane, at, after, next);
        } else {
            self.waiting |= bit;
            let (from, len) = self.ring[lane];
            self.rings[lane][usize::from(from + len) % RING] = at;
            self.ring[lane].1 = len + 1;
        }
        tally.serve(at - t, work);
    }
}
