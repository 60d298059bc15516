//! A page as what it says: its head, which answers first, and its sections, each a list of blocks.
//!
//! A page is made as data. [`Document::html`] writes it for a browser, and [`Document::text`] as
//! plain text, in which every word and figure stands and each drawing is a digest: that is what
//! goldens hold, so that a difference can be read.

mod html;
mod pictures;
mod text;

use plimsoll_draw::chart::Chart;

pub(crate) use html::Parts;
pub use pictures::Picture;

pub(crate) use crate::table::{Cell, Column, Grid, Table};

/// A page.
pub struct Document {
    /// What it is called.
    pub(crate) title: String,
    /// What stands before the sections: the answer, and whether to believe it.
    pub(crate) head: Vec<Block>,
    /// The sections, in order.
    pub(crate) sections: Vec<Section>,
    /// Whether several runs stand side by side: their charts take the whole width.
    pub(crate) is_several: bool,
}

/// A part of a page with a heading, to which the page's navigation leads.
pub(crate) struct Section {
    /// Its anchor; a letter first.
    pub(crate) id: &'static str,
    /// Its heading.
    pub(crate) title: String,
    /// What it holds.
    pub(crate) blocks: Vec<Block>,
}

/// What stands in a page.
pub(crate) enum Block {
    /// A paragraph.
    Paragraph(Manner, String),
    /// A heading below that of a section.
    Heading(String),
    /// Short facts on one line.
    Facts(Vec<String>),
    /// A judgement, and the reasons for it.
    Verdict(Verdict),
    /// A titled list of sentences that a reader should know.
    Notice(&'static str, Vec<String>),
    /// The figures that are read first.
    Tiles(Vec<Tile>),
    /// Words, each with what it means.
    Notes(Vec<(String, String)>),
    /// Titled lists of names with their values, beside each other.
    Lists(Vec<(&'static str, Vec<(String, String)>)>),
    /// A table.
    Table(Grid),
    /// Charts; those that show nothing of note are named in one line.
    Charts(Vec<Box<dyn Chart>>),
    /// Blocks that are folded away: what opens them, and which they are.
    Folded(String, Vec<Block>),
    /// Text word for word.
    Verbatim(String),
    /// Blocks whose figures are not to be relied upon.
    Doubtful(Vec<Block>),
}

/// What a paragraph is for, and so how it looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// What the page is about; the first words, up to the first ` · `, stand out.
    Asked,
    /// How to read what follows.
    Words,
    /// A note on what stands above it.
    Note,
    /// There is nothing to show, and why.
    Nothing,
}

/// A judgement.
#[derive(Debug, Clone, Default)]
pub(crate) struct Verdict {
    /// `good`, `poor` or `open`.
    pub(crate) class: &'static str,
    /// The judgement in a sentence or two.
    pub(crate) says: String,
    /// Reasons, and what else is to be said, a sentence each.
    pub(crate) reasons: Vec<String>,
}

/// A figure of the head.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tile {
    /// What it is.
    pub(crate) name: &'static str,
    /// What that means; empty where the detail says it.
    pub(crate) meaning: &'static str,
    /// The figure.
    pub(crate) value: String,
    /// What it is made of; may be empty.
    pub(crate) detail: String,
    /// Whether something is wrong with it: `poor`, or empty.
    pub(crate) class: &'static str,
}

impl Section {
    /// A section.
    pub(crate) fn new(id: &'static str, title: impl Into<String>, blocks: Vec<Block>) -> Self {
        Self { id, title: title.into(), blocks }
    }
}

/// A paragraph that tells how to read what follows.
pub(crate) fn words(text: impl Into<String>) -> Block {
    Block::Paragraph(Manner::Words, text.into())
}

/// A note on what stands above it.
pub(crate) fn note(text: impl Into<String>) -> Block {
    Block::Paragraph(Manner::Note, text.into())
}

/// That there is nothing to show, and why.
pub(crate) fn nothing(text: impl Into<String>) -> Block {
    Block::Paragraph(Manner::Nothing, text.into())
}

/// What the page is about.
pub(crate) fn asked(text: impl Into<String>) -> Block {
    Block::Paragraph(Manner::Asked, text.into())
}

/// Warnings, a sentence each; nothing where there is none.
pub(crate) fn warnings(all: &[String]) -> Option<Block> {
    let title = if all.len() == 1 { "Warning" } else { "Warnings" };
    (!all.is_empty()).then(|| Block::Notice(title, all.to_vec()))
}

/// Notes that were fixed at compile time.
pub(crate) fn fixed_notes(all: &[(&str, &str)]) -> Block {
    Block::Notes(all.iter().map(|(word, text)| ((*word).to_owned(), (*text).to_owned())).collect())
}

/// A chart as it stands in a block of them.
pub(crate) fn chart(chart: impl Chart + 'static) -> Box<dyn Chart> {
    Box::new(chart)
}

/// The letter of one among several; after Z come AA, AB and so on, as columns of a sheet are named.
pub(crate) fn letter(index: usize) -> String {
    const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let before =
        if index < LETTERS.len() { String::new() } else { letter(index / LETTERS.len() - 1) };
    before + &LETTERS[index % LETTERS.len()..][..1]
}

#[cfg(test)]
mod tests {
    use super::letter;

    #[test]
    fn after_the_last_letter_come_two() {
        let found = [0, 25, 26, 27, 51, 52, 701, 702].map(letter);
        assert_eq!(found, ["A", "Z", "AA", "AB", "AZ", "BA", "ZZ", "AAA"]);
    }
}
