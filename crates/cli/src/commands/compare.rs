//! `plimsoll compare`: is B worse than A? Intervals come from replications, never from the
//! correlated seconds of one run.

mod experiments;
mod loads;
mod pooled;

use crate::args::Compare;
use crate::exit::Exit;
use crate::figures;
use crate::found;
use crate::terminal::error::{FlagError, NotValid, Result, UsageError};
use crate::terminal::paint::Paint;
use crate::terminal::print;
use plimsoll_runs::experiment::is_experiment;
use plimsoll_runs::{Run, Summary};
use plimsoll_stats::figure::{self, Better, Figure, Unit};
use plimsoll_stats::interval::{
    Comparison, IntervalError, Pairing, Verdict, compare, compare_difference,
};
use plimsoll_units::show_share;
use pooled::Pooled;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::PathBuf;

/// The figures that runs are compared by.
pub(crate) const FIGURES: [&Figure; 9] = [
    figure::RESPONSE_US_MEAN,
    figure::RESPONSE_US_P50,
    figure::RESPONSE_US_P90,
    figure::RESPONSE_US_P99,
    figure::RESPONSE_US_P999,
    figure::SERVICE_US_P50,
    figure::SERVICE_US_P99,
    figure::RATE_MEAN,
    figure::ERRORS,
];

/// The figures by which runs are compared whose users receive broadcasts.
const OF_BROADCASTS: [&Figure; 3] =
    [figure::BROADCAST_LATENCY_US_P50, figure::BROADCAST_LATENCY_US_P99, figure::BROADCAST_LOST];

/// Runs the command.
pub(crate) fn run(args: &Compare) -> Result<Exit> {
    let tolerance = plimsoll_units::share(&args.tolerance)
        .map_err(|error| FlagError::new("--tolerance", &args.tolerance, error))?;
    let asked = figures::named(&args.figure)?;
    let (a, b) = sides(args)?;
    once_each(&a, &b)?;
    if let ([a], [b]) = (&a[..], &b[..])
        && is_experiment(a)
        && is_experiment(b)
    {
        return experiments::compare(a, b, (tolerance, &asked), args.json);
    }
    if let Some(one) = a.iter().chain(&b).find(|path| is_experiment(path)) {
        let one = one.display();
        let text = format!("compare the experiment {one} with runs: name one experiment a side");
        return Err(UsageError(text).into());
    }
    let (a, b) = (opened(&a)?, opened(&b)?);
    let mut remarks = loads::of_runs(&a, &b);
    let pooled = pooled::of(&a, &b)?;
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
    let pairing = pairing(&a, &b);
    let usual = FIGURES.into_iter().chain(OF_BROADCASTS);
    let figures = figures::joined(usual, asked.iter().copied());
    let rows: Vec<Row> =
        figures.iter().filter_map(|figure| Row::of(figure, &a, &b, pairing, tolerance)).collect();
    remarks.extend(left_out(&figures, &a, &b));
    refuse_absent(&asked, |figure| rows.iter().any(|row| row.figure == figure))?;
    let worse = rows.iter().any(|row| row.verdict() == Some(Verdict::Worse));
    let compared = Compared { rows, a: &a, b: &b, pairing, tolerance, pooled, remarks };
    print(&if args.json { compared.json(worse) } else { compared.table() })?;
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

/// Refuses runs that are named twice: a run is no replication of itself, and no other version.
fn once_each(a: &[PathBuf], b: &[PathBuf]) -> Result<()> {
    let mut seen: BTreeMap<PathBuf, &str> = BTreeMap::new();
    for (side, path) in a.iter().map(|path| ("A", path)).chain(b.iter().map(|path| ("B", path))) {
        let place = path.canonicalize().unwrap_or_else(|_| path.clone());
        let Some(before) = seen.insert(place, side) else { continue };
        let shown = path.display();
        let text = if before == side {
            format!("take {shown} as two replications of {side}: it is one run; name it once")
        } else {
            format!("compare {shown} with itself: it stands on both sides; leave it out of one")
        };
        return Err(UsageError(text).into());
    }
    Ok(())
}

fn opened(paths: &[PathBuf]) -> Result<Vec<Run>> {
    paths.iter().map(|path| Ok(Run::open(path)?)).collect()
}

fn summaries(runs: &[Run]) -> Result<Vec<Summary>> {
    runs.iter().map(|run| Ok(run.summary()?)).collect()
}

/// Replications of one number that drew by one seed are a pair.
fn pairing(a: &[Summary], b: &[Summary]) -> Pairing {
    let seeds = |side: &[Summary]| side.iter().map(|one| one.run.seed).collect::<Vec<_>>();
    let (a, b) = (seeds(a), seeds(b));
    let differ = a.iter().collect::<BTreeSet<_>>().len() == a.len();
    if a == b && differ { Pairing::Pairs } else { Pairing::Independent }
}

/// Refuses a figure that is asked for and that nothing is said of.
fn refuse_absent(asked: &[&Figure], is_said: impl Fn(&Figure) -> bool) -> Result<()> {
    let Some(absent) = asked.iter().find(|asked| !is_said(asked)) else { return Ok(()) };
    let why = match absent.better {
        Better::Neither => "of two values none is the better; `runs show` has both",
        Better::Lower | Better::Higher => "not all of both sides have it",
    };
    Err(UsageError(format!("compare `{}`: {why}", absent.name)).into())
}

/// Figures that some replications have and others lack.
fn left_out(figures: &[&Figure], a: &[Summary], b: &[Summary]) -> Vec<String> {
    let of_figure = |figure: &&Figure| {
        let lacking: Vec<&str> = a
            .iter()
            .chain(b)
            .filter(|one| one.value(figure).is_none())
            .map(|one| one.run.id.as_str())
            .collect();
        let some = !lacking.is_empty() && lacking.len() < a.len() + b.len();
        some.then(|| format!("{} is left out: {} lack it", figure.label, lacking.join(", ")))
    };
    figures.iter().filter_map(of_figure).collect()
}

/// Whether runs may well have nothing of it: then differences are compared, not ratios.
fn may_be_zero(figure: &Figure) -> bool {
    matches!(figure.unit, Unit::Share | Unit::Count)
}

struct Row {
    figure: &'static Figure,
    means: (f64, f64),
    result: std::result::Result<Comparison, IntervalError>,
}

impl Row {
    fn of(
        figure: &'static Figure,
        a: &[Summary],
        b: &[Summary],
        pairing: Pairing,
        tolerance: f64,
    ) -> Option<Self> {
        let value = |one: &Summary| one.value(figure);
        let values = |side: &[Summary]| side.iter().map(value).collect::<Option<Vec<f64>>>();
        let (a, b) = (values(a)?, values(b)?);
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let result = if may_be_zero(figure) {
            compare_difference(&a, &b, pairing, figure.better, tolerance * mean(&a))
        } else {
            compare(&a, &b, pairing, figure.better, tolerance)
        };
        Some(Self { figure, means: (mean(&a), mean(&b)), result })
    }

    fn verdict(&self) -> Option<Verdict> {
        self.result.as_ref().ok().map(|comparison| comparison.verdict)
    }
}

/// Two groups of replications, compared.
struct Compared<'a> {
    rows: Vec<Row>,
    a: &'a [Summary],
    b: &'a [Summary],
    pairing: Pairing,
    tolerance: f64,
    /// Percentiles over all requests of a side.
    pooled: Vec<Pooled>,
    /// What a reader should know, one sentence each.
    remarks: Vec<String>,
}

