//! From near to far, band by band, through several trees at once, looking at no more than needed.
//!
//! A node waits in the bucket of the nearest band that it may reach. To open a band, the nodes of
//! its bucket are cut up, the largest first: a part whose box lies in one band joins that band as
//! a whole range, a leaf's members join theirs one by one, other parts wait on. Where only a
//! sample is wanted, cutting ends as soon as what surely lies in the band outweighs what may: a
//! draw from all of it then hits at least every second time, and a band of 50,000 members costs
//! as much as one of 50.

use std::sync::Arc;

use plimsoll_workload::random::Stream;

use super::band::{BANDS, Ends, band};
use super::tree::{LEAF, Node, Tree};
use crate::geo::{Point, Spot, haversine_km};
use crate::registry::glance::{Glance, Seat};
use crate::registry::{Cache, Glances};

/// Members that are asked together.
pub(crate) const AT_ONCE: usize = 32;

/// A tree and how its members fare.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Branch<'a> {
    pub(crate) tree: &'a Tree,
    pub(crate) glances: &'a Glances,
}

/// The `at`th member of the `branch`th tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) branch: u32,
    pub(crate) at: u32,
}

impl Member {
    #[inline]
    pub(crate) fn cache<'a>(self, branches: &[Branch<'a>]) -> &'a Arc<Cache> {
        let Branch { tree, .. } = branches[self.branch as usize];
        tree.cache(self.at as usize)
    }

    #[inline]
    pub(crate) fn seat(self, branches: &[Branch<'_>]) -> Seat {
        branches[self.branch as usize].tree.seat(self.at as usize)
    }

    /// How it fares, by its seat.
    #[inline]
    pub(crate) fn glance(self, branches: &[Branch<'_>], seat: Seat) -> Glance {
        let branch = &branches[self.branch as usize];
        match branch.glances.at(seat) {
            Glance::ASK => self.cache(branches).glance(),
            glance => glance,
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Range {
    branch: u32,
    start: u32,
    end: u32,
}

impl Range {
    fn len(self) -> u32 {
        self.end - self.start
    }
}

/// What is known of one band.
#[derive(Debug, Default)]
struct Shell {
    /// Nodes with members in this band or beyond, and the first that was not cut up yet.
    mixed: Vec<(u32, Node)>,
    cut: usize,
    /// Ranges of members that are all in this band.
    whole: Vec<Range>,
    /// Members in this band.
    loose: Vec<Member>,
}

/// A search, and the memory that searches reuse.
#[derive(Debug, Default)]
pub(crate) struct Search {
    ends: Ends,
    shells: [Shell; BANDS],
    from: Option<(Spot, Point)>,
    /// Ranges that draws are made from, with the count of members up to the end of each; true
    /// where a member may be in a further band.
    urn: Vec<(u32, Range, bool)>,
    /// Of the band whose loose members the urn has, as its first part.
    loose: u32,
}

impl Search {
    /// Begins a search from a place. Members that cannot be located are in the last band.
    pub(crate) fn start(&mut self, branches: &[Branch<'_>], from: Spot) {
        self.clear();
        self.from = Some((from, Point::new(from.latitude, from.longitude)));
        for (branch, Branch { tree, .. }) in (0_u32..).zip(branches) {
            if tree.located() > 0 {
                self.shells[0].mixed.push((branch, Node { depth: 0, place: 0 }));
            }
            self.shells[BANDS - 1].add(branch, tree.located(), tree.len());
        }
    }

    /// Begins a search from nowhere: all members are in the last band.
    pub(crate) fn start_nowhere(&mut self, branches: &[Branch<'_>]) {
        self.clear();
        for (branch, Branch { tree, .. }) in (0_u32..).zip(branches) {
            self.shells[BANDS - 1].add(branch, 0, tree.len());
        }
    }

    fn clear(&mut self) {
        self.from = None;
        for shell in &mut self.shells {
            shell.mixed.clear();
            shell.cut = 0;
            shell.whole.clear();
            shell.loose.clear();
        }
    }

    /// Cuts up what may lie in a band, whose nearer ones were opened before, until all of it is
    /// known, or more than `enough` and no less than what is not. Returns how many members are
    /// known to lie in the band, and how many of them or others are not told apart yet.
    pub(crate) fn open(
        &mut self,
        branches: &[Branch<'_>],
        band: usize,
        enough: usize,
    ) -> (usize, usize) {
        let shell = &self.shells[band];
        let mut known = shell.whole.iter().map(|range| range.len() as usize).sum::<usize>();
        known += shell.loose.len();
        let size = |&(branch, node): &(u32, Node)| {
            let (start, end) = branches[branch as usize].tree.range(node);
            end - start
        };
        let mut open = shell.mixed[shell.cut..].iter().map(size).sum::<usize>();
        let Some((_, point)) = self.from else { return (known, 0) };
        while open > 0 && (known <= enough || known < open) {
            let shell = &mut self.shells[band];
            let (branch, node) = shell.mixed[shell.cut];
            shell.cut += 1;
            let tree = branches[branch as usize].tree;
            open -= size(&(branch, node));
            if tree.is_leaf(node) {
                let before = self.shells[band].loose.len();
                self.tell_apart(branches, branch, tree.range(node));
                known += self.shells[band].loose.len() - before;
                continue;
            }
            for (child, near, far) in tree.children(node, point, &self.ends) {
                let (start, end) = tree.range(child);
                let shell = &mut self.shells[near as usize];
                if near == far {
                    shell.add(branch, start, end);
                    known += if near as usize == band { end - start } else { 0 };
                } else {
                    shell.mixed.push((branch, child));
                    tree.fetch_children(child);
                    open += if near as usize == band { end - start } else { 0 };
                }
            }
        }
        (known, open)
    }

    /// Puts each member of a leaf into its band.
    #[expect(clippy::cast_possible_truncation, reason = "fewer than 2³¹ members")]
    fn tell_apart(&mut self, branches: &[Branch<'_>], branch: u32, (start, end): (usize, usize)) {
        let Some((spot, point)) = self.from else { return };
        let Branch { tree, .. } = branches[branch as usize];
        let mut squares = [0.0; LEAF];
        tree.squares(start, end, point, &mut squares);
        for (at, &square) in (start..end).zip(&squares) {
            let [near, _, far, _] = self.ends.bands([square; 4]);
            let exact = || band_by_degrees(spot, tree.cache(at));
            let band = if near == far { near } else { exact() };
            self.shells[band as usize].loose.push(Member { branch, at: at as u32 });
        }
    }

    /// Calls for each member of a band that is wholly open and not known to be dead.
    pub(crate) fn each(&self, branches: &[Branch<'_>], band: usize, mut each: impl FnMut(Member)) {
        let shell = &self.shells[band];
        for range in &shell.whole {
            let branch = range.branch;
            let tree = branches[branch as usize].tree;
            tree.each_present(range.start as usize, range.end as usize, |at| {
                #[expect(clippy::cast_possible_truncation, reason = "within a range of u32")]
                each(Member { branch, at: at as u32 });
            });
        }
        shell.loose.iter().copied().for_each(each);
    }

    /// Puts a band into the urn. Returns the count of its lots: at least that of its members.
    #[expect(clippy::cast_possible_truncation, reason = "fewer than 2³¹ members")]
    pub(crate) fn fill_urn(&mut self, branches: &[Branch<'_>], band: usize) -> usize {
        let Self { shells, urn, loose, .. } = self;
        let shell = &shells[band];
        urn.clear();
        *loose = shell.loose.len() as u32;
        let mut lots = *loose;
        for &range in &shell.whole {
            lots += range.len();
            urn.push((lots, range, false));
        }
        for &(branch, node) in &shell.mixed[shell.cut..] {
            let (start, end) = branches[branch as usize].tree.range(node);
            let range = Range { branch, start: start as u32, end: end as u32 };
            lots += range.len();
            urn.push((lots, range, true));
        }
        lots as usize
    }

    /// Draws so many times from the urn, putting each lot back, and adds those that are of members
    /// of the band. Members are far apart in memory: what is asked of them is asked of several
    /// before anything depends on the answers.
    pub(crate) fn draw(
        &self,
        branches: &[Branch<'_>],
        band: usize,
        times: usize,
        random: &mut Stream,
        drawn: &mut Vec<Member>,
    ) {
        let mut lots = [(Member { branch: 0, at: 0 }, false); AT_ONCE];
        let mut squares = [0.0; AT_ONCE];
        let point = self.from.map_or(Point::default(), |(_, point)| point);
        let mut left = times;
        while left > 0 {
            let some = left.min(AT_ONCE);
            left -= some;
            lots[..some].fill_with(|| {
                let lot @ (member, _) = self.lot(band, random);
                branches[member.branch as usize].tree.fetch(member.at as usize);
                lot
            });
            for ((member, _), square) in lots[..some].iter().zip(&mut squares) {
                *square = branches[member.branch as usize].tree.square(member.at as usize, point);
            }
            for (&(member, may_be_beyond), &square) in lots[..some].iter().zip(&squares) {
                let Branch { tree, .. } = branches[member.branch as usize];
                let at = member.at as usize;
                let is_beyond = || match self.from {
                    Some((spot, _)) if may_be_beyond => {
                        let exact = || band_by_degrees(spot, tree.cache(at));
                        self.ends
                            .is_beyond(square, band)
                            .unwrap_or_else(|| exact() as usize != band)
                    }
                    _ => false,
                };
                if !tree.is_gone(at) && !is_beyond() {
                    drawn.push(member);
                }
            }
        }
    }

    /// Draws from the urn, which is not empty: a member, and whether it may be in a further band.
    #[expect(clippy::cast_possible_truncation, reason = "the count of lots is a u32")]
    fn lot(&self, band: usize, random: &mut Stream) -> (Member, bool) {
        let lots = self.urn.last().map_or(self.loose, |last| last.0);
        let lot = random.below(u64::from(lots)) as u32;
        if lot < self.loose {
            return (self.shells[band].loose[lot as usize], false);
        }
        let (end, range, may_be_beyond) = self.urn[self.urn.partition_point(|part| part.0 <= lot)];
        (Member { branch: range.branch, at: range.end - (end - lot) }, may_be_beyond)
    }
}

impl Shell {
    #[expect(clippy::cast_possible_truncation, reason = "fewer than 2³¹ members")]
    fn add(&mut self, branch: u32, start: usize, end: usize) {
        if start < end {
            self.whole.push(Range { branch, start: start as u32, end: end as u32 });
        }
    }
}

/// The band of a member whose square chord is too near to a band's end.
#[cold]
fn band_by_degrees(spot: Spot, cache: &Cache) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "nine bands")]
    let last = BANDS as u32 - 1;
    cache.coordinates().map_or(last, |(latitude, longitude)| {
        band(haversine_km(spot.latitude, spot.longitude, latitude, longitude)).into()
    })
}
