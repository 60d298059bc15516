//! Requests counted by second, in pages, so that neither gaps nor a wild date cost memory.

use std::collections::BTreeMap;

/// Seconds of a page.
pub const PAGE_SECONDS: usize = 256;

/// How many pages are kept at most: 388 days without a gap, 128 MiB.
pub const MAX_PAGES: usize = 131_072;

/// Lines whose time is further than half of this from the middle of the log's first lines are not
/// believed: ten years.
pub const MAX_SPAN_S: i64 = 10 * 366 * 86_400;

type Page = [u32; PAGE_SECONDS];

/// How many requests each second of a log has.
#[derive(Debug, Clone)]
pub struct SecondCounts {
    /// Where the page of this number (second / [`PAGE_SECONDS`]) lies in `pages`.
    places: BTreeMap<i64, usize>,
    #[expect(clippy::vec_box, reason = "growing must not copy up to 128 MiB")]
    pages: Vec<Box<Page>>,
    /// The page used last, and its place.
    recent: (i64, usize),
}

impl SecondCounts {
    pub(super) fn new() -> Self {
        Self { places: BTreeMap::new(), pages: Vec::new(), recent: (i64::MIN, 0) }
    }

    /// Counts one request; `false` where there is no room for its second.
    pub(super) fn add(&mut self, second: i64) -> bool {
        let (number, at) = place_of(second);
        if number != self.recent.0 {
            let Some(place) = self.page(number) else { return false };
            self.recent = (number, place);
        }
        let count = &mut self.pages[self.recent.1][at];
        match count.checked_add(1) {
            Some(more) => *count = more,
            None => return false,
        }
        true
    }

    /// Whether a request of this second was counted.
    pub(super) fn has(&self, second: i64) -> bool {
        let (number, at) = place_of(second);
        self.places.get(&number).is_some_and(|&place| self.pages[place][at] > 0)
    }

    fn page(&mut self, number: i64) -> Option<usize> {
        if let Some(&place) = self.places.get(&number) {
            return Some(place);
        }
        let place = self.pages.len();
        if place == MAX_PAGES {
            return None;
        }
        self.pages.push(Box::new([0; PAGE_SECONDS]));
        self.places.insert(number, place);
        Some(place)
    }

    /// The first second with a request, since 1970-01-01T00:00:00Z; 0 where there is none.
    #[must_use]
    pub fn first(&self) -> i64 {
        self.busy().next().map_or(0, |(second, _)| second)
    }

    /// The last second with a request, since 1970-01-01T00:00:00Z; 0 where there is none.
    #[must_use]
    pub fn last(&self) -> i64 {
        let Some((&number, &place)) = self.places.last_key_value() else { return 0 };
        let at = self.pages[place].iter().rposition(|&count| count > 0).unwrap_or(0);
        second_of(number, at)
    }

    /// Seconds from the first to the last with a request, both included; 0 where there is none.
    #[must_use]
    pub fn span_s(&self) -> u64 {
        if self.places.is_empty() {
            return 0;
        }
        u64::try_from(self.last() - self.first() + 1).unwrap_or(0)
    }

    /// Seconds that have requests, with their number, in order of time.
    pub fn busy(&self) -> impl Iterator<Item = (i64, u32)> + '_ {
        self.places.iter().flat_map(move |(&number, &place)| {
            let page = self.pages[place].iter().enumerate();
            page.filter(|(_, count)| **count > 0).map(move |(at, &n)| (second_of(number, at), n))
        })
    }

    /// Every second from the first to the last, with 0 where nothing was requested.
    pub fn dense(&self) -> impl Iterator<Item = u32> + '_ {
        let mut next = self.first();
        self.busy().flat_map(move |(second, count)| {
            let gap = usize::try_from(second - next).unwrap_or(0);
            next = second + 1;
            std::iter::repeat_n(0, gap).chain(std::iter::once(count))
        })
    }

    /// The greatest number of requests in one second.
    #[must_use]
    pub fn peak(&self) -> u32 {
        self.busy().map(|(_, count)| count).max().unwrap_or(0)
    }
}

#[expect(
    clippy::cast_possible_wrap,
    clippy::cast_possible_truncation,
    reason = "the remainder is below the page's size"
)]
fn place_of(second: i64) -> (i64, usize) {
    let size = PAGE_SECONDS as i64;
    (second.div_euclid(size), second.rem_euclid(size) as usize)
}

#[expect(clippy::cast_possible_wrap, reason = "below the page's size")]
fn second_of(number: i64, at: usize) -> i64 {
    number * PAGE_SECONDS as i64 + at as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_out_of_order_and_over_gaps() {
        let mut counts = SecondCounts::new();
        assert_eq!((counts.first(), counts.last(), counts.span_s()), (0, 0, 0));
        for second in [1000, 1003, 1002, 1003, 999, 1500] {
            assert!(counts.add(second));
        }
        assert_eq!((counts.first(), counts.last(), counts.span_s()), (999, 1500, 502));
        assert_eq!(counts.peak(), 2);
        let dense: Vec<u32> = counts.dense().collect();
        assert_eq!(dense.len(), 502);
        assert_eq!(dense[..6], [1, 1, 0, 1, 2, 0]);
        assert_eq!(dense.iter().sum::<u32>(), 6);
        assert_eq!(dense[501], 1);
    }

    #[test]
    fn pages_are_bounded() {
        let mut counts = SecondCounts::new();
        let taken = (0..MAX_PAGES as i64 + 5).filter(|n| counts.add(n * 100_000)).count();
        assert_eq!(taken, MAX_PAGES);
        assert!(counts.add(0) && !counts.add(-1));
    }
}
