//! A file of settings as a shell reads it: which assignments it holds, and where their values
//! stand.
//!
//! Only what sets variables is understood: assignments (also behind `export` and `readonly`),
//! comments, and tests of them (`[`, `test`, `if`, `&&`, `||`, `:`). Anything else (a command, a
//! command substitution, a redirection, a function) is refused with its line, because such a file
//! cannot be evaluated without doing what it says.
//!
//! Source: POSIX, *Shell Command Language*, sections 2.2 (quoting), 2.3 (tokens), 2.6.2
//! (parameter expansion) and 2.10 (grammar).

use std::collections::BTreeSet;
use std::ops::Range;

/// What a file may not hold if its settings are to be changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} holds {what}")]
pub struct NotSettings {
    /// The line, from 1.
    pub line: usize,
    /// What stands there, a noun with its text.
    pub what: String,
}

/// One assignment of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The variable.
    pub name: String,
    /// The line on which it begins, from 1.
    pub line: usize,
    /// Where the value stands in the text, in bytes, its quotes included; it may span lines.
    pub value: Range<usize>,
    /// The value, if it can be told without a shell: one that holds no expansion.
    pub literal: Option<String>,
}

/// The settings of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// The assignments, in their order.
    pub assignments: Vec<Assignment>,
    /// Every variable that the file may set: those assigned, and those expanded (`${A:=b}`).
    pub names: BTreeSet<String>,
}

impl Settings {
    /// Reads a file's text.
    ///
    /// # Errors
    /// [`NotSettings`] for the first thing that is none.
    pub fn parse(text: &str) -> Result<Self, NotSettings> {
        let mut reader = Reader { text, at: 0, settings: Self::default() };
        while reader.command()? {}
        Ok(reader.settings)
    }

    /// The assignments of one variable, in their order.
    pub fn of<'a>(&'a self, name: &'a str) -> impl DoubleEndedIterator<Item = &'a Assignment> {
        self.assignments.iter().filter(move |assignment| assignment.name == name)
    }
}

/// A word of a command.
struct Word {
    range: Range<usize>,
    /// Its text without quotes, if it holds no expansion.
    literal: Option<String>,
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    settings: Settings,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn line_of(&self, at: usize) -> usize {
        1 + self.text[..at].bytes().filter(|&b| b == b'\n').count()
    }

    fn refuse<T>(&self, at: usize, what: &str) -> Result<T, NotSettings> {
        Err(NotSettings { line: self.line_of(at), what: what.to_owned() })
    }

