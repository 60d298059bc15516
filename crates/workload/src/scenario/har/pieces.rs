//! Texts with holes, as they are written into a scenario: what every user sends, and names in the
//! place of what a scenario must not hold, or cannot know.

use std::ops::Range;

use crate::scenario::encoding::{Encoding, Pipe, is_of_target, percent};

/// A name in the place of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hole {
    /// `env.PASSWORD`, or a variable.
    pub(super) name: String,
    /// What was recorded there.
    pub(super) value: String,
    /// What is done to the value before it enters, each behind a bar.
    pub(super) pipes: Vec<&'static str>,
}

impl Hole {
    pub(super) fn new(name: String, value: &str) -> Self {
        Self { name, value: value.to_owned(), pipes: Vec::new() }
    }

    /// The same where the text has the value in an encoding of its own, if that is known.
    fn as_written(&self, text: &str) -> Option<Self> {
        if text == self.value {
            return Some(self.clone());
        }
        let is_blank_plus = |piped: &Self| piped.value == text.replace('+', "%20");
        let pipes = [Pipe::Json, Pipe::UrlEncode, Pipe::Base64];
        pipes
            .into_iter()
            .map(|pipe| self.piped(pipe))
            .find(|piped| piped.value == text || is_blank_plus(piped))
    }

    fn piped(&self, pipe: Pipe) -> Self {
        let changed = pipe.through(self.value.as_bytes());
        let changed = String::from_utf8(changed).unwrap_or_default();
        let mut piped = self.clone();
        if changed != self.value {
            piped.pipes.push(pipe.name());
            piped.value = changed;
        }
        piped
    }
}

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Literal(String),
    Hole(Hole),
}

/// A text with holes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Pieces(Vec<Piece>);

impl Pieces {
    #[cfg(test)]
    pub(super) fn literal(text: &str) -> Self {
        let mut pieces = Self::default();
        pieces.push(text);
        pieces
    }

    pub(super) fn of_hole(hole: Hole) -> Self {
        Self(vec![Piece::Hole(hole)])
    }

    /// Appends what every user sends.
    pub(super) fn push(&mut self, text: &str) {
        match self.0.last_mut() {
            Some(Piece::Literal(last)) => last.push_str(text),
            _ if text.is_empty() => {}
            _ => self.0.push(Piece::Literal(text.to_owned())),
        }
    }

    pub(super) fn append(&mut self, other: Self) {
        for piece in other.0 {
            match piece {
                Piece::Literal(text) => self.push(&text),
                hole @ Piece::Hole(_) => self.0.push(hole),
            }
        }
    }

    /// A hole where the text has its value in an encoding of its own, if that is known.
    pub(super) fn as_written(&self, text: &str) -> Option<Self> {
        match &self.0[..] {
            [Piece::Hole(hole)] => Some(Self::of_hole(hole.as_written(text)?)),
            _ => None,
        }
    }

    pub(super) fn count_holes(&self) -> usize {
        self.0.iter().filter(|piece| matches!(piece, Piece::Hole(_))).count()
    }

    pub(super) fn has_holes(&self) -> bool {
        self.0.iter().any(|piece| matches!(piece, Piece::Hole(_)))
    }

    /// A text in which some ranges are holes; they are in order and apart.
    pub(super) fn spliced(
        text: &str,
        holes: impl IntoIterator<Item = (Range<usize>, Self)>,
    ) -> Self {
        let (mut pieces, mut at) = (Self::default(), 0);
        for (range, hole) in holes {
            pieces.push(&text[at..range.start]);
            pieces.append(hole);
            at = range.end;
        }
        pieces.push(&text[at..]);
        pieces
    }

    fn each(&self, literal: impl Fn(&str) -> String, hole: impl Fn(&Hole) -> Hole) -> Self {
        let each = |piece: &Piece| match piece {
            Piece::Literal(text) => Piece::Literal(literal(text)),
            Piece::Hole(of) => Piece::Hole(hole(of)),
        };
        Self(self.0.iter().map(each).collect())
    }

    /// The same within a string of JSON.
    pub(super) fn in_json(&self) -> Self {
        self.each(|text| encoded(Encoding::Json, text), |hole| hole.piped(Pipe::Json))
    }

    /// The same within a query or a form that is written as it goes.
    pub(super) fn url_encoded(&self) -> Self {
        self.each(|text| encoded(Encoding::Query, text), |hole| hole.piped(Pipe::UrlEncode))
    }

    /// The same within a query, whose holes are encoded where they are filled in.
    pub(super) fn in_query(&self) -> Self {
        self.each(|text| encoded(Encoding::Query, text), Hole::clone)
    }

    /// The same within a segment of a path.
    pub(super) fn in_path(&self) -> Self {
        let literal = |text: &str| {
            let mut out = Vec::new();
            let stays = |byte| is_of_target(byte) && !b"/?#%".contains(&byte);
            percent(text.as_bytes(), stays, &mut out);
            String::from_utf8(out).unwrap_or_default()
        };
        self.each(literal, Hole::clone)
    }

    /// The text as a scenario has it: `{{` of what is sent is `\{{`.
    pub(super) fn template(&self) -> String {
        let mut out = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Literal(text) => out.push_str(&text.replace("{{", "\\{{")),
                Piece::Hole(Hole { name, pipes, .. }) => {
                    let pipes: String = pipes.iter().map(|pipe| format!(" | {pipe}")).collect();
                    out.push_str(&format!("{{{{{name}{pipes}}}}}"));
                }
            }
        }
        out
    }
}

fn encoded(encoding: Encoding, text: &str) -> String {
    let mut out = Vec::new();
    encoding.append(text.as_bytes(), false, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_encoded_where_the_value_needs_it() {
        let hole = |value: &str| Pieces::of_hole(Hole::new("env.A".to_owned(), value));
        let text = Pieces::spliced("x{{\"y", [(1..1, hole("p\"w")), (4..4, hole("pw"))]);
        assert_eq!(text.template(), "x{{env.A}}\\{{\"{{env.A}}y");
        assert_eq!(text.in_json().template(), "x{{env.A | json}}\\{{\\\"{{env.A}}y");
        let twice = text.in_json().in_json().template();
        assert_eq!(twice, "x{{env.A | json | json}}\\{{\\\\\\\"{{env.A}}y");
        assert_eq!(text.in_query().template(), "x{{env.A}}%7B%7B%22{{env.A}}y");
        assert_eq!(text.url_encoded().template(), "x{{env.A | urlencode}}%7B%7B%22{{env.A}}y");
        assert!(text.has_holes() && !Pieces::literal("x").has_holes());
    }
}
