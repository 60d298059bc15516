//! What a service for continuous integration is told: a test case for each clause of an SLO and for
//! each check of a run, as JUnit XML and as Markdown.
//!
//! A clause that did not hold is a *failure*. What could not be told is an *error*: a clause that
//! hangs on the generator, a run that is not valid or not complete, a cell that failed. A file has
//! a failure or an error exactly where the command did not end with 0 ([`Checks::settle`]).

mod compared;
mod junit;
mod markdown;
mod read;

/// All that was checked, a suite each run.
#[derive(Debug, Default)]
pub struct Checks {
    suites: Vec<Suite>,
}

/// What was checked of one run, or of one cell of an experiment.
#[derive(Debug, Default)]
struct Suite {
    /// The run's id, or the cell with its levels.
    name: String,
    /// When it began, ISO 8601; empty where that is not known.
    started: String,
    /// How long it took.
    seconds: f64,
    cases: Vec<Case>,
    /// Figures with their units, for a reader: what each is, and its value.
    figures: Vec<(String, String)>,
    /// What a reader should know, a sentence each.
    warnings: Vec<String>,
}

/// One thing that was checked.
#[derive(Debug)]
struct Case {
    name: String,
    standing: Standing,
    /// The figures, or why it could not be told.
    says: String,
}

/// How a case stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// It holds.
    Held,
    /// It does not: a failure.
    Broken,
    /// It could not be told: an error.
    Untold,
    /// It could not be told whether it holds, and that is no fault.
    Open,
    /// It does not count.
    Skipped,
}

impl Standing {
    /// In a word.
    fn word(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Broken => "broken",
            Self::Untold => "not told",
            Self::Open => "cannot be told",
            Self::Skipped => "does not count",
        }
    }
}

impl Case {
    fn new(name: impl Into<String>, standing: Standing, says: impl Into<String>) -> Self {
        Self { name: name.into(), standing, says: says.into() }
    }

    fn is_bad(&self) -> bool {
        matches!(self.standing, Standing::Broken | Standing::Untold)
    }
}

impl Suite {
    fn count(&self, of: Standing) -> usize {
        self.cases.iter().filter(|case| case.standing == of).count()
    }

    /// The worst of its cases.
    fn standing(&self) -> Standing {
        let worst = [Standing::Broken, Standing::Untold, Standing::Open, Standing::Held];
        worst.into_iter().find(|of| self.count(*of) > 0).unwrap_or(Standing::Skipped)
    }
}

impl Checks {
    /// Adds something that came to no run, and why.
    pub fn add_failure(&mut self, name: impl Into<String>, why: impl Into<String>) {
        let cases = vec![Case::new("there is a run", Standing::Untold, why)];
        self.suites.push(Suite { name: name.into(), cases, ..Suite::default() });
    }

    /// Makes the cases say what the exit code of the command says. Of several combinations one that
    /// holds may be enough; and what ended early may leave cells that nobody began.
    pub fn settle(&mut self, exit: u8) {
        let is_bad = self.suites.iter().any(|suite| suite.cases.iter().any(Case::is_bad));
        if exit == 0 {
            let cases = self.suites.iter_mut().flat_map(|suite| &mut suite.cases);
            for case in cases.filter(|case| case.is_bad()) {
                case.says = format!("{}; another combination holds", case.says);
                case.standing = Standing::Skipped;
            }
        } else if !is_bad {
            let says = format!("the command ended with {exit} (docs/exit-codes.md)");
            let cases = vec![Case::new("the command ends with 0", Standing::Untold, says)];
            self.suites.push(Suite { name: "plimsoll".to_owned(), cases, ..Suite::default() });
        }
    }

    fn count(&self, of: Standing) -> usize {
        self.suites.iter().map(|suite| suite.count(of)).sum()
    }

    fn all(&self) -> usize {
        self.suites.iter().map(|suite| suite.cases.len()).sum()
    }

    /// As JUnit XML.
    #[must_use]
    pub fn junit(&self) -> String {
        junit::write(self)
    }

    /// As Markdown, for the summary of a job.
    #[must_use]
    pub fn markdown(&self) -> String {
        markdown::write(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checks(standings: &[Standing]) -> Checks {
        let case = |of: &Standing| Case::new("p99<1s | \"a\"", *of, "2 s\n<b>\u{1}");
        let cases = standings.iter().map(case).collect();
        Checks { suites: vec![Suite { name: "run".to_owned(), cases, ..Suite::default() }] }
    }

    #[test]
    fn a_file_is_bad_exactly_where_the_command_did_not_end_with_0() {
        let all = [Standing::Held, Standing::Broken, Standing::Untold, Standing::Skipped];
        for standings in [&all[..], &all[..1], &all[3..], &[]] {
            for exit in [0, 3, 4, 5] {
                let mut checks = checks(standings);
                checks.settle(exit);
                let bad = checks.count(Standing::Broken) + checks.count(Standing::Untold);
                assert_eq!(bad > 0, exit != 0, "{standings:?} {exit}");
            }
        }
    }

    #[test]
    fn text_from_outside_breaks_neither_form() {
        let checks = checks(&[Standing::Broken, Standing::Untold]);
        let xml = checks.junit();
        assert!(xml.contains("name=\"p99&lt;1s | &quot;a&quot;\""), "{xml}");
        assert!(xml.contains("failures=\"1\" errors=\"1\" skipped=\"0\""), "{xml}");
        assert!(!xml.contains('\u{1}') && !xml.contains("<b>"), "{xml}");
        let markdown = checks.markdown();
        let row = markdown.lines().find(|line| line.contains("p99")).unwrap_or_default();
        assert!(row.contains("p99&lt;1s \\| \"a\"") && row.contains("2 s &lt;b&gt;"), "{markdown}");
    }
}
