//! A document for a browser: one file without any outside reference.

use plimsoll_draw::chart::Chart;
use plimsoll_draw::{EXPLORE, Markup, READOUT, styled};

use super::{Block, Cell, Document, Grid, Manner, Tile, Verdict};

/// A load line's mark: a circle with a line through it.
const MARK: &str = "<svg class=\"mark-logo\" width=\"20\" height=\"20\" viewBox=\"0 0 20 20\" \
     aria-hidden=\"true\"><circle cx=\"10\" cy=\"10\" r=\"6\"/><path d=\"M0 10h20\"/></svg>";

/// So many tiles are wider than others.
const FEW: usize = 4;

/// A page as the parts of which it is put together.
pub(crate) struct Parts {
    /// What it is called.
    pub(crate) title: String,
    /// Whether one run is shown or several, as a class of its body.
    pub(crate) class: &'static str,
    /// What stands in its header.
    pub(crate) header: Markup,
    /// What stands in each of its sections, by their anchors.
    pub(crate) sections: Vec<(&'static str, Markup)>,
}

impl Document {
    /// The page as HTML.
    #[must_use]
    pub fn html(&self) -> String {
        self.parts().html(|_| {}, &[])
    }

    /// The page in parts.
    pub(crate) fn parts(&self) -> Parts {
        let (mut header, mut sections) = (Markup::default(), Vec::new());
        self.write_header(&mut header);
        for section in &self.sections {
            let mut m = Markup::default();
            m.leaf("h2", &[], &section.title);
            write_all(&mut m, &section.blocks);
            sections.push((section.id, m));
        }
        let class = if self.is_several { "several" } else { "one" };
        Parts { title: format!("{} – Plimsoll report", self.title), class, header, sections }
    }

