//! What a comparison comes to, in words and as JSON.

use super::{Change, Compared, Row};
use plimsoll_stats::interval::{Pairing, Verdict};
use plimsoll_units::show_share;
use serde_json::{Value, json};

/// The most figures that the sentence names.
const MOST_NAMED: usize = 3;

impl Compared {
    /// Whether B is worse in a figure that is judged.
    #[must_use]
    pub fn is_worse(&self) -> bool {
        self.untold.is_none() && self.rows.iter().any(Row::is_worse)
    }

    /// What is compared: what was measured on both sides, or on each.
    #[must_use]
    pub fn title(&self) -> String {
        match &self.names {
            [a, b] if a == b && a.is_empty() => "B against A".to_owned(),
            [a, b] if a == b => format!("{a}: B against A"),
            [a, b] => format!("{b} against {a}"),
        }
    }

    /// Whether all replications are pairs.
    #[must_use]
    pub fn is_paired(&self) -> bool {
        self.rows.iter().all(|row| row.pairing == Pairing::Pairs)
    }

    /// The answer in a sentence: `B is worse: response p99 × 2.90`.
    #[must_use]
    pub fn says(&self) -> String {
        if let Some(why) = &self.untold {
            return format!("It cannot be told whether B is worse: {why}");
        }
        let of = |verdict: Verdict| -> Vec<&Row> {
            let judged = self.rows.iter().filter(|row| row.is_judged);
            judged.filter(|row| row.verdict() == Some(verdict)).collect()
        };
        let worse = of(Verdict::Worse);
        if !worse.is_empty() {
            return format!("B is worse: {}", named(&worse));
        }
        let undecided = of(Verdict::Undecided);
        if !undecided.is_empty() {
            return format!("It cannot be told whether B is worse: {}", named(&undecided));
        }
        let better = of(Verdict::Better);
        if !better.is_empty() {
            return format!("B is better: {}", named(&better));
        }
        if !self.rows.iter().any(|row| row.is_judged && row.result.is_ok()) {
            return "It cannot be told whether B is worse: no judged figure has an interval".into();
        }
        format!("B is not worse by more than {}", show_share(self.tolerance))
    }
}

/// Rows with their changes.
fn named(rows: &[&Row]) -> String {
    let all: Vec<String> = rows.iter().take(MOST_NAMED).map(|row| row.named()).collect();
    let more = rows.len().saturating_sub(MOST_NAMED);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    all.join(", ") + &more
}

impl Row {
    /// What stands before the figure, where there are several groups.
    fn named(&self) -> String {
        let group = if self.factors.is_empty() { "" } else { &self.group };
        let between = if group.is_empty() { "" } else { ": " };
        format!("{group}{between}{} {}", self.figure.label, self.changed())
    }

    /// The change: `× 2.90`, `+2.1%`, or both values.
    #[must_use]
    pub fn changed(&self) -> String {
        let Ok(of) = &self.result else { return "–".to_owned() };
        match self.change {
            Change::Ratio => format!("× {:.3}", of.estimate.value),
            Change::Difference => self.difference(of.estimate.value),
        }
    }

    /// A difference in the figure's unit, with its sign.
    #[must_use]
    pub fn difference(&self, value: f64) -> String {
        let sign = if value < 0.0 { "−" } else { "+" };
        format!("{sign}{}", self.figure.unit.show(value.abs()))
    }

    /// The 95% interval of the change.
    #[must_use]
    pub fn interval(&self) -> String {
        let Ok(of) = &self.result else { return "–".to_owned() };
        let show = |value: f64| match self.change {
            Change::Ratio => format!("{value:.3}"),
            Change::Difference => self.difference(value),
        };
        format!("[{}, {}]", show(of.estimate.low), show(of.estimate.high))
    }

    /// The verdict in words, and whether it counts.
    #[must_use]
    pub fn judged(&self) -> String {
        let word = match &self.result {
            Err(error) => return error.to_string(),
            Ok(of) => match of.verdict {
                Verdict::Worse => "worse",
                Verdict::Better => "better",
                Verdict::NotWorse => "not worse",
                Verdict::Undecided => "undecided",
            },
        };
        match word {
            _ if !self.is_judged => format!("{word} (not judged)"),
            "undecided" => format!("undecided: {}", self.why_open()),
            _ => word.to_owned(),
        }
    }

    /// Why it could not be decided, where it could not.
    #[must_use]
    pub fn why_open(&self) -> String {
        self.open.clone().unwrap_or_else(|| "repeat more often".to_owned())
    }

    /// As `--json` has it; `name` is what the figure is called.
    #[must_use]
    pub fn json(&self, name: &str) -> Value {
        let kind = match self.change {
            Change::Ratio => "ratio",
            Change::Difference => "difference",
        };
        json!({
            "figure": name, "a": self.means.0, "b": self.means.1, "kind": kind,
            "comparison": self.result.as_ref().ok(),
            "refused": self.result.as_ref().err().map(ToString::to_string),
            "judged": self.is_judged, "open": self.open,
        })
    }
}
