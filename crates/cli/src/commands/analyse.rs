//! `plimsoll analyse`: the effects of an experiment's factors, its verdicts, and its best cell.

use super::compare::{Later, Shown, say_against, with_baseline, with_comparison};
use super::runs::show_path;
use super::simulate::types;
use crate::exit::Exit;
use crate::named_record;
use crate::run_args::Analyse;
use crate::terminal::align::align;
use crate::terminal::error::Result;
use crate::terminal::paint::Paint;
use crate::terminal::print;
use plimsoll_analysis::{
    Analysis, CellResult, EffectResult, InUse, Levels, PoorLevel, analyse, analyse_run,
};
use plimsoll_experiment::plans::read;
use plimsoll_experiment::world::pool::tuning::tuned_of;
use plimsoll_experiment::world::pool::wish::figure_of;
use plimsoll_plan::{Tune, Written};
use plimsoll_runs::experiment::{Experiment, LeftOut, is_experiment};
use plimsoll_runs::{Kind, Run};
use plimsoll_stats::figure::{self, Unit};
use std::collections::BTreeMap;
use std::path::Path;

/// Runs the command.
pub(crate) fn run(args: &Analyse) -> Result<Exit> {
    args.ci.check()?;
    let path = named_record::one(args.experiment.as_deref())?;
    let against = with_baseline(&args.against, || Later::of(&path))?;
    let exit = show(&path, args.json, against.as_ref())?;
    let compared = against.as_ref().map(|against| &against.compared);
    args.ci.write_of(&path, compared, exit)?;
    Ok(exit)
}

/// Shows what an experiment says, and what came of comparing it with a baseline. Returns the exit
/// code that it means.
pub(super) fn show(path: &Path, json: bool, against: Option<&Shown>) -> Result<Exit> {
    let analysis = analysis(path)?;
    if json {
        print(&with_comparison(&analysis, against)?)?;
    } else {
        show_path(path, &[], false)?;
        print(&text(&analysis))?;
        print(&types(&analysis.types, &currency(path)?))?;
        say_against(against)?;
    }
    Ok(against.map_or(Exit::Held, Shown::exit).and(exit(&analysis)))
}

/// The sign before amounts of money in the record of an experiment; empty where it tells none.
fn currency(path: &Path) -> Result<String> {
    if !is_experiment(path) {
        return Ok(String::new());
    }
    let about: serde_json::Value =
        serde_json::from_str(&Experiment::open(path)?.meta().about).unwrap_or_default();
    Ok(about["currency"].as_str().unwrap_or_default().to_owned())
}

/// What an experiment says, or a single run as the experiment of one cell that it is.
fn analysis(path: &Path) -> Result<Analysis> {
    if !is_experiment(path) {
        return Ok(analyse_run(&Run::open(path)?)?);
    }
    let experiment = Experiment::open(path)?;
    let mut analysis = analyse(&experiment)?;
    if experiment.meta().kind == Kind::Tune {
        let plan = read(&Written::text(&experiment.meta().plan_text, "plan.toml", &[]).stored())?;
        choose(&mut analysis, path, plan.tune.as_ref())?;
    }
    Ok(analysis)
}

/// Of a search for parameters the best is what it chose.
fn choose(analysis: &mut Analysis, path: &Path, tune: Option<&Tune>) -> Result<()> {
    let (Some(tuned), Some(tune)) = (tuned_of(path)?, tune) else { return Ok(()) };
    let figure = figure_of(&tune.objective.figure).ok().filter(|_| tuned.keeps);
    let words: Vec<&str> = tuned.policy.split([' ', ',', ':', ';']).collect();
    let is_chosen = |factors: &&Levels| {
        factors.iter().all(|(key, level)| {
            let named = words.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
            named.unwrap_or("default") == level
        })
    };
    let all: Vec<Levels> = analysis.cells.iter().map(|cell| cell.factors.clone()).collect();
    let chosen = all.iter().find(is_chosen);
    analysis.choose(chosen.zip(figure));
    Ok(())
}

/// The best combination, effects, what counts for nothing, and what a reader has to know.
fn text(of: &Analysis) -> String {
    let mut out = String::new();
    if !of.effects.is_empty() {
        let heads = ["effect of", "from", "to", "on", "ratio", "95% interval", "p (Holm)"];
        let mut rows = vec![heads.map(str::to_owned).to_vec()];
        rows.extend(of.effects.iter().map(|effect| row(of, effect)));
        out.push('\n');
        align(&mut out, &rows, 4, Paint::stdout());
    }
    out.push_str(&interactions(of));
    for sizes in &of.sizes {
        let large = sizes.points.iter().rev().filter(|point| point.stands_out);
        let large: Vec<String> =
            large.map(|point| format!("{} (× {:.3})", point.of, point.ratio)).collect();
        let large = if large.is_empty() { "none".to_owned() } else { large.join(", ") };
        let (label, margin) = (label(sizes.figure), sizes.margin);
        out.push_str(&format!(
            "\nstand out   on {label}: {large}; beyond × {margin:.3} is not by chance (Lenth)\n"
        ));
    }
    out.push_str(&best(of));
    out.push_str(&by_label(of));
    out.push_str(&in_use(of));
    out.push_str(&predictions(of));
    of.cells.iter().for_each(|cell| out.push_str(&left_out(of, cell)));
    for cell in of.cells.iter().filter(|cell| cell.state == "failed") {
        out.push_str(&format!("failed      cell {}: {}\n", cell.id, cell.reason));
    }
    for warning in &of.warnings {
        out.push_str(&format!("note        {warning}\n"));
    }
    out
}

