//! The look-up: a client's nearest living caches.
//!
//! Ascending (distance band, load class), random per request within a class. Bands are opened
//! from near to far until there are enough. A band of few members is looked at whole. From a band
//! of many so many are drawn evenly that four times as many as may be answered were looked at, and
//! the least loaded of these are taken: a client needs a good cache and not the best of 10,000
//! (M. Mitzenmacher, "The power of two choices in randomized load balancing", IEEE TPDS 12(10),
//! 2001), and the best would be flooded. Where draws bring too few that may be served, the band is
//! looked at whole after all, so that none that may be is missed.

use std::ops::Range;
use std::sync::Arc;

use plimsoll_workload::random::Stream;

use super::{Pick, Question};
use crate::geo::{Spot, haversine_km};
use crate::index::{AT_ONCE, BANDS, Branch, GROUPS, Member, Search};
use crate::registry::glance::Glance;
use crate::registry::{Cache, Snapshot};

/// The most caches of an answer.
pub const MOST: usize = 1000;

/// Candidates for each cache that may be answered.
const CANDIDATES: usize = 4;

/// Where there are no more than these, each is looked at and the order is exact.
const FEW: usize = 256;

/// Load classes are tenths, and one for those that are full.
const CLASSES: usize = 11;

/// Looks caches up; reuses its memory, so that a look-up allocates nothing but its picks.
#[derive(Debug, Default)]
pub struct Looker {
    search: Search,
    seen: MemberSet,
    drawn: Vec<Member>,
    candidates: Vec<(u8, Member)>,
    by_class: Vec<Member>,
    taken: Vec<Member>,
    /// Numbers of the caches of the client's own site, ascending.
    own: Vec<u64>,
}

/// The caches for a client, best first: [`Looker::nearest`], once.
pub fn nearest<'a>(
    snapshot: &'a Snapshot,
    question: &Question<'_>,
    random: &mut Stream,
    picks: &mut Vec<Pick<'a>>,
) {
    Looker::default().nearest(snapshot, question, random, picks);
}

