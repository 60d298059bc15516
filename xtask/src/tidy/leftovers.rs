//! What was left to do: `todo!`, `unimplemented!`, `dbg!`, and tests ignored without a reason.

use super::rust::{line_of, words_with_place};
use super::{File, Remark, Tree};

pub(super) fn check(_: &Tree, file: &File) -> Vec<Remark> {
    let Some(rust) = &file.rust else { return Vec::new() };
    let code = &rust.code;
    let mut found = Vec::new();
    for (at, word) in words_with_place(code) {
        let rest = code[at + word.len()..].trim_start();
        let before = code[..at].trim_end();
        let (what, remedy) = match word {
            "todo" | "unimplemented" if rest.starts_with('!') => {
                (format!("`{word}!` is left"), "write what is missing")
            }
            "dbg" if rest.starts_with('!') => ("`dbg!` is left".to_owned(), "remove it"),
            "ignore" if before.ends_with("#[") && !rest.starts_with('=') => {
                let what = "a test is ignored without a reason".to_owned();
                (what, "write `#[ignore = \"why\"]`, or let it run")
            }
            _ => continue,
        };
        found.push((line_of(code, at), what, remedy.to_owned()));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [usize; 0] = [];

    fn lines(text: &str) -> Vec<usize> {
        let file = File::new("a.rs", text);
        check(&Tree::default(), &file).into_iter().map(|(line, ..)| line).collect()
    }

    #[test]
    fn leftovers_are_found_in_code_only() {
        assert_eq!(lines("a();\ntodo!();\nunimplemented!(\"x\");\nlet x = dbg!(x);\n"), [2, 3, 4]);
        assert_eq!(lines("// todo!()\nlet a = \"dbg!\"; let todo = 1;\n"), NONE);
    }

    #[test]
    fn an_ignored_test_gives_its_reason() {
        assert_eq!(lines("#[test]\n#[ignore]\nfn a() {}\n"), [2]);
        assert_eq!(lines("#[test]\n#[ignore = \"needs two hosts\"]\nfn a() {}\n"), NONE);
    }
}
