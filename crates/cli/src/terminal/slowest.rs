//! The slowest requests that servers were asked to record: a few lines at the end of a run.

use super::by_name::short;
use super::paint::Paint;
use super::table::us;
use plimsoll_runs::SlowTraceFigures;
use plimsoll_units::show_count;
use std::fmt::Write;

/// The most that are shown, the line that says how many more there are included.
const MOST_LINES: usize = 5;

/// The slowest, each with its trace; nothing where servers were asked to record none.
pub(super) fn lines(out: &mut String, all: &[SlowTraceFigures], paint: Paint) {
    if all.is_empty() {
        return;
    }
    let shown = if all.len() > MOST_LINES { MOST_LINES - 1 } else { all.len() };
    out.push('\n');
    for (at, of) in all.iter().take(shown).enumerate() {
        let head = if at == 0 { "slowest traces" } else { "" };
        let _ =
            writeln!(out, "  {head:<15}{:>9}  {}  {}", us(of.response_us), of.trace_id, what(of));
    }
    if all.len() > shown {
        let text = format!("and {} more: --json has all", show_count((all.len() - shown) as u64));
        let _ = writeln!(out, "  {:<15}{}", "", paint.dim(&text));
    }
}

/// What came of it, and what it is called.
fn what(of: &SlowTraceFigures) -> String {
    let came = match (&of.error, of.status) {
        (Some(kind), Some(status)) if kind == "status" => status.to_string(),
        (Some(kind), Some(status)) => format!("{status}, {}", kind.replace('_', " ")),
        (Some(kind), None) => kind.replace('_', " "),
        (None, status) => status.map(|status| status.to_string()).unwrap_or_default(),
    };
    let name = of.name.as_deref().map(|name| format!(" {}", short(name))).unwrap_or_default();
    format!("{came}{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_are_shown_and_the_rest_is_counted() {
        let of = |nth: u32| SlowTraceFigures {
            trace_id: format!("{nth:032x}"),
            response_us: f64::from(2_000 - nth),
            due_s: 0.5,
            status: (nth != 2).then_some(if nth == 1 { 503 } else { 200 }),
            error: match nth {
                1 => Some("status".to_owned()),
                2 => Some("timeout".to_owned()),
                3 => Some("check".to_owned()),
                _ => None,
            },
            name: (nth < 2).then(|| "home".to_owned()),
        };
        let plain = Paint::stdout();
        let shown = |count: u32| {
            let mut out = String::new();
            let all: Vec<_> = (0..count).map(of).collect();
            lines(&mut out, &all, plain);
            out
        };
        assert_eq!(shown(0), "");
        let five = shown(5);
        let found: Vec<&str> = five.trim_start_matches('\n').lines().collect();
        assert_eq!(found.len(), 5, "{five}");
        assert!(found[0].starts_with("  slowest traces "), "{five}");
        assert!(found[0].ends_with("00000000  200 home"), "{five}");
        assert!(found[1].ends_with("1  503 home"), "{five}");
        assert!(found[2].ends_with("2  timeout"), "{five}");
        assert!(found[3].ends_with("3  200, check"), "{five}");
        let twenty = shown(20);
        assert_eq!(twenty.lines().count(), 6, "{twenty}");
        assert!(twenty.ends_with("and 16 more: --json has all\n"), "{twenty}");
    }
}
