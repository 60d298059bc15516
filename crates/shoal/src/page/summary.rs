//! What is true of all caches together: counts by state, what they send, which values there are to
//! filter by.

use indexmap::IndexMap;

use super::query::STATES;
use super::rows::Row;

/// Of all caches.
#[derive(Debug, Default)]
pub(super) struct Summary<'a> {
    pub(super) caches: usize,
    /// In the order of [`STATES`].
    pub(super) states: [usize; STATES.len()],
    /// KiB/s that all send.
    pub(super) load: f64,
    pub(super) located: usize,
    /// Those that send four fifths of what they can, and more.
    pub(super) full: usize,
    /// Those whose clock differs.
    pub(super) drifting: usize,
    pub(super) clouds: Values<'a>,
    pub(super) countries: Values<'a>,
    pub(super) versions: Values<'a>,
}

impl<'a> Summary<'a> {
    pub(super) fn add(&mut self, row: &Row<'a>) {
        self.caches += 1;
        self.states[row.state as usize] += 1;
        self.load += row.load;
        self.full += usize::from(row.percent >= 80);
        self.drifting += usize::from(row.cache.drifting());
        self.located += usize::from(row.cache.place().is_some());
        self.clouds.add(row.cloud());
        self.countries.add(row.country());
        self.versions.add(row.version());
    }
}

/// The values of one column, counted.
#[derive(Debug, Default)]
pub(super) struct Values<'a> {
    counts: IndexMap<&'a str, usize>,
    /// The value of the cache before: the next one's is often the same.
    latest: Option<(&'a str, usize)>,
    pub(super) absent: usize,
}

impl<'a> Values<'a> {
    fn add(&mut self, value: Option<&'a str>) {
        let Some(value) = value else {
            self.absent += 1;
            return;
        };
        if let Some((latest, at)) = self.latest
            && latest == value
        {
            self.counts[at] += 1;
            return;
        }
        let entry = self.counts.entry(value);
        self.latest = Some((value, entry.index()));
        *entry.or_default() += 1;
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.counts.len()
    }

    /// The most frequent, at most so many, in the order of the alphabet.
    pub(super) fn frequent(&self, most: usize) -> Vec<(&'a str, usize)> {
        let mut all: Vec<_> = self.counts.iter().map(|(value, count)| (*value, *count)).collect();
        if all.len() > most {
            all.select_nth_unstable_by(most, |a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
            all.truncate(most);
        }
        all.sort_unstable();
        all
    }
}
