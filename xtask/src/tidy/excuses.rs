//! `tidy: allow(RULE, reason)`: which findings a comment excuses, and which comments excuse none.

use super::{File, Finding, RULES, Tree};

const MARK: &str = "tidy: allow(";

struct Excuse {
    line: usize,
    rule: String,
    reason: String,
    used: bool,
}

/// The findings that remain, and one for each excuse without a reason or a use.
pub(super) fn apply(tree: &Tree, findings: Vec<Finding>) -> Vec<Finding> {
    let mut left = findings;
    for file in &tree.files {
        let mut excuses = excuses_of(file);
        if excuses.is_empty() {
            continue;
        }
        left.retain(|finding| finding.path != file.path || !excused(file, &mut excuses, finding));
        left.extend(excuses.iter().filter_map(|excuse| fault_of(file, excuse)));
    }
    left
}

fn excused(file: &File, excuses: &mut [Excuse], finding: &Finding) -> bool {
    let first = first_line_of_reach(file, finding);
    let last = if finding.rule == "file-length" { usize::MAX } else { finding.line };
    let excuse = excuses
        .iter_mut()
        .find(|excuse| excuse.rule == finding.rule && (first..=last).contains(&excuse.line));
    excuse.is_some_and(|excuse| {
        excuse.used = true;
        !excuse.reason.is_empty()
    })
}

/// The comment and attribute lines directly above a finding belong to it.
fn first_line_of_reach(file: &File, finding: &Finding) -> usize {
    if finding.rule == "file-length" {
        return 0;
    }
    let lines: Vec<&str> = file.text.lines().take(finding.line.saturating_sub(1)).collect();
    let belongs = |line: &&&str| {
        let line = line.trim_start();
        line.starts_with("//") || line.starts_with("#[") || line.starts_with("<!--")
    };
    finding.line - lines.iter().rev().take_while(belongs).count()
}

fn excuses_of(file: &File) -> Vec<Excuse> {
    let comments = match &file.rust {
        Some(rust) => rust.comments.as_str(),
        None if file.is_page() => file.text.as_str(),
        None => return Vec::new(),
    };
    let opening = if file.is_page() { "<!--" } else { "//" };
    let mut found = Vec::new();
    for (index, line) in comments.lines().enumerate() {
        // An excuse is a comment of its own: a text that only speaks of excuses is none.
        let Some(at) = line.find(opening) else { continue };
        let Some(rest) = line[at + opening.len()..].trim_start().strip_prefix(MARK) else {
            continue;
        };
        let inner = rest.rsplit_once(')').map_or(rest, |(inner, _)| inner);
        let (rule, reason) = inner.split_once(',').unwrap_or((inner, ""));
        let (rule, reason) = (rule.trim().to_owned(), reason.trim().to_owned());
        found.push(Excuse { line: index + 1, rule, reason, used: false });
    }
    found
}

fn fault_of(file: &File, excuse: &Excuse) -> Option<Finding> {
    let known = RULES.iter().any(|(rule, _)| *rule == excuse.rule);
    let rule = &excuse.rule;
    let (what, remedy) = if !known {
        let names: Vec<&str> = RULES.iter().map(|(rule, _)| *rule).collect();
        (format!("no rule is called `{rule}`"), format!("use one of {}", names.join(", ")))
    } else if excuse.reason.is_empty() {
        (format!("`{rule}` is excused without a reason"), format!("write `{MARK}{rule}, why)`"))
    } else if !excuse.used {
        (format!("this excuses no finding of `{rule}`"), "remove the comment".to_owned())
    } else {
        return None;
    };
    Some(Finding { path: file.path.clone(), line: excuse.line, what, remedy, rule: "excuses" })
}

#[cfg(test)]
mod tests {
    use super::super::{Tree, check};

    fn rules_found(text: &str) -> Vec<(usize, &'static str)> {
        let tree = Tree::of(&[("crates/a/src/lib.rs", text)]);
        check(&tree).into_iter().map(|finding| (finding.line, finding.rule)).collect()
    }

    #[test]
    fn a_reason_excuses() {
        let above =
            "//! What this is.\n\n// tidy: allow(leftovers, an example of one)\n#[test]\ntodo!()\n";
        assert!(rules_found(above).is_empty());
        let beside = "//! What this is.\n\ntodo!() // tidy: allow(leftovers, an example of one)\n";
        assert!(rules_found(beside).is_empty());
    }

    #[test]
    fn an_excuse_reaches_no_further_than_its_line() {
        let apart =
            "//! What this is.\n// tidy: allow(leftovers, an example)\nlet a = 1;\ntodo!()\n";
        assert_eq!(rules_found(apart), [(2, "excuses"), (4, "leftovers")]);
    }

    #[test]
    fn an_excuse_without_reason_excuses_nothing() {
        let bare = "//! What this is.\n\ntodo!() // tidy: allow(leftovers)\n";
        assert_eq!(rules_found(bare), [(3, "excuses"), (3, "leftovers")]);
    }

    #[test]
    fn an_excuse_must_be_needed_and_known() {
        let idle = "//! What this is.\n// tidy: allow(leftovers, nothing here)\n";
        assert_eq!(rules_found(idle), [(2, "excuses")]);
        let unknown = "//! What this is.\n// tidy: allow(beauty, it is)\n";
        assert_eq!(rules_found(unknown), [(2, "excuses")]);
    }

    #[test]
    fn a_file_is_excused_from_anywhere() {
        let mut long = String::from("//! What this is.\n");
        long.push_str(&"// filler\n".repeat(700));
        assert_eq!(rules_found(&long), [(601, "file-length")]);
        long.push_str("// tidy: allow(file-length, one table)\n");
        assert!(rules_found(&long).is_empty());
    }
}
