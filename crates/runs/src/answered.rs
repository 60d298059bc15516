//! When answers came, to a hundredth of a second: what a rate is counted by.
//!
//! A rate is that at which a server answered, not that at which it was asked: the last bytes that
//! came in a window as long as the measured phase, over its length. The window begins a median
//! response time after the phase did, as what was asked at its beginning is answered then, and what
//! was asked at its end is answered at the window's. So a server that does 50/s shows 50/s however
//! many wait for it, and one that answers all it is asked shows what it was asked. What came after
//! the window is drained.

use std::ops::Range;

/// How long a bin is.
const BIN_NS: u64 = 10_000_000;
/// How many a stretch of a run has: a second's.
const BINS: usize = 100;

/// Counts of answers in the hundredths of a stretch of a run, of requests that were due in the
/// measured phase.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Answered([u32; BINS]);

impl Default for Answered {
    fn default() -> Self {
        Self([0; BINS])
    }
}

impl Answered {
    /// Counts an answer so long after the stretch began.
    #[inline]
    pub fn note(&mut self, since_ns: u64) {
        let bin = usize::try_from(since_ns / BIN_NS).unwrap_or(BINS - 1).min(BINS - 1);
        self.0[bin] += 1;
    }

    /// Adds those of a stretch that began so much later.
    pub fn add(&mut self, other: &Self, later_ns: u64) {
        let by = usize::try_from(later_ns / BIN_NS).unwrap_or(BINS);
        for (bin, count) in other.0.iter().enumerate().filter(|(_, count)| **count > 0) {
            self.0[(bin + by).min(BINS - 1)] += count;
        }
    }

    /// Sets all to zero.
    pub fn clear(&mut self) {
        self.0 = [0; BINS];
    }

    /// The counts as text, without the zeros at their end: `10,10,0,9`.
    pub(crate) fn text(&self) -> String {
        let used = self.0.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
        let counts: Vec<String> = self.0[..used].iter().map(u32::to_string).collect();
        counts.join(",")
    }

    /// Reads them back; `None` for what is no such text.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut read = Self::default();
        for (at, count) in text.split(',').filter(|_| !text.is_empty()).enumerate() {
            *read.0.get_mut(at)? = count.parse().ok()?;
        }
        Some(read)
    }

    fn total(&self) -> u64 {
        self.0.iter().copied().map(u64::from).sum()
    }

    /// How many of a stretch that began then came before a moment; within a bin as evenly as can
    /// be.
    fn before(&self, start_ns: u64, moment_ns: u64) -> f64 {
        let since_ns = moment_ns.saturating_sub(start_ns);
        let whole = usize::try_from(since_ns / BIN_NS).unwrap_or(BINS).min(BINS);
        let counts = self.0[..whole].iter().copied().map(f64::from).sum::<f64>();
        let part = self.0.get(whole).copied().map_or(0.0, f64::from);
        counts + part * (since_ns % BIN_NS) as f64 / BIN_NS as f64
    }
}

impl From<Answered> for String {
    fn from(of: Answered) -> Self {
        of.text()
    }
}

impl TryFrom<String> for Answered {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or("no list of counts of answers")
    }
}

/// A rate, and what is left out of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rate {
    /// Answers per second within the window.
    pub(crate) per_s: f64,
    /// The share of all answers that came in it.
    pub(crate) share: f64,
    /// How many came after it.
    pub(crate) drained: u64,
}

/// Counts the answers of stretches for a rate.
pub(crate) struct Counting {
    length_ns: u64,
    window: Range<u64>,
    total: u64,
    before: (f64, f64),
}

impl Counting {
    /// For a measured phase, with a window that begins so much later: a median response time, or as
    /// long as the load was watched after the phase, where that is less.
    pub(crate) fn new(phase: Range<u64>, later_ns: u64) -> Self {
        let length_ns = phase.end.saturating_sub(phase.start);
        let window = phase.start + later_ns..phase.end + later_ns;
        Self { length_ns, window, total: 0, before: (0.0, 0.0) }
    }

    /// Counts those of a stretch that began then.
    pub(crate) fn add(&mut self, start_ns: u64, of: &Answered) {
        self.total += of.total();
        self.before.0 += of.before(start_ns, self.window.start);
        self.before.1 += of.before(start_ns, self.window.end);
    }

