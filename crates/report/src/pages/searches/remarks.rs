//! What stands out among groups, in words: poor targets, dips and rises, warnings.

use plimsoll_capacity::compared::{Compared, Group};
use plimsoll_capacity::restarts::Restarts;
use plimsoll_capacity::series::DipFound;

use crate::document::{Block, Verdict};
use plimsoll_draw::chart::unit::{moment, per_cent, significant};

/// What stands out; nothing where nothing does.
pub(super) fn blocks(compared: &Compared) -> Vec<Block> {
    let mut blocks = Vec::new();
    if !compared.poor.is_empty() {
        let why = "Its median lies so far below those of the other groups that the modified \
                   z-score is below −3.5.";
        blocks.push(Block::Verdict(Verdict {
            class: "poor",
            says: format!("Unusually poor: {}", compared.poor.join(", ")),
            reasons: vec![why.to_owned()],
        }));
    }
    for (title, items) in [
        ("Changes", changes(compared)),
        ("Restarts", restarts(compared)),
        ("Notes", compared.warnings.clone()),
    ] {
        if !items.is_empty() {
            blocks.push(Block::Notice(title, items));
        }
    }
    blocks
}

/// The spread between restarts of each group that was restarted, in a sentence.
fn restarts(compared: &Compared) -> Vec<String> {
    let known = |group: &Group| {
        let of = group.summary.restarts.as_ref()?;
        Some(format!("{}: {}", group.group, spread(of)))
    };
    compared.groups.iter().filter_map(known).collect()
}

fn spread(of: &Restarts) -> String {
    let spread = format!("{} estimates with a CV of {}", of.n, per_cent(of.between_cv));
    let (Some(within), Some(p), Some(cv)) = (of.within_sd_per_s, of.p_value, of.restart_cv) else {
        return format!("{spread}; they have no intervals to hold that against.");
    };
    let within = per_cent(within / of.mean_per_s);
    let p = if p < 0.001 { "p < 0.001".to_owned() } else { format!("p = {p:.3}") };
    if of.is_more_than_chance == Some(true) {
        let (cv, (low, high)) = (per_cent(cv), of.next_95);
        format!(
            "{spread}, where the searches explain {within}: more than chance ({p}), {cv} from \
             restart to restart. After a next restart the capacity lies between {}/s and {}/s \
             (95%), whatever the interval of a single search.",
            significant(low),
            significant(high)
        )
    } else {
        format!("{spread}, where the searches explain {within}: no more than chance ({p}).")
    }
}

fn changes(compared: &Compared) -> Vec<String> {
    compared.groups.iter().flat_map(of_group).collect()
}

/// Dips, and the rises that end none.
fn of_group(group: &Group) -> Vec<String> {
    let (name, summary) = (&group.group, &group.summary);
    let ends: Vec<&String> = summary.dips.iter().filter_map(|dip| dip.ended.as_ref()).collect();
    let dips = summary.dips.iter().map(|dip| format!("{name} {}", fell(dip)));
    let rises = summary.changes.iter().filter(|change| change.ratio > 1.0);
    let rises = rises.filter(|change| !ends.contains(&&change.started)).map(|change| {
        format!(
            "{name} rose by {} at search {}, to {}/s.",
            per_cent(change.ratio - 1.0),
            change.number,
            significant(change.after_per_s)
        )
    });
    dips.chain(rises).collect()
}

fn fell(dip: &DipFound) -> String {
    let came_back = match (dip.after_per_s, dip.recovery) {
        (Some(after), Some(recovery)) => {
            format!(
                "it came back to {}/s, by {:.0}% of what was lost",
                significant(after),
                recovery * 100.0
            )
        }
        _ => "it has not come back".to_owned(),
    };
    format!(
        "fell by {} at search {}, from {}/s to {}/s, for {}; {came_back}.",
        per_cent(dip.depth),
        dip.number,
        significant(dip.before_per_s),
        significant(dip.level_per_s),
        moment(dip.length_s),
    )
}