    /// Skips blanks, line continuations and comments.
    fn skip_blanks(&mut self) {
        loop {
            let rest = self.rest();
            if rest.starts_with([' ', '\t']) {
                self.at += 1;
            } else if rest.starts_with("\\\n") {
                self.at += 2;
            } else if rest.starts_with('#') {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else {
                return;
            }
        }
    }

    /// Reads one command with the separator behind it; false at the end of the text.
    fn command(&mut self) -> Result<bool, NotSettings> {
        let mut words = Vec::new();
        loop {
            self.skip_blanks();
            let (rest, at) = (self.rest(), self.at);
            let Some(first) = rest.chars().next() else {
                self.take(&words)?;
                return Ok(false);
            };
            let separator = ["&&", "||", "\n", ";"].into_iter().find(|s| rest.starts_with(s));
            if rest.starts_with(";;") {
                return self.refuse(at, "`;;`");
            }
            if let Some(separator) = separator {
                self.at += separator.len();
                self.take(&words)?;
                return Ok(true);
            }
            match first {
                '&' => return self.refuse(at, "a command in the background, `&`"),
                '|' => return self.refuse(at, "a pipe, `|`"),
                '<' | '>' => return self.refuse(at, "a redirection"),
                '(' | ')' => return self.refuse(at, &format!("`{first}`")),
                _ => {
                    let word = self.word()?;
                    words.push(word);
                }
            }
        }
    }

    /// Reads a word up to a character that ends it.
    fn word(&mut self) -> Result<Word, NotSettings> {
        let start = self.at;
        let mut literal = Some(String::new());
        while let Some(next) = self.rest().chars().next() {
            match next {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')' => break,
                '\'' => self.single_quoted(&mut literal)?,
                '"' => self.double_quoted(&mut literal)?,
                '\\' => self.escaped(&mut literal),
                '$' | '`' => self.expansion(&mut literal)?,
                _ => {
                    push(&mut literal, next);
                    self.at += next.len_utf8();
                }
            }
        }
        Ok(Word { range: start..self.at, literal })
    }

    fn single_quoted(&mut self, literal: &mut Option<String>) -> Result<(), NotSettings> {
        let start = self.at;
        let inner = &self.text[start + 1..];
        let Some(length) = inner.find('\'') else {
            return self.refuse(start, "a quote that does not end");
        };
        inner[..length].chars().for_each(|c| push(literal, c));
        self.at = start + 1 + length + 1;
        Ok(())
    }

    fn double_quoted(&mut self, literal: &mut Option<String>) -> Result<(), NotSettings> {
        let start = self.at;
        self.at += 1;
        while let Some(next) = self.rest().chars().next() {
            match next {
                '"' => {
                    self.at += 1;
                    return Ok(());
                }
                '$' | '`' => self.expansion(literal)?,
                '\\' => match self.rest().chars().nth(1) {
                    Some('$' | '`' | '"' | '\\' | '\n') => self.escaped(literal),
                    _ => {
                        push(literal, '\\');
                        self.at += 1;
                    }
                },
                _ => {
                    push(literal, next);
                    self.at += next.len_utf8();
                }
            }
        }
        self.refuse(start, "a quote that does not end")
    }

    /// Reads a backslash and what it quotes; with a newline it stands for nothing.
    fn escaped(&mut self, literal: &mut Option<String>) {
        self.at += 1;
        if let Some(quoted) = self.rest().chars().next() {
            if quoted != '\n' {
                push(literal, quoted);
            }
            self.at += quoted.len_utf8();
        }
    }

    /// Reads `$NAME`, `${NAME…}` or a `$` that stands for itself. The word has no literal then.
    fn expansion(&mut self, literal: &mut Option<String>) -> Result<(), NotSettings> {
        let (start, rest) = (self.at, self.rest());
        if rest.starts_with('`') || rest.starts_with("$(") {
            return self.refuse(start, "a command substitution");
        }
        *literal = None;
        let Some(braced) = rest.strip_prefix("${") else {
            let name = name_of(&rest[1..]);
            self.expanded(name);
            self.at += 1 + name.len();
            return Ok(());
        };
        let Some(length) = braced.find('}') else {
            return self.refuse(start, "a `${` that does not end");
        };
        let inner = &braced[..length];
        if inner.contains('`') || inner.contains("$(") {
            return self.refuse(start, "a command substitution");
        }
        if inner.contains(['{', '\n']) {
            return self.refuse(start, "a `${` within a `${`, or over two lines");
        }
        self.expanded(name_of(inner));
        self.at += 2 + length + 1;
        Ok(())
    }

    fn expanded(&mut self, name: &str) {
        if !name.is_empty() {
            self.settings.names.insert(name.to_owned());
        }
    }

    /// Takes a command's assignments.
    fn take(&mut self, words: &[Word]) -> Result<(), NotSettings> {
        let text = self.text;
        let raw = |word: &Word| &text[word.range.clone()];
        let reserved = ["if", "then", "elif", "else", "fi", "!"];
        let begin = words.iter().position(|word| !reserved.contains(&raw(word)));
        let words = begin.map_or(&[][..], |begin| &words[begin..]);
        let Some(first) = words.first() else { return Ok(()) };
        let rest = match raw(first) {
            "[" | "test" | ":" | "true" | "false" => return Ok(()),
            "export" | "readonly" if words.len() == 1 => {
                let what = format!("a command that prints, `{}`", raw(first));
                return self.refuse(first.range.start, &what);
            }
            "export" | "readonly" => &words[1..],
            _ => words,
        };
        let is_declaration = rest.len() < words.len();
        for word in rest {
            let name = name_of(raw(word));
            let is_name = !name.is_empty() && raw(word).len() == name.len();
            if !name.is_empty() && raw(word)[name.len()..].starts_with('=') {
                self.settings.names.insert(name.to_owned());
                let value = word.range.start + name.len() + 1..word.range.end;
                let literal = word.literal.as_ref().map(|text| text[name.len() + 1..].to_owned());
                let line = self.line_of(word.range.start);
                let assignment = Assignment { name: name.to_owned(), line, value, literal };
                self.settings.assignments.push(assignment);
            } else if !(is_declaration && is_name) {
                let shown: String = raw(word).chars().take(40).collect();
                return self.refuse(word.range.start, &format!("a command, `{shown}`"));
            }
        }
        Ok(())
    }
}

/// Adds to a word's text, unless it has none.
fn push(literal: &mut Option<String>, next: char) {
    if let Some(text) = literal {
        text.push(next);
    }
}

/// The name of a variable with which a text begins; empty where it begins with none.
fn name_of(text: &str) -> &str {
    let is_part = |c: char| c == '_' || c.is_ascii_alphanumeric();
    let length = text.find(|c| !is_part(c)).unwrap_or(text.len());
    if text.starts_with(|c: char| c.is_ascii_digit()) { "" } else { &text[..length] }
}
