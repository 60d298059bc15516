//! Tests wait for what they want to see. One that sleeps, or whose load is of a fixed length, races
//! with the machine: it needs a reason, and there may only be fewer of those.

use super::rust::{line_of, words_with_place};
use super::{File, Remark, Tree};

/// So many reasons there are at most. The number is made smaller when one goes.
const MOST: usize = 23;
/// The longest load that a command line of a test may have, nanoseconds.
const LONGEST_NS: u64 = 2_000_000_000;
/// What excuses a finding of this rule.
const REASON: &str = "tidy: allow(waits,";
/// How a length stands on a command line of a test.
const FLAG: &str = "\"--for\", \"";

pub(super) fn check(tree: &Tree) -> Vec<(String, Remark)> {
    let tests = || tree.files.iter().filter(|file| is_test(&file.path));
    let found = tests().flat_map(|file| {
        let waits = sleeps(file).into_iter().chain(lengths(file));
        waits.map(|(line, what)| (file.path.clone(), (line, what.to_owned(), remedy())))
    });
    let mut found: Vec<(String, Remark)> = found.collect();
    let reasons = || tests().flat_map(|file| file.text.matches(REASON).map(|_| &file.path));
    if let Some(path) = reasons().nth(MOST) {
        let what = format!("{} tests have a reason to wait, more than {MOST}", reasons().count());
        found.push((path.clone(), (1, what, remedy())));
    }
    found
}

fn remedy() -> String {
    "wait for what is wanted (`wait_for`), and end the load (`stopped`)".to_owned()
}

/// Whether it is a test whose result may depend on no time. Those of bounds of time are others.
fn is_test(path: &str) -> bool {
    let mut parts = path.split('/');
    let is_of_program = path.starts_with("tests/it/");
    let is_of_crate =
        matches!(parts.next(), Some("crates" | "apps")) && parts.nth(1) == Some("tests");
    (is_of_program || is_of_crate) && !path.ends_with("/timed.rs")
}

fn sleeps(file: &File) -> Vec<(usize, &'static str)> {
    let Some(rust) = &file.rust else { return Vec::new() };
    let calls = words_with_place(&rust.code)
        .into_iter()
        .filter(|(at, word)| *word == "sleep" && rust.code[at + word.len()..].starts_with('('));
    calls.map(|(at, _)| (line_of(&rust.code, at), "a test sleeps")).collect()
}

fn lengths(file: &File) -> Vec<(usize, &'static str)> {
    let is_long = |text: &str| {
        let length = text.split('"').next().unwrap_or_default();
        nanoseconds(length).is_some_and(|ns| ns > LONGEST_NS)
    };
    let all = file.text.match_indices(FLAG);
    let long = all.filter(|(at, _)| is_long(&file.text[at + FLAG.len()..]));
    long.map(|(at, _)| (line_of(&file.text, at), "a load of a test has a length")).collect()
}

/// A length such as `250ms`, `30s`, `10m`.
fn nanoseconds(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    let factor = match &text[end..] {
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    };
    text[..end].parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<usize> {
        let tree = Tree { files: vec![File::new(path, text)], ..Tree::default() };
        check(&tree).into_iter().map(|(_, (line, ..))| line).collect()
    }

    #[test]
    fn sleeps_and_long_loads_of_tests_are_found() {
        let text = "fn a() {\n    thread::sleep(x);\n    // sleep(y)\n    run(\"sleep(z)\");\n    \
                    load(&[\"--for\", \"3s\"]);\n    load(&[\"--for\", \"2s\"]);\n    \
                    load(&[\"--for\", \"10m\"]);\n    load(&[\"--for\", \"ever\"]);\n}\n";
        for path in ["tests/it/a.rs", "crates/load/tests/it/a.rs", "apps/market/tests/a.rs"] {
            assert_eq!(found(path, text), [2, 5, 7], "{path}");
        }
        for path in ["tests/timed/a.rs", "crates/load/tests/it/timed.rs", "crates/load/src/a.rs"] {
            assert_eq!(found(path, text), [0; 0], "{path}");
        }
    }

    #[test]
    fn there_are_never_more_reasons() {
        let reason = "// tidy: allow(waits, it counts what is late)\n";
        assert_eq!(found("tests/it/a.rs", &reason.repeat(MOST)), [0; 0]);
        assert_eq!(found("tests/it/a.rs", &reason.repeat(MOST + 1)), [1]);
    }
}
