//! The faults of benchmarks that are looked for in every experiment, told as warnings.
//!
//! | fault | what is told |
//! | --- | --- |
//! | a mean without spread | one replication: no interval, no p-value |
//! | a subset of the cells | cells that failed, are left or are not valid, and what they have in common |
//! | a second try | cells at which attempts failed before the one that counts |
//! | the generator's figures | cells in which it was the limit |
//! | a dead service | cells whose availability broke, or whose servers ended |
//! | a bound of the plan | cells that its budget limited |
//! | a noisy host | cells that count, and whose host was too busy |
//! | a verdict that is none | cells too short to tell whether the SLO held |
//! | no baseline | the design, or what counts of it, lacks the combination of first levels |
//! | worse elsewhere | a level is better in one figure, and worse in another |
//!
//! That no relative figure stands without its absolute one is seen to where both are made: an
//! effect has the means that it is the ratio of, and the best combination the values of those that
//! it is compared with.
//!
//! *Source:* E. van der Kouwe, G. Heiser, D. Andriesse, H. Bos and C. Giuffrida, "Benchmarking
//! flaws undermine security research", *IEEE Security & Privacy* 18, 2020; G. Heiser, "Systems
//! benchmarking crimes".

use plimsoll_runs::Kind;
use plimsoll_runs::experiment::LeftOut;
use plimsoll_stats::figure::{self, Better, Figure};

use crate::Study;
use crate::document::{Best, CellResult, CombinationResult, EffectResult};
use crate::effects::FoundEffects;
use crate::ranking::{first_levels, has_levels, ratio_of};

/// An effect is told from none where its corrected p-value is no greater.
const LEVEL: f64 = 0.05;

/// Adds what is to be said.
pub(crate) fn add(
    study: &Study<'_>,
    found: &FoundEffects,
    (combinations, best): (&[CombinationResult], Option<&Best>),
    warnings: &mut Vec<String>,
) {
    let mut all: Vec<String> = subset(study).into_iter().collect();
    all.extend(tried_again(study));
    all.extend(broken(study));
    all.extend(servers_ended(study));
    all.extend(not_valid(study));
    all.extend(limited(study));
    all.extend(noisy(study));
    all.extend(untold(study));
    if study.has_design {
        all.extend(no_spread(combinations));
        all.extend(no_baseline(study, combinations));
    }
    all.append(warnings);
    *warnings = all;
    warnings.extend(worse_elsewhere(found));
    warnings.extend(best.and_then(|best| best_is_worse(study, best)));
}

/// Cells that are in no figure, and what they have in common.
fn subset(study: &Study<'_>) -> Option<String> {
    let left: Vec<&CellResult> = study.cells.iter().filter(|cell| !cell.is_done()).collect();
    if left.is_empty() {
        return None;
    }
    let failed = left.iter().filter(|cell| cell.state == "failed").count();
    let parts = [(failed, "failed"), (left.len() - failed, "are left")];
    let parts = parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}"));
    let parts: Vec<String> = parts.collect();
    let common = common(study, &left);
    Some(format!(
        "{} of {} cells have no figures ({}): what is said here is of the others{common}",
        left.len(),
        study.cells.len(),
        parts.join(", ")
    ))
}

/// Cells whose figures are those of another attempt than the first.
fn tried_again(study: &Study<'_>) -> Option<String> {
    let again = |cell: &&CellResult| cell.is_done() && !cell.failures.is_empty();
    let again: Vec<&CellResult> = study.cells.iter().filter(again).collect();
    let first = again.first()?;
    Some(format!(
        "attempts at {} of {} cells failed before the one that counts (cell {}: {}){}",
        again.len(),
        study.cells.len(),
        first.id,
        first.failures[0],
        common(study, &again)
    ))
}

/// The cells that are left out for one reason.
fn left_out<'a>(study: &'a Study<'_>, why: LeftOut) -> Vec<&'a CellResult> {
    study.cells.iter().filter(|cell| cell.why_left_out() == Some(why)).collect()
}

/// Cells whose gate is broken.
fn broken(study: &Study<'_>) -> Option<String> {
    let broken = left_out(study, LeftOut::Unavailable);
    (!broken.is_empty()).then(|| {
        format!(
            "the availability of {} cells did not hold: they are in no effect and in no ranking{}",
            broken.len(),
            common(study, &broken)
        )
    })
}

