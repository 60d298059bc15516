//! CSS selectors, as far as a scenario needs them: Selectors Level 4, sections 3 to 6 and 15.
//!
//! Read are types and `*`, `#id`, `.class`, `[name]` with `=`, `~=`, `|=`, `^=`, `$=` and `*=`,
//! descendants (a blank), children (`>`) and lists (`,`). Pseudo-classes, siblings and name spaces
//! are refused with their place.

use plimsoll_units::ParseError;

/// The longest list of compounds with their combinators that one selector may be.
const MOST_COMPOUNDS: usize = 32;

/// A list of selectors.
#[derive(Debug, Clone)]
pub(super) struct Selector {
    /// One behind the other, each with what stands before it.
    pub(super) compounds: Vec<Compound>,
}

/// What one element has to be.
#[derive(Debug, Clone, Default)]
pub(super) struct Compound {
    /// What stands to the left.
    pub(super) left: Left,
    /// It is the last one of a selector of the list: the element is selected.
    pub(super) is_last: bool,
    name: Option<Box<[u8]>>,
    tests: Vec<Test>,
}

/// How a compound is joined to the one before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Left {
    /// Nothing is before it.
    #[default]
    None,
    /// The element is within one that the compound before selects.
    Ancestor,
    /// The element is a child of one.
    Parent,
}

/// What an attribute has to be.
#[derive(Debug, Clone)]
struct Test {
    name: Box<[u8]>,
    how: How,
    value: Box<[u8]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Present,
    Equal,
    /// One of the words.
    Word,
    /// The value, or the value and `-` before anything.
    Dash,
    Begins,
    Ends,
    Contains,
}

impl Compound {
    /// Whether an element of that name is it; `attribute` gives the value of an attribute.
    pub(super) fn fits<'a>(
        &self,
        name: &[u8],
        attribute: impl Fn(&[u8]) -> Option<&'a [u8]>,
    ) -> bool {
        self.name.as_deref().is_none_or(|wanted| wanted == name)
            && self
                .tests
                .iter()
                .all(|test| attribute(&test.name).is_some_and(|value| test.holds(value)))
    }
}

impl Test {
    fn holds(&self, value: &[u8]) -> bool {
        let wanted = &*self.value;
        match self.how {
            How::Present => true,
            How::Equal => value == wanted,
            // What is empty is part of nothing (section 6.2).
            How::Word => value.split(u8::is_ascii_whitespace).any(|word| word == wanted),
            How::Dash => value
                .strip_prefix(wanted)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(b"-")),
            How::Begins => !wanted.is_empty() && value.starts_with(wanted),
            How::Ends => !wanted.is_empty() && value.ends_with(wanted),
            How::Contains => !wanted.is_empty() && memchr::memmem::find(value, wanted).is_some(),
        }
    }
}

impl Selector {
    /// Reads a list of selectors.
    pub(super) fn parse(text: &str) -> Result<Self, ParseError> {
        let mut reader = Reader { text, at: 0 };
        let mut compounds: Vec<Compound> = Vec::new();
        let mut left = Left::None;
        reader.blanks();
        loop {
            let mut compound = reader.compound()?;
            compound.left = left;
            let had_blanks = reader.blanks();
            let next = reader.peek();
            compound.is_last = matches!(next, None | Some(','));
            compounds.push(compound);
            if compounds.len() > MOST_COMPOUNDS {
                let wanted = "a selector of at most 32 elements";
                return Err(ParseError::new(wanted, text, 0, text.len()));
            }
            left = match next {
                None => return Ok(Self { compounds }),
                Some(',') => Left::None,
                Some('>') => Left::Parent,
                Some('+' | '~') => return Err(reader.wrong("a blank, `>` or `,`")),
                Some(_) if had_blanks => Left::Ancestor,
                Some(_) => return Err(reader.wrong(WANTED)),
            };
            if matches!(next, Some(',' | '>')) {
                reader.at += 1;
                reader.blanks();
            }
        }
    }
}

