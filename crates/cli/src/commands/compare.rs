//! `plimsoll compare`: is B worse than A? Intervals come from replications, never from the
//! correlated seconds of one run.

use crate::args::Compare;
use crate::exit::Exit;
use crate::found;
use crate::terminal::error::{FlagError, NotValid, UsageError};
use crate::terminal::paint::Paint;
use crate::terminal::print;
use crate::terminal::table::us;
use anyhow::Result;
use plimsoll_runs::{Run, Summary};
use plimsoll_stats::interval::{
    Better, Comparison, IntervalError, Verdict, compare, compare_difference,
};
use plimsoll_units::{show_rate, show_share};
use std::fmt::Write;
use std::path::PathBuf;

/// A figure that runs are compared by.
pub(crate) struct Figure {
    /// Its name, as in the summary.
    pub(crate) name: &'static str,
    /// Takes it from a summary.
    pub(crate) of: fn(&Summary) -> Option<f64>,
    /// Shows it to a person.
    pub(crate) show: fn(f64) -> String,
    better: Better,
    /// Whether it may be zero: then differences are compared, not ratios.
    share: bool,
}

/// What is compared.
pub(crate) const FIGURES: &[Figure] = &[
    time("response mean", |summary| summary.response_us.mean),
    time("response p50", |summary| summary.response_us.p50),
    time("response p90", |summary| summary.response_us.p90),
    time("response p99", |summary| summary.response_us.p99),
    time("response p99.9", |summary| summary.response_us.p999),
    time("service p50", |summary| summary.service_us.p50),
    time("service p99", |summary| summary.service_us.p99),
    Figure {
        name: "rate",
        of: |summary| Some(summary.rate_mean),
        show: show_rate,
        better: Better::Higher,
        share: false,
    },
    Figure {
        name: "errors",
        of: |summary| {
            let failed = summary.offered.saturating_sub(summary.succeeded);
            (summary.offered > 0).then(|| failed as f64 / summary.offered as f64)
        },
        show: show_share,
        better: Better::Lower,
        share: true,
    },
];

const fn time(name: &'static str, of: fn(&Summary) -> Option<f64>) -> Figure {
    Figure { name, of, show: us, better: Better::Lower, share: false }
}

/// Runs the command.
pub(crate) fn run(args: &Compare) -> Result<Exit> {
    let tolerance = plimsoll_units::share(&args.tolerance)
        .map_err(|error| FlagError::new("--tolerance", &args.tolerance, error))?;
    let (a, b) = sides(args)?;
    let (a, b) = (summaries(&a)?, summaries(&b)?);
    for (side, summaries) in [("A", &a), ("B", &b)] {
        if let Some(one) = summaries.iter().find(|one| !one.run.valid) {
            let (id, why) = (&one.run.id, one.run.invalid_because.join("; "));
            let text = format!("compare run {id} of {side}: it is not valid: {why}");
            return Err(NotValid(text).into());
        }
        if summaries.len() < 2 {
            let found = summaries.len();
            let error = format!(
                "compare with {found} run as {side}: at least 2 replications a side are needed, as \
                 the seconds of one run depend on each other and give no interval; repeat both by \
                 `plimsoll load … --repeat 5`"
            );
            return Err(UsageError(error).into());
        }
    }
    let rows: Vec<Row> =
        FIGURES.iter().filter_map(|figure| Row::of(figure, &a, &b, tolerance)).collect();
    let worse = rows.iter().any(|row| row.verdict() == Some(Verdict::Worse));
    print(&if args.json {
        json(&rows, &a, &b, tolerance, worse)
    } else {
        table(&rows, &a, &b, tolerance)
    })?;
    Ok(if worse { Exit::Broken } else { Exit::Held })
}

