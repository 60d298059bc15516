//! A simulation as a person reads it.

use crate::terminal::paint::Paint;
use plimsoll_elastic::course::Simulation;
use plimsoll_elastic::result::{Paired, PolicyResult};
use plimsoll_units::{show_count, show_duration, show_rate, show_share};
use std::fmt::Write;

/// The columns: their heads, the fields of the result, and how a value reads.
const COLUMNS: [(&str, &str, Show); 7] = [
    ("hours", "instance_hours", Show::Tenth),
    ("cost", "cost", Show::Money),
    ("lost", "lost", Show::Count),
    ("net", "net", Show::Money),
    ("mean", "response_mean_us", Show::Time),
    ("p99", "response_p99_us", Show::Time),
    ("CPU", "cpu_mean", Show::PerCent),
];

/// How a value reads.
#[derive(Clone, Copy, PartialEq)]
enum Show {
    Tenth,
    Money,
    Count,
    Time,
    PerCent,
}

impl Show {
    /// The text of a value that is not below zero.
    fn text(self, value: f64, sign: &str) -> String {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "shown")]
        let whole = |value: f64| value.round() as u64;
        match self {
            Self::Tenth => format!("{value:.1}"),
            Self::Money => format!("{sign}{value:.2}"),
            Self::Count => show_count(whole(value)),
            Self::Time => show_duration(whole(1e3 * value)),
            Self::PerCent => format!("{value:.1}%"),
        }
    }

    /// A value with the half width of its interval, where there is one.
    fn with(self, value: f64, interval: Option<&(f64, f64)>, sign: &str, is_plus: bool) -> String {
        if !value.is_finite() {
            return "–".to_owned();
        }
        let text = self.text(value.abs(), sign);
        // What is shown as zero has no sign.
        let is_zero = !text.bytes().any(|byte| (b'1'..=b'9').contains(&byte));
        let before = match value {
            _ if is_zero => "",
            value if value < 0.0 => "−",
            _ if is_plus => "+",
            _ => "",
        };
        let text = format!("{before}{text}");
        match interval {
            // One end may be cut off where it cannot be; the other is whole.
            Some((low, high)) => {
                let half = (value - low).max(high - value);
                format!("{text} ±{}", self.text(half, ""))
            }
            None => text,
        }
    }
}

/// The table of all policies, and what a reader has to know.
pub(super) fn render(simulation: &Simulation) -> String {
    let result = &simulation.result;
    let sign = &simulation.about.currency;
    let paint = Paint::stdout();
    let has_slo = result.policies.iter().any(|policy| !policy.slo.is_empty());
    let mut heads = vec!["policy"];
    for (head, field, _) in COLUMNS {
        heads.push(head);
        heads.extend((field == "lost").then_some("share"));
    }
    heads.extend(has_slo.then_some("SLO"));
    let rows: Vec<_> = result.policies.iter().map(|policy| row(policy, sign, has_slo)).collect();
    let mut out = lines(&heads, &rows, &paint);
    write_differences(&mut out, simulation, &paint);
    let about = &simulation.about;
    let _ = writeln!(out, "\nload      {}", about.load);
    let _ = writeln!(out, "instance  {}", about.instance);
    let _ = writeln!(out, "billing   {}", about.billing);
    let timing = &result.timing;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "shown")]
    let wall = show_duration((1e9 * timing.wall_s) as u64);
    let speed = show_rate(timing.requests_per_cpu_s);
    let replications = match about.replications {
        1 => "one replication of each, which has no interval".to_owned(),
        many => format!("{many} replications of each, 95% intervals"),
    };
    let _ = writeln!(
        out,
        "{}",
        paint.dim(&format!("{replications}; {wall}, {speed} simulated a core"))
    );
    for warning in &result.warnings {
        let _ = writeln!(out, "note: {warning}");
    }
    out
}

/// Rows under their heads.
fn lines(heads: &[&str], rows: &[Vec<String>], paint: &Paint) -> String {
    let heads: Vec<String> = heads.iter().map(|head| (*head).to_owned()).collect();
    let all = || std::iter::once(&heads).chain(rows);
    let width = |column: usize| all().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let mut out = String::new();
    for (number, row) in all().enumerate() {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let gap = " ".repeat(width - cell.chars().count());
            // Names stand to the left, figures to the right.
            let _ = if column == 0 {
                write!(line, "{cell}{gap}")
            } else {
                write!(line, "  {gap}{cell}")
            };
        }
        let line = line.trim_end();
        let _ = writeln!(out, "{}", if number == 0 { paint.bold(line) } else { line.to_owned() });
    }
    out
}

fn row(policy: &PolicyResult, sign: &str, has_slo: bool) -> Vec<String> {
    let mut row = vec![policy.label.clone()];
    for (_, field, show) in COLUMNS {
        let value = match field {
            "instance_hours" => policy.instance_hours,
            "cost" => policy.cost,
            "lost" => policy.lost,
            "net" => policy.net,
            "response_mean_us" => policy.response_mean_us.unwrap_or(f64::NAN),
            "response_p99_us" => policy.response_p99_us.unwrap_or(f64::NAN),
            _ => policy.cpu_mean,
        };
        row.push(show.with(value, policy.ci95.get(field), sign, false));
        if field == "lost" {
            row.push(show_share(policy.lost / policy.offered.max(1.0)));
        }
    }
    let broken: Vec<&str> =
        policy.slo.iter().filter(|of| !of.pass).map(|of| of.expr.as_str()).collect();
    let held =
        if broken.is_empty() { "held".to_owned() } else { format!("not {}", broken.join(", ")) };
    row.extend(has_slo.then_some(held));
    row
}

/// The differences of policies from the first, on the same requests: a table for each of those
/// that others are compared with.
fn write_differences(out: &mut String, simulation: &Simulation, paint: &Paint) {
    let (paired, sign) = (&simulation.result.paired, &simulation.about.currency);
    for group in paired.chunk_by(|one, other| one.with == other.with) {
        let less = format!("less {}", group[0].with);
        let mut heads = vec![less.as_str()];
        heads.extend(COLUMNS.iter().map(|(head, ..)| *head));
        let row = |one: &Paired| {
            let cell = |(_, field, show): (&str, &str, Show)| {
                let value = one.difference.get(field).copied().unwrap_or(f64::NAN);
                show.with(value, one.ci95.get(field), sign, value > 0.0)
            };
            [one.label.clone()].into_iter().chain(COLUMNS.map(cell)).collect()
        };
        let rows: Vec<Vec<String>> = group.iter().map(row).collect();
        let _ = write!(out, "\n{}", lines(&heads, &rows, paint));
    }
}

/// Every decision that changed the pool, of the first replication of each policy.
pub(super) fn decisions(simulation: &Simulation) -> String {
    let mut out = String::new();
    for course in &simulation.courses {
        let _ = writeln!(out, "\n{}", course.label);
        for of in &course.decisions {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds")]
            let at = of.at_s as u64;
            let (hours, minutes, seconds) = (at / 3600, at / 60 % 60, at % 60);
            let time = format!("{hours:02}:{minutes:02}:{seconds:02}");
            let _ = writeln!(out, "  {time}  {:>3} → {:<3} {}", of.from, of.to, of.reason);
        }
        if course.decisions.is_empty() {
            let _ = writeln!(out, "  nothing was changed");
        }
    }
    out
}