const WANTED: &str = "a selector such as input[name=token], #cart .price or ul > li";

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    /// Steps over blanks; whether there were any.
    fn blanks(&mut self) -> bool {
        let rest = &self.text[self.at..];
        let blanks = rest.len() - rest.trim_start().len();
        self.at += blanks;
        blanks > 0
    }

    fn wrong(&self, wanted: &str) -> ParseError {
        let rest = &self.text[self.at..];
        let error = ParseError::new(wanted, rest, self.at, rest.len().min(1));
        match self.peek() {
            Some(':') => error.hint("pseudo-classes are not read: use `which` for one of several"),
            Some('+' | '~') => error.hint("siblings are not read: name what is around them"),
            _ => error,
        }
    }

    fn compound(&mut self) -> Result<Compound, ParseError> {
        let mut compound = Compound::default();
        let start = self.at;
        loop {
            match self.peek() {
                Some('*') if self.at == start => self.at += 1,
                Some('#') => compound.tests.push(self.named("id", How::Equal)?),
                Some('.') => compound.tests.push(self.named("class", How::Word)?),
                Some('[') => compound.tests.push(self.attribute()?),
                Some(c) if self.at == start && is_name(c) => {
                    compound.name = Some(lower(self.name()?));
                }
                Some(c) if c.is_whitespace() || matches!(c, ',' | '>' | '+' | '~') => break,
                None => break,
                Some(_) => return Err(self.wrong(WANTED)),
            }
        }
        if self.at == start { Err(self.wrong(WANTED)) } else { Ok(compound) }
    }

    /// `#id` and `.class`.
    fn named(&mut self, name: &str, how: How) -> Result<Test, ParseError> {
        self.at += 1;
        let value = self.name()?.as_bytes().into();
        Ok(Test { name: name.as_bytes().into(), how, value })
    }

    fn name(&mut self) -> Result<&'a str, ParseError> {
        let rest = &self.text[self.at..];
        let len = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        if len == 0 {
            return Err(self.wrong("a name"));
        }
        self.at += len;
        Ok(&rest[..len])
    }

    /// `[name]`, `[name=value]`, `[name^="value"]`.
    fn attribute(&mut self) -> Result<Test, ParseError> {
        self.at += 1;
        self.blanks();
        let name = lower(self.name()?);
        self.blanks();
        let rest = &self.text[self.at..];
        let hows = [
            ("=", How::Equal),
            ("~=", How::Word),
            ("|=", How::Dash),
            ("^=", How::Begins),
            ("$=", How::Ends),
            ("*=", How::Contains),
        ];
        let how = hows.into_iter().find(|(sign, _)| rest.starts_with(sign));
        let (how, value) = match how {
            None => (How::Present, Box::default()),
            Some((sign, how)) => {
                self.at += sign.len();
                self.blanks();
                (how, self.value()?)
            }
        };
        self.blanks();
        if self.peek() != Some(']') {
            return Err(self.wrong("`]` behind the attribute"));
        }
        self.at += 1;
        Ok(Test { name, how, value })
    }

    /// A name, or a text in quotes.
    fn value(&mut self) -> Result<Box<[u8]>, ParseError> {
        let Some(quote @ ('"' | '\'')) = self.peek() else {
            return Ok(self.name()?.as_bytes().into());
        };
        let rest = &self.text[self.at + 1..];
        let Some(len) = rest.find(quote) else {
            return Err(self.wrong("a value that ends with its quote"));
        };
        self.at += len + 2;
        Ok(rest.as_bytes()[..len].into())
    }
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_') || !c.is_ascii()
}

fn lower(name: &str) -> Box<[u8]> {
    name.to_ascii_lowercase().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_selector_is_said_with_its_place() {
        for (text, at) in [
            ("", 0),
            ("   ", 3),
            ("a,", 2),
            ("> a", 0),
            ("a >", 3),
            ("a > > b", 4),
            ("a:first-child", 1),
            ("a + b", 2),
            ("a ~ b", 2),
            (".", 1),
            ("#", 1),
            ("[", 1),
            ("[a", 2),
            ("[a=]", 3),
            ("[a='x]", 3),
            ("[a=x y]", 5),
            ("a..b", 2),
            ("a|b", 1),
        ] {
            let error = Selector::parse(text).unwrap_err();
            assert_eq!(error.at, at, "{text}: {error:?}");
        }
        assert!(Selector::parse(&"a ".repeat(33)).is_err());
        assert!(Selector::parse(&"a ".repeat(32)).is_ok());
    }
}
