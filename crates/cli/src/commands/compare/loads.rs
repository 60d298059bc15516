//! Whether the runs that are compared had the same load: what their plans say of it.

use plimsoll_runs::Run;
use std::collections::BTreeSet;

/// Sections of a plan that say what is offered and asked.
const SECTIONS: [&str; 2] = ["[load", "[store"];
/// The most settings that are named.
const MOST_NAMED: usize = 4;

/// What a plan says of its load, a line a setting with its section.
fn settings(plan: &str) -> BTreeSet<String> {
    let mut section = "";
    let mut found = BTreeSet::new();
    for line in plan.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
        } else if !line.is_empty()
            && !line.starts_with('#')
            && SECTIONS.iter().any(|known| section.starts_with(known))
        {
            let name = section.trim_matches(['[', ']']);
            found.insert(format!("{name}.{line}"));
        }
    }
    found
}

/// A sentence for each side whose load is not that of A's first run.
pub(super) fn differences(a: &[Run], b: &[Run]) -> Vec<String> {
    let Some(first) = a.first() else { return Vec::new() };
    let wanted = settings(&first.plan_text());
    let of_side = |side: &str, runs: &[Run]| {
        let other = runs.iter().map(|run| settings(&run.plan_text())).find(|own| *own != wanted)?;
        let list = |settings: Vec<&String>| match settings.len() {
            0 => "nothing more".to_owned(),
            n => {
                let named = settings.iter().take(MOST_NAMED).map(|text| text.as_str());
                let rest = if n > MOST_NAMED { ", …" } else { "" };
                format!("{}{rest}", named.collect::<Vec<_>>().join(", "))
            }
        };
        let (mine, theirs) = (wanted.difference(&other), other.difference(&wanted));
        let (mine, theirs) = (list(mine.collect()), list(theirs.collect()));
        Some(format!("the loads differ: the first of A has {mine}; one of {side} has {theirs}"))
    };
    of_side("A", a).into_iter().chain(of_side("B", b)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_the_load_are_those_that_count() {
        let plan = "seed = 7\n[target]\nurl = \"http://a/\"\n\n[load]\nrate = \"40/s\"\n# no\n[measure]\nslo = \"p99<1s\"\n";
        let found: Vec<String> = settings(plan).into_iter().collect();
        assert_eq!(found, ["load.rate = \"40/s\""]);
    }
}
