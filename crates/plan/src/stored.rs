//! What is looked up in the plan of a run without reading all of it, so that a plan of an earlier
//! version will do.

use std::time::Duration;

use toml_edit::DocumentMut;

use crate::sections::pool::time_of_day;

/// How many times faster than the time that it stands for a run was, by the text of its plan; 1
/// where that does not say.
#[must_use]
pub fn speed_of(plan: &str) -> f64 {
    let number = |plan: DocumentMut| {
        let speed = plan.get("speed")?;
        speed.as_float().or_else(|| speed.as_integer().map(|whole| whole as f64))
    };
    let speed = plan.parse().ok().and_then(number);
    speed.filter(|speed| speed.is_finite() && *speed > 0.0).unwrap_or(1.0)
}

/// The time of day at which the load of a stored plan begins, where it says one.
#[must_use]
pub fn starts_at_of(plan: &str) -> Option<Duration> {
    let plan: DocumentMut = plan.parse().ok()?;
    time_of_day(plan.get("pool")?.get("starts_at")?.as_str()?).ok()
}

#[cfg(test)]
mod tests {
    use super::{speed_of, starts_at_of};
    use std::time::Duration;

    #[test]
    fn the_time_at_which_a_plan_begins_is_found() {
        let at = |text: &str| starts_at_of(text).map(|of: Duration| of.as_secs());
        assert_eq!(at("[pool]\nmax = 3\nstarts_at = '18:30'\n"), Some(66_600));
        assert_eq!(at("pool = { starts_at = \"18:00:05\" }\n"), Some(64_805));
        for text in ["", "starts_at = '18:30'", "[pool]\nstarts_at = 'noon'", "no plan ["] {
            assert_eq!(at(text), None, "{text}");
        }
    }

    #[test]
    fn the_speed_of_a_plan_is_found_wherever_it_stands() {
        let speed = |text: &str| (speed_of(text) * 10.0).round();
        assert!((speed("name = 'a'\nspeed = 60\n[load.trace]\nspeed = 7\n") - 600.0).abs() < 0.1);
        assert!((speed("speed=2.5 # faster\n") - 25.0).abs() < 0.1);
        for text in ["", "speed = 'fast'", "speed = -1", "[load.trace]\nspeed = 7", "no plan ["] {
            assert!((speed(text) - 10.0).abs() < 0.1, "{text}");
        }
    }
}