/// Cells whose servers ended under their load.
fn servers_ended(study: &Study<'_>) -> Option<String> {
    let ended = left_out(study, LeftOut::ServerEnded);
    let first = ended.first()?;
    Some(format!(
        "servers ended by themselves in {} ({}): they are in no effect, ranking or mean{}",
        of_all(study, &ended),
        first.servers_ended.join("; "),
        common(study, &ended)
    ))
}

/// Cells in which the generator was the limit.
fn not_valid(study: &Study<'_>) -> Option<String> {
    let not_valid = left_out(study, LeftOut::NotValid);
    let first = not_valid.first()?;
    Some(format!(
        "the generator was the limit in {}, which are not valid (cell {}: {}): they are in no \
         effect, ranking or mean{}",
        of_all(study, &not_valid),
        first.id,
        first.invalid_because.join("; "),
        common(study, &not_valid)
    ))
}

/// Cells that count, and whose host was too busy for a quiet measurement.
fn noisy(study: &Study<'_>) -> Option<String> {
    let is_noisy = |cell: &&CellResult| cell.counts() && !cell.noise.is_empty();
    let noisy: Vec<&CellResult> = study.cells.iter().filter(is_noisy).collect();
    let first = noisy.first()?;
    Some(format!(
        "this host was too busy in {}, which count all the same (cell {}: {}): repeat them on a \
         quieter machine",
        of_all(study, &noisy),
        first.id,
        first.noise.join("; ")
    ))
}

/// Cells that their plan limited.
fn limited(study: &Study<'_>) -> Option<String> {
    let limited: Vec<&CellResult> =
        study.cells.iter().filter(|cell| !cell.limited.is_empty()).collect();
    let first = limited.first()?;
    let what = match study.kind {
        Kind::Search => "ended without the capacity that their searches were to find",
        _ => "had not all that their policies asked for",
    };
    Some(format!(
        "{} {what}, and count all the same (cell {}: {})",
        of_all(study, &limited),
        first.id,
        first.limited.join("; ")
    ))
}

/// The most cells that are named by their numbers.
const MOST_NAMED: usize = 12;

/// `2 of 8 cells (3, 7)`.
fn of_all(study: &Study<'_>, cells: &[&CellResult]) -> String {
    let named: Vec<String> =
        cells.iter().take(MOST_NAMED).map(|cell| cell.id.to_string()).collect();
    let rest = if cells.len() > MOST_NAMED { ", …" } else { "" };
    format!("{} of {} cells ({}{rest})", cells.len(), study.cells.len(), named.join(", "))
}

/// Cells of which it cannot be told whether their SLO held.
fn untold(study: &Study<'_>) -> Option<String> {
    let untold = |cell: &&CellResult| cell.is_done() && cell.has_slo && cell.slo.is_none();
    let untold: Vec<&CellResult> = study.cells.iter().filter(untold).collect();
    let first = untold.first()?;
    Some(format!(
        "whether the SLO held cannot be told of {} of {} cells (cell {}: {}): let them take \
         longer, or ask for less",
        untold.len(),
        study.cells.len(),
        first.id,
        first.untold
    ))
}

/// The levels that all of several cells have and not all cells: why they are these.
fn common(study: &Study<'_>, cells: &[&CellResult]) -> String {
    if cells.len() < 2 {
        return String::new();
    }
    let shared = study.factors.iter().filter_map(|factor| {
        let level = cells[0].factors.get(&factor.key)?;
        let has = |cell: &CellResult| cell.factors.get(&factor.key) == Some(level);
        let is_shared = cells.iter().all(|cell| has(cell)) && !study.cells.iter().all(has);
        is_shared.then(|| format!("{} = {level}", factor.key))
    });
    let shared: Vec<String> = shared.collect();
    if shared.is_empty() { String::new() } else { format!("; all have {}", shared.join(" and ")) }
}

