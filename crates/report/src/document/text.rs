//! A document as plain text: every word and figure of it, and a digest of each drawing.

use std::fmt::{Display, Write};

use plimsoll_draw::Markup;
use plimsoll_draw::chart::Chart;

use super::html::quiet_line;
use super::{Block, Cell, Document, Grid, Tile};

impl Document {
    /// The page as text. A chart is its title, its note and a digest of what is drawn.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = format!("# {}\n", self.title);
        all(&mut out, &self.head);
        for section in &self.sections {
            line(&mut out, format_args!("\n## {} #{}", section.title, section.id));
            all(&mut out, &section.blocks);
        }
        out
    }
}

fn all(out: &mut String, blocks: &[Block]) {
    blocks.iter().for_each(|block| one(out, block));
}

fn one(out: &mut String, block: &Block) {
    out.push('\n');
    match block {
        Block::Paragraph(_, text) => line(out, text),
        Block::Heading(text) => line(out, format_args!("### {text}")),
        Block::Facts(facts) => line(out, facts.join(" · ")),
        Block::Verdict(of) => {
            line(out, format_args!("[{}] {}", of.class, of.says));
            items(out, &of.reasons);
        }
        Block::Notice(title, list) => {
            line(out, format_args!("{title}:"));
            items(out, list);
        }
        Block::Tiles(tiles) => tiles.iter().for_each(|of| tile(out, of)),
        Block::Notes(notes) => pairs(out, notes),
        Block::Lists(lists) => {
            for (title, facts) in lists {
                line(out, format_args!("{title}:"));
                pairs(out, facts);
            }
        }
        Block::Table(grid) => table(out, grid),
        Block::Charts(charts) => of_charts(out, charts),
        Block::Folded(title, blocks) => {
            line(out, format_args!("[+] {title}"));
            all(out, blocks);
        }
        Block::Verbatim(text) => line(out, text),
        Block::Doubtful(blocks) => {
            out.push_str("(not to be relied upon)\n");
            all(out, blocks);
        }
    }
}

fn line(out: &mut String, text: impl Display) {
    // Writing to a string does not fail.
    let _ = writeln!(out, "{text}");
}

fn items(out: &mut String, items: &[String]) {
    items.iter().for_each(|item| line(out, format_args!("- {item}")));
}

fn pairs(out: &mut String, pairs: &[(String, String)]) {
    pairs.iter().for_each(|(name, value)| line(out, format_args!("- {name}: {value}")));
}

fn tile(out: &mut String, tile: &Tile) {
    let small = if tile.detail.is_empty() { tile.meaning } else { &tile.detail };
    let class = if tile.class.is_empty() { "" } else { " [poor]" };
    line(out, format_args!("- {}: {} ({small}){class}", tile.name, tile.value));
}

fn table(out: &mut String, grid: &Grid) {
    let row = |cells: &[Cell]| {
        let cells: Vec<String> = cells.iter().map(cell).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    out.push_str(&row(&grid.heads));
    grid.rows.iter().for_each(|cells| out.push_str(&row(cells)));
}

fn cell(cell: &Cell) -> String {
    let mut text = cell.text.clone();
    if !cell.letter.is_empty() {
        text = format!("{} {text}", cell.letter);
    }
    if let Some((class, word)) = &cell.chip {
        let _ = write!(text, " [{class}: {word}]");
    }
    for more in [&cell.after, &cell.small] {
        if !more.is_empty() {
            let _ = write!(text, " ({more})");
        }
    }
    if cell.is_doubtful { format!("~{text}~") } else { text }
}

fn of_charts(out: &mut String, charts: &[Box<dyn Chart>]) {
    for chart in charts.iter().filter(|chart| !chart.is_quiet()) {
        let mut m = Markup::default();
        chart.write(&mut m);
        let ((title, note), digest) = (chart.caption(), m.digest());
        line(out, format_args!("[chart] {title}\n  {note}\n  drawing {digest:016x}"));
    }
    if let Some(text) = quiet_line(charts) {
        line(out, format_args!("{text}"));
    }
}
