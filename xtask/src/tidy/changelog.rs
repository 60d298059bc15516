//! The form of `CHANGELOG.md`: Keep a Changelog 1.1.0.
//!
//! `## [Unreleased]` first, then releases `## [1.2.3] - 2026-01-31` from the newest to the oldest;
//! in each, sections by kind of change, and in each of these a list that is not empty.

use super::{File, Remark, Tree};

const KINDS: [&str; 6] = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"];

pub(super) fn check(_: &Tree, file: &File) -> Vec<Remark> {
    if file.path != "CHANGELOG.md" {
        return Vec::new();
    }
    let mut reader = Reader::default();
    for (index, line) in file.text.lines().enumerate() {
        reader.line(index + 1, line);
    }
    reader.end_section();
    if !reader.titled {
        reader.fault(1, "the page has no title", "begin with `# Changelog`");
    }
    if reader.releases == 0 {
        reader.fault(1, "no release is listed", "add `## [Unreleased]`");
    }
    reader.found
}

#[derive(Default)]
struct Reader {
    found: Vec<Remark>,
    titled: bool,
    releases: usize,
    /// The version above, as far as one was read.
    above: Option<[u64; 3]>,
    /// The open section's line and how many entries it has.
    section: Option<(usize, usize)>,
}

impl Reader {
    fn fault(&mut self, line: usize, what: &str, remedy: &str) {
        self.found.push((line, what.to_owned(), remedy.to_owned()));
    }

    fn line(&mut self, number: usize, line: &str) {
        if let Some(kind) = line.strip_prefix("### ") {
            self.end_section();
            self.section = Some((number, 0));
            if !KINDS.contains(&kind) {
                let remedy = format!("use one of {}", KINDS.join(", "));
                self.fault(number, &format!("`{kind}` is no kind of change"), &remedy);
            }
        } else if let Some(release) = line.strip_prefix("## ") {
            self.end_section();
            self.release(number, release);
        } else if let Some(title) = line.strip_prefix("# ") {
            self.titled |= title == "Changelog";
        } else if line.starts_with("- ") {
            match &mut self.section {
                Some((_, entries)) => *entries += 1,
                None => {
                    self.fault(number, "an entry stands in no section", "add `### Added` above");
                }
            }
        }
    }

    fn release(&mut self, number: usize, release: &str) {
        self.releases += 1;
        if self.releases == 1 {
            if release != "[Unreleased]" {
                self.fault(
                    number,
                    "the first release listed is not the next",
                    "add `## [Unreleased]`",
                );
            }
            return;
        }
        let Some(version) = version_of(release) else {
            self.fault(number, "a release has another form", "write `## [1.2.3] - 2026-01-31`");
            return;
        };
        if self.above.is_some_and(|above| above <= version) {
            self.fault(number, "releases are not in order", "put the newest first");
        }
        self.above = Some(version);
    }

    fn end_section(&mut self) {
        if let Some((number, 0)) = self.section.take() {
            self.fault(number, "a section has no entry", "list what changed, or remove it");
        }
    }
}

fn version_of(release: &str) -> Option<[u64; 3]> {
    let (version, date) = release.strip_prefix('[')?.split_once("] - ")?;
    let numbers = |text: &str, by: char| -> Option<[u64; 3]> {
        let parts: Vec<u64> =
            text.split(by).map(|part| part.parse().ok()).collect::<Option<_>>()?;
        parts.try_into().ok()
    };
    let [_, month, day] = numbers(date, '-')?;
    let dated = date.len() == 10 && (1..=12).contains(&month) && (1..=31).contains(&day);
    numbers(version, '.').filter(|_| dated)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [usize; 0] = [];

    fn lines(text: &str) -> Vec<usize> {
        let file = File::new("CHANGELOG.md", text);
        check(&Tree::default(), &file).into_iter().map(|(line, ..)| line).collect()
    }

    const GOOD: &str = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- A thing.\n\n\
                        ## [0.2.0] - 2026-12-01\n\n### Fixed\n\n- A fault.\n\n\
                        ## [0.1.0] - 2026-11-20\n\n### Added\n\n- All.\n";

    #[test]
    fn the_form_is_kept() {
        assert_eq!(lines(GOOD), NONE);
        assert_eq!(lines("# Changelog\n\n## [Unreleased]\n"), NONE);
    }

    #[test]
    fn departures_are_named() {
        assert_eq!(lines(&GOOD.replace("# Changelog\n", "# News\n")), [1]);
        assert_eq!(lines(&GOOD.replace("## [Unreleased]", "## Next")), [3]);
        assert_eq!(lines(&GOOD.replace("### Added", "### New")), [5, 17]);
        assert_eq!(lines(&GOOD.replace("- A fault.", "")), [11]);
        assert_eq!(lines(&GOOD.replace("### Fixed", "")), [13]);
        assert_eq!(lines(&GOOD.replace("0.2.0", "0.0.9")), [15]);
        assert_eq!(lines(&GOOD.replace("2026-12-01", "1 December")), [9]);
        assert_eq!(lines("# Changelog\n"), [1]);
    }
}
