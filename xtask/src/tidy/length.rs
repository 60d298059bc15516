//! Files of at most 600 lines, functions of at most 70, lines of at most 100 columns.
//!
//! rustfmt keeps the width of code but not of strings and comments, and clippy counts a function's
//! statements, not the screen it needs: so both are counted here, all lines included.

use super::{File, Remark, Tree};

const FILE_LINES: usize = 600;
const FUNCTION_LINES: usize = 70;
const COLUMNS: usize = 100;

pub(super) fn files(_: &Tree, file: &File) -> Vec<Remark> {
    let lines = file.text.lines().count();
    if file.rust.is_none() || lines <= FILE_LINES {
        return Vec::new();
    }
    let what = format!("{lines} lines, more than {FILE_LINES}");
    vec![(FILE_LINES + 1, what, "give each idea a file of its own".to_owned())]
}

pub(super) fn functions(_: &Tree, file: &File) -> Vec<Remark> {
    let Some(rust) = &file.rust else { return Vec::new() };
    let mut found = Vec::new();
    for (first, name, last) in rust.functions() {
        let lines = last + 1 - first;
        if lines > FUNCTION_LINES {
            let what = format!("`{name}` has {lines} lines, more than {FUNCTION_LINES}");
            found.push((first, what, "divide it by what its parts do".to_owned()));
        }
    }
    found
}

pub(super) fn lines(_: &Tree, file: &File) -> Vec<Remark> {
    if file.rust.is_none() || file.path.contains("golden") {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        let columns = line.chars().count();
        if columns > COLUMNS && !cannot_be_broken(line) {
            let what = format!("{columns} columns, more than {COLUMNS}");
            found.push((index + 1, what, "break the line".to_owned()));
        }
    }
    found
}

/// A URL, a row of a table in a comment, a raw string.
fn cannot_be_broken(line: &str) -> bool {
    let start = line.trim_start();
    let row = ["//! |", "/// |", "// |"].iter().any(|row| start.starts_with(row));
    row || ["://", "r\"", "r#\""].iter().any(|part| line.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [usize; 0] = [];

    fn of(check: fn(&Tree, &File) -> Vec<Remark>, path: &str, text: &str) -> Vec<usize> {
        let file = File::new(path, text);
        check(&Tree::default(), &file).into_iter().map(|(line, ..)| line).collect()
    }

    #[test]
    fn the_longest_file_allowed_is_600_lines() {
        assert_eq!(of(files, "a.rs", &"x\n".repeat(600)), NONE);
        assert_eq!(of(files, "a.rs", &"x\n".repeat(601)), [601]);
        assert_eq!(of(files, "a.md", &"x\n".repeat(601)), NONE);
    }

    #[test]
    fn the_longest_function_allowed_is_70_lines() {
        let function =
            |lines: usize| format!("\nfn a() {{\n{}}}\n", "    b();\n".repeat(lines - 2));
        assert_eq!(of(functions, "a.rs", &function(70)), NONE);
        assert_eq!(of(functions, "a.rs", &function(71)), [2]);
    }

    #[test]
    fn the_longest_line_allowed_is_100_columns() {
        let line = |columns: usize| format!("\n{}\n", "é".repeat(columns));
        assert_eq!(of(lines, "a.rs", &line(100)), NONE);
        assert_eq!(of(lines, "a.rs", &line(101)), [2]);
        assert_eq!(of(lines, "a.rs", &format!("{}https://a.b/c", line(1).repeat(99))), NONE);
        assert_eq!(of(lines, "a.rs", &format!("    /// | a | {} |", "b".repeat(90))), NONE);
        assert_eq!(of(lines, "a.rs", &format!("let a = r#\"{}\"#;", "b".repeat(90))), NONE);
        assert_eq!(of(lines, "tests/golden/a.rs", &line(101)), NONE);
        assert_eq!(of(lines, "a.md", &line(101)), NONE);
    }
}
