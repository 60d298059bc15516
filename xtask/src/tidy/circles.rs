//! Circles inside rooms: modules of one crate that import each other both ways. A file, or a folder
//! with all that is in it, directly below `src` is one module here; tests do not count.

use std::collections::{BTreeMap, BTreeSet};

use super::rust::{line_of, words_with_place};
use super::{File, Remark, Tree};

/// The crates that have to be free of circles.
const FREE: &[&str] = &["experiment", "load", "plan", "report", "runs", "testbed"];

/// What stands before what only tests have.
const TEST: &str = "#[cfg(test)]";

/// The imports of one crate: from a module, of another, with the place where it does.
type Imports = BTreeMap<String, BTreeMap<String, (String, usize)>>;

/// Modules that import each other, and the imports among them with their places.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Circle {
    pub(crate) modules: Vec<String>,
    pub(crate) imports: Vec<(String, String, (String, usize))>,
}

pub(super) fn check(tree: &Tree) -> Vec<(String, Remark)> {
    let circles = by_crate(tree);
    let kept = circles.iter().filter(|(name, _)| FREE.contains(&name.as_str()));
    let imports = kept
        .flat_map(|(_, circles)| circles)
        .flat_map(|circle| circle.imports.iter().map(|import| (circle.modules.join(", "), import)));
    imports
        .map(|(modules, (from, to, (path, line)))| {
            let what = format!("`{from}` imports `{to}`, and they import each other ({modules})");
            let remedy = "move what both need into a module of its own".to_owned();
            (path.clone(), (*line, what, remedy))
        })
        .collect()
}

/// The circles of each crate.
pub(crate) fn by_crate(tree: &Tree) -> BTreeMap<String, Vec<Circle>> {
    let mut files: BTreeMap<&str, Vec<&File>> = BTreeMap::new();
    for file in &tree.files {
        let Some((name, within)) = place_of(&file.path) else { continue };
        let is_test = within.split('/').any(|part| part == "tests" || part == "tests.rs");
        if file.rust.is_some() && !is_test {
            files.entry(name).or_default().push(file);
        }
    }
    let circles = files.iter().map(|(name, files)| ((*name).to_owned(), circles(&imports(files))));
    circles.filter(|(_, circles)| !circles.is_empty()).collect()
}

/// Whether the crates that have to be free of circles are.
pub(crate) fn are_kept_out(circles: &BTreeMap<String, Vec<Circle>>) -> bool {
    FREE.iter().all(|name| !circles.contains_key(*name))
}

/// The crate of a file, and its path below `src`.
fn place_of(path: &str) -> Option<(&str, &str)> {
    let (name, within) = path.strip_prefix("crates/")?.split_once('/')?;
    Some((name, within.strip_prefix("src/")?))
}

/// The path of a file's module: none of its names for the root.
fn module_of(within: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = within.trim_end_matches(".rs").split('/').collect();
    if parts.last() == Some(&"mod") || ["lib", "main"].contains(&parts[0]) {
        parts.pop();
    }
    parts
}

fn imports(files: &[&File]) -> Imports {
    let modules: Vec<Vec<&str>> =
        files.iter().filter_map(|file| Some(module_of(place_of(&file.path)?.1))).collect();
    let known: BTreeSet<&str> =
        modules.iter().filter_map(|module| module.first().copied()).collect();
    let mut owners = BTreeMap::new();
    for (file, _) in files.iter().zip(&modules).filter(|(_, module)| module.is_empty()) {
        exported(file, &known, &mut owners);
    }
    let mut imports = Imports::new();
    for (file, module) in files.iter().zip(&modules) {
        let Some(own) = module.first() else { continue };
        for (name, line) in named_at_root(file, module.len()) {
            let of = known.get(name.as_str()).copied().or_else(|| owners.get(&name).copied());
            if let Some(other) = of.filter(|other| other != own) {
                let of = imports.entry((*own).to_owned()).or_default();
                of.entry(other.to_owned()).or_insert_with(|| (file.path.clone(), line));
            }
        }
    }
    imports
}

/// What the root of a crate exports of its modules, by name.
fn exported<'a>(file: &File, known: &BTreeSet<&'a str>, owners: &mut BTreeMap<String, &'a str>) {
    let Some(rust) = &file.rust else { return };
    for statement in rust.code.split(';') {
        let Some((_, rest)) = statement.split_once("pub use ") else { continue };
        let mut words = words_with_place(rest).into_iter().map(|(_, word)| word);
        let Some(owner) = words.next().and_then(|first| known.get(first)) else { continue };
        owners.extend(words.map(|name| (name.to_owned(), *owner)));
    }
}