    fn write_header(&self, m: &mut Markup) {
        m.tag("p", &[("class", &"brand")], |m| {
            m.verbatim(MARK);
            m.text("Plimsoll report");
        });
        m.leaf("h1", &[], &self.title);
        write_all(m, &self.head);
        m.tag("nav", &[("aria-label", &"Sections")], |m| {
            for section in &self.sections {
                m.leaf("a", &[("href", &format!("#{}", section.id))], &section.title);
            }
        });
    }
}

impl Parts {
    /// The page as HTML, with what stands above its header, and with scripts of its own.
    pub(crate) fn html(&self, above: impl FnOnce(&mut Markup), scripts: &[&'static str]) -> String {
        let mut m = Markup::default();
        plimsoll_draw::page(&mut m, &self.title, styled, &[("class", &self.class)], |m| {
            above(m);
            m.tag("header", &[], |m| m.append(&self.header));
            m.tag("main", &[], |m| m.append(&self.main()));
            m.tag("script", &[], |m| [READOUT, EXPLORE].iter().for_each(|of| m.verbatim(of)));
            for script in scripts {
                m.tag("script", &[], |m| m.verbatim(script));
            }
        });
        m.finish()
    }

    /// All sections.
    pub(crate) fn main(&self) -> Markup {
        let mut m = Markup::default();
        for (id, inside) in &self.sections {
            m.tag("section", &[("id", id)], |m| m.append(inside));
        }
        m
    }
}

fn write_all(m: &mut Markup, blocks: &[Block]) {
    for block in blocks {
        write_block(m, block);
    }
}

fn write_block(m: &mut Markup, block: &Block) {
    match block {
        Block::Paragraph(manner, text) => write_paragraph(m, *manner, text),
        Block::Heading(text) => m.leaf("h3", &[], text),
        Block::Facts(facts) => m.tag("p", &[("class", &"identity")], |m| {
            facts.iter().for_each(|fact| m.leaf("span", &[], fact));
        }),
        Block::Verdict(verdict) => write_verdict(m, verdict),
        Block::Notice(title, items) => write_notice(m, title, items),
        Block::Tiles(tiles) => {
            let class = match tiles.len() {
                ..=FEW => "tiles few",
                9..=10 => "tiles two-rows",
                _ => "tiles",
            };
            m.tag("dl", &[("class", &class)], |m| tiles.iter().for_each(|one| write_tile(m, one)));
        }
        Block::Notes(notes) => write_notes(m, notes),
        Block::Lists(lists) => write_lists(m, lists),
        Block::Table(grid) => write_table(m, grid),
        Block::Charts(charts) => write_charts(m, charts),
        Block::Folded(title, blocks) => m.tag("details", &[("class", &"more")], |m| {
            m.leaf("summary", &[], title);
            write_all(m, blocks);
        }),
        Block::Verbatim(text) => m.leaf("pre", &[("class", &"plan"), ("tabindex", &"0")], text),
        Block::Doubtful(blocks) => {
            m.tag("div", &[("class", &"doubtful")], |m| write_all(m, blocks));
        }
    }
}

fn write_paragraph(m: &mut Markup, manner: Manner, text: &str) {
    let class = match manner {
        Manner::Asked => "asked",
        Manner::Words => "words",
        Manner::Note => "note after",
        Manner::Nothing => "nothing",
    };
    m.tag("p", &[("class", &class)], |m| match text.split_once(" · ") {
        Some((first, rest)) if manner == Manner::Asked => {
            m.leaf("b", &[], first);
            m.text(" · ");
            m.text(rest);
        }
        _ => m.text(text),
    });
}

fn write_verdict(m: &mut Markup, verdict: &Verdict) {
    m.tag("div", &[("class", &format!("verdict {}", verdict.class))], |m| {
        m.leaf("p", &[("class", &"says")], &verdict.says);
        for reason in &verdict.reasons {
            m.leaf("p", &[], reason);
        }
    });
}

fn write_notice(m: &mut Markup, title: &str, items: &[String]) {
    m.tag("div", &[("class", &"warnings")], |m| {
        m.leaf("p", &[("class", &"says")], title);
        m.tag("ul", &[], |m| items.iter().for_each(|item| m.leaf("li", &[], item)));
    });
}

fn write_tile(m: &mut Markup, tile: &Tile) {
    m.tag("div", &[("class", &format!("tile {}", tile.class))], |m| {
        m.leaf("dt", &[], tile.name);
        m.leaf("dd", &[("class", &"figure")], &tile.value);
        let small = if tile.detail.is_empty() { tile.meaning } else { &tile.detail };
        m.leaf("dd", &[("class", &"detail")], small);
    });
}

fn write_notes(m: &mut Markup, notes: &[(String, String)]) {
    m.tag("dl", &[("class", &"notes")], |m| {
        for (word, meaning) in notes {
            m.tag("div", &[], |m| {
                m.leaf("dt", &[], word);
                m.leaf("dd", &[], meaning);
            });
        }
    });
}

fn write_lists(m: &mut Markup, lists: &[(&'static str, Vec<(String, String)>)]) {
    m.tag("div", &[("class", &"lists")], |m| {
        for (title, facts) in lists {
            m.tag("div", &[("class", &"list")], |m| {
                m.leaf("h4", &[], title);
                if facts.is_empty() {
                    m.leaf("p", &[("class", &"nothing")], "none");
                    return;
                }
                m.tag("dl", &[], |m| {
                    for (name, value) in facts {
                        m.leaf("dt", &[], name);
                        m.leaf("dd", &[], value);
                    }
                });
            });
        }
    });
}

fn write_table(m: &mut Markup, grid: &Grid) {
    let is_card = grid.class.contains("policies")
        || grid.class.contains("percentiles")
        || grid.class.contains("paired");
    let class = if is_card { "scroll card" } else { "scroll" };
    m.tag("div", &[("class", &class), ("tabindex", &"0")], |m| {
        let mut attributes: Vec<plimsoll_draw::Attribute<'_>> = vec![("class", &grid.class)];
        if !grid.id.is_empty() {
            attributes.push(("id", &grid.id));
        }
        m.tag("table", &attributes, |m| {
            m.tag("thead", &[], |m| {
                m.tag("tr", &[], |m| {
                    for head in &grid.heads {
                        m.tag("th", &[("scope", &"col")], |m| write_cell(m, head));
                    }
                });
            });
            m.tag("tbody", &[], |m| {
                for row in &grid.rows {
                    m.tag("tr", &[], |m| write_row(m, row));
                }
            });
        });
    });
}

fn write_row(m: &mut Markup, row: &[Cell]) {
    for (column, cell) in row.iter().enumerate() {
        match (column, cell.is_doubtful) {
            (0, _) => m.tag("th", &[("scope", &"row")], |m| write_cell(m, cell)),
            (_, true) => m.tag("td", &[("class", &"doubtful")], |m| write_cell(m, cell)),
            (_, false) => m.tag("td", &[], |m| write_cell(m, cell)),
        }
    }
}

fn write_cell(m: &mut Markup, cell: &Cell) {
    if !cell.letter.is_empty() {
        m.leaf("b", &[], &cell.letter);
        m.text(" ");
    }
    match cell.class {
        "" => m.text(&cell.text),
        class => m.leaf("b", &[("class", &class)], &cell.text),
    }
    if let Some((class, word)) = &cell.chip {
        m.text(" ");
        m.leaf("span", &[("class", &format!("chip {class}"))], word);
    }
    if !cell.after.is_empty() {
        m.text(" ");
        m.text(&cell.after);
    }
    if !cell.small.is_empty() {
        m.leaf("small", &[], &cell.small);
    }
}

/// Writes the charts, and the names of those that show nothing of note.
fn write_charts(m: &mut Markup, charts: &[Box<dyn Chart>]) {
    m.tag("div", &[("class", &"figures")], |m| {
        charts.iter().filter(|chart| !chart.is_quiet()).for_each(|chart| chart.write(m));
    });
    if let Some(text) = quiet_line(charts) {
        m.leaf("p", &[("class", &"note after")], text);
    }
}

/// What is said of charts that show nothing of note; `None` of none.
pub(super) fn quiet_line(charts: &[Box<dyn Chart>]) -> Option<String> {
    let quiet = charts.iter().filter(|chart| chart.is_quiet());
    let titles: Vec<&str> = quiet.map(|chart| chart.caption().0).collect();
    (!titles.is_empty()).then(|| format!("Nothing of note: {}.", titles.join("; ")))
}
