//! `plimsoll analyse`: the effects of an experiment's factors, its verdicts, and its best cell.

use super::runs::show_path;
use crate::exit::Exit;
use crate::found;
use crate::run_args::Analyse;
use crate::terminal::align::align;
use crate::terminal::error::{Result, UsageError};
use crate::terminal::paint::Paint;
use crate::terminal::{pretty, print};
use plimsoll_analysis::{Analysis, CellResult, EffectResult, analyse};
use plimsoll_runs::experiment::{Experiment, is_experiment};
use plimsoll_stats::figure;
use std::collections::BTreeMap;
use std::path::Path;

/// Runs the command.
pub(crate) fn run(args: &Analyse) -> Result<Exit> {
    let path = found::one(args.experiment.as_deref())?;
    if !is_experiment(&path) {
        let text = format!(
            "analyse {}: it is a single run, not an experiment; `runs show` prints its figures",
            path.display()
        );
        return Err(UsageError(text).into());
    }
    show(&path, args.json)
}

/// Shows what an experiment says. Returns the exit code that it means.
pub(super) fn show(path: &Path, json: bool) -> Result<Exit> {
    let analysis = analyse(&Experiment::open(path)?)?;
    if json {
        print(&pretty(&analysis)?)?;
    } else {
        show_path(path, &[], false)?;
        print(&text(&analysis))?;
    }
    Ok(exit(&analysis))
}

/// Effects, the best combination, and what a reader has to know.
fn text(of: &Analysis) -> String {
    let mut out = String::new();
    if !of.effects.is_empty() {
        let heads = ["effect of", "from", "to", "on", "ratio", "95% interval", "p (Holm)"];
        let mut rows = vec![heads.map(str::to_owned).to_vec()];
        rows.extend(of.effects.iter().map(row));
        out.push('\n');
        align(&mut out, &rows, 4, Paint::stdout());
    }
    if let Some(best) = &of.best {
        let levels = best.factors.iter().map(|(key, level)| format!("{key} {level}"));
        let levels: Vec<String> = levels.collect();
        let figure = figure::named(best.figure);
        let value = figure.map_or(best.value.to_string(), |of| of.unit.show(best.value));
        let label = figure.map_or(best.figure, |of| of.label);
        out.push_str(&format!("\nbest        {}: {label} {value}\n", levels.join(", ")));
    }
    let failed = of.cells.iter().filter(|cell| cell.state == "failed");
    for cell in failed {
        out.push_str(&format!("failed      cell {}: {}\n", cell.id, cell.reason));
    }
    for warning in &of.warnings {
        out.push_str(&format!("note        {warning}\n"));
    }
    out
}

fn row(of: &EffectResult) -> Vec<String> {
    let label = figure::named(of.figure).map_or(of.figure, |figure| figure.label);
    let dash = || "–".to_owned();
    let interval = of.ci95.map_or_else(dash, |[low, high]| format!("{low:.3} to {high:.3}"));
    let p = of
        .p_holm
        .map_or_else(dash, |p| if p < 0.001 { "<0.001".to_owned() } else { format!("{p:.3}") });
    let [from, to] = of.levels.clone();
    vec![of.factor.clone(), from, to, label.to_owned(), format!("× {:.3}", of.effect), interval, p]
}

/// 4 where cells are left or failed, 5 where a cell is not valid or no verdict can be told, 3 where
/// no combination holds the SLO in all its replications.
fn exit(of: &Analysis) -> Exit {
    if !of.experiment.complete {
        return Exit::Incomplete;
    }
    let mut all: BTreeMap<&BTreeMap<String, String>, Vec<&CellResult>> = BTreeMap::new();
    for cell in &of.cells {
        all.entry(&cell.factors).or_default().push(cell);
    }
    if of.cells.iter().any(|cell| cell.valid == Some(false)) {
        return Exit::Invalid;
    }
    let slo = |cells: &Vec<&CellResult>| -> Option<bool> {
        match cells.iter().map(|cell| (cell.slo, cell.has_slo)).collect::<Vec<_>>() {
            of if of.iter().any(|(slo, _)| *slo == Some(false)) => Some(false),
            of if of.iter().any(|(slo, has_slo)| *has_slo && slo.is_none()) => None,
            _ => Some(true),
        }
    };
    let held: Vec<Option<bool>> = all.values().map(slo).collect();
    match () {
        () if held.contains(&Some(true)) => Exit::Held,
        () if held.contains(&None) => Exit::Invalid,
        () => Exit::Broken,
    }
}