/// Means of single cells.
fn no_spread(combinations: &[CombinationResult]) -> Option<String> {
    let counted: Vec<&CombinationResult> =
        combinations.iter().filter(|of| of.counted > 0).collect();
    let single = counted.iter().filter(|of| of.counted == 1).count();
    match single {
        0 => None,
        n if n == counted.len() => Some(
            "each combination ran once: no figure has a spread, and no difference can be told \
             from chance by its replications; say replications = 2 or more"
                .to_owned(),
        ),
        n => Some(format!(
            "{n} of {} combinations have one cell that counts: their figures have no spread",
            counted.len()
        )),
    }
}

/// Whether the combination of first levels is there to compare with.
fn no_baseline(study: &Study<'_>, combinations: &[CombinationResult]) -> Option<String> {
    let first = first_levels(study);
    match combinations.iter().find(|of| has_levels(&of.factors, &first)) {
        None => Some(
            "the design has no cell with the first level of every factor: the best combination is \
             compared with the next best alone"
                .to_owned(),
        ),
        Some(of) if of.counted == 0 => Some(
            "no cell with the first level of every factor counts: the best combination is compared \
             with the next best alone"
                .to_owned(),
        ),
        Some(_) => None,
    }
}

/// Which way an effect goes, where it can be told from none: 1 where it is better.
fn direction(effect: &EffectResult) -> Option<bool> {
    let figure = figure::named(effect.figure)?;
    effect.p_holm.filter(|p| *p <= LEVEL)?;
    is_better(figure, effect.effect)
}

fn is_better(figure: &Figure, ratio: f64) -> Option<bool> {
    match figure.better {
        Better::Lower => Some(ratio < 1.0),
        Better::Higher => Some(ratio > 1.0),
        Better::Neither => None,
    }
}

/// Levels that are better in one figure and worse in another.
fn worse_elsewhere(found: &FoundEffects) -> Vec<String> {
    let all = || found.effects.iter().chain(&found.elsewhere);
    let mut told: Vec<(&str, &String)> = Vec::new();
    let mut notes = Vec::new();
    for one in all() {
        let key = (one.factor.as_str(), &one.levels[1]);
        if told.contains(&key) {
            continue;
        }
        told.push(key);
        let of_level = || all().filter(|of| (of.factor.as_str(), &of.levels[1]) == key);
        let with = |is: bool| -> Vec<String> {
            let found = of_level().filter(|of| direction(of) == Some(is));
            found.map(told_as).collect()
        };
        let (better, worse) = (with(true), with(false));
        if !better.is_empty() && !worse.is_empty() {
            notes.push(format!(
                "worse elsewhere: {} {} against {} is better in {}, and worse in {}",
                one.factor,
                one.levels[1],
                one.levels[0],
                better.join(", "),
                worse.join(", ")
            ));
        }
    }
    notes
}

/// `response p99 (× 0.55, 27.5 ms to 15.1 ms)`.
fn told_as(of: &EffectResult) -> String {
    let Some(figure) = figure::named(of.figure) else { return of.figure.to_owned() };
    let [from, to] = of.means.map(|mean| figure.unit.show(mean));
    format!("{} (× {:.3}, {from} to {to})", figure.label, of.effect)
}