    /// The rate; `None` where no answer was counted, or no time passed.
    pub(crate) fn rate(&self) -> Option<Rate> {
        if self.total == 0 || self.length_ns == 0 {
            return None;
        }
        let (from, until) = self.before;
        let (within, total) = (until - from, self.total as f64);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
        let drained = (total - until).round().max(0.0) as u64;
        let per_s = within * 1e9 / self.length_ns as f64;
        Some(Rate { per_s, share: within / total, drained })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: u64 = 1_000_000_000;
    const MS: u64 = 1_000_000;

    /// The rate of answers at these moments, of a phase and a window that much later.
    fn of(moments: impl Iterator<Item = u64>, phase: Range<u64>, later_ns: u64) -> Option<Rate> {
        let mut all: std::collections::BTreeMap<u64, Answered> = std::collections::BTreeMap::new();
        for at in moments {
            all.entry(at / SECOND * SECOND).or_default().note(at % SECOND);
        }
        let mut counting = Counting::new(phase, later_ns);
        all.iter().for_each(|(start_ns, of)| counting.add(*start_ns, of));
        counting.rate()
    }

    /// The rate of requests at these times, answered at those.
    fn rate(answers: &[(u64, u64)], length_ns: u64) -> Rate {
        let mut times: Vec<u64> = answers.iter().map(|(due, done)| done - due).collect();
        times.sort_unstable();
        let last = answers.iter().map(|(_, done)| *done).max().unwrap();
        let median = times[times.len() / 2];
        let watched = last.saturating_sub(length_ns);
        of(answers.iter().map(|(_, done)| *done), 0..length_ns, median.min(watched)).unwrap()
    }

    /// A server of so many requests a second, one after the other, asked at these moments.
    fn served(due: impl Iterator<Item = u64>, each_ns: u64) -> Vec<(u64, u64)> {
        let mut free = 0;
        let one = |due: u64| {
            free = free.max(due) + each_ns;
            (due, free)
        };
        due.map(one).collect()
    }

    #[test]
    fn what_a_server_answers_is_what_it_is_asked() {
        // Each in 20 ms, beside each other.
        for (per_s, seconds) in [(1_000, 1), (100, 10), (10, 3), (2, 1)] {
            let due = (0..per_s * seconds).map(|n| n * SECOND / per_s);
            let answers: Vec<(u64, u64)> = due.map(|due| (due, due + 20 * MS)).collect();
            let of = rate(&answers, seconds * SECOND);
            assert!((of.per_s / per_s as f64 - 1.0).abs() < 0.01, "{per_s} {of:?}");
            assert!(of.drained <= 1, "{of:?}");
        }
    }

    #[test]
    fn a_server_in_overload_shows_what_it_does() {
        for asked in [60, 100, 500, 5_000] {
            for seconds in [2, 3, 10] {
                let due = (0..asked * seconds).map(|n| n * SECOND / asked);
                let of = rate(&served(due, 20 * MS), seconds * SECOND);
                assert!((of.per_s - 50.0).abs() < 1.5, "{asked} {seconds} {of:?}");
            }
        }
        // 64 users, each of whom asks again when it is answered, for three seconds.
        let mut answers = Vec::new();
        let mut done = 0;
        let mut due = std::collections::VecDeque::from(vec![0; 64]);
        while let Some(at) = due.pop_front() {
            done += 20 * MS;
            answers.push((at, done));
            if done < 3 * SECOND {
                due.push_back(done);
            }
        }
        let of = rate(&answers, 3 * SECOND);
        assert!((of.per_s - 50.0).abs() < 1.5 && of.drained < 64, "{of:?}");
    }

    #[test]
    fn a_load_that_is_cut_off_shows_what_came_until_then() {
        let moments = || (1..150).map(|n| n * 20 * MS);
        let cut = of(moments(), 0..3 * SECOND, 0).unwrap();
        assert!((cut.per_s - 149.0 / 3.0).abs() < 0.1, "{cut:?}");
        assert_eq!(of(std::iter::empty(), 0..SECOND, 0), None);
        assert_eq!(of(moments(), 0..0, 0), None);
    }

    proptest! {
        #[test]
        fn counts_read_back_and_add_up(
            moments in proptest::collection::vec(0_u64..SECOND, 0..300),
            cut in 0_u64..SECOND,
        ) {
            let mut whole = Answered::default();
            let mut quarters = [const { Vec::new() }; 4];
            for at in &moments {
                whole.note(*at);
                quarters[usize::try_from(at / (250 * MS)).unwrap()].push(*at);
            }
            let mut sum = Answered::default();
            for (number, quarter) in (0_u64..).zip(&quarters) {
                let mut part = Answered::default();
                quarter.iter().for_each(|at| part.note(at - number * 250 * MS));
                sum.add(&part, number * 250 * MS);
            }
            prop_assert_eq!(&sum, &whole);
            prop_assert_eq!(Answered::parse(&whole.text()), Some(whole.clone()));
            let exact = moments.iter().filter(|at| **at < cut / BIN_NS * BIN_NS).count();
            prop_assert!(whole.before(0, cut / BIN_NS * BIN_NS) - exact as f64 == 0.0);
            prop_assert!(whole.before(5 * SECOND, cut) == 0.0);
        }
    }

    #[test]
    fn what_is_no_list_of_counts_is_none() {
        for text in ["a", "1,,2", "-1", "5000000000", &"1,".repeat(101)] {
            assert_eq!(Answered::parse(text), None, "{text}");
        }
    }
}
