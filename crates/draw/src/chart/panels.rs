//! Draws a figure: its caption, the choice of its scale, its legend, and each panel with its values
//! as a table below it.

use super::figure::{Choice, Draw, Figure, Panel, Series, Stroke};
use super::frame::{self, HEIGHT, WIDTH};
use super::scale::Scale;
use super::sheet::{Mark, Sheet};
use super::{Chart, around};
use super::{heat, lines, stack, table};
use crate::{Attribute, Markup};
use std::fmt::Display;

impl Chart for Figure {
    fn caption(&self) -> (&str, &str) {
        (&self.title, &self.note)
    }

    fn is_quiet(&self) -> bool {
        !self.values().any(|value| value.is_finite() && value != 0.0)
    }

    fn write(&self, m: &mut Markup) {
        let class = if self.wide { "fig wide" } else { "fig" };
        m.tag("figure", &[("class", &class), ("id", &self.id)], |m| {
            frame::write_caption(m, self.caption());
            self.write_choice(m);
            self.write_legend(m);
            let panels = format!("panels n{}", self.panels.len().min(3));
            m.tag("div", &[("class", &panels)], |m| {
                for (index, panel) in self.panels.iter().enumerate() {
                    self.write_panel(m, panel, index);
                }
            });
        });
    }

    fn draw(&self, sheet: &mut Sheet) {
        if self.draw == Draw::Heat {
            sheet.key(&Mark::None, &self.measure);
            sheet.key(&Mark::Strip("1"), &heat::most(self.greatest()));
        } else {
            for series in self.listed() {
                sheet.key(&Mark::Class(&self.key(series)), &series.name);
            }
        }
        let (above, below) = frame::titles(&self.measure, self.axis);
        let above = if self.draw == Draw::Heat { "" } else { above };
        // The scale that a page shows at first.
        let Some((_, scale)) = self.scales().into_iter().next() else { return };
        for panel in &self.panels {
            let around = frame::around(panel.heading.as_deref().unwrap_or(""), (above, below));
            sheet.panel(&around, |m| write_layers(m, self, panel, scale));
        }
    }
}

impl Figure {
    /// Two radio buttons before the panels: the style sheet shows the panel that is chosen, so
    /// that the choice works without a script.
    fn write_choice(&self, m: &mut Markup) {
        if self.choice == Choice::Linear {
            return;
        }
        let group = format!("{}-scale", self.id);
        for (scale, checked) in [("log", true), ("lin", false)] {
            let id = format!("{group}-{scale}");
            let class = format!("pick pick-{scale}");
            let mut attributes: Vec<(&str, &dyn std::fmt::Display)> =
                vec![("type", &"radio"), ("name", &group), ("id", &id), ("class", &class)];
            if checked {
                attributes.push(("checked", &""));
            }
            m.void("input", &attributes);
            let name = if scale == "log" { "logarithmic" } else { "linear" };
            m.leaf("label", &[("for", &id)], name);
        }
    }

    fn write_legend(&self, m: &mut Markup) {
        m.tag("div", &[("class", &"legend")], |m| {
            if self.draw == Draw::Heat {
                m.leaf("span", &[("class", &"measure")], &self.measure);
                heat::write_legend(m, self.greatest());
                return;
            }
            for series in self.listed() {
                m.tag("span", &[], |m| {
                    m.leaf("i", &[("class", &format!("key {}", self.key(series)))], "");
                    m.text(&series.name);
                });
            }
        });
    }

    /// The series that the legend lists, each name once.
    fn listed(&self) -> Vec<&Series> {
        let mut listed: Vec<&Series> = Vec::new();
        for series in self.panels.iter().flat_map(|panel| &panel.series) {
            // A broken line goes on with its unbroken one: the note says what it means.
            let is_broken = matches!(series.stroke, Stroke::Dashed | Stroke::Dots);
            if !is_broken && !listed.iter().any(|before| before.name == series.name) {
                listed.push(series);
            }
        }
        listed
    }

    /// The classes of what stands for a series in the legend.
    fn key(&self, series: &Series) -> String {
        let is_line = self.draw == Draw::Lines && !series.stroke.is_block();
        let shape = if is_line { "line" } else { "block" };
        format!("{shape} {}{}", series.tone, series.stroke.class())
    }