/// How the first figure spreads by label, and which level is poor; nothing where there are none.
fn by_label(of: &Analysis) -> String {
    let Some(figure) = of.by_label.first().map(|first| first.figure) else { return String::new() };
    let heads = [label(figure), "", "cells", "least", "median", "most"];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    for spread in of.by_label.iter().filter(|of| of.figure == figure) {
        for group in &spread.groups {
            let of_group = &group.described.spread;
            let show = |value: f64| {
                figure::named(figure).map_or(value.to_string(), |of| of.unit.show(value))
            };
            let own = [spread.label.clone(), group.value.clone(), group.described.n.to_string()];
            let values = [of_group.min, of_group.median, of_group.max].map(show);
            rows.push(own.into_iter().chain(values).collect());
        }
    }
    let mut out = String::from("\n");
    align(&mut out, &rows, 2, Paint::stdout());
    for PoorLevel { factor, level, figure, of_group, replications } in &of.poor {
        out.push_str(&format!(
            "poor        {factor} {level}: its {} is {of_group:.2} of the median of those with the \
             same labels, in {} replications\n",
            label(figure),
            replications.len()
        ));
    }
    out
}

/// Why a cell that is done is in no effect, ranking or mean; nothing where it is.
fn left_out(of: &Analysis, cell: &CellResult) -> String {
    let (word, why) = match cell.why_left_out() {
        Some(LeftOut::Unavailable) => ("broken", "its availability".to_owned()),
        Some(LeftOut::ServerEnded) => ("ended", cell.servers_ended.join("; ")),
        Some(LeftOut::NotValid) => {
            let because = cell.invalid_because.join("; ");
            ("not valid", format!("the generator was the limit: {because}"))
        }
        Some(LeftOut::NotDone) | None => return String::new(),
    };
    format!("{word:<12}cell {}, {}: {why}\n", cell.id, levels(of, &cell.factors))
}

