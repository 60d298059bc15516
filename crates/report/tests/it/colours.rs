//! Contrast of the style sheet's colours, in both schemes, by the formula of WCAG 2.2 (relative
//! luminance): 4.5 for text, 3 for what is drawn.

use std::collections::BTreeMap;

const STYLE: &str = include_str!("../../src/style.css");

/// The colours of a scheme: the light ones, and over them, for the dark one, those of its block.
fn colours(dark: bool) -> BTreeMap<String, [f64; 3]> {
    let (light, rest) = STYLE.split_once("@media (prefers-color-scheme: dark)").unwrap();
    let (night, _) = rest.split_once("\n}\n").unwrap();
    let mut colours = BTreeMap::new();
    for block in [Some(light), dark.then_some(night)].into_iter().flatten() {
        for declaration in block.split([';', '{']) {
            let Some((name, value)) = declaration.split_once(": #") else { continue };
            let Some(name) = name.trim().strip_prefix("--") else { continue };
            let part = |at: usize| u8::from_str_radix(&value[at..at + 2], 16).unwrap();
            colours.insert(name.to_owned(), [0, 2, 4].map(|at| f64::from(part(at)) / 255.0));
        }
    }
    colours
}

fn luminance(colour: [f64; 3]) -> f64 {
    let [r, g, b] =
        colour.map(|c| if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) });
    0.2126 * r + 0.7152 * g + 0.0722 * b
}

fn contrast(a: [f64; 3], b: [f64; 3]) -> f64 {
    let (a, b) = (luminance(a) + 0.05, luminance(b) + 0.05);
    if a > b { a / b } else { b / a }
}

#[test]
fn black_on_white_is_twenty_one_to_one() {
    assert!((contrast([0.0; 3], [1.0; 3]) - 21.0).abs() < 1e-9);
}

#[test]
fn text_can_be_read_in_both_schemes() {
    for dark in [false, true] {
        let colours = colours(dark);
        for (text, behind) in [
            ("ink", "page"),
            ("ink", "surface"),
            ("ink", "grid"),
            ("ink", "good-bg"),
            ("ink", "poor-bg"),
            ("ink", "open-bg"),
            ("soft", "page"),
            ("soft", "surface"),
            ("link", "page"),
            ("link", "surface"),
            ("good", "good-bg"),
            ("poor", "poor-bg"),
            ("poor", "surface"),
            ("poor", "page"),
            ("open", "open-bg"),
            ("mark", "surface"),
        ] {
            let found = contrast(colours[text], colours[behind]);
            assert!(found >= 4.5, "{text} on {behind}, dark {dark}: {found:.2}");
        }
    }
}

#[test]
fn lines_and_blocks_stand_out_in_both_schemes() {
    for dark in [false, true] {
        let colours = colours(dark);
        for tone in 0..10 {
            let found = contrast(colours[&format!("c{tone}")], colours["surface"]);
            assert!(found >= 3.0, "c{tone}, dark {dark}: {found:.2}");
        }
    }
}

/// Lightness alone tells the levels of the heat map apart: it only rises or only falls.
#[test]
fn the_heat_maps_levels_are_in_order_of_lightness() {
    for dark in [false, true] {
        let colours = colours(dark);
        let levels: Vec<f64> =
            (0..12).map(|level| luminance(colours[&format!("h{level}")])).collect();
        let ordered =
            levels.windows(2).all(|two| if dark { two[0] < two[1] } else { two[0] > two[1] });
        assert!(ordered, "dark {dark}: {levels:?}");
    }
}