    /// The greatest value, or height of a stack, of all panels.
    fn greatest(&self) -> f64 {
        if self.draw != Draw::Stack {
            let stood = self.panels.iter().flat_map(|panel| around::heights(&panel.series));
            return self.values().chain(stood).filter(|v| v.is_finite()).fold(0.0, f64::max);
        }
        let mut greatest: f64 = 0.0;
        for panel in &self.panels {
            for column in 0..self.axis.columns() {
                let height = panel.series.iter().filter_map(|s| s.values.get(column)).flatten();
                greatest = greatest.max(height.sum());
            }
        }
        greatest
    }

    /// The scales to draw with, each with the class that lets the reader choose.
    fn scales(&self) -> Vec<(&'static str, Scale)> {
        if self.draw == Draw::Heat {
            let low = self.edges.first().copied().unwrap_or(1.0);
            let high = self.edges.last().copied().unwrap_or(10.0);
            return vec![("", Scale::Log { low, high })];
        }
        let greatest = self.greatest();
        // A bound far above everything would press the data flat: then it is told, not drawn.
        let shown = self.marks.iter().map(|mark| mark.value).filter(|&v| v <= greatest * 4.0);
        let top = shown.fold(greatest, f64::max);
        let linear = Scale::linear(top, self.unit.least_step());
        if self.choice == Choice::Linear {
            return vec![("", linear)];
        }
        let least = self.values().filter(|&v| v > 0.0).fold(f64::INFINITY, f64::min);
        let marks = self.marks.iter().map(|mark| mark.value);
        let top = marks.filter(|&v| v <= greatest * 100.0).fold(greatest, f64::max);
        vec![("log", Scale::log(least, top)), ("lin", linear)]
    }

    fn write_panel(&self, m: &mut Markup, panel: &Panel, index: usize) {
        m.tag("div", &[("class", &"panel")], |m| {
            if let Some(heading) = &panel.heading {
                m.leaf("h4", &[], heading);
            }
            if self.draw != Draw::Heat {
                frame::write_upright_title(m, &self.measure, self.axis);
            }
            let table = format!("{}-table-{index}", self.id);
            let columns = self.axis.columns();
            let heat = if self.draw == Draw::Heat { panel.series.len() } else { 0 };
            let span = self.axis.span_s();
            let mut attributes: Vec<Attribute<'_>> = vec![
                ("class", &"plot"),
                ("data-table", &table),
                ("data-columns", &columns),
                ("data-heat", &heat),
            ];
            attributes.extend(span.iter().map(|span| ("data-span", span as &dyn Display)));
            m.tag("div", &attributes, |m| {
                for (class, scale) in self.scales() {
                    write_chart(m, self, panel, scale, class);
                }
            });
            frame::write_across_title(m, &self.measure, self.axis);
            table::of(self, panel, &table).write(m);
        });
    }
}

/// Writes one panel's SVG on the scale given; `choice` is the class by which it is shown.
fn write_chart(m: &mut Markup, figure: &Figure, panel: &Panel, scale: Scale, choice: &str) {
    let class = if choice.is_empty() { "chart".to_owned() } else { format!("chart {choice}") };
    let label = match &panel.heading {
        Some(heading) => format!("{}: {heading}. The values are in the table.", figure.title),
        None => format!("{}. The values are in the table.", figure.title),
    };
    let attributes: &[(&str, &dyn std::fmt::Display)] = &[
        ("class", &class),
        ("role", &"img"),
        ("aria-label", &label),
        ("width", &"100%"),
        ("height", &HEIGHT),
    ];
    m.tag("svg", attributes, |m| write_layers(m, figure, panel, scale));
}

/// Writes what the SVG of a panel holds.
fn write_layers(m: &mut Markup, figure: &Figure, panel: &Panel, scale: Scale) {
    frame::write_bands(m, figure, panel);
    if figure.draw != Draw::Heat {
        frame::write_grid(m, scale);
    }
    let (width, height) = match figure.draw {
        Draw::Heat => (figure.axis.columns() as f64, panel.series.len() as f64),
        Draw::Lines | Draw::Stack => (WIDTH, HEIGHT),
    };
    let view = format!("0 0 {width} {height}");
    let inner: &[(&str, &dyn std::fmt::Display)] = &[
        ("class", &"data"),
        ("viewBox", &view),
        ("preserveAspectRatio", &"none"),
        ("width", &"100%"),
        ("height", &HEIGHT),
    ];
    m.tag("svg", inner, |m| match figure.draw {
        Draw::Lines => lines::write(m, figure.axis, &panel.series, scale),
        Draw::Stack => stack::write(m, figure.axis, &panel.series, scale),
        Draw::Heat => heat::write(m, figure, panel),
    });
    frame::write_ticks(m, figure.axis, figure.unit, scale);
    frame::write_marks(m, figure, panel, scale);
}
