//! The colours of what is compared on a page, in order.

/// Colours; more lines than these take them dashed, then dotted.
pub(crate) const TONES: [&str; 8] = ["c1", "c2", "c3", "c4", "c5", "c6", "c8", "c9"];
const STROKES: [&str; 3] = ["", " dash", " thin"];

/// The classes of the line of something that is compared, by its number.
pub(crate) fn tone(number: usize) -> String {
    let stroke = STROKES[(number / TONES.len()) % STROKES.len()];
    format!("{}{stroke}", TONES[number % TONES.len()])
}
