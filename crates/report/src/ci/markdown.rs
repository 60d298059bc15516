//! Markdown, as the summaries of jobs and comments on merge requests show it: the verdict first,
//! one table of all runs, and what did not hold below it.

use super::{Checks, Standing, Suite};
use std::fmt::Write as _;

/// The most rows of a table: the summary of a job has 1 MiB.
const MOST_ROWS: usize = 200;

pub(super) fn write(of: &Checks) -> String {
    let (broken, untold) = (of.count(Standing::Broken), of.count(Standing::Untold));
    let (held, open) = (of.count(Standing::Held), of.count(Standing::Open));
    let verdict = match (broken, untold, open) {
        (0, 0, 0) => "all held",
        (0, 0, _) => "some cannot be told",
        (0, _, _) => "not told",
        _ => "broken",
    };
    let open = if open > 0 { format!(", {open} cannot be told") } else { String::new() };
    let mut out = format!(
        "## plimsoll: {verdict}\n\n{held} held, {broken} broken, {untold} not told{open}\n"
    );
    match &of.suites[..] {
        [one] => write_one(&mut out, one),
        several => write_several(&mut out, several),
    }
    for suite in of.suites.iter().filter(|suite| !suite.warnings.is_empty()).take(MOST_ROWS) {
        out.push('\n');
        for warning in &suite.warnings {
            let _ = writeln!(out, "- {}: {}", escaped(&suite.name), escaped(warning));
        }
    }
    out
}

/// A run's cases and its figures.
fn write_one(out: &mut String, suite: &Suite) {
    let _ = writeln!(out, "\n**{}**", escaped(&suite.name));
    write_cases(out, &[suite], false);
    if !suite.figures.is_empty() {
        out.push_str("\n| figure | value |\n| --- | --- |\n");
        for (name, value) in &suite.figures {
            let _ = writeln!(out, "| {} | {} |", escaped(name), escaped(value));
        }
    }
}

/// Runs side by side, then what did not hold of each.
fn write_several(out: &mut String, suites: &[Suite]) {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in suites.iter().flat_map(|suite| &suite.figures) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let heads: String = names.iter().map(|name| format!(" {} |", escaped(name))).collect();
    let rules = " --- |".repeat(names.len());
    let _ = writeln!(out, "\n| run | verdict |{heads}\n| --- | --- |{rules}");
    for suite in suites.iter().take(MOST_ROWS) {
        let value = |name: &&str| {
            let found = suite.figures.iter().find(|(of, _)| of == name);
            format!(" {} |", escaped(found.map_or("–", |(_, value)| value)))
        };
        let values: String = names.iter().map(value).collect();
        let (name, word) = (escaped(&suite.name), suite.standing().word());
        let _ = writeln!(out, "| {name} | {word} |{values}");
    }
    if let Some(more) = suites.len().checked_sub(MOST_ROWS).filter(|more| *more > 0) {
        let _ = writeln!(out, "\nand {more} more");
    }
    let bad: Vec<&Suite> = suites.iter().filter(|suite| suite.is_bad()).take(MOST_ROWS).collect();
    if !bad.is_empty() {
        write_cases(out, &bad, true);
    }
}

fn write_cases(out: &mut String, suites: &[&Suite], only_bad: bool) {
    let name = if suites.len() > 1 || only_bad { "| run " } else { "" };
    let rule = if name.is_empty() { "" } else { "| --- " };
    let _ = writeln!(out, "\n{name}| check | verdict | measured |\n{rule}| --- | --- | --- |");
    for suite in suites {
        for case in suite.cases.iter().filter(|case| !only_bad || case.is_bad()) {
            if !name.is_empty() {
                let _ = write!(out, "| {} ", escaped(&suite.name));
            }
            let (check, says) = (escaped(&case.name), escaped(&case.says));
            let _ = writeln!(out, "| {check} | {} | {says} |", case.standing.word());
        }
    }
}

impl Suite {
    fn is_bad(&self) -> bool {
        matches!(self.standing(), Standing::Broken | Standing::Untold)
    }
}

/// Text in one cell of a table, with nothing in it that is markup.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' | '~' => out.extend(['\\', c]),
            '\n' => out.push(' '),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}
