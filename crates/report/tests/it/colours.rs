//! Contrast of the style sheet's colours, in both schemes, by the formula of WCAG 2.2 (relative
//! luminance): 4.5 for text, 3 for what is drawn.

use std::collections::BTreeMap;

const STYLE: &str = plimsoll_draw::STYLE;

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

/// The parts of a stacked bar, by their order; the last is hollow: so much of its colour.
const PARTS: [&str; 5] = ["c5", "c8", "c6", "c9", "c7"];
const HOLLOW: f64 = 0.16;
/// Colours that differ by less are taken for one; of CIE 1976's difference 2.3 is just seen.
const LEAST_DIFFERENCE: f64 = 15.0;

/// How colours look without one kind of cone, in linear light: Machado, Oliveira and Fernandes
/// (IEEE TVCG 15(6), 2009), table of severity 1.0.
const BLINDNESS: [(&str, [[f64; 3]; 3]); 4] = [
    ("none", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    (
        "protan",
        [
            [0.152_286, 1.052_583, -0.204_868],
            [0.114_503, 0.786_281, 0.099_216],
            [-0.003_882, -0.048_116, 1.051_998],
        ],
    ),
    (
        "deutan",
        [
            [0.367_322, 0.860_646, -0.227_968],
            [0.280_085, 0.672_501, 0.047_413],
            [-0.011_820, 0.042_940, 0.968_881],
        ],
    ),
    (
        "tritan",
        [
            [1.255_528, -0.076_749, -0.178_779],
            [-0.078_411, 0.930_809, 0.147_602],
            [0.004_733, 0.691_367, 0.303_900],
        ],
    ),
];

/// A colour in CIE L*a*b* of D65, as it looks with a kind of blindness.
fn lab(colour: [f64; 3], blindness: &[[f64; 3]; 3]) -> [f64; 3] {
    let linear =
        colour.map(|c| if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) });
    let times = |row: &[f64; 3], of: [f64; 3]| row.iter().zip(of).map(|(a, b)| a * b).sum::<f64>();
    let seen = [0, 1, 2].map(|row| times(&blindness[row], linear).clamp(0.0, 1.0));
    let white = [0.950_47, 1.0, 1.088_83];
    let to_xyz = [
        [0.412_456, 0.357_576, 0.180_437],
        [0.212_673, 0.715_152, 0.072_175],
        [0.019_334, 0.119_192, 0.950_304],
    ];
    let [x, y, z] = [0, 1, 2].map(|row| {
        let t: f64 = times(&to_xyz[row], seen) / white[row];
        if t > 0.008_856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 }
    });
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

/// Any two parts may stand side by side, where those between them are nothing.
#[test]
fn parts_of_a_bar_are_told_apart_by_the_colour_blind_in_both_schemes() {
    for dark in [false, true] {
        let colours = colours(dark);
        let surface = colours["surface"];
        let mut parts = PARTS.map(|tone| colours[tone]);
        let hollow = parts[4];
        parts[4] = [0, 1, 2].map(|c| HOLLOW * hollow[c] + (1.0 - HOLLOW) * surface[c]);
        for (kind, matrix) in &BLINDNESS {
            for (n, &a) in parts.iter().enumerate() {
                for (other, &b) in parts.iter().enumerate().skip(n + 1) {
                    let (a, b) = (lab(a, matrix), lab(b, matrix));
                    let found = (0..3).map(|c| (a[c] - b[c]).powi(2)).sum::<f64>().sqrt();
                    let pair = (PARTS[n], PARTS[other]);
                    assert!(found >= LEAST_DIFFERENCE, "{pair:?}, dark {dark}, {kind}: {found:.1}");
                }
            }
        }
    }
    assert!(STYLE.contains(".part.hollow { fill-opacity: .16;"));
}
