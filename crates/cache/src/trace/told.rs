//! What a reader noticed beside the requests, and what of it a user must hear.

use plimsoll_units::show_count;

use super::Format;

/// What was noticed while a trace was read.
///
/// `lines` = requests + `unreadable` + what was `skipped` + empty lines and headers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// What it was read as.
    pub format: Format,
    /// Lines of a text, records of a binary file.
    pub lines: u64,
    /// Lines that could not be read.
    pub unreadable: u64,
    /// The first of them.
    pub first_unreadable: Option<UnreadableLine>,
    /// Lines of an access log that are no request to a cache.
    pub skipped: Skipped,
    /// Requests that came without a size, or with one of zero, in a trace with sizes.
    pub requests_without_size: u64,
    /// Objects of which no request had a size: they are taken to have none, 0 bytes.
    pub objects_without_size: u64,
    /// Objects whose requests had different sizes: they have the largest.
    pub sizes_differ: u64,
    /// Requests whose time was before that of an earlier one: they have the latest seen so far.
    pub out_of_order: u64,
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Another method than GET.
    pub method: u64,
    /// A status that no cache keeps.
    pub status: u64,
    /// What was asked for is no URL.
    pub no_url: u64,
}

impl Skipped {
    /// All together.
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.method + self.status + self.no_url
    }
}

impl Told {
    /// Nothing noticed yet.
    #[must_use]
    pub fn new(format: Format) -> Self {
        Self {
            format,
            lines: 0,
            unreadable: 0,
            first_unreadable: None,
            skipped: Skipped::default(),
            requests_without_size: 0,
            objects_without_size: 0,
            sizes_differ: 0,
            out_of_order: 0,
        }
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
        let skipped = &self.skipped;
        if skipped.sum() > 0 {
            warnings.push(format!(
                "{} lines are no requests to a cache and were left out: {} with another method \
                 than GET, {} with a status that is not cacheable, {} without a URL",
                show_count(skipped.sum()),
                show_count(skipped.method),
                show_count(skipped.status),
                show_count(skipped.no_url)
            ));
        }
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
        warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_noticed_is_told() {
        let mut told = Told::new(Format::Csv);
        told.requests_without_size = 5;
        assert_eq!(told.warnings(), [""; 0]);
        told.objects_without_size = 1;
        told.sizes_differ = 2;
        told.out_of_order = 3;
        told.skipped = Skipped { method: 4, status: 5, no_url: 6 };
        (told.unreadable, told.lines) = (7, 900);
        told.first_unreadable =
            Some(UnreadableLine { line: 9, text: "x".to_owned(), why: "no object" });
        let warnings = told.warnings();
        assert_eq!(warnings.len(), 5);
        assert!(warnings[0].starts_with("7 of 900 lines") && warnings[0].contains("line 9"));
        assert!(warnings[1].starts_with("15 lines") && warnings[1].contains("4 with"));
        assert!(warnings[4].starts_with("3 requests"));
    }
}
