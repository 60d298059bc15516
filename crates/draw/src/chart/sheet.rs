//! A chart upon a sheet of its own: an SVG that needs no page, no other style sheet, no script and
//! no font.
//!
//! Title and legend are of SVG, as is all else, so that programs other than browsers show them; the
//! style has colours for white paper and no variables, which such programs do not know. How the
//! chart is to be read is its `desc`: in a paper that stands in the caption.

use std::collections::BTreeMap;

use super::heat::CLASSES;
use super::symbol::Symbol;
use crate::{Attribute, Markup, STYLE};

/// Width of a sheet, pixels.
pub(super) const WIDTH: f64 = 720.0;
/// What is left free beside a panel, for half a label of its axis.
pub(super) const SIDE: f64 = 28.0;
/// What is left free at its edges, beside a panel's own.
const EDGE: f64 = 16.0;
/// Width of a character of the legend, and of the title, about.
const CHARACTER: f64 = 7.7;
const OF_TITLE: f64 = 8.2;
/// Height of a line of the legend, and of the title.
const LINE: f64 = 20.0;
/// Width of a colour of a strip.
const COLOUR: f64 = 15.0;

/// What stands before a name in the legend.
#[derive(Debug, Clone)]
pub(super) enum Mark<'a> {
    /// Nothing.
    None,
    /// A line or a block, by its classes.
    Class(&'a str),
    /// A symbol and its colour.
    Symbol(Symbol, &'a str),
    /// A letter.
    Letter(&'a str),
    /// The colours of levels; what the first stands for.
    Strip(&'a str),
}

/// What a panel has around its drawing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Around<'a> {
    /// What the panel is of, where there are several; may be empty.
    pub(super) heading: &'a str,
    /// What the upright axis counts; may be empty.
    pub(super) above: &'a str,
    /// What the axis across counts; may be empty.
    pub(super) below: &'a str,
    /// What is free at its left edge, above it and below it, for labels.
    pub(super) free: (f64, f64, f64),
    /// The height of the drawing.
    pub(super) height: f64,
    /// The view box of the drawing, where it has one.
    pub(super) view: Option<(f64, f64)>,
}

/// A sheet under construction, from above.
#[derive(Debug)]
pub struct Sheet {
    /// What stands upon it.
    m: Markup,
    title: String,
    note: String,
    /// Where the next thing begins.
    y: f64,
    /// Where the next entry of the legend begins.
    x: f64,
}

impl Sheet {
    /// A sheet of that title, and of how to read what is drawn upon it.
    pub(super) fn new((title, note): (&str, &str)) -> Self {
        let mut m = Markup::default();
        let mut y = EDGE;
        for line in lines(title, (WIDTH - 2.0 * EDGE) / OF_TITLE) {
            y += LINE;
            let at: &[Attribute<'_>] = &[("class", &"title"), ("x", &EDGE), ("y", &(y - 5.0))];
            m.leaf("text", at, line);
        }
        Self { m, title: title.to_owned(), note: note.to_owned(), y, x: EDGE }
    }

    /// Writes an entry of the legend; what does not fit into a line begins the next.
    pub(super) fn key(&mut self, mark: &Mark<'_>, name: &str) {
        let of_mark = match mark {
            Mark::None => 0.0,
            Mark::Class(_) => 26.0,
            Mark::Symbol(..) => 18.0,
            Mark::Letter(letter) => width(letter) + 6.0,
            Mark::Strip(first) => width(first) + COLOUR * CLASSES.len() as f64 + 14.0,
        };
        let entry = of_mark + width(name);
        if self.x + entry > WIDTH - EDGE && self.x > EDGE {
            self.end_line();
        }
        if self.x <= EDGE {
            self.y += LINE;
        }
        let (x, y) = (self.x, self.y - 5.0);
        self.write_mark(mark, (x, y));
        for (index, line) in lines(name, (WIDTH - EDGE - x - of_mark) / CHARACTER).enumerate() {
            self.y += if index > 0 { LINE } else { 0.0 };
            let at = (x + of_mark, self.y - 5.0);
            write_text(&mut self.m, "legend", at, line);
        }
        self.x += entry + 18.0;
    }

    /// Ends a line of the legend.
    pub(super) fn end_line(&mut self) {
        self.x = EDGE;
    }

    fn write_mark(&mut self, mark: &Mark<'_>, (x, y): (f64, f64)) {
        let m = &mut self.m;
        match mark {
            Mark::None => {}
            Mark::Class(class) => write_sample(m, class, (x, y - 4.5)),
            Mark::Symbol(symbol, tone) => {
                symbol.write(m, tone, &format!("{}", x + 6.0), &format!("{}", y - 4.5));
            }
            Mark::Letter(letter) => m.tag("g", &[("class", &"legend")], |m| {
                write_text(m, "short", (x, y), letter);
            }),
            Mark::Strip(first) => {
                write_text(m, "legend", (x, y), first);
                let mut x = x + width(first) + 6.0;
                for class in CLASSES {
                    let class = format!("b {class}");
                    let at: &[Attribute<'_>] = &[
                        ("class", &class),
                        ("x", &x),
                        ("y", &(y - 10.0)),
                        ("width", &COLOUR),
                        ("height", &12),
                    ];
                    m.shape("rect", at);
                    x += COLOUR;
                }
            }
        }
    }

    /// Writes a panel, below what there is.
    pub(super) fn panel(&mut self, around: &Around<'_>, inside: impl FnOnce(&mut Markup)) {
        let (left, above, below) = around.free;
        let across = WIDTH - left - SIDE;
        self.end_line();
        self.y += 10.0;
        for (class, text) in [("heading", around.heading), ("axis", around.above)] {
            if !text.is_empty() {
                self.y += LINE;
                write_text(&mut self.m, class, (EDGE, self.y - 5.0), text);
            }
        }
        self.y += above;
        let view = around.view.map(|(width, height)| format!("0 0 {width} {height}"));
        let mut at: Vec<Attribute<'_>> = vec![
            ("class", &"chart"),
            ("x", &left),
            ("y", &self.y),
            ("width", &across),
            ("height", &around.height),
            ("overflow", &"visible"),
        ];
        at.extend(view.iter().map(|view| ("viewBox", view as &dyn std::fmt::Display)));
        self.m.tag("svg", &at, inside);
        self.y += around.height + below;
        if !around.below.is_empty() {
            self.y += LINE - 6.0;
            let at = (left + across / 2.0, self.y - 5.0);
            write_text(&mut self.m, "axis across", at, around.below);
        }
    }

    /// The sheet as an SVG file.
    pub(super) fn finish(self) -> String {
        let height = (self.y + EDGE).ceil();
        let view = format!("0 0 {WIDTH} {height}");
        let mut m = Markup::default();
        m.verbatim("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let attributes: &[Attribute<'_>] = &[
            ("xmlns", &"http://www.w3.org/2000/svg"),
            ("width", &WIDTH),
            ("height", &height),
            ("viewBox", &view),
            ("role", &"img"),
        ];
        m.tag("svg", attributes, |m| {
            m.leaf("title", &[], &self.title);
            if !self.note.is_empty() {
                m.leaf("desc", &[], &self.note);
            }
            m.leaf("style", &[], style());
            let paper: &[Attribute<'_>] =
                &[("class", &"paper"), ("width", &WIDTH), ("height", &height)];
            m.shape("rect", paper);
            m.append(&self.m);
        });
        m.verbatim("\n");
        m.finish()
    }
}

/// Writes a line or a block as the chart has it.
fn write_sample(m: &mut Markup, class: &str, (x, y): (f64, f64)) {
    let others = class.split(' ').filter(|one| !["line", "block"].contains(one));
    let others: Vec<&str> = others.collect();
    if class.split(' ').any(|one| one == "line") {
        let class = format!("l {}", others.join(" "));
        let at: &[Attribute<'_>] =
            &[("class", &class), ("x1", &x), ("x2", &(x + 20.0)), ("y1", &y), ("y2", &y)];
        m.shape("line", at);
        return;
    }
    let kind = if others.contains(&"hollow") { "part" } else { "b" };
    let class = format!("{kind} {}", others.join(" "));
    let at: &[Attribute<'_>] =
        &[("class", &class), ("x", &(x + 4.0)), ("y", &(y - 6.0)), ("width", &12), ("height", &12)];
    m.shape("rect", at);
}

fn write_text(m: &mut Markup, class: &str, (x, y): (f64, f64), text: &str) {
    m.leaf("text", &[("class", &class), ("x", &x), ("y", &y)], text);
}

/// The width of a text of the legend, about: signs of Chinese are twice as wide as letters.
fn width(text: &str) -> f64 {
    CHARACTER * text.chars().map(|c| if c < '\u{1100}' { 1.0 } else { 2.0 }).sum::<f64>()
}

/// A text in lines of at most so many characters, broken at blanks.
fn lines(text: &str, most: f64) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few dozen")]
        let most = most.max(8.0) as usize;
        let Some((end, _)) = text.char_indices().nth(most) else { return rest.take() };
        let end = text[..end].rfind(' ').filter(|&at| at > 0).unwrap_or(end);
        let (line, after) = text.split_at(end);
        rest = Some(after.trim_start());
        Some(line)
    })
}

/// The style of a sheet: that of charts upon white paper. A tone is the colour of its element.
fn style() -> String {
    let colours = colours();
    let mut out = String::from("\n");
    for line in [include_str!("../sheet.css"), include_str!("../chart.css")].concat().lines() {
        let line = line.replace("var(--tone)", "currentColor").replace("--tone:", "color:");
        let mut parts = line.split("var(--");
        out.push_str(parts.next().unwrap_or_default());
        for part in parts {
            let (name, after) = part.split_once(')').unwrap_or((part, ""));
            out.push_str(colours.get(name).map_or("currentColor", String::as_str));
            out.push_str(after);
        }
        out.push('\n');
    }
    out
}

/// The colours of the light style, by name. Those that let something through are as they look on
/// the surface: not every program knows colours of eight digits.
fn colours() -> BTreeMap<&'static str, String> {
    let light = STYLE.split_once(":root {").map_or("", |(_, rest)| rest);
    let light = light.split_once('}').map_or("", |(light, _)| light);
    let pairs = light.split(';').filter_map(|pair| pair.trim().strip_prefix("--"));
    let pairs = pairs.filter_map(|pair| pair.split_once(": "));
    pairs.map(|(name, colour)| (name, upon_white(colour))).collect()
}

/// A colour of eight digits as it looks upon white; another as it is.
fn upon_white(colour: &str) -> String {
    let number = colour.strip_prefix('#').filter(|digits| digits.len() == 8);
    let Some(number) = number.and_then(|digits| u32::from_str_radix(digits, 16).ok()) else {
        return colour.to_owned();
    };
    let [red, green, blue, alpha] = number.to_be_bytes();
    let mixed = |part: u8| {
        let (part, alpha) = (u32::from(part), u32::from(alpha));
        (part * alpha + 255 * (255 - alpha) + 127) / 255
    };
    format!("#{:02x}{:02x}{:02x}", mixed(red), mixed(green), mixed(blue))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_style_has_no_variable_and_no_colour_that_lets_through() {
        let style = style();
        assert!(!style.contains("var(") && !style.contains("--"), "{style}");
        assert!(!style.contains(['<', '&', '@']), "{style}");
        assert!(style.contains(".c0 { color: #0072b2; }"), "{style}");
        assert!(style.contains(".l {\n  fill: none; stroke: currentColor;"), "{style}");
        for (name, colour) in colours() {
            assert!([4, 7].contains(&colour.len()) && colour.starts_with('#'), "{name} {colour}");
        }
        assert_eq!(upon_white("#00000080"), "#7f7f7f");
    }

    #[test]
    fn lines_are_broken_at_blanks() {
        let broken: Vec<&str> = lines("one two three four", 9.0).collect();
        assert_eq!(broken, ["one two", "three", "four"]);
        assert_eq!(lines("abcdefghijkl", 8.0).collect::<Vec<_>>(), ["abcdefgh", "ijkl"]);
        assert_eq!(lines("", 8.0).collect::<Vec<_>>(), [""]);
    }

    #[test]
    fn a_sheet_is_as_high_as_what_stands_upon_it() {
        let mut sheet = Sheet::new(("a < b", "how"));
        for _ in 0..20 {
            sheet.key(&Mark::Class("line c0 dash"), "a name of some length");
        }
        let around = Around {
            heading: "",
            above: "ms",
            below: "time",
            free: (62.0, 20.0, 30.0),
            height: 220.0,
            view: None,
        };
        sheet.panel(&around, |_| {});
        let text = sheet.finish();
        assert!(text.contains("<title>a &lt; b</title><desc>how</desc><style>"), "{text}");
        assert!(text.contains("width=\"720\" height=\"506\" viewBox=\"0 0 720 506\""), "{text}");
    }
}
