//! A comparison, for people, as JSON, as a page, and for continuous integration.

use super::pooled::Pooled;
use crate::commands::report::write;
use crate::exit::Exit;
use crate::form_args::Forms;
use crate::terminal::align::align;
use crate::terminal::error::Result;
use crate::terminal::paint::Paint;
use crate::terminal::{print, say};
use plimsoll_analysis::compared::{Change, Compared, Row, Side};
use plimsoll_report::Source;
use plimsoll_report::ci::Checks;
use plimsoll_stats::interval::{Pairing, Verdict};
use plimsoll_units::show_share;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// What a side is made of.
pub(crate) enum Ids {
    /// Runs, by their names.
    Runs(Vec<String>),
    /// An experiment, a series or a group, by its name.
    One(String),
}

/// What is shown of a comparison.
pub(crate) struct Shown {
    /// What came of it.
    pub(crate) compared: Compared,
    /// What A and B are made of.
    pub(crate) ids: [Ids; 2],
    /// Percentiles over all requests of a side.
    pub(super) pooled: Vec<Pooled>,
    /// Whether it is of combinations of levels, or of groups, by their names.
    pub(crate) is_grouped: bool,
    /// Why nothing could be compared although that was asked for.
    pub(super) fault: Option<String>,
}

impl Ids {
    /// The replications of a side.
    pub(super) fn of_runs(side: &Side) -> Self {
        let of = side.groups.iter().flat_map(|group| &group.ones);
        Self::Runs(of.map(|one| one.id.clone()).collect())
    }

    fn json(&self) -> Value {
        match self {
            Self::Runs(runs) => json!(runs),
            Self::One(id) => json!(id),
        }
    }
}

impl Shown {
    /// Of groups of searches, or of combinations.
    pub(crate) fn of_groups(compared: Compared) -> Self {
        let ids = compared.sides.clone().map(|(id, _)| Ids::One(id));
        Self { compared, ids, pooled: Vec::new(), is_grouped: true, fault: None }
    }

    /// Of what could not be compared, and why.
    pub(super) fn of_fault(a: String, tolerance: f64, why: String) -> Self {
        let compared = Compared {
            sides: [(a.clone(), 0), (String::new(), 0)],
            names: [String::new(), String::new()],
            tolerance,
            rows: Vec::new(),
            untold: Some(why.clone()),
            alone: [Vec::new(), Vec::new()],
            remarks: Vec::new(),
        };
        let ids = [Ids::One(a), Ids::Runs(Vec::new())];
        Self { compared, ids, pooled: Vec::new(), is_grouped: false, fault: Some(why) }
    }

    /// Tells of it in all the ways that are wanted. Returns the exit code that it means.
    pub(crate) fn tell(&self, forms: &Forms) -> Result<Exit> {
        print(&if forms.json { format!("{:#}\n", self.json()) } else { self.table() })?;
        self.keep(forms)
    }

    /// The files that are wanted. Returns the exit code that it means.
    pub(crate) fn keep(&self, forms: &Forms) -> Result<Exit> {
        let exit = self.exit();
        let checks = || {
            let mut checks = Checks::default();
            checks.add_compared(&self.compared);
            Ok(checks)
        };
        forms.ci.write(checks, exit)?;
        if let Some(path) = &forms.output {
            write(Source::Sides(&self.compared), (path, "-o"), forms.title.clone())?;
            say(&format!("page: {}", path.display()));
        }
        Ok(exit)
    }

    /// 3 where B is worse, and 2 where it is nothing that can be compared with A.
    pub(crate) fn exit(&self) -> Exit {
        match &self.fault {
            Some(_) => Exit::Usage,
            None if self.compared.is_worse() => Exit::Broken,
            None => Exit::Held,
        }
    }

    /// For people.
    pub(crate) fn table(&self) -> String {
        match (&self.fault, self.is_grouped) {
            (Some(_), _) => format!("{}\n", self.says()),
            (None, false) => self.of_runs(),
            (None, true) => self.of_combinations(),
        }
    }