/// The run folders of both sides.
fn sides(args: &Compare) -> Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    let (a, b) = if args.with.is_empty() {
        match args.runs.as_slice() {
            [a, b] => (vec![a.clone()], vec![b.clone()]),
            runs => {
                let found = runs.len();
                let text = format!("tell A from {found} runs; put `--with` between A's and B's");
                return Err(UsageError(text).into());
            }
        }
    } else {
        (args.runs.clone(), args.with.clone())
    };
    let expand = |side: Vec<PathBuf>| -> Result<Vec<PathBuf>> {
        let mut all = Vec::new();
        for path in side {
            all.extend(found::all(&path)?);
        }
        Ok(all)
    };
    Ok((expand(a)?, expand(b)?))
}

fn summaries(paths: &[PathBuf]) -> Result<Vec<Summary>> {
    paths.iter().map(|path| Ok(Run::open(path)?.summary()?)).collect()
}

struct Row {
    figure: &'static Figure,
    means: (f64, f64),
    result: std::result::Result<Comparison, IntervalError>,
}

impl Row {
    fn of(figure: &'static Figure, a: &[Summary], b: &[Summary], tolerance: f64) -> Option<Self> {
        let values = |side: &[Summary]| side.iter().map(figure.of).collect::<Option<Vec<f64>>>();
        let (a, b) = (values(a)?, values(b)?);
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let result = if figure.share {
            compare_difference(&a, &b, figure.better, tolerance * mean(&a))
        } else {
            compare(&a, &b, figure.better, tolerance)
        };
        Some(Self { figure, means: (mean(&a), mean(&b)), result })
    }

    fn verdict(&self) -> Option<Verdict> {
        self.result.as_ref().ok().map(|comparison| comparison.verdict)
    }
}

fn table(rows: &[Row], a: &[Summary], b: &[Summary], tolerance: f64) -> String {
    let paint = Paint::stdout();
    let mut out = format!(
        "A {} ({} runs)\nB {} ({} runs)\nB may be worse by {}\n\n",
        a[0].run.id,
        a.len(),
        b[0].run.id,
        b.len(),
        show_share(tolerance)
    );
    let head = format!("  {:<16}{:>12}{:>12}{:>10}   95% interval", "", "A", "B", "B / A");
    let _ = writeln!(out, "{}", paint.dim(&head));
    for row in rows {
        let show = row.figure.show;
        let (mean_a, mean_b) = (show(row.means.0), show(row.means.1));
        let _ = write!(out, "  {:<16}{mean_a:>12}{mean_b:>12}", row.figure.name);
        match &row.result {
            Ok(comparison) => {
                let estimate = &comparison.estimate;
                let part = |value: f64| {
                    if row.figure.share { show_difference(value) } else { format!("{value:.3}") }
                };
                let interval = format!("[{}, {}]", part(estimate.low), part(estimate.high));
                let verdict = match comparison.verdict {
                    Verdict::Worse => paint.bad("worse"),
                    Verdict::NotWorse => paint.good("not worse"),
                    Verdict::Undecided => paint.warn("undecided: repeat more often"),
                };
                let _ = writeln!(out, "{:>10}   {interval:<20} {verdict}", part(estimate.value));
            }
            Err(error) => {
                let _ = writeln!(out, "{:>10}   {error}", "–");
            }
        }
    }
    out
}

fn show_difference(value: f64) -> String {
    format!("{}{}", if value < 0.0 { "−" } else { "+" }, show_share(value.abs()))
}

fn json(rows: &[Row], a: &[Summary], b: &[Summary], tolerance: f64, worse: bool) -> String {
    let ids = |side: &[Summary]| side.iter().map(|one| one.run.id.clone()).collect::<Vec<_>>();
    let rows: Vec<_> = rows
        .iter()
        .map(|row| {
            serde_json::json!({
                "figure": row.figure.name.replace(' ', "_"),
                "a": row.means.0,
                "b": row.means.1,
                "kind": if row.figure.share { "difference" } else { "ratio" },
                "comparison": row.result.as_ref().ok(),
                "refused": row.result.as_ref().err().map(ToString::to_string),
            })
        })
        .collect();
    let value = serde_json::json!({
        "schema": 1, "warnings": [], "a": ids(a), "b": ids(b), "tolerance": tolerance,
        "worse": worse, "figures": rows,
    });
    format!("{value:#}\n")
}
