//! Tokens: what a page gave in a hidden field, or in a `meta`, and a later request sent back. A
//! user of the scenario gets another one, so it is taken from the page.

use std::rc::Rc;

use html5gum::{State, Token, Tokenizer};

use super::secret_names::is_drawn;
use crate::scenario::take::{Answer, Headers, Take, Which};

/// The most fields that are remembered.
const MOST: usize = 100_000;
/// The most elements of one name that are looked through for the one that was sent.
const MOST_OF_NAME: u32 = 50;
/// Names that a variable may not have, as they mean something in a scenario.
const RESERVED: [&str; 10] =
    ["counter", "user", "loop", "date", "uuid", "random", "traceparent", "env", "role", "sent"];

/// A hidden field of a page, or a `meta`.
#[derive(Debug)]
struct Field {
    name: String,
    value: String,
    /// The form that it stands in, as a selector.
    form: Option<String>,
    is_meta: bool,
    /// The step whose answer the page is.
    step: usize,
    page: Rc<str>,
}

/// What has to be taken from an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) step: usize,
    pub(super) variable: String,
    pub(super) field: String,
    pub(super) css: String,
    pub(super) attribute: &'static str,
    /// Which of those that the selector selects, where it is not the first.
    pub(super) which: Option<u32>,
    /// The last step that has sent it.
    last_sent: usize,
}

/// The hidden fields of the pages so far, and those that were sent back.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    fields: Vec<Field>,
    taken: Vec<Taken>,
    /// The number of the step that is written.
    pub(super) step: usize,
}

impl Tokens {
    /// Remembers the hidden fields of the page that a step gets.
    pub(super) fn page(&mut self, page: &str, step: usize) {
        let page: Rc<str> = page.into();
        let mut form = None;
        let mut tokens = Tokenizer::new(&*page);
        while let Some(Ok(token)) = tokens.next() {
            let tag = match token {
                Token::StartTag(tag) => tag,
                Token::EndTag(tag) => {
                    if &**tag.name == b"form" {
                        form = None;
                    }
                    continue;
                }
                _ => continue,
            };
            let attribute = |name: &[u8]| {
                let value = tag.attributes.get(name)?;
                String::from_utf8(value.to_vec()).ok()
            };
            if let Some(state) = text_within(&tag.name) {
                tokens.set_state(state);
            }
            let (is_meta, value) = match &**tag.name {
                b"form" => {
                    let by = |name: &str| {
                        let value = attribute(name.as_bytes()).filter(|of| !of.is_empty())?;
                        Some(format!("form[{name}={}]", in_quotes(&value)?))
                    };
                    let action = attribute(b"action").is_some_and(|action| is_lasting(&action));
                    let action = by("action").filter(|_| action);
                    form = action.or_else(|| by("id")).or_else(|| by("name"));
                    continue;
                }
                b"input" => (false, attribute(b"value")),
                b"meta" => (true, attribute(b"content")),
                _ => continue,
            };
            let kind = attribute(b"type").unwrap_or_default();
            let (Some(name), Some(value)) = (attribute(b"name"), value) else { continue };
            let is_wanted = match is_meta {
                true => is_called_token(&name),
                false => kind.eq_ignore_ascii_case("hidden") && is_token(&name, &value),
            };
            if is_wanted && !value.is_empty() && self.fields.len() < MOST {
                let (form, page) = (form.clone(), page.clone());
                self.fields.push(Field { name, value, form, is_meta, step, page });
            }
        }
    }

    /// The variable that stands for a field that is sent, where a page gave it: the last that did.
    pub(super) fn variable(&mut self, name: &str, value: &str) -> Option<String> {
        self.find(|field| field.name == name && field.value == value)
    }

    /// The variable that stands for a value that is sent under a name of its own, such as a header.
    pub(super) fn variable_of_value(&mut self, value: &str) -> Option<String> {
        self.find(|field| is_called_token(&field.name) && field.value == value)
    }

    fn find(&mut self, is_it: impl Fn(&Field) -> bool) -> Option<String> {
        let field = self.fields.iter().rev().find(|field| is_it(field))?;
        // What stands on the page more than once is the first of them.
        let same = |other: &&Field| other.step == field.step && is_it(other);
        let field = self.fields.iter().find(same).unwrap_or(field);
        let known = self.taken.iter().position(|taken| {
            taken.step == field.step
                && taken.field == field.name
                && field.found_by(&taken.css, taken.attribute, taken.which)
                && self.is_free(&taken.variable, field, Some(taken))
        });
        if let Some(at) = known {
            self.taken[at].last_sent = self.step;
            return Some(self.taken[at].variable.clone());
        }
        let (css, which) = field.selector()?;
        let variable = variable(&field.name);
        let more = (2..).map(|n| format!("{variable}_{n}"));
        let mut names = std::iter::once(variable.clone()).chain(more);
        let variable = names.find(|name| self.is_free(name, field, None))?;
        self.taken.push(Taken {
            step: field.step,
            variable: variable.clone(),
            field: field.name.clone(),
            css,
            attribute: field.attribute(),
            which,
            last_sent: self.step,
        });
        Some(variable)
    }

