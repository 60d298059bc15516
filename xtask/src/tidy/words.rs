//! One word for one thing: words that are not the field's, and the word to use instead.
//!
//! `words.txt` holds them, a line each: `word | where | what to use`. *Where* is `text` (names,
//! comments, messages and pages), `names` (identifiers and file names) or `modules` (file names
//! only). An identifier is compared word by word: `PoolThing`, `pool_thing` and `pool-thing` all
//! contain `thing`. An entry of several words matches them in a row on one line. Options such as
//! `--thing` are passed over: they are named by the program that has them.

use super::rust::words_with_place;
use super::{File, Remark, Tree};

const LIST: &str = include_str!("../../words.txt");

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Scope {
    Text,
    Names,
    Modules,
}

struct Entry {
    words: Vec<String>,
    scope: Scope,
    instead: String,
}

pub(super) fn check(_: &Tree, file: &File) -> Vec<Remark> {
    found_in(&entries_of(LIST), file)
}

fn found_in(entries: &[Entry], file: &File) -> Vec<Remark> {
    if file.rust.is_none() && !file.is_page() {
        return Vec::new();
    }
    let mut found = Vec::new();
    let stem = parts_of(file.stem());
    for entry in entries {
        if contains(&stem, &entry.words) {
            found.push(fault(1, "the file's name contains", entry));
        }
    }
    let mut look = |text: &str, scope: Scope| {
        for (index, line) in text.lines().enumerate() {
            let rows = rows_of(line);
            let hits = entries.iter().filter(|entry| entry.scope == scope);
            let hits = hits.filter(|entry| rows.iter().any(|row| contains(row, &entry.words)));
            found.extend(hits.map(|entry| fault(index + 1, "not this project's word:", entry)));
        }
    };
    look(&file.text, Scope::Text);
    if let Some(rust) = &file.rust {
        look(&rust.code, Scope::Names);
    }
    found
}

fn fault(line: usize, what: &str, entry: &Entry) -> Remark {
    (line, format!("{what} `{}`", entry.words.join(" ")), format!("use {}", entry.instead))
}

fn contains(words: &[String], wanted: &[String]) -> bool {
    words.windows(wanted.len()).any(|window| window == wanted)
}

/// The words of a line, in rows that only spaces and hyphens join: punctuation ends a phrase.
fn rows_of(line: &str) -> Vec<Vec<String>> {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut end = 0;
    for (at, word) in words_with_place(line) {
        let begin = line[..at].rfind(char::is_whitespace).map_or(0, |blank| blank + 1);
        if line[begin..].trim_start_matches(['`', '"', '\'', '(', '[']).starts_with("--") {
            continue;
        }
        let joined = line[end..at].chars().all(|c| c == ' ' || c == '-');
        if !joined || rows.is_empty() {
            rows.push(Vec::new());
        }
        rows.last_mut().into_iter().for_each(|row| row.extend(parts_of(word)));
        end = at + word.len();
    }
    rows
}

/// The words of an identifier, in lower case: `HashMap2_of` is `hash`, `map2`, `of`.
fn parts_of(identifier: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut previous_was_lower = false;
    for c in identifier.chars() {
        let begins = c.is_uppercase() && previous_was_lower;
        if (begins || !c.is_alphanumeric()) && !part.is_empty() {
            parts.push(std::mem::take(&mut part));
        }
        if c.is_alphanumeric() {
            part.extend(c.to_lowercase());
        }
        previous_was_lower = c.is_lowercase() || c.is_numeric();
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts
}

fn entries_of(list: &str) -> Vec<Entry> {
    let lines = list.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    lines.filter_map(entry_of).collect()
}

fn entry_of(line: &str) -> Option<Entry> {
    let mut columns = line.split('|').map(str::trim);
    let (word, scope, instead) = (columns.next()?, columns.next()?, columns.next()?);
    let scope = match scope {
        "text" => Scope::Text,
        "names" => Scope::Names,
        "modules" => Scope::Modules,
        _ => return None,
    };
    let words = word.split_whitespace().map(str::to_owned).collect();
    Some(Entry { words, scope, instead: instead.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [usize; 0] = [];

    const SMALL: &str = "# a comment\n\ngizmo | names | a noun\ncold start | text | warm-up\n\
                         stuff | modules | what is in it\n";

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let found = found_in(&entries_of(SMALL), &File::new(path, text));
        found.into_iter().map(|(line, ..)| line).collect()
    }

    #[test]
    fn names_are_compared_word_by_word() {
        assert_eq!(
            lines("a.rs", "struct PoolGizmo;\nlet gizmo_pool = 1;\nlet gizmos = 2;\n"),
            [1, 2]
        );
        assert_eq!(lines("a.rs", "// a gizmo in a comment\nlet a = \"gizmo\";\n"), NONE);
        assert_eq!(lines("a.md", "a gizmo in a page\n"), NONE);
        assert_eq!(lines("docs/gizmo-pool.md", ""), [1]);
    }

    #[test]
    fn phrases_are_found_in_all_text() {
        assert_eq!(lines("a.md", "After a Cold\nstart, a cold start.\n"), [2]);
        assert_eq!(lines("a.rs", "let cold_start = 1; // ColdStart\n"), [1]);
        assert_eq!(lines("a.md", "so cold: start, (cold) start, cold(start)\n"), NONE);
        assert_eq!(lines("a.md", "a cold-start\n"), [1]);
        assert_eq!(lines("a.toml", "cold start"), NONE);
    }

    #[test]
    fn modules_are_file_names() {
        assert_eq!(lines("crates/a/src/stuff.rs", "let stuff = 1;\n"), [1]);
        assert_eq!(lines("crates/stuff/src/a.rs", "let stuff = 1;\n"), NONE);
    }

    #[test]
    fn every_line_of_the_list_can_be_read() {
        let meant = LIST.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
        for line in meant {
            let entry = entry_of(line).expect(line);
            assert!(!entry.words.is_empty() && !entry.instead.is_empty(), "{line}");
            let lower = entry.words.iter().all(|word| parts_of(word) == [word.clone()]);
            assert!(lower, "words stand in the list in lower case, one by one: {line}");
        }
    }
}