fn label(name: &'static str) -> &'static str {
    figure::named(name).map_or(name, |figure| figure.label)
}

fn levels(of: &Analysis, factors: &BTreeMap<String, String>) -> String {
    let levels = factors.iter().map(|(key, level)| format!("{} {level}", of.short(key)));
    levels.collect::<Vec<_>>().join(", ")
}

/// The best combination, and how it compares; nothing where there is none.
fn best(of: &Analysis) -> String {
    let Some(best) = &of.best else { return String::new() };
    let show =
        |value: f64| figure::named(best.figure).map_or(value.to_string(), |of| of.unit.show(value));
    let spread = best
        .ci95
        .map_or_else(String::new, |[low, high]| format!(" (95%: {} to {})", show(low), show(high)));
    let (levels_of, label) = (levels(of, &best.factors), label(best.figure));
    let mut out = format!("\nbest        {levels_of}: {label} {}{spread}\n", show(best.value));
    let is_base = best.against.len() == 2 && best.against[0].factors == best.against[1].factors;
    // Where the first levels are the next best, they are told once.
    for other in &best.against[usize::from(is_base)..] {
        let sure = other.ci95.map_or_else(
            || "how sure is not known".to_owned(),
            |[low, high]| format!("95%: {low:.3} to {high:.3}"),
        );
        let (ratio, value) = (other.ratio, show(other.value));
        out.push_str(&match other.what {
            "next" => {
                format!(
                    "  × {ratio:.3} of the next best, {value} ({sure}): {}\n",
                    levels(of, &other.factors)
                )
            }
            what => format!("  × {ratio:.3} of the {what}, {value} ({sure})\n"),
        });
    }
    out
}

/// Of which of its limits each combination used most, and what comes next at another instance;
/// nothing where no instance is limited and watched.
fn in_use(of: &Analysis) -> String {
    let share = |one: &InUse| {
        let of_it = format!("{} {}", one.instance, one.resource.word());
        format!("{of_it} {}", Unit::Share.show(one.share.mean))
    };
    let row = |combination: &Levels| {
        let mut own = of.in_use.iter().filter(|one| one.factors == *combination);
        let most = own.next()?;
        let next = own.find(|one| one.instance != most.instance);
        let dash = || "–".to_owned();
        let interval = most.share.ci95.map_or_else(dash, |[low, high]| {
            format!("{} to {}", Unit::Share.show(low), Unit::Share.show(high))
        });
        let short = if most.is_short { "short" } else { "–" }.to_owned();
        let next = next.map_or_else(dash, share);
        Some(vec![levels(of, combination), share(most), interval, short, next])
    };
    let heads = ["limits", "most in use", "95% interval", "short", "next"];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    rows.extend(of.combinations.iter().filter_map(|one| row(&one.factors)));
    if rows.len() == 1 {
        return String::new();
    }
    let mut out = "\n".to_owned();
    align(&mut out, &rows, 5, Paint::stdout());
    out
}

/// What was predicted, beside what came of it; nothing where nothing was.
fn predictions(of: &Analysis) -> String {
    if of.predictions.is_empty() {
        return String::new();
    }
    let heads = ["policy", "figure", "live", "predicted", "ratio", "agrees"];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    rows.extend(of.predictions.iter().map(|one| {
        let show = |value: f64| {
            figure::named(one.figure).map_or(value.to_string(), |of| of.unit.show(value))
        };
        let agrees = match one.agrees {
            Some(true) => "yes",
            Some(false) => "no",
            None => "–",
        };
        let ratio = one.ratio.map_or_else(|| "–".to_owned(), |ratio| format!("× {ratio:.3}"));
        let (live, simulated) = (show(one.live), show(one.simulated));
        let label = label(one.figure).to_owned();
        vec![one.policy.clone(), label, live, simulated, ratio, agrees.to_owned()]
    }));
    let mut out = "\n".to_owned();
    align(&mut out, &rows, 2, Paint::stdout());
    out
}

fn row(all: &Analysis, of: &EffectResult) -> Vec<String> {
    let [from, to] = of.levels.clone();
    let (name, label) = (all.short(&of.factor).to_owned(), label(of.figure).to_owned());
    let mut row = vec![name, from, to, label];
    row.extend(ratio(of.effect, of.ci95, of.p_holm));
    row
}

/// A ratio, its interval, and how likely chance makes it.
fn ratio(of: f64, ci95: Option<[f64; 2]>, p_holm: Option<f64>) -> [String; 3] {
    let dash = || "–".to_owned();
    let interval = ci95.map_or_else(dash, |[low, high]| format!("{low:.3} to {high:.3}"));
    let p = |p| if p < 0.001 { "<0.001".to_owned() } else { format!("{p:.3}") };
    [format!("× {of:.3}"), interval, p_holm.map_or_else(dash, p)]
}

/// How much more or less a factor does at the second level of another one; nothing where that is
/// not known.
fn interactions(of: &Analysis) -> String {
    if of.interactions.is_empty() {
        return String::new();
    }
    let heads = ["interaction of", "on", "ratio", "95% interval", "p (Holm)"];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    rows.extend(of.interactions.iter().map(|one| {
        let mut row = vec![of.short_of_all(&one.factors), label(one.figure).to_owned()];
        row.extend(ratio(one.effect, one.ci95, one.p_holm));
        row
    }));
    let mut out = "\n".to_owned();
    align(&mut out, &rows, 2, Paint::stdout());
    out
}

/// 4 where cells are left or failed, 5 where a cell is not valid or no verdict can be told, 3 where
/// no combination holds the SLO in all its replications, as where the service was away.
fn exit(of: &Analysis) -> Exit {
    // A figure that never came: the experiment does not say what it was to say.
    if !of.experiment.complete || !of.experiment.absent.is_empty() {
        return Exit::Incomplete;
    }
    if of.experiment.kind == Kind::Search {
        let mut limits = of.cells.iter().flat_map(|cell| &cell.limited);
        let is_generator = |why: &String| why.starts_with("generator_limited");
        match limits.next().map(|first| is_generator(first) && limits.all(is_generator)) {
            Some(true) => return Exit::Invalid,
            Some(false) => return Exit::Incomplete,
            None => {}
        }
    }
    let mut all: BTreeMap<&BTreeMap<String, String>, Vec<&CellResult>> = BTreeMap::new();
    for cell in &of.cells {
        all.entry(&cell.factors).or_default().push(cell);
    }
    if of.cells.iter().any(|cell| cell.why_left_out() == Some(LeftOut::NotValid)) {
        return Exit::Invalid;
    }
    let is_away = |cell: &CellResult| {
        matches!(cell.why_left_out(), Some(LeftOut::ServerEnded | LeftOut::Unavailable))
    };
    let slo = |cells: &Vec<&CellResult>| -> Option<bool> {
        match cells.iter().map(|cell| (cell.slo, cell.has_slo)).collect::<Vec<_>>() {
            _ if cells.iter().any(|cell| is_away(cell)) => Some(false),
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
