//! What a test binary prints of its tests (libtest's default form).

/// How the tests of a binary ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) passed: usize,
    pub(crate) ignored: usize,
    /// Names, in the order in which they failed.
    pub(crate) failed: Vec<String>,
    /// Whether it said its result at all.
    pub(crate) is_whole: bool,
    /// What failed tests wrote.
    pub(crate) failures: String,
}

impl Ended {
    /// Reads all that a binary, or several one after the other, has printed.
    pub(crate) fn read(out: &str) -> Self {
        let mut ended = Self::default();
        for line in out.lines() {
            if let Some(result) = line.strip_prefix("test result: ") {
                ended.is_whole = true;
                ended.passed += count_before(result, " passed");
                ended.ignored += count_before(result, " ignored");
            } else if let Some(name) = line.strip_prefix("test ") {
                let failed = name.strip_suffix(" ... FAILED");
                ended.failed.extend(failed.map(|name| plain(name).to_owned()));
            }
        }
        let failures = out.find("\nfailures:\n").map_or("", |at| &out[at + 1..]);
        failures.clone_into(&mut ended.failures);
        // A line that something else wrote into may have hidden a name.
        for name in names_listed(&ended.failures) {
            if !ended.failed.iter().any(|known| known == name) {
                ended.failed.push(name.to_owned());
            }
        }
        ended
    }
}

/// The number before a word of `ok. 3 passed; 0 failed; 1 ignored; …`.
fn count_before(result: &str, word: &str) -> usize {
    let before = result.split(word).next().filter(|before| before.len() < result.len());
    before.and_then(|text| text.rsplit(' ').next()?.parse().ok()).unwrap_or(0)
}

/// A name without what libtest adds for tests that should panic.
fn plain(name: &str) -> &str {
    name.strip_suffix(" - should panic").unwrap_or(name)
}

/// The names at the end of the failures, four blanks before each.
fn names_listed(failures: &str) -> impl Iterator<Item = &str> {
    let last = failures.rsplit("\nfailures:\n").next().filter(|_| !failures.is_empty());
    let lines = last.unwrap_or_default().lines();
    lines.filter_map(|line| line.strip_prefix("    ")).filter(|name| !name.contains(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_is_found_even_where_its_line_was_written_into() {
        let out = "running 4 tests\ntest a ... ok\ntest b::c - should panic ... FAILED\n\
                   test d ... a child says\nFAILED\ntest e ... ignored, long\n\nfailures:\n\n\
                   ---- d stdout ----\nwhy\n\nfailures:\n    b::c\n    d\n\n\
                   test result: FAILED. 1 passed; 2 failed; 1 ignored; 0 measured\n";
        let ended = Ended::read(out);
        assert_eq!((ended.passed, ended.ignored, ended.is_whole), (1, 1, true));
        assert_eq!(ended.failed, ["b::c", "d"]);
        assert!(ended.failures.starts_with("failures:\n\n---- d"));
    }

    #[test]
    fn several_binaries_are_added_up() {
        let one = "\nrunning 1 test\ntest result: ok. 12 passed; 0 failed; 3 ignored; 0 measured\n";
        let ended = Ended::read(&format!("{one}{one}"));
        assert_eq!((ended.passed, ended.ignored, ended.failed.len()), (24, 6, 0));
        assert!(!Ended::read("Segmentation fault\n").is_whole);
    }
}