    fn of_runs(&self) -> String {
        let (paint, of) = (Paint::stdout(), &self.compared);
        let [(a, n), (b, m)] = &of.sides;
        let pairs = if of.is_paired() { ", compared as pairs of one seed" } else { "" };
        let tolerance = show_share(of.tolerance);
        let mut out = format!(
            "{}\n\nA {a} ({n} runs)\nB {b} ({m} runs){pairs}\nB may be worse by {tolerance}\n",
            self.says()
        );
        for remark in &of.remarks {
            let _ = writeln!(out, "{} {remark}", paint.warn("note:"));
        }
        let head = format!("\n  {:<16}{:>11}{:>11}{:>9}   95% interval", "", "A", "B", "B / A");
        let _ = writeln!(out, "{}", paint.dim(&head));
        of.rows.iter().for_each(|row| line(row, &mut out, paint));
        if !self.pooled.is_empty() {
            let head = "\n  over all requests of a side together, which gives no interval";
            let _ = writeln!(out, "{}", paint.dim(head));
        }
        self.pooled.iter().for_each(|pooled| pooled.line(&mut out));
        out
    }

    fn of_combinations(&self) -> String {
        let of = &self.compared;
        let [(a, _), (b, _)] = &of.sides;
        let tolerance = show_share(of.tolerance);
        let mut out = format!("{}\n\nA {a}\nB {b}\nB may be worse by {tolerance}\n\n", self.says());
        for remark in &of.remarks {
            let _ = writeln!(out, "{} {remark}", Paint::stdout().warn("note:"));
        }
        if !of.remarks.is_empty() {
            out.push('\n');
        }
        if of.is_paired() {
            let _ = writeln!(out, "compared as pairs of one seed\n");
        }
        let is_ratio = of.rows.iter().any(|row| row.change == Change::Ratio);
        let change = if is_ratio { "change, 95%" } else { "B less A, 95%" };
        let heads = ["combination", "figure", "A", "B", change, "verdict"];
        let heads = std::iter::once(heads.map(str::to_owned).to_vec());
        let all: Vec<Vec<String>> = heads.chain(of.rows.iter().map(cells)).collect();
        align(&mut out, &all, 2, Paint::stdout());
        out
    }

    /// The answer in a sentence.
    fn says(&self) -> String {
        let says = self.compared.says();
        if self.compared.is_worse() { Paint::stdout().bad(&says) } else { says }
    }

    /// As JSON.
    pub(crate) fn json(&self) -> Value {
        let of = &self.compared;
        let pairing = |paired: bool| if paired { Pairing::Pairs } else { Pairing::Independent };
        let mut document = json!({
            "schema": 1, "warnings": of.remarks,
            "a": self.ids[0].json(), "b": self.ids[1].json(),
            "tolerance": of.tolerance, "worse": of.is_worse(), "says": of.says(),
            "untold": of.untold,
        });
        match self.is_grouped {
            false => {
                let row = |row: &Row| row.json(&row.figure.label.replace(' ', "_"));
                document["pairing"] = json!(pairing(of.is_paired()));
                document["figures"] = of.rows.iter().map(row).collect();
                document["pooled"] = self.pooled.iter().map(Pooled::json).collect();
            }
            true => {
                let [a, b] = &of.alone;
                let row = |row: &Row| {
                    let mut value = row.json(row.figure.name);
                    value["factors"] = json!(row.factors);
                    value["block"] = json!(row.block);
                    value["pairing"] = json!(row.pairing);
                    value
                };
                document["alone"] = json!({ "a": a, "b": b });
                document["figures"] = of.rows.iter().map(row).collect();
            }
        }
        document
    }
}

fn line(row: &Row, out: &mut String, paint: Paint) {
    let unit = row.figure.unit;
    let (mean_a, mean_b) = (unit.show(row.means.0), unit.show(row.means.1));
    let changed = match (&row.result, row.change) {
        (Ok(of), Change::Ratio) => format!("{:.3}", of.estimate.value),
        _ => row.changed(),
    };
    let words = row.judged();
    let words = match row.verdict().filter(|_| row.is_judged) {
        Some(Verdict::Worse) => paint.bad(&words),
        Some(Verdict::Better | Verdict::NotWorse) => paint.good(&words),
        Some(Verdict::Undecided) => paint.warn(&words),
        None => paint.dim(&words),
    };
    let (label, interval) = (row.figure.label, row.interval());
    let _ =
        writeln!(out, "  {label:<16}{mean_a:>11}{mean_b:>11}{changed:>9}   {interval:<20} {words}");
}

/// The combination, the figure, both means, the change, the verdict.
fn cells(row: &Row) -> Vec<String> {
    let show = |value: f64| row.figure.unit.show(value);
    let change = match &row.result {
        Ok(_) => format!("{} {}", row.changed(), row.interval()),
        Err(_) => "–".to_owned(),
    };
    let (name, means) = (row.figure.label.to_owned(), row.means);
    vec![row.group.clone(), name, show(means.0), show(means.1), change, row.judged()]
}
