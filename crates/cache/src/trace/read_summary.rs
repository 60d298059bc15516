//! What a reader noticed beside the requests, and what of it a user must hear.

use plimsoll_units::show_count;

use super::{Format, Tally, Trace};

/// What was noticed while a trace was read.
///
/// `lines` = requests + `unreadable` + what was `skipped` + `operations` + `empty`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadSummary {
    /// What it was read as.
    pub format: Format,
    /// Lines of a text, records of a binary file.
    pub lines: u64,
    /// Lines with nothing on them, and those before the first row of a table.
    pub empty: u64,
    /// Lines that could not be read.
    pub unreadable: u64,
    /// The first of them.
    pub first_unreadable: Option<UnreadableLine>,
    /// Lines of an access log that are no request to a cache.
    pub skipped: Skipped,
    /// Rows of a table whose operation is no look-up, by its name.
    pub operations: Tally,
    /// Columns of a table that have a name and were not read.
    pub passed_over: Vec<String>,
    /// What was taken for what where the trace does not say it: a sentence each.
    pub taken: Vec<String>,
    /// Requests of a log whose URLs end in `?`: what followed was cut off.
    pub cut_queries: u64,
    /// Requests that came without a size, or with one of zero, in a trace with sizes.
    pub requests_without_size: u64,
    /// Objects of which no request had a size: they are taken to have none, 0 bytes.
    pub objects_without_size: u64,
    /// Objects whose requests had different sizes: they have the largest.
    pub sizes_differ: u64,
    /// Requests whose time was before that of an earlier one: they have the latest seen so far.
    pub out_of_order: u64,
    /// Requests and objects, where nearly every request is the first to its object.
    pub nearly_all_new: Option<(u64, u64)>,
}

/// A line that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableLine {
    /// Its number, from 1.
    pub line: u64,
    /// Its beginning, control characters escaped.
    pub text: String,
    /// What is wrong with it.
    pub why: &'static str,
}

/// Lines of an access log that were left out, each for the first reason that holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Other methods than GET.
    pub methods: Tally,
    /// Statuses that no cache keeps.
    pub statuses: Tally,
    /// What was asked for is no URL.
    pub no_url: u64,
}

impl Skipped {
    /// All together.
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.methods.sum() + self.statuses.sum() + self.no_url
    }

    /// The reasons that there are, in words.
    fn reasons(&self) -> String {
        let mut reasons = Vec::new();
        for (of, tally) in [("method", &self.methods), ("status", &self.statuses)] {
            if tally.sum() > 0 {
                reasons.push(format!("by {of} {tally}"));
            }
        }
        if self.no_url > 0 {
            reasons.push(format!("{} without a URL", show_count(self.no_url)));
        }
        reasons.join("; ")
    }
}

/// So many columns that were passed over are named.
const NAMED_COLUMNS: usize = 20;

/// Of so many requests in a hundred the first to their objects: nearly all.
const NEARLY_ALL_PERCENT: u64 = 95;

/// Fewer requests than these say nothing of how often objects are asked for again.
const FEWEST_REQUESTS: u64 = 3;

impl ReadSummary {
    /// Nothing noticed yet.
    #[must_use]
    pub fn new(format: Format) -> Self {
        Self {
            format,
            lines: 0,
            empty: 0,
            unreadable: 0,
            first_unreadable: None,
            skipped: Skipped::default(),
            operations: Tally::default(),
            passed_over: Vec::new(),
            taken: Vec::new(),
            cut_queries: 0,
            requests_without_size: 0,
            objects_without_size: 0,
            sizes_differ: 0,
            out_of_order: 0,
            nearly_all_new: None,
        }
    }

    /// Notes whether nearly every request of the trace is the first to its object.
    pub(super) fn look_at(&mut self, trace: &Trace) {
        let (requests, objects) = (trace.len() as u64, u64::from(trace.distinct()));
        let is_nearly_all = objects * 100 >= requests * NEARLY_ALL_PERCENT;
        let is_told = requests >= FEWEST_REQUESTS && is_nearly_all;
        self.nearly_all_new = is_told.then_some((requests, objects));
    }

