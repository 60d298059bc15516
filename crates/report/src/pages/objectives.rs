//! The SLO's clauses: their values in the unit of the clause, their verdicts in a word, and the
//! bounds that can stand in a chart of response times.

use plimsoll_runs::Summary;
use plimsoll_runs::summary::SloVerdict;
use plimsoll_stats::Slo;
use plimsoll_stats::slo::Clause;
use plimsoll_units as units;

use crate::document::{Block, Cell, Grid, note};
use crate::figure_text;
use crate::view::View;
use plimsoll_draw::chart::figure::Mark;

/// A clause taken apart: what it is about, and its bound's text.
fn parts(expr: &str) -> Option<(&str, &str)> {
    let at = expr.find(['<', '>', '='])?;
    let (subject, rest) = expr.split_at(at);
    Some((subject.trim(), rest.trim_start_matches(['<', '>', '=']).trim()))
}

/// The measured value of a clause, in its unit; in words where there is none. A clause without a
/// value that was broken although something was measured ranks beyond every bound; where nothing
/// was, its note says so.
pub(crate) fn value(verdict: &SloVerdict) -> String {
    let slo = Slo::parse(&verdict.expr).ok();
    let unit = slo.as_ref().and_then(|slo| slo.clauses().first()).map(Clause::unit);
    let Some((value, unit)) = verdict.value.zip(unit) else {
        let nothing = verdict.note.as_deref().is_some_and(|note| note.starts_with("no"));
        let beyond = verdict.pass == Some(false) && !nothing;
        return if beyond { "beyond every bound" } else { "–" }.to_owned();
    };
    figure_text::of_unit(unit, value, "")
}

/// Whether a clause is about a percentile.
pub(crate) fn is_percentile(expr: &str) -> bool {
    let subject = expr.strip_prefix("service.").unwrap_or(expr);
    subject.strip_prefix('p').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// The verdict in a word, and the class that colours it.
pub(crate) fn word(pass: Option<bool>) -> (&'static str, &'static str) {
    match pass {
        Some(true) => ("held", "good"),
        Some(false) => ("broken", "poor"),
        None => ("not judged", "open"),
    }
}

/// The clauses of a run with what was measured and their verdicts; empty where it has none.
pub(crate) fn blocks(s: &Summary) -> Vec<Block> {
    if s.slo.is_empty() {
        return Vec::new();
    }
    let row = |clause: &SloVerdict| {
        let (word, class) = word(clause.pass);
        let mut verdict = Cell::default().judged(class, word);
        verdict.after = clause.note.clone().unwrap_or_default();
        vec![Cell::of(&clause.expr), Cell::of(value(clause)), verdict]
    };
    let mut blocks = vec![Block::Table(Grid {
        class: "objectives",
        id: String::new(),
        heads: ["objective", "measured", "verdict"].map(Cell::of).into(),
        rows: s.slo.iter().map(row).collect(),
    })];
    let ranked = s.slo.iter().any(|clause| is_percentile(&clause.expr));
    if ranked && s.succeeded < s.offered {
        blocks.push(note(
            "An objective's percentile is over all requests due: whatever did not succeed ranks \
             slower than every bound.",
        ));
    }
    blocks
}

/// The bounds on response times, each once.
pub(crate) fn marks(views: &[View]) -> Vec<Mark> {
    let mut marks: Vec<Mark> = Vec::new();
    for verdict in views.iter().flat_map(|view| &view.summary.slo) {
        let Some((subject, bound)) = parts(&verdict.expr) else { continue };
        let about_response = (is_percentile(subject) && !subject.starts_with("service"))
            || subject == "mean"
            || subject == "max";
        let Ok(bound) = units::duration(bound) else { continue };
        if about_response && !marks.iter().any(|mark| mark.name == verdict.expr) {
            marks.push(Mark { name: verdict.expr.clone(), value: bound.as_secs_f64() * 1e6 });
        }
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(expr: &str, value: Option<f64>) -> SloVerdict {
        SloVerdict { expr: expr.to_owned(), value, pass: Some(true), note: None }
    }

    #[test]
    fn values_are_in_the_unit_of_their_clause() {
        let cases = [
            ("p99.9<200ms", 123_456.0, "123 ms"),
            ("service.p99<=1s", 950.0, "950 µs"),
            ("errors<0.1%", 0.000_5, "0.05%"),
            ("availability>=99.999%", 0.999_99, "99.999%"),
            ("lost<10", 3.0, "3"),
            ("lost<1%", 0.003, "0.3%"),
            ("rate>=500/s", 499.2, "499/s"),
        ];
        for (expr, measured, text) in cases {
            assert_eq!(value(&verdict(expr, Some(measured))), text, "{expr}");
        }
        assert_eq!(value(&verdict("p99<1s", None)), "–");
        assert_eq!(value(&verdict("nonsense", Some(1.0))), "–");
        let broken = SloVerdict { pass: Some(false), ..verdict("p99<1s", None) };
        assert_eq!(value(&broken), "beyond every bound");
        let nothing = SloVerdict { note: Some("no request was due".to_owned()), ..broken };
        assert_eq!(value(&nothing), "–");
    }
}
