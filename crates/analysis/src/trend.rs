//! A figure over runs by one of their tags, such as the commit that they are of: what it was at
//! each, and whether it changed from one to the next.

use std::collections::BTreeMap;

use plimsoll_stats::figure::{Better, Figure, Unit};
use plimsoll_stats::interval::{Estimate, Pairing, Verdict, compare, compare_difference, mean};
use serde_json::{Value, json};

use crate::compared::{Change, One};

/// A run, by when it began and by its tags.
#[derive(Debug, Clone)]
pub struct Tagged {
    /// When it began, ISO 8601 in UTC.
    pub started: String,
    /// The value of the tag.
    pub value: String,
    /// The run.
    pub one: One,
}

/// What the runs of one value of the tag came to.
#[derive(Debug, Clone)]
pub struct Point {
    /// The value of the tag.
    pub value: String,
    /// When its first run began, ISO 8601 in UTC.
    pub started: String,
    /// Its runs.
    pub runs: Vec<String>,
    /// The figure of each.
    pub values: Vec<f64>,
    /// The mean.
    pub mean: f64,
    /// Its 95% interval; `None` of one run.
    pub interval: Option<Estimate>,
    /// How the change from the point before is put: by difference where some values may be zero.
    pub change: Change,
    /// The change, with its 95% interval; `None` where one of the two has one run.
    pub changed: Option<Estimate>,
    /// Whether it is worse or better than the point before, beyond the tolerance; `None` where the
    /// figure is neither, or that cannot be told. What looks worse is left open where a host was
    /// noisy.
    pub verdict: Option<Verdict>,
    /// In how many of its runs the host was noisy.
    pub noisy: usize,
}

/// A figure over the values of a tag, in the order of their first runs.
#[derive(Debug, Clone)]
pub struct Trend {
    /// The figure.
    pub figure: &'static Figure,
    /// The tag.
    pub tag: String,
    /// What the runs are of.
    pub subject: String,
    /// By how much a point may be worse than the one before.
    pub tolerance: f64,
    /// The points.
    pub points: Vec<Point>,
    /// What is left out, a sentence each.
    pub remarks: Vec<String>,
}