    /// How many lines were left out though they could be read.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.skipped.sum() + self.operations.sum()
    }

    /// What was left out though it could be read, a sentence a kind.
    pub(super) fn left_out_words(&self) -> Vec<String> {
        let mut words = Vec::new();
        if self.skipped.sum() > 0 {
            words.push(format!(
                "{} lines are no requests to a cache and were left out: {}",
                show_count(self.skipped.sum()),
                self.skipped.reasons()
            ));
        }
        if self.operations.sum() > 0 {
            words.push(format!(
                "{} rows are no look-ups and were left out: {} (--columns without op takes all)",
                show_count(self.operations.sum()),
                self.operations
            ));
        }
        words
    }

    /// The columns that were passed over, in a sentence.
    fn passed_over_words(&self) -> Option<String> {
        let (named, all) = (self.passed_over.iter().take(NAMED_COLUMNS), self.passed_over.len());
        let names = named.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let rest = match all.saturating_sub(NAMED_COLUMNS) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        (all > 0).then(|| {
            format!("columns passed over: {names}{rest} (--columns says what columns are)")
        })
    }

    /// What a user must hear, a sentence each; none where all is well.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if let Some(UnreadableLine { line, text, why }) = &self.first_unreadable {
            warnings.push(format!(
                "{} of {} lines could not be read and were left out, the first at line {line}, \
                 {why}: `{text}`",
                show_count(self.unreadable),
                show_count(self.lines)
            ));
        }
        warnings.extend(self.left_out_words());
        warnings.extend(self.passed_over_words());
        warnings.extend(self.taken.iter().cloned());
        let mut tell = |count: u64, what: &str| {
            if count > 0 {
                warnings.push(format!("{} {what}", show_count(count)));
            }
        };
        tell(
            self.objects_without_size,
            "objects have no size in any of their requests: they are taken to have 0 bytes",
        );
        tell(
            self.sizes_differ,
            "objects have different sizes in their requests: the largest of each was taken",
        );
        tell(
            self.out_of_order,
            "requests have a time before that of an earlier one: they were given the latest so far",
        );
        tell(
            self.cut_queries,
            "requests have a URL that ends in `?`: the log has its query cut off, so pages that \
             differ in it count as one object (Squid logs queries with `strip_query_terms off`)",
        );
        if let Some((requests, objects)) = self.nearly_all_new {
            warnings.push(format!(
                "{} of {} requests are the first to their object, so no cache can answer them: \
                 check that the objects are what was meant",
                show_count(objects),
                show_count(requests)
            ));
        }
        warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Names;

    #[test]
    fn only_what_was_noticed_is_told() {
        let mut told = ReadSummary::new(Format::Csv);
        told.requests_without_size = 5;
        assert_eq!(told.warnings(), [""; 0]);
        told.objects_without_size = 1;
        told.sizes_differ = 2;
        told.out_of_order = 3;
        told.skipped.no_url = 6;
        for _ in 0..4 {
            told.skipped.methods.count(b"POST");
        }
        told.skipped.statuses.count(b"403");
        told.operations.count(b"PUT");
        told.passed_over = (0..21).map(|number| format!("c{number}")).collect();
        told.taken = vec!["a is taken for b".to_owned()];
        told.cut_queries = 8;
        told.nearly_all_new = Some((100, 99));
        (told.unreadable, told.lines) = (7, 900);
        told.first_unreadable =
            Some(UnreadableLine { line: 9, text: "x".to_owned(), why: "no object" });
        let warnings = told.warnings();
        for (warning, wanted) in warnings.iter().zip([
            "7 of 900 lines could not be read and were left out, the first at line 9",
            "11 lines are no requests to a cache and were left out: by method 4 of POST; by status \
             1 of 403; 6 without a URL",
            "1 rows are no look-ups and were left out: 1 of PUT",
            "columns passed over: `c0`, `c1`",
            "a is taken for b",
            "1 objects have no size",
            "2 objects have different sizes",
            "3 requests have a time before",
            "8 requests have a URL that ends in `?`",
            "99 of 100 requests are the first",
        ]) {
            assert!(warning.starts_with(wanted), "{warning}");
        }
        assert_eq!(warnings.len(), 10);
        assert!(warnings[3].contains("`c19` and 1 more"), "{}", warnings[3]);
    }

    #[test]
    fn a_trace_of_nothing_but_first_requests_is_told() {
        let told = |requests: Vec<u32>| {
            let objects = requests.iter().max().map_or(0, |most| u64::from(*most) + 1);
            let trace = Trace::new(requests, Names::Numbers((0..objects).collect())).unwrap();
            let mut told = ReadSummary::new(Format::Csv);
            told.look_at(&trace);
            told.nearly_all_new
        };
        assert_eq!(told(vec![0, 1, 2]), Some((3, 3)));
        assert_eq!((told(vec![0, 1, 0]), told(vec![0, 1])), (None, None));
        assert_eq!(told((0..19).chain([0]).collect()), Some((20, 19)));
        assert_eq!(told((0..18).chain([0, 1]).collect()), None);
    }
}
