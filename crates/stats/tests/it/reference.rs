//! Reference vectors, computed elsewhere with many digits; they lie beside the project.

/// The rows of a reference file after its header, each with its cells; none where it is absent.
#[expect(clippy::print_stdout, reason = "says what is missing")]
pub(crate) fn vectors(name: &str) -> Vec<Vec<String>> {
    let path = format!("{}/../../../shared/reference/vectors/{name}", env!("CARGO_MANIFEST_DIR"));
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("skipped: comparing with {name} needs shared/reference/vectors");
        return Vec::new();
    };
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