impl Looker {
    /// The caches for a client, best first, in place of what `picks` held.
    ///
    /// *Order*: ascending (distance band, load class), random within a class; caches of the
    /// client's own site come before the nearest band, those that cannot be located are in the
    /// last. A client that cannot be located gets the least loaded. *Shape*: at most `count` and
    /// at most [`MOST`], each once. *Exact* where a menu has up to 256 members; else bands are,
    /// and from one that has more than are wanted the least loaded are taken of a sample, with
    /// which at least four times the count were looked at.
    /// *Determinism*: by `random`, the loads at that moment and the look-ups in this snapshot
    /// before, which note who died.
    pub fn nearest<'a>(
        &mut self,
        snapshot: &'a Snapshot,
        question: &Question<'_>,
        random: &mut Stream,
        picks: &mut Vec<Pick<'a>>,
    ) {
        picks.clear();
        let count = question.count.min(MOST);
        let spot = question.spot.filter(on_the_globe);
        self.take_own(snapshot, question, spot, count, random, picks);
        if picks.len() >= count {
            return;
        }
        let mut branches = [const { None }; 2 * GROUPS];
        let trees = snapshot.parts().flat_map(|(_, index)| {
            let forest = index.forest(question.cloud).into_iter();
            let trees = forest.flat_map(|forest| forest.of(question.menu));
            trees.map(|tree| Branch { tree, glances: &snapshot.glances })
        });
        let mut used = 0;
        for (slot, branch) in branches.iter_mut().zip(trees) {
            *slot = Some(branch);
            used += 1;
        }
        let Some(first) = branches[0] else { return };
        let branches = branches.map(|branch| branch.unwrap_or(first));
        self.take_bands(&branches[..used], question, spot, count, random, picks);
    }

    /// Takes what is at the client's own address or pinned to its network.
    fn take_own<'a>(
        &mut self,
        snapshot: &'a Snapshot,
        question: &Question<'_>,
        spot: Option<Spot>,
        count: usize,
        random: &mut Stream,
        picks: &mut Vec<Pick<'a>>,
    ) {
        self.own.clear();
        let client = question.client.to_canonical();
        let pinned = question.sites.map_or(&[][..], |sites| sites.own(client));
        let mut found: Vec<&Arc<Cache>> = Vec::new();
        for (caches, index) in snapshot.parts() {
            let mut add = |member: usize| {
                if question.admits(&caches[member]) {
                    found.push(&caches[member]);
                }
            };
            index.at(caches, client, &mut add);
            for own in pinned {
                index.at(caches, own.address, |member| {
                    if own.is(&caches[member]) {
                        add(member);
                    }
                });
            }
        }
        if found.is_empty() {
            return;
        }
        found.sort_unstable_by_key(|cache| cache.number);
        found.dedup_by_key(|cache| cache.number);
        let mut ranked: Vec<_> =
            found.iter().map(|cache| ((cache.load_class(), random.next_u64()), *cache)).collect();
        ranked.sort_unstable_by_key(|&(rank, _)| rank);
        picks.extend(ranked.iter().take(count).map(|&(_, cache)| {
            let distance_km = distance_km(spot, cache.coordinates());
            Pick { cache, distance_km, local: true }
        }));
        self.own.extend(found.iter().map(|cache| cache.number));
    }

    /// Takes from near to far until there are `count`.
    fn take_bands<'a>(
        &mut self,
        branches: &[Branch<'a>],
        question: &Question<'_>,
        spot: Option<Spot>,
        count: usize,
        random: &mut Stream,
        picks: &mut Vec<Pick<'a>>,
    ) {
        match spot {
            Some(spot) => self.search.start(branches, spot),
            None => self.search.start_nowhere(branches),
        }
        let members: usize = branches.iter().map(|branch| branch.tree.len()).sum();
        let limit = if members <= FEW { FEW } else { 2 * CANDIDATES * count };
        for band in 0..BANDS {
            self.candidates.clear();
            let (known, open) = self.search.open(branches, band, limit);
            let enough = CANDIDATES * count - picks.len();
            if known + open > limit {
                self.sample(branches, question, band, enough, random);
            } else {
                let enough = if members <= FEW { FEW } else { enough };
                self.survey(branches, question, band, enough, random);
            }
            self.take_least_loaded(branches, question, spot, count - picks.len(), random, picks);
            if picks.len() == count {
                return;
            }
        }
    }

    /// Makes candidates of as many members of a band, chosen evenly, or of all that may be served
    /// if these are fewer.
    fn survey(
        &mut self,
        branches: &[Branch<'_>],
        question: &Question<'_>,
        band: usize,
        wanted: usize,
        random: &mut Stream,
    ) {
        let Self { search, drawn, .. } = self;
        drawn.clear();
        search.each(branches, band, |member| drawn.push(member));
        let first = drawn.len().min(wanted);
        if first < drawn.len() {
            shuffle_head(drawn, first, random);
        }
        self.judge_drawn(branches, question, 0..first, false);
        if self.candidates.len() < wanted {
            self.judge_drawn(branches, question, first..self.drawn.len(), false);
        }
    }

    /// Makes candidates of as many different members of a band, drawn evenly, or of all if so many
    /// cannot be had by drawing.
    fn sample(
        &mut self,
        branches: &[Branch<'_>],
        question: &Question<'_>,
        band: usize,
        wanted: usize,
        random: &mut Stream,
    ) {
        let lots = self.search.fill_urn(branches, band);
        self.seen.clear(wanted);
        // Beyond so many draws, a look at each would have been cheaper.
        let mut draws = (8 * wanted).max(lots / 8);
        while draws > 0 {
            let lacking = wanted - self.candidates.len();
            self.drawn.clear();
            self.search.draw(branches, band, lacking.min(draws), random, &mut self.drawn);
            draws -= lacking.min(draws);
            self.judge_drawn(branches, question, 0..self.drawn.len(), true);
            if self.candidates.len() == wanted {
                return;
            }
        }
        self.candidates.clear();
        self.search.open(branches, band, usize::MAX);
        self.survey(branches, question, band, wanted, random);
    }

    /// Makes candidates of those drawn that may be served; where one may have been drawn `again`,
    /// of each but one. What is asked of a member is far from what is asked of the next in memory:
    /// it is asked of several at once, before anything depends on the answers.
    fn judge_drawn(
        &mut self,
        branches: &[Branch<'_>],
        question: &Question<'_>,
        which: Range<usize>,
        again: bool,
    ) {
        let Self { drawn, own, seen, candidates, .. } = self;
        for some in drawn[which].chunks(AT_ONCE) {
            let mut seats = [0; AT_ONCE];
            for (seat, member) in seats.iter_mut().zip(some) {
                *seat = member.seat(branches);
            }
            let mut glances = [Glance::GONE; AT_ONCE];
            for ((glance, member), seat) in glances.iter_mut().zip(some).zip(seats) {
                *glance = member.glance(branches, seat);
            }
            for (&member, glance) in some.iter().zip(glances) {
                let Some((state, class)) = glance.living() else {
                    branches[member.branch as usize].tree.bury(member.at as usize);
                    continue;
                };
                let number = || member.cache(branches).number;
                let is_own = || !own.is_empty() && own.binary_search(&number()).is_ok();
                if question.serves_in(state) && !is_own() && (!again || seen.insert(member)) {
                    candidates.push((class, member));
                }
            }
        }
    }

    /// Moves the least loaded candidates to the picks, in random order within a class.
    fn take_least_loaded<'a>(
        &mut self,
        branches: &[Branch<'a>],
        question: &Question<'_>,
        spot: Option<Spot>,
        wanted: usize,
        random: &mut Stream,
        picks: &mut Vec<Pick<'a>>,
    ) {
        let mut starts = [0_usize; CLASSES + 1];
        for &(class, _) in &self.candidates {
            starts[usize::from(class).min(CLASSES - 1) + 1] += 1;
        }
        for class in 0..CLASSES {
            starts[class + 1] += starts[class];
        }
        let Some(&(_, any)) = self.candidates.first() else { return };
        self.by_class.clear();
        self.by_class.resize(self.candidates.len(), any);
        let mut next = starts;
        for &(class, member) in &self.candidates {
            let next = &mut next[usize::from(class).min(CLASSES - 1)];
            self.by_class[*next] = member;
            *next += 1;
        }
        let mut left = wanted;
        for bounds in starts.windows(2) {
            let same = &mut self.by_class[bounds[0]..bounds[1]];
            let taken = same.len().min(left);
            shuffle_head(same, taken, random);
            for &member in &same[..taken] {
                member.cache(branches).fetch();
                self.taken.push(member);
            }
            left -= taken;
        }
        // An answer is written one cache after the other: what a cache points to is asked for once
        // that has come, of all of them.
        for member in &self.taken {
            member.cache(branches).fetch_parts();
        }
        for member in self.taken.drain(..) {
            let cache = member.cache(branches);
            let distance_km = distance_km(spot, cache.coordinates());
            // A seat may be another's since the snapshot was taken: the last word is the cache's.
            if question.serves(cache) {
                picks.push(Pick { cache, distance_km, local: false });
            }
        }
    }
}

/// Puts so many, chosen evenly and in random order, first: the head of a Fisher-Yates shuffle.
fn shuffle_head(members: &mut [Member], head: usize, random: &mut Stream) {
    for at in 0..head {
        let rest = (members.len() - at) as u64;
        #[expect(clippy::cast_possible_truncation, reason = "below a length")]
        members.swap(at, at + random.below(rest) as usize);
    }
}

pub(super) fn on_the_globe(spot: &Spot) -> bool {
    spot.latitude.abs() <= 90.0 && spot.longitude.is_finite()
}

pub(super) fn distance_km(from: Option<Spot>, to: Option<(f64, f64)>) -> Option<f64> {
    let (from, (latitude, longitude)) = from.zip(to)?;
    Some(haversine_km(from.latitude, from.longitude, latitude, longitude))
}

/// A set of members, cleared at no cost for its capacity beyond what the last request used.
#[derive(Debug, Default)]
struct MemberSet {
    /// One more than a member, 0 if empty; at most a quarter full.
    slots: Vec<u64>,
}

impl MemberSet {
    /// Empties it, for up to so many members.
    fn clear(&mut self, most: usize) {
        self.slots.clear();
        self.slots.resize((4 * most).next_power_of_two(), 0);
    }

    /// False if the member was there.
    fn insert(&mut self, member: Member) -> bool {
        let key = (u64::from(member.branch) << 32 | u64::from(member.at)) + 1;
        let mut slot = (key.wrapping_mul(plimsoll_units::hash::GOLDEN) >> 32) as usize;
        loop {
            slot &= self.slots.len() - 1;
            match self.slots[slot] {
                0 => {
                    self.slots[slot] = key;
                    return true;
                }
                known if known == key => return false,
                _ => slot += 1,
            }
        }
    }
}
