//! No collection whose order differs from run to run: it would break replay by seed.

use super::rust::{line_of, words_with_place};
use super::{File, Remark, Tree};

pub(super) fn check(_: &Tree, file: &File) -> Vec<Remark> {
    let Some(rust) = &file.rust else { return Vec::new() };
    let mut found = Vec::new();
    for (at, word) in words_with_place(&rust.code) {
        let instead = match word {
            "HashMap" => "use a BTreeMap, or a Vec in order of first appearance",
            "HashSet" => "use a BTreeSet",
            _ => continue,
        };
        let what = format!("the order of a `{word}` differs from run to run");
        found.push((line_of(&rust.code, at), what, instead.to_owned()));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashed_collections_are_found_in_code_only() {
        let text = "//! No HashMap here.\nuse std::collections::HashMap;\nfn a(b: HashSet<u8>) {}\n\
                    let c = \"HashMap\"; struct HashMapping;\n";
        let found = check(&Tree::default(), &File::new("a.rs", text));
        let lines: Vec<usize> = found.into_iter().map(|(line, ..)| line).collect();
        assert_eq!(lines, [2, 3]);
    }
}
