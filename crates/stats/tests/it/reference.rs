//! Reference vectors, computed elsewhere with many digits; they lie beside the project.

/// The rows of a reference file after its header, each with its cells; none where it is absent.
pub(crate) fn vectors(test: &str, name: &str) -> Vec<Vec<String>> {
    let path = plimsoll_testing::shared(test, &format!("reference/vectors/{name}"));
    let Some(path) = path else { return Vec::new() };
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

/// A cell as a number.
pub(crate) fn number(cell: &str) -> f64 {
    cell.parse().unwrap()
}

/// Whether two numbers are the same but for a share of the greater.
pub(crate) fn close(found: f64, wanted: f64, share: f64) -> bool {
    (found - wanted).abs() <= share * found.abs().max(wanted.abs())
}