impl Trend {
    /// Makes the points of runs. Those that lack the figure are left out, and named.
    #[must_use]
    pub fn of(
        (figure, tag, subject): (&'static Figure, &str, &str),
        tolerance: f64,
        mut runs: Vec<Tagged>,
    ) -> Self {
        runs.sort_by(|a, b| (&a.started, &a.one.id).cmp(&(&b.started, &b.one.id)));
        let mut remarks = Vec::new();
        let lack = |run: &&Tagged| !run.one.figures.contains_key(figure.name);
        let lacking: Vec<&str> = runs.iter().filter(lack).map(|run| run.one.id.as_str()).collect();
        if !lacking.is_empty() {
            remarks.push(format!(
                "left out, as they lack {}: {}",
                figure.label,
                lacking.join(", ")
            ));
        }
        let mut order: Vec<String> = Vec::new();
        let mut by_value: BTreeMap<String, Vec<Tagged>> = BTreeMap::new();
        for run in runs.into_iter().filter(|run| !lack(&run)) {
            if !order.contains(&run.value) {
                order.push(run.value.clone());
            }
            by_value.entry(run.value.clone()).or_default().push(run);
        }
        let mut points: Vec<Point> = Vec::new();
        for value in order {
            let runs = by_value.remove(&value).unwrap_or_default();
            let point = Point::of(figure, value, &runs, points.last(), tolerance);
            points.extend(point);
        }
        Self {
            figure,
            tag: tag.to_owned(),
            subject: subject.to_owned(),
            tolerance,
            points,
            remarks,
        }
    }

    /// The last change for the worse, and what became better since, in a sentence.
    #[must_use]
    pub fn says(&self) -> String {
        let label = self.figure.label;
        if !self.points.iter().any(|point| point.verdict.is_some()) {
            return format!(
                "It cannot be told whether {label} changed: that takes two runs a value"
            );
        }
        let last = |of: Verdict| self.points.iter().rposition(|point| point.verdict == Some(of));
        let (worse, better) = (last(Verdict::Worse), last(Verdict::Better));
        let called = |at: usize, word: &str| {
            let point = &self.points[at];
            format!("{word} with {} {}: {}", self.tag, point.value, self.changed(point))
        };
        match (worse, better) {
            (Some(worse), Some(better)) if better > worse => {
                let (worse, better) = (called(worse, "worse last"), called(better, "better"));
                format!("{label} became {worse}, and since then {better}")
            }
            (Some(worse), _) => format!("{label} became {}", called(worse, "worse last")),
            (None, Some(better)) => format!("{label} became {}", called(better, "better last")),
            (None, None) => {
                let share = plimsoll_units::show_share(self.tolerance);
                format!("{label} is not shown to have become worse by more than {share}")
            }
        }
    }

    /// The change from the point before: `× 2.90`, or a difference in the figure's unit.
    #[must_use]
    pub fn changed(&self, point: &Point) -> String {
        match point.changed {
            None => "–".to_owned(),
            Some(of) => self.put(point.change, of.value),
        }
    }

    /// Its 95% interval; empty where there is none.
    #[must_use]
    pub fn interval(&self, point: &Point) -> String {
        let ends = |of: Estimate| {
            format!("{} to {}", self.put(point.change, of.low), self.put(point.change, of.high))
        };
        point.changed.map_or_else(String::new, ends)
    }

    fn put(&self, change: Change, value: f64) -> String {
        let sign = if value < 0.0 { "−" } else { "+" };
        match change {
            Change::Ratio => format!("× {value:.3}"),
            Change::Difference => format!("{sign}{}", self.figure.unit.show(value.abs())),
        }
    }

    /// As `--json` has it.
    #[must_use]
    pub fn json(&self) -> Value {
        let ends = |of: Option<Estimate>| of.map(|of| [of.low, of.high]);
        let point = |of: &Point| {
            json!({
                "value": of.value, "started": of.started, "runs": of.runs, "values": of.values,
                "mean": of.mean, "ci95": ends(of.interval),
                "kind": if of.change == Change::Ratio { "ratio" } else { "difference" },
                "change": of.changed.map(|change| change.value), "change_ci95": ends(of.changed),
                "verdict": of.verdict, "noisy": of.noisy,
            })
        };
        json!({
            "schema": 1, "warnings": self.remarks, "says": self.says(), "figure": self.figure.name,
            "tag": self.tag, "subject": self.subject, "tolerance": self.tolerance,
            "points": self.points.iter().map(point).collect::<Vec<_>>(),
        })
    }
}

impl Point {
    /// `None` of no runs.
    fn of(
        figure: &Figure,
        value: String,
        runs: &[Tagged],
        before: Option<&Self>,
        tolerance: f64,
    ) -> Option<Self> {
        let started = runs.first()?.started.clone();
        let of = |run: &Tagged| run.one.figures.get(figure.name).copied();
        let values: Vec<f64> = runs.iter().filter_map(of).collect();
        let noisy = runs.iter().filter(|run| !run.one.noise.is_empty()).count();
        let is_above = |values: &[f64]| values.iter().all(|value| *value > 0.0);
        let is_ratio = is_above(&values) && before.is_none_or(|before| is_above(&before.values));
        let is_share = matches!(figure.unit, Unit::Share | Unit::Count);
        let change = if is_ratio && !is_share { Change::Ratio } else { Change::Difference };
        let (mut changed, mut verdict) = (None, None);
        if let Some(before) = before {
            let (free, was) = (Pairing::Independent, &before.values);
            let better = figure.better;
            let compared = match change {
                Change::Ratio => compare(was, &values, free, better, tolerance),
                Change::Difference => {
                    let may_differ = tolerance * before.mean.abs();
                    compare_difference(was, &values, free, better, may_differ)
                }
            };
            if let Ok(compared) = compared {
                changed = Some(compared.estimate);
                verdict = Some(compared.verdict).filter(|_| better != Better::Neither);
                // A noisy host may be why a figure looks worse.
                if verdict == Some(Verdict::Worse) && (noisy > 0 || before.noisy > 0) {
                    verdict = Some(Verdict::Undecided);
                }
            }
        }
        // No time, rate or share is below nought: there its interval is cut off.
        let cut = |of: Estimate| match values.iter().all(|value| *value >= 0.0) {
            true => Estimate { low: of.low.max(0.0), ..of },
            false => of,
        };
        Some(Self {
            value,
            started,
            runs: runs.iter().map(|run| run.one.id.clone()).collect(),
            mean: values.iter().sum::<f64>() / values.len() as f64,
            interval: mean(&values, 0.95).ok().map(cut),
            values,
            change,
            changed,
            verdict,
            noisy,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_stats::figure;

    fn run(number: u32, commit: &str, p99: Option<f64>) -> Tagged {
        let figures = p99.map(|value| ("response_us.p99".to_owned(), value));
        let figures = figures.into_iter().collect();
        let id = format!("run-{number}");
        let one = One { id, seed: number.into(), noise: Vec::new(), figures };
        let started = format!("2026-12-02T00:00:{number:02}Z");
        Tagged { started, value: commit.to_owned(), one }
    }

    #[test]
    fn points_stand_in_the_order_of_their_first_runs_and_are_held_against_the_one_before() {
        let runs = vec![
            run(7, "aaa", None),
            run(6, "aaa", Some(30.1)),
            run(5, "aaa", Some(29.9)),
            run(1, "zzz", Some(10.0)),
            run(2, "zzz", Some(10.1)),
            run(4, "zzz", Some(9.9)),
            run(3, "mmm", Some(10.0)),
        ];
        let of = Trend::of((figure::RESPONSE_US_P99, "commit", "shop"), 0.05, runs);
        let values: Vec<&str> = of.points.iter().map(|point| point.value.as_str()).collect();
        assert_eq!(values, ["zzz", "mmm", "aaa"]);
        assert_eq!(of.remarks, ["left out, as they lack response p99: run-7"]);
        // One run tells nothing of how runs vary, neither of itself nor of the next.
        assert!(of.points[1].interval.is_none() && of.points[1].verdict.is_none());
        assert!(of.points[2].verdict.is_none());
        assert!(of.says().starts_with("It cannot be told"), "{}", of.says());
    }

    #[test]
    fn shares_are_held_against_each_other_by_their_difference() {
        let mut runs: Vec<Tagged> = Vec::new();
        for (at, commit, errors) in [(0, "a", 0.0), (1, "b", 0.3), (2, "c", 0.0)] {
            for n in 0..3_u32 {
                let mut run = run(at * 3 + n, commit, None);
                let value = errors + f64::from(n) / 1000.0;
                run.one.figures.insert("errors".to_owned(), value);
                runs.push(run);
            }
        }
        let of = Trend::of((figure::ERRORS, "commit", "shop"), 0.05, runs);
        let verdicts: Vec<Option<Verdict>> = of.points.iter().map(|of| of.verdict).collect();
        assert_eq!(verdicts, [None, Some(Verdict::Worse), Some(Verdict::Better)]);
        assert!(of.says().contains("worse last with commit b: +30%, and since then better"));
        assert!(of.points[0].interval.unwrap().low.abs() < 1e-12, "no share is below nought");
    }

    #[test]
    fn the_last_change_is_said() {
        let mut runs: Vec<Tagged> = Vec::new();
        for (at, commit, p99) in [(0, "a", 10.0), (1, "b", 30.0), (2, "c", 30.0)] {
            for n in 0..3_u32 {
                let number = at * 3 + n;
                runs.push(run(number, commit, Some(p99 + f64::from(n) / 100.0)));
            }
        }
        let of = Trend::of((figure::RESPONSE_US_P99, "commit", "shop"), 0.05, runs);
        let verdicts: Vec<Option<Verdict>> = of.points.iter().map(|of| of.verdict).collect();
        assert_eq!(verdicts, [None, Some(Verdict::Worse), Some(Verdict::NotWorse)]);
        assert!(of.says().starts_with("response p99 became worse last with commit b: × 2.99"));
        let json = of.json();
        assert_eq!(json["points"][1]["verdict"], "worse");
        assert_eq!(json["points"][1]["runs"][0], "run-3");
    }
}
