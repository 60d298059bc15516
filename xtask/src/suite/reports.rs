//! What tests report of themselves beside passing and failing (`plimsoll_testing`): one JSON object
//! a line, in a file that the runner names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Context as _;
use serde_json::Value;

use super::absent::{Absent, name_of};

/// What a skip is that is a failure.
const FORBIDDEN: &str = "skipped, and may not be";

/// One report.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Report {
    /// `skipped`, `not judged`, `ended with 5` or `tried again`.
    pub(crate) what: String,
    pub(crate) binary: String,
    pub(crate) test: String,
    pub(crate) why: String,
}

/// All reports of a run.
#[derive(Debug, Default)]
pub(crate) struct Reports(pub(crate) Vec<Report>);

impl Reports {
    /// Of a file that may not be there, as nobody had anything to report.
    pub(crate) fn read(file: &Path) -> anyhow::Result<Self> {
        match std::fs::read_to_string(file) {
            Ok(text) => Self::parse(&text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error).with_context(|| format!("read {}", file.display())),
        }
    }

    fn parse(text: &str) -> anyhow::Result<Self> {
        let read = |line: &str| -> anyhow::Result<Report> {
            let line: Value = serde_json::from_str(line).context("read a report of a test")?;
            let of = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
            Ok(Report { what: of("what"), binary: of("binary"), test: of("test"), why: of("why") })
        };
        text.lines().map(read).collect::<anyhow::Result<_>>().map(Self)
    }

    pub(crate) fn push(&mut self, what: &str, binary: &str, test: &str, why: &str) {
        let [what, binary, test, why] = [what, binary, test, why].map(str::to_owned);
        self.0.push(Report { what, binary, test, why });
    }

    pub(crate) fn of<'a>(&'a self, what: &'a str) -> impl Iterator<Item = &'a Report> {
        self.0.iter().filter(move |report| report.what == what)
    }

    /// Each test that was skipped, in part or whole, with what it needs.
    pub(crate) fn skipped(&self) -> BTreeMap<(&str, &str), BTreeSet<&str>> {
        let mut tests: BTreeMap<_, BTreeSet<&str>> = BTreeMap::new();
        for report in self.of("skipped") {
            tests.entry((&*report.binary, &*report.test)).or_default().insert(&report.why);
        }
        tests
    }

    /// Takes what needs something that may not be absent for failures: one line each.
    pub(crate) fn forbid_others(&mut self, absent: &Absent) -> Vec<String> {
        let mut failed = BTreeSet::new();
        let skipped = self.0.iter_mut().filter(|report| report.what == "skipped");
        for report in skipped.filter(|report| !absent.allows(&report.why)) {
            FORBIDDEN.clone_into(&mut report.what);
            let Report { binary, test, why, .. } = report;
            failed.insert(format!("{binary} {test}: skipped, and may not be: {why}"));
        }
        failed.into_iter().collect()
    }

    /// Tests that did not run to their end, which libtest counts as passed; pages and steps of the
    /// Makefile are not counted there.
    pub(crate) fn of_tests(&self) -> usize {
        let not_run = self.of("skipped").chain(self.of(FORBIDDEN));
        let of_tests = not_run.filter(|report| !matches!(&*report.binary, "docs" | "make"));
        of_tests.map(|report| (&report.binary, &report.test)).collect::<BTreeSet<_>>().len()
    }

    /// `9 need sshd, 3 need php`.
    pub(crate) fn needs(&self) -> String {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for needs in self.skipped().into_values() {
            // Of a test that lacks several things, the first.
            let first = needs.into_iter().next().map_or("", name_of);
            *counts.entry(first).or_default() += 1;
        }
        if counts.is_empty() {
            return "nothing".to_owned();
        }
        let words = counts.into_iter().map(|(name, count)| {
            let verb = if count == 1 { "needs" } else { "need" };
            format!("{count} {verb} {name}")
        });
        words.collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_added_up_by_test_and_need() {
        let text = "{\"what\":\"skipped\",\"binary\":\"it\",\"test\":\"a\",\"why\":\"sshd: no\"}\n\
                    {\"what\":\"skipped\",\"binary\":\"it\",\"test\":\"a\",\"why\":\"sshd\"}\n\
                    {\"what\":\"tried again\",\"binary\":\"it\",\"test\":\"a\",\"why\":\"busy\"}\n";
        let mut reports = Reports::parse(text).expect("the runner's own form");
        reports.push("skipped", "it", "b", "php");
        reports.push("skipped", "it", "c", "php");
        assert_eq!(reports.skipped().len(), 3);
        assert_eq!(reports.needs(), "2 need php, 1 needs sshd");
        assert_eq!(reports.of("tried again").count(), 1);
        assert_eq!(Reports::default().needs(), "nothing");
        assert!(Reports::parse("no JSON").is_err());
    }
}