    /// Whether a variable can hold a field from its page to the present step: it holds no other one
    /// meanwhile. Fields of other names have variables of their own.
    fn is_free(&self, variable: &str, field: &Field, but: Option<&Taken>) -> bool {
        let others = self.taken.iter().filter(|taken| taken.variable == variable);
        let mut others = others.filter(|taken| but.is_none_or(|but| but != *taken));
        others.all(|other| {
            let is_apart = self.step <= other.step || other.last_sent <= field.step;
            other.field == field.name && is_apart
        })
    }

    /// What has to be taken from the answer of a step.
    pub(super) fn taken_of(&self, step: usize) -> impl Iterator<Item = &Taken> {
        self.taken.iter().filter(move |taken| taken.step == step)
    }

    /// The names of the variables, in order.
    pub(super) fn variables(&self) -> Vec<String> {
        let mut names: Vec<String> =
            self.taken.iter().map(|taken| taken.variable.clone()).collect();
        names.sort();
        names.dedup();
        names
    }
}

impl Field {
    fn attribute(&self) -> &'static str {
        if self.is_meta { "content" } else { "value" }
    }

    /// What selects it on its page, and which of those it is: the shortest that does.
    fn selector(&self) -> Option<(String, Option<u32>)> {
        let element = if self.is_meta { "meta" } else { "input" };
        let by_name = format!("{element}[name={}]", in_quotes(&self.name)?);
        let in_form = self.form.as_ref().map(|form| format!("{form} {by_name}"));
        let mut selectors = std::iter::once(by_name.clone()).chain(in_form);
        if let Some(css) = selectors.find(|css| self.found_by(css, self.attribute(), None)) {
            return Some((css, None));
        }
        let mut numbers = 2..=MOST_OF_NAME;
        let which = numbers.find(|n| self.found_by(&by_name, self.attribute(), Some(*n)))?;
        Some((by_name, Some(which)))
    }

    /// Whether a selector finds it on its page, as it will when it is taken.
    fn found_by(&self, css: &str, attribute: &str, which: Option<u32>) -> bool {
        let Ok(mut take) = Take::css(css, Some(attribute)) else { return false };
        if let Some(which) = which {
            take = take.which(Which::Number(which));
        }
        let answer = Answer::new(200, Headers::default(), self.page.as_bytes(), "http://h/");
        take.find(&answer, |_| 0).is_some_and(|found| found.text() == Some(&self.value))
    }
}

/// A value of an attribute within the quotes that it has not.
fn in_quotes(value: &str) -> Option<String> {
    let quote = ['"', '\''].into_iter().find(|quote| !value.contains(*quote))?;
    let is_plain = !value.contains(['\\', '\n', '\r', '\u{c}']);
    is_plain.then(|| format!("{quote}{value}{quote}"))
}

/// Whether the address of a form is the same for all users, and on any server: it has no query, no
/// parameters and nothing that was drawn.
fn is_lasting(action: &str) -> bool {
    !action.contains(['?', ';', ':', '%']) && !action.split('/').any(is_drawn)
}

/// How what stands within an element is read, where that is text whatever it looks like (WHATWG
/// HTML, section 13.2.6.2 and the steps that follow it).
fn text_within(element: &[u8]) -> Option<State> {
    match element {
        b"script" => Some(State::ScriptData),
        b"style" | b"xmp" | b"iframe" | b"noembed" | b"noframes" => Some(State::RawText),
        b"textarea" | b"title" => Some(State::RcData),
        b"plaintext" => Some(State::PlainText),
        _ => None,
    }
}

/// Whether a field differs from user to user by what it is called.
fn is_called_token(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["token", "csrf", "xsrf", "nonce"].iter().any(|word| name.contains(word))
}

/// Whether a field differs from user to user, as far as its looks tell: it is called so, or is long
/// and has digits.
fn is_token(name: &str, value: &str) -> bool {
    is_called_token(name) || value.len() >= 8 && value.bytes().any(|byte| byte.is_ascii_digit())
}

/// A name for a variable.
fn variable(field: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let mut name: String = field.chars().take(64).map(letter).collect();
    if RESERVED.contains(&name.as_str()) || !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        name.insert_str(0, "the_");
    }
    name
}
