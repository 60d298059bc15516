//! What a test could not prove: reported to the runner, which adds it up, and printed.

use std::fs::OpenOptions;
use std::io::Write as _;

use crate::{BINARY, REPORTS, variable};

/// Reports that a test, or a part of it, is not run here. `needs` begins with the one word that
/// `.ci/may-skip` knows, or with the program that is missing; details follow a colon:
/// `namespaces: no TUN device`. The runner fails where what is needed may not be absent.
pub fn skip(test: &str, needs: &str) {
    report("skipped", test, needs);
}

/// Reports that a test ran, but the machine was too busy for a verdict.
pub fn not_judged(test: &str, why: &str) {
    report("not judged", test, why);
}

/// Reports that the program ended with 5, as the machine was too busy for a verdict, which the test
/// does not depend on.
pub fn ended_with_5(test: &str, what: &str) {
    report("ended with 5", test, what);
}

#[expect(clippy::print_stdout, reason = "without a runner, this is where a person sees it")]
fn report(what: &str, test: &str, why: &str) {
    println!("{what}: {test}: {why}");
    let Some(file) = variable(REPORTS) else { return };
    let line = line(what, test, why, &variable(BINARY).unwrap_or_default());
    let opened = OpenOptions::new().append(true).create(true).open(&file);
    // One call, so that lines of tests that run at once do not mix.
    let written = opened.and_then(|mut file| file.write_all(line.as_bytes()));
    assert!(written.is_ok(), "a report cannot be written to {file}: {written:?}");
}

fn line(what: &str, test: &str, why: &str, binary: &str) -> String {
    let report = serde_json::json!({ "what": what, "binary": binary, "test": test, "why": why });
    format!("{report}\n")
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_report_is_one_line_of_json() {
        let line = super::line("skipped", "a::b", "sshd: \"x\"\ny", "crates/a it");
        assert!(line.ends_with("}\n"));
        let read: serde_json::Value = serde_json::from_str(line.trim_end()).expect("JSON");
        assert!(!line.trim_end().contains('\n'));
        assert_eq!(read["why"], "sshd: \"x\"\ny");
        assert_eq!((&read["what"], &read["binary"]), (&"skipped".into(), &"crates/a it".into()));
    }
}
