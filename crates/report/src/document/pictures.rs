//! The charts of a document as files of their own.

use super::{Block, Document};

/// The longest name of a file, without its end.
const MOST_NAME: usize = 60;

/// A chart of a page as a file of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// What its file may be called: its title in small letters, digits and `-`, without an end;
    /// unique among the pictures of a document.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// The file: an SVG that needs no other.
    pub svg: String,
    /// Whether its figures are not to be relied upon, which its description says too.
    pub is_doubtful: bool,
}

impl Document {
    /// The charts of the page, in its order, without those of which it shows no more than the name.
    #[must_use]
    pub fn pictures(&self) -> Vec<Picture> {
        let mut all = Vec::new();
        let blocks = self.sections.iter().flat_map(|section| &section.blocks);
        // Where its first figures are in doubt, so are the rest: the run is not valid.
        let is_doubtful = self.head.iter().any(|block| matches!(block, Block::Doubtful(_)));
        self.head.iter().chain(blocks).for_each(|block| collect(block, is_doubtful, &mut all));
        all
    }
}

fn collect(block: &Block, is_doubtful: bool, out: &mut Vec<Picture>) {
    match block {
        Block::Charts(charts) => {
            for chart in charts.iter().filter(|chart| !chart.is_quiet()) {
                let title = chart.caption().0.to_owned();
                let name = name(&title, out);
                let svg = chart.svg(if is_doubtful { "Not to be relied upon." } else { "" });
                out.push(Picture { name, title, svg, is_doubtful });
            }
        }
        Block::Folded(_, blocks) => blocks.iter().for_each(|of| collect(of, is_doubtful, out)),
        Block::Doubtful(blocks) => blocks.iter().for_each(|of| collect(of, true, out)),
        _ => {}
    }
}

/// A name that none of the pictures before has.
fn name(title: &str, before: &[Picture]) -> String {
    let words = title.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let joined = words.collect::<Vec<_>>().join("-").to_ascii_lowercase();
    let first = match joined.get(..MOST_NAME).unwrap_or(&joined).trim_end_matches('-') {
        "" => "figure",
        name => name,
    };
    let is_free = |name: &String| before.iter().all(|picture| picture.name != *name);
    let others = (2..).map(|number| format!("{first}-{number}"));
    std::iter::once(first.to_owned()).chain(others).find(is_free).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_of_titles_and_each_once() {
        let mut all = Vec::new();
        for title in ["Response time", "Response time!", "response-time", "", "…", "µs / ms"] {
            let name = name(title, &all);
            let (title, svg) = (title.to_owned(), String::new());
            all.push(Picture { name, title, svg, is_doubtful: false });
        }
        let names: Vec<&str> = all.iter().map(|picture| picture.name.as_str()).collect();
        let expected =
            ["response-time", "response-time-2", "response-time-3", "figure", "figure-2", "s-ms"];
        assert_eq!(names, expected);
        assert!(name(&"long ".repeat(40), &[]).len() <= MOST_NAME);
    }
}
