//! Whether to believe a run, and whether its objectives held: the first thing to be read.

use plimsoll_runs::Summary;
use plimsoll_runs::summary::GOES_ON;

use crate::document::Verdict;

/// Judges a run by its validity, its end and its objectives.
pub(crate) fn verdict(s: &Summary) -> Verdict {
    let end = ending(s);
    let (class, objectives) = objectives(s);
    if !s.run.valid {
        // An objective has a verdict all the same where it does not hang on the generator.
        let objectives = if s.slo.is_empty() { String::new() } else { format!(" {objectives}") };
        let says =
            format!("Not valid: the generator has a part in these figures.{objectives}{end}");
        let reasons = s.run.invalid_because.clone();
        return Verdict { class: "poor", says, reasons };
    }
    let fails = s.has_failed_throughout();
    let class = if class == "good" && (fails || !s.is_whole()) { "open" } else { class };
    let valid = if s.run.ended == GOES_ON { "Valid so far" } else { "Valid" };
    let but = if fails { ", but every request failed" } else { "" };
    Verdict { class, says: format!("{valid}{but}. {objectives}{end}"), reasons: Vec::new() }
}

/// What is to be said of a run that did not take its full course, with a space before it.
fn ending(s: &Summary) -> String {
    match s.run.ended.as_str() {
        "complete" => String::new(),
        GOES_ON => " The run goes on: what is under way is in none of these figures.".to_owned(),
        "incomplete" => " The run was killed: these are its figures up to then.".to_owned(),
        "asked" => " It went on until it was asked to end.".to_owned(),
        "interrupted" => " It was interrupted before its end.".to_owned(),
        "stopped" => " It was stopped by its own rule.".to_owned(),
        other => format!(" It did not take its full course: {other}."),
    }
}

fn objectives(s: &Summary) -> (&'static str, String) {
    let with = |pass| {
        let clauses = s.slo.iter().filter(move |clause| clause.pass == pass);
        clauses.map(|clause| clause.expr.as_str()).collect::<Vec<_>>()
    };
    let (held, broken, open) = (with(Some(true)), with(Some(false)), with(None));
    match (s.slo.len(), broken.len(), open.len()) {
        (0, _, _) => ("good", "No objective was set.".to_owned()),
        (1, 0, 0) => ("good", format!("{} held.", held.concat())),
        (n, 0, 0) => ("good", format!("All {n} objectives held.")),
        (_, 0, _) => ("open", format!("Not judged: {}.", open.join(", "))),
        (1, _, _) => ("poor", format!("{} was broken.", broken.concat())),
        (all, n, _) => ("poor", format!("{n} of {all} objectives broken: {}.", broken.join(", "))),
    }
}