impl Compared<'_> {
    fn table(&self) -> String {
        let paint = Paint::stdout();
        let pairs = match self.pairing {
            Pairing::Pairs => ", compared as pairs of one seed",
            Pairing::Independent => "",
        };
        let mut out = format!(
            "A {} ({} runs)\nB {} ({} runs){pairs}\nB may be worse by {}\n",
            self.a[0].run.id,
            self.a.len(),
            self.b[0].run.id,
            self.b.len(),
            show_share(self.tolerance)
        );
        for remark in &self.remarks {
            let _ = writeln!(out, "{} {remark}", paint.warn("note:"));
        }
        let head = format!("\n  {:<16}{:>11}{:>11}{:>9}   95% interval", "", "A", "B", "B / A");
        let _ = writeln!(out, "{}", paint.dim(&head));
        for row in &self.rows {
            row.line(&mut out, &paint);
        }
        if !self.pooled.is_empty() {
            let head = "\n  over all requests of a side together, which gives no interval";
            let _ = writeln!(out, "{}", paint.dim(head));
        }
        for pooled in &self.pooled {
            pooled.line(&mut out);
        }
        out
    }

    fn json(&self, worse: bool) -> String {
        let ids = |side: &[Summary]| side.iter().map(|one| one.run.id.clone()).collect::<Vec<_>>();
        let rows: Vec<_> = self.rows.iter().map(Row::json).collect();
        let value = serde_json::json!({
            "schema": 1, "warnings": self.remarks, "a": ids(self.a), "b": ids(self.b),
            "tolerance": self.tolerance, "pairing": self.pairing, "worse": worse, "figures": rows,
            "pooled": self.pooled.iter().map(Pooled::json).collect::<Vec<_>>(),
        });
        format!("{value:#}\n")
    }
}

impl Row {
    fn line(&self, out: &mut String, paint: &Paint) {
        let unit = self.figure.unit;
        let (mean_a, mean_b) = (unit.show(self.means.0), unit.show(self.means.1));
        let _ = write!(out, "  {:<16}{mean_a:>11}{mean_b:>11}", self.figure.label);
        match &self.result {
            Ok(comparison) => {
                let estimate = &comparison.estimate;
                let part = |value: f64| {
                    if may_be_zero(self.figure) {
                        show_difference(value)
                    } else {
                        format!("{value:.3}")
                    }
                };
                let interval = format!("[{}, {}]", part(estimate.low), part(estimate.high));
                let verdict = match comparison.verdict {
                    Verdict::Worse => paint.bad("worse"),
                    Verdict::Better => paint.good("better"),
                    Verdict::NotWorse => paint.good("not worse"),
                    Verdict::Undecided => paint.warn("undecided: repeat more often"),
                };
                let _ = writeln!(out, "{:>9}   {interval:<20} {verdict}", part(estimate.value));
            }
            Err(error) => {
                let _ = writeln!(out, "{:>9}   {error}", "–");
            }
        }
    }

    fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "figure": self.figure.label.replace(' ', "_"),
            "a": self.means.0,
            "b": self.means.1,
            "kind": if may_be_zero(self.figure) { "difference" } else { "ratio" },
            "comparison": self.result.as_ref().ok(),
            "refused": self.result.as_ref().err().map(ToString::to_string),
        })
    }
}

fn show_difference(value: f64) -> String {
    format!("{}{}", if value < 0.0 { "−" } else { "+" }, show_share(value.abs()))
}
