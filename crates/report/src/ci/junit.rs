//! JUnit XML, as GitLab, Jenkins, GitHub's actions and others read it: `testsuites`, `testsuite`,
//! `testcase`, with `failure`, `error` and `skipped`.

use super::{Case, Checks, Standing, Suite};
use std::fmt::Write as _;

pub(super) fn write(of: &Checks) -> String {
    let mut out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
    let seconds: f64 = of.suites.iter().map(|suite| suite.seconds).sum();
    let counts = counts(of.all(), |standing| of.count(standing), seconds);
    let _ = writeln!(out, "<testsuites name=\"plimsoll\" {counts}>");
    for suite in &of.suites {
        write_suite(&mut out, suite);
    }
    out.push_str("</testsuites>\n");
    out
}

fn counts(all: usize, count: impl Fn(Standing) -> usize, seconds: f64) -> String {
    let (failures, errors) = (count(Standing::Broken), count(Standing::Untold));
    let skipped = count(Standing::Skipped) + count(Standing::Open);
    format!(
        "tests=\"{all}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\" \
         time=\"{seconds:.3}\""
    )
}

fn write_suite(out: &mut String, suite: &Suite) {
    let counts = counts(suite.cases.len(), |standing| suite.count(standing), suite.seconds);
    let _ = write!(out, "  <testsuite name=\"{}\" {counts}", escaped(&suite.name));
    if !suite.started.is_empty() {
        let _ = write!(out, " timestamp=\"{}\"", escaped(&suite.started));
    }
    out.push_str(">\n");
    if !suite.figures.is_empty() {
        out.push_str("    <properties>\n");
        for (name, value) in &suite.figures {
            let (name, value) = (escaped(name), escaped(value));
            let _ = writeln!(out, "      <property name=\"{name}\" value=\"{value}\"/>");
        }
        out.push_str("    </properties>\n");
    }
    for case in &suite.cases {
        write_case(out, suite, case);
    }
    if !suite.warnings.is_empty() {
        let text = escaped(&suite.warnings.join("\n"));
        let _ = writeln!(out, "    <system-out>{text}</system-out>");
    }
    out.push_str("  </testsuite>\n");
}

fn write_case(out: &mut String, suite: &Suite, case: &Case) {
    let (name, class) = (escaped(&case.name), escaped(&suite.name));
    let _ = write!(out, "    <testcase name=\"{name}\" classname=\"{class}\">");
    let says = escaped(&case.says);
    let _ = match case.standing {
        Standing::Held => write!(out, "<system-out>{says}</system-out>"),
        Standing::Broken => {
            let text = "<failure type=\"broken\" message=";
            write!(out, "{text}\"{name}: {says}\">{says}</failure>")
        }
        Standing::Untold => {
            let text = "<error type=\"not-told\" message=";
            write!(out, "{text}\"{name}: {says}\">{says}</error>")
        }
        Standing::Skipped | Standing::Open => write!(out, "<skipped message=\"{says}\"/>"),
    };
    out.push_str("</testcase>\n");
}

/// Text as it may stand in an attribute or between tags. What XML 1.0 has no place for is left out.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // Within an attribute a line's end would become a blank.
            '\n' => out.push_str("&#10;"),
            '\t' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..='\u{10ffff}' => {
                out.push(c);
            }
            _ => {}
        }
    }
    out
}
