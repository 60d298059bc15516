//! A simulation as a person reads it.

use crate::terminal::paint::Paint;
use plimsoll_elastic::course::Simulation;
use plimsoll_elastic::result::PolicyResult;
use plimsoll_units::{show_count, show_duration, show_rate, show_share};
use std::fmt::Write;

/// The figures of a row.
const HEADS: [&str; 9] = ["policy", "hours", "cost", "lost", "share", "net", "mean", "p99", "CPU"];

/// The table of all policies, and what a reader has to know.
pub(super) fn render(simulation: &Simulation) -> String {
    let result = &simulation.result;
    let sign = &simulation.about.currency;
    let mut rows: Vec<Vec<String>> = vec![HEADS.iter().map(|head| (*head).to_owned()).collect()];
    rows.extend(result.policies.iter().map(|policy| row(policy, sign)));
    let widths: Vec<usize> = (0..HEADS.len())
        .map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0))
        .collect();
    let paint = Paint::stdout();
    let mut out = String::new();
    for (number, row) in rows.iter().enumerate() {
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

fn row(policy: &PolicyResult, sign: &str) -> Vec<String> {
    // Half the width of the interval, where there is one.
    let half = |field: &str| policy.ci95.get(field).map(|(low, high)| 0.5 * (high - low));
    let with = |shown: String, field: &str, show: &dyn Fn(f64) -> String| match half(field) {
        Some(half) => format!("{shown} ±{}", show(half)),
        None => shown,
    };
    let whole = |value: f64| {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
        let count = value.round().max(0.0) as u64;
        show_count(count)
    };
    let money = |value: f64| format!("{value:.2}");
    let signed = |value: f64| {
        let minus = if value < 0.0 { "−" } else { "" };
        format!("{minus}{sign}{:.2}", value.abs())
    };
    let time = |us: Option<f64>| {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "shown")]
        us.map_or_else(|| "–".to_owned(), |us| show_duration((1e3 * us) as u64))
    };
    let tenth = |value: f64| format!("{value:.1}");
    vec![
        policy.label.clone(),
        with(tenth(policy.instance_hours), "instance_hours", &tenth),
        with(signed(policy.cost), "cost", &money),
        with(whole(policy.lost), "lost", &whole),
        show_share(policy.lost / policy.offered.max(1.0)),
        with(signed(policy.net), "net", &money),
        time(policy.response_us.mean),
        time(policy.response_us.p99),
        format!("{:.1}%", policy.cpu_mean),
    ]
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
