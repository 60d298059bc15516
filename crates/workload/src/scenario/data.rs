//! Data files of a scenario: rows of CSV (RFC 4180) under a heading, one for each user or step.

use plimsoll_units::{Words, nearest};

/// The most rows of a file: their numbers are 32 bits.
const MAX_ROWS: usize = 16_000_000;

/// What gets a row of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Each {
    /// Each user.
    #[default]
    User,
    /// Each step that has something of the file in it.
    Step,
}

impl Words for Each {
    const WORDS: &'static [(&'static str, Self)] = &[("user", Self::User), ("step", Self::Step)];
}

/// In which order rows are handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RowOrder {
    /// In the file's order, again from the top.
    #[default]
    InOrder,
    /// Any, by chance.
    Random,
    /// In the file's order, each to one user: when they are used up no new user arrives.
    Once,
}

impl Words for RowOrder {
    const WORDS: &'static [(&'static str, Self)] =
        &[("in-order", Self::InOrder), ("random", Self::Random), ("once", Self::Once)];
}

/// The rows of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Data {
    /// What the scenario calls it.
    pub name: String,
    /// What gets a row.
    pub each: Each,
    /// In which order.
    pub order: RowOrder,
    /// The place in the file where a row is drawn.
    pub place: u32,
    columns: Vec<String>,
    /// The cells of all rows in one text.
    text: String,
    /// Where each cell ends.
    ends: Vec<u32>,
}

/// What is wrong with a data file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct DataError {
    /// The line, from 1.
    pub line: u64,
    /// What was wanted and found.
    pub what: String,
}

impl Data {
    /// Reads the bytes of a file.
    ///
    /// # Errors
    /// Bytes that are no UTF-8, no heading, a column named twice, a row with more or fewer cells
    /// than the heading, a quote that is not closed, no rows, more than 16 million rows or 4 GiB.
    pub fn read(name: &str, bytes: &[u8]) -> Result<Self, DataError> {
        let wrong = |line: u64, what: String| DataError { line, what };
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let lines = bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
            wrong(lines as u64 + 1, "expected text in UTF-8, found other bytes".to_owned())
        })?;
        let mut rows = Rows { rest: text.trim_start_matches('\u{feff}'), line: 1 };
        let mut cells = Vec::new();
        let Some(line) = rows.next_into(&mut cells)? else {
            return Err(wrong(1, "expected a heading with the names of columns".to_owned()));
        };
        let columns: Vec<String> = cells.iter().map(|cell| cell.trim().to_owned()).collect();
        for (at, column) in columns.iter().enumerate() {
            if column.is_empty() {
                return Err(wrong(line, format!("expected a name for column {}", at + 1)));
            }
            if columns[..at].contains(column) {
                return Err(wrong(line, format!("expected columns once, found `{column}` twice")));
            }
        }
        let mut data = Self {
            name: name.to_owned(),
            each: Each::User,
            order: RowOrder::InOrder,
            place: 0,
            columns,
            text: String::new(),
            ends: Vec::new(),
        };
        while let Some(line) = rows.next_into(&mut cells)? {
            let (wanted, found) = (data.columns.len(), cells.len());
            if found != wanted {
                let what = format!("expected {wanted} columns, as the heading has, found {found}");
                return Err(wrong(line, what));
            }
            for cell in &cells {
                data.text.push_str(cell);
                let end = u32::try_from(data.text.len());
                let end = end.map_err(|_| wrong(line, "expected at most 4 GiB of cells".into()))?;
                data.ends.push(end);
            }
            if data.rows() > MAX_ROWS {
                return Err(wrong(line, format!("expected at most {MAX_ROWS} rows")));
            }
        }
        if data.ends.is_empty() {
            return Err(wrong(
                rows.line,
                "expected a row below the heading, found none".to_owned(),
            ));
        }
        Ok(data)
    }

    /// How many rows it has; at least 1.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.ends.len() / self.columns.len()
    }

    /// The number of a column.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<u16> {
        let at = self.columns.iter().position(|column| column == name)?;
        u16::try_from(at).ok()
    }

    /// The names of its columns.
    #[must_use]
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The column whose name is nearest to a word.
    #[must_use]
    pub fn nearest(&self, word: &str) -> Option<&str> {
        nearest(word, self.columns.iter().map(String::as_str))
    }

    /// A cell of a row; nothing where there is none.
    #[must_use]
    pub fn cell(&self, row: u32, column: u16) -> &str {
        let at = row as usize * self.columns.len() + usize::from(column);
        let Some(&end) = self.ends.get(at) else { return "" };
        let start = at.checked_sub(1).and_then(|at| self.ends.get(at)).copied().unwrap_or(0);
        self.text.get(start as usize..end as usize).unwrap_or("")
    }
}