/// Figures in which the best combination is worse than the first levels, by intervals apart from 1.
fn best_is_worse(study: &Study<'_>, best: &Best) -> Option<String> {
    let first = first_levels(study);
    let base = study.cells.iter().find(|cell| has_levels(&cell.factors, &first))?;
    if base.factors == best.factors {
        return None;
    }
    let others = study.respond.iter().chain(study.kind.figures());
    let mut worse: Vec<String> = Vec::new();
    for figure in others.filter(|figure| figure.name != best.figure) {
        let Some((ratio, [low, high])) = ratio_of(study, figure, (&best.factors, &base.factors))
        else {
            continue;
        };
        let is_apart = low > 1.0 || high < 1.0;
        let text = format!("{} (× {ratio:.3})", figure.label);
        if is_apart && is_better(figure, ratio) == Some(false) && !worse.contains(&text) {
            worse.push(text);
        }
    }
    (!worse.is_empty()).then(|| {
        format!(
            "worse elsewhere: the best combination is worse than the first levels in {}",
            worse.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranking::tests::{cells, factors, study};
    use crate::{effects, ranking};

    fn notes(cells: &[CellResult], respond: &[&'static Figure]) -> Vec<String> {
        let study = study(&factors(&["16", "256"]), cells, respond);
        let mut warnings = Vec::new();
        let found = effects::of(&study, &mut warnings);
        let combinations = ranking::combinations(&study);
        let best = ranking::best(&study, &combinations);
        add(&study, &found, (&combinations, best.as_ref()), &mut warnings);
        warnings
    }

    fn has(notes: &[String], text: &str) -> bool {
        notes.iter().any(|note| note.contains(text))
    }

    #[test]
    fn what_is_better_here_and_worse_there_is_told_for_figures_nobody_asked_for() {
        let mut cells = cells(&factors(&["16", "256"]));
        for (at, cell) in cells.iter_mut().enumerate() {
            let is_fast = cell.factors["role.web.cpu"] == "40%";
            let p99 = if is_fast { 300.0 } else { 100.0 } + at as f64 / 10.0;
            cell.figures.insert("response_us.p99".to_owned(), p99);
            cell.slo = Some(true);
        }
        let notes = notes(&cells, &[figure::RATE_MEAN]);
        let wanted = "role.web.cpu 40% against 20% is better in rate (× 2.000, 95.8/s to 192/s), \
                      and worse in response p99 (× 2.991";
        assert!(has(&notes, wanted), "{notes:?}");
        assert!(has(&notes, "the best combination is worse than the first levels in response p99"));
        assert!(!has(&notes, "load.users"), "{notes:?}");
    }

    #[test]
    fn single_cells_failures_and_a_missing_baseline_are_told() {
        let all = cells(&factors(&["16", "256"]));
        assert!(notes(&all, &[figure::RATE_MEAN]).is_empty());
        let mut again = all.clone();
        again[3].failures = vec!["no luck".to_owned(), "none again".to_owned()];
        let wanted =
            "attempts at 1 of 12 cells failed before the one that counts (cell 4: no luck)";
        assert_eq!(notes(&again, &[figure::RATE_MEAN]), [wanted]);
        let mut once = all[..4].to_vec();
        assert!(has(&notes(&once, &[figure::RATE_MEAN]), "each combination ran once"));
        once[0].gate = Some("broken");
        let found = notes(&once, &[figure::RATE_MEAN]);
        assert!(has(&found, "the availability of 1 cells did not hold"), "{found:?}");
        assert!(has(&found, "no cell with the first level of every factor counts"), "{found:?}");
        let mut failed = all.clone();
        for cell in failed.iter_mut().filter(|cell| cell.factors["load.users"] == "256") {
            cell.state = if cell.replication == 0 { "failed" } else { "planned" };
        }
        let found = notes(&failed, &[figure::RATE_MEAN]);
        let wanted = "6 of 12 cells have no figures (2 failed, 4 are left): what is said here is \
                      of the others; all have load.users = 256";
        assert!(found.contains(&wanted.to_owned()), "{found:?}");
    }

    #[test]
    fn cells_that_count_for_nothing_are_told_by_their_reason_and_noisy_ones_are_marked() {
        let all = cells(&factors(&["16", "256"]));
        let mut seen = all.clone();
        for cell in seen.iter_mut().filter(|cell| cell.factors["load.users"] == "256") {
            (cell.valid, cell.invalid_because) = (Some(false), vec!["it was late".to_owned()]);
        }
        seen[0].servers_ended = vec!["web-1 ended by itself, with exit code 7".to_owned()];
        seen[1].noise = vec!["the host was noisy: so much".to_owned()];
        let found = notes(&seen, &[figure::RATE_MEAN]);
        let wanted = "the generator was the limit in 6 of 12 cells (3, 4, 7, 8, 11, 12), which are \
                      not valid (cell 3: it was late): they are in no effect, ranking or mean; all \
                      have load.users = 256";
        assert!(found.contains(&wanted.to_owned()), "{found:?}");
        let ended = "servers ended by themselves in 1 of 12 cells (1) (web-1 ended by itself, with \
                     exit code 7)";
        assert!(has(&found, ended), "{found:?}");
        let noisy = "this host was too busy in 1 of 12 cells (2), which count all the same";
        assert!(has(&found, noisy), "{found:?}");
        assert!(!has(&found, "availability"), "{found:?}");
    }
}