/// The names below the root of the crate that a file of a module so deep names: `crate::NAME`, and
/// as many `super::` as lead there.
fn named_at_root(file: &File, depth: usize) -> Vec<(String, usize)> {
    let Some(rust) = &file.rust else { return Vec::new() };
    let tests = rust.items_behind(TEST);
    let mut found = Vec::new();
    for root in ["crate::".to_owned(), "super::".repeat(depth)] {
        for (at, _) in rust.code.match_indices(&root) {
            let before = rust.code[..at].chars().next_back();
            let line = line_of(&rust.code, at);
            // `$crate` is of the crate that uses a macro, and what goes on is no root.
            let goes_on = |c: char| c.is_alphanumeric() || "_$:".contains(c);
            if before.is_some_and(goes_on) || tests.iter().any(|lines| lines.contains(&line)) {
                continue;
            }
            let names = first_names(&rust.code[at + root.len()..]);
            found.extend(names.into_iter().map(|name| (name, line)));
        }
    }
    found
}

/// The first name of a path, or of each path of a list in braces.
fn first_names(text: &str) -> Vec<String> {
    let name = |text: &str| {
        let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
        text[..end].to_owned()
    };
    let Some(list) = text.strip_prefix('{') else { return vec![name(text)] };
    let (mut depth, mut start, mut names) = (0, 0, Vec::new());
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                names.push(name(list[start..at].trim()));
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                names.push(name(list[start..at].trim()));
                start = at + 1;
            }
            _ => {}
        }
    }
    names
}

/// Modules that reach each other, largest sets first by name.
fn circles(imports: &Imports) -> Vec<Circle> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        imports.keys().map(|from| (from.as_str(), reach(imports, from))).collect();
    let both = |a: &str, b: &str| {
        let reaches = |a: &str, b: &str| reached.get(a).is_some_and(|all| all.contains(b));
        reaches(a, b) && reaches(b, a)
    };
    let mut circles: Vec<Circle> = Vec::new();
    for from in imports.keys().filter(|from| both(from, from)) {
        if circles.iter().any(|circle| circle.modules.contains(from)) {
            continue;
        }
        let modules: Vec<String> = imports.keys().filter(|to| both(from, to)).cloned().collect();
        let within = modules.iter().flat_map(|from| {
            let to = imports[from].iter().filter(|(to, _)| modules.contains(to));
            to.map(move |(to, place)| (from.clone(), to.clone(), place.clone()))
        });
        circles.push(Circle { imports: within.collect(), modules });
    }
    circles
}

/// All that a module imports, and what that imports.
fn reach<'a>(imports: &'a Imports, from: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut left: Vec<&str> = vec![from];
    while let Some(module) = left.pop() {
        for to in imports.get(module).into_iter().flat_map(BTreeMap::keys) {
            if reached.insert(to.as_str()) {
                left.push(to);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_that_reach_each_other_are_a_circle() {
        let tree = Tree::of(&[
            ("crates/plan/src/lib.rs", "mod a;\nmod b;\npub use c::{Kind, more::Other};\n"),
            ("crates/plan/src/a.rs", "use crate::{b::X, d::{Y, Z}};\n"),
            ("crates/plan/src/b/mod.rs", "//! Not `crate::a`.\nfn f() -> crate::Other {}\n"),
            ("crates/plan/src/b/deep.rs", "use super::X;\n#[cfg(test)]\nuse crate::d::Y;\n"),
            ("crates/plan/src/c.rs", "use super::a::W;\n"),
            ("crates/plan/src/d.rs", "macro_rules! m { () => { $crate::a::W } }\n"),
            ("crates/cache/src/lib.rs", "mod a;\nmod b;\n"),
            ("crates/cache/src/a.rs", "use crate::b::X;\n"),
            ("crates/cache/src/b.rs", "use crate::a::X;\n"),
        ]);
        let all = by_crate(&tree);
        let modules = |name: &str| all[name].iter().map(|of| of.modules.join(" ")).collect();
        let (plan, cache): (Vec<_>, Vec<_>) = (modules("plan"), modules("cache"));
        assert_eq!((plan, cache), (vec!["a b c".to_owned()], vec!["a b".to_owned()]));
        let found = check(&tree);
        let places: Vec<_> = found.iter().map(|(path, (line, ..))| (&path[..], *line)).collect();
        let [a, b, c] = ["a.rs", "b/mod.rs", "c.rs"].map(|file| format!("crates/plan/src/{file}"));
        assert_eq!(places, [(&a[..], 1), (&b[..], 2), (&c[..], 1)]);
    }
}