/// Reads row by row.
struct Rows<'a> {
    rest: &'a str,
    line: u64,
}

impl Rows<'_> {
    /// The next row that is not empty, and the line on which it begins.
    fn next_into(&mut self, cells: &mut Vec<String>) -> Result<Option<u64>, DataError> {
        cells.clear();
        loop {
            if self.rest.is_empty() {
                return Ok(None);
            }
            let begins = self.line;
            let is_blank = self.rest.starts_with(['\r', '\n']);
            let mut more = true;
            while more {
                let (cell, goes_on) = self.cell(begins)?;
                cells.push(cell);
                more = goes_on;
            }
            if !is_blank {
                return Ok(Some(begins));
            }
            cells.clear();
        }
    }

    /// One cell, and whether another one follows it on its row.
    fn cell(&mut self, begins: u64) -> Result<(String, bool), DataError> {
        let mut cell = String::new();
        let mut rest = self.rest;
        if let Some(quoted) = rest.strip_prefix('"') {
            rest = quoted;
            loop {
                let Some(end) = rest.find('"') else {
                    let what = "expected a closing quote, found the end of the file".to_owned();
                    return Err(DataError { line: begins, what });
                };
                cell.push_str(&rest[..end]);
                self.line += rest[..end].bytes().filter(|byte| *byte == b'\n').count() as u64;
                rest = &rest[end + 1..];
                match rest.strip_prefix('"') {
                    Some(more) => rest = more,
                    None => break,
                }
                cell.push('"');
            }
        }
        let end = rest.find([',', '\n']).unwrap_or(rest.len());
        let bare = rest[..end].trim_end_matches('\r');
        if self.rest.starts_with('"') && !bare.trim().is_empty() {
            let what = format!("expected a comma after the closing quote, found `{}`", bare.trim());
            return Err(DataError { line: self.line, what });
        }
        if !self.rest.starts_with('"') {
            cell.push_str(bare);
        }
        let ends_row = rest[end..].starts_with('\n') || end == rest.len();
        self.line += u64::from(rest[end..].starts_with('\n'));
        self.rest = rest.get(end + 1..).unwrap_or("");
        Ok((cell, !ends_row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_as_rfc_4180_has_them() {
        let text = "\u{feff}user,password\r\nann,\"a,b\"\r\n\n\"bob\n2\",\"say \"\"x\"\"\"\ncy,\n";
        let data = Data::read("accounts", text.as_bytes()).unwrap();
        assert_eq!(data.rows(), 3);
        assert_eq!(data.column("password"), Some(1));
        let row = |row| [data.cell(row, 0), data.cell(row, 1)];
        assert_eq!(row(0), ["ann", "a,b"]);
        assert_eq!(row(1), ["bob\n2", "say \"x\""]);
        assert_eq!(row(2), ["cy", ""]);
        assert_eq!(row(3), ["", ""], "there is no such row");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let said = |text: &[u8]| Data::read("d", text).unwrap_err().to_string();
        assert_eq!(
            said(b"a,b\n1,2\n3\n"),
            "line 3: expected 2 columns, as the heading has, found 1"
        );
        assert_eq!(said(b"a,a\n1,2\n"), "line 1: expected columns once, found `a` twice");
        assert_eq!(said(b"a\n"), "line 2: expected a row below the heading, found none");
        assert_eq!(
            said(b"a\n\"b\n"),
            "line 2: expected a closing quote, found the end of the file"
        );
        assert!(said(b"").starts_with("line 1: expected a heading"));
        assert!(said(b"a\n\xff\n").starts_with("line 2: expected text in UTF-8"));
    }
}
