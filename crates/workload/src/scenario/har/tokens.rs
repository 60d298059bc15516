//! Tokens: what a page gave in a hidden field and a later request sent back. A user of the
//! scenario gets another one, so it is taken from the page.

use std::collections::BTreeSet;

use html5gum::{Token, Tokenizer};

/// The most fields that are remembered.
const MOST: usize = 100_000;
/// Names that a variable may not have, as they mean something in a scenario.
const RESERVED: [&str; 9] =
    ["counter", "user", "loop", "date", "uuid", "random", "env", "role", "sent"];

/// A hidden field of a page.
#[derive(Debug)]
struct Field {
    name: String,
    value: String,
    /// The step whose answer the page is.
    step: usize,
}

/// What has to be taken from an answer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Taken {
    pub(super) step: usize,
    pub(super) variable: String,
    pub(super) field: String,
}

/// The hidden fields of the pages so far, and those that were sent back.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    fields: Vec<Field>,
    taken: BTreeSet<Taken>,
}

impl Tokens {
    /// Remembers the hidden fields of the page that a step gets.
    pub(super) fn page(&mut self, page: &str, step: usize) {
        for token in Tokenizer::new(page) {
            let Ok(Token::StartTag(tag)) = token else { continue };
            let attribute = |name: &[u8]| {
                let value = tag.attributes.get(name)?;
                String::from_utf8(value.to_vec()).ok()
            };
            let is_hidden = || attribute(b"type").is_some_and(|t| t.eq_ignore_ascii_case("hidden"));
            if &**tag.name != b"input" || !is_hidden() || self.fields.len() >= MOST {
                continue;
            }
            if let (Some(name), Some(value)) = (attribute(b"name"), attribute(b"value"))
                && is_token(&name, &value)
            {
                self.fields.push(Field { name, value, step });
            }
        }
    }

    /// The variable that stands for a field that is sent, where a page gave it.
    pub(super) fn variable(&mut self, name: &str, value: &str) -> Option<String> {
        let is_it = |field: &&Field| field.name == name && field.value == value;
        let field = self.fields.iter().rev().find(is_it)?;
        let variable = variable(name);
        self.taken.insert(Taken {
            step: field.step,
            variable: variable.clone(),
            field: name.to_owned(),
        });
        Some(variable)
    }

    /// What has to be taken, by step.
    pub(super) fn taken(&self) -> impl Iterator<Item = &Taken> {
        self.taken.iter()
    }
}

/// Whether a field differs from user to user, as far as its looks tell: it is called so, or is long
/// and has digits.
fn is_token(name: &str, value: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_called = ["token", "csrf", "xsrf", "nonce"].iter().any(|word| name.contains(word));
    !value.is_empty()
        && (is_called || (value.len() >= 8 && value.bytes().any(|byte| byte.is_ascii_digit())))
}

/// A name for a variable.
fn variable(field: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let mut name: String = field.chars().map(letter).collect();
    if RESERVED.contains(&name.as_str()) || !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        name.insert_str(0, "the_");
    }
    name
}
