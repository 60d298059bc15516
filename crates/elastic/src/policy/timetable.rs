//! A timetable: so many instances from each time of the day on.

use super::{
    Beginning, Decision, Facts, Kind, MINUTE_S, Maker, Parameters, Policy, maker, parameter,
};
use crate::observation::Observation;
use plimsoll_units::ParseError;
use plimsoll_units::parameter::Takes::{Duration, Text};

pub(super) static KIND: Kind = Kind {
    name: "schedule",
    about: "a number of instances from each time of the day on",
    parameters: &[
        parameter(
            "times",
            Text("HH:MM=COUNT,…"),
            "–",
            "Number of instances from each time on; the last lasts over night.",
        ),
        parameter(
            "early",
            Duration(0.0, DAY_S),
            "0s",
            "Time before each entry at which it takes effect.",
        ),
    ],
    pace_s: MINUTE_S,
    goes_by_day: true,
    knows_future: false,
    make,
};

const DAY_S: f64 = 86_400.0;

struct Timetable {
    /// Seconds since midnight, ascending, and how many.
    times: Vec<(f64, u32)>,
    early_s: f64,
}

/// Reads `08:00=5,18:30=2`.
fn times(text: &str) -> Result<Vec<(f64, u32)>, ParseError> {
    let mut at = 0;
    let mut times: Vec<(f64, u32)> = Vec::new();
    for part in text.split(',') {
        let error = |wanted: &str| ParseError::new(wanted, part, at, part.len());
        let (time_s, count) = entry(part).ok_or_else(|| error("a time and a count as 08:00=5"))?;
        if times.iter().any(|(of, _)| of.total_cmp(&time_s).is_eq()) {
            return Err(error("each time once"));
        }
        times.push((time_s, count));
        at += part.len() + 1;
    }
    times.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok(times)
}

/// Reads one of them.
fn entry(part: &str) -> Option<(f64, u32)> {
    let (time, count) = part.split_once('=')?;
    let (hours, minutes) = time.trim().split_once(':')?;
    let number = |digits: &str, most: usize| {
        let is_number = digits.len() <= most && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| digits.parse::<u32>().ok()).flatten()
    };
    let (hours, minutes) = (number(hours, 2)?, number(minutes, 2)?);
    let count = number(count.trim(), 6)?;
    let is_time = hours < 24 && minutes < 60;
    is_time.then_some((f64::from(60 * hours + minutes) * 60.0, count))
}

fn make(parameters: &mut Parameters<'_>, _: &Facts) -> Option<Maker> {
    if parameters.text("times").is_none() {
        let hint = Some("times=08:00=5,18:00=2".to_owned());
        parameters.fault("times", "`schedule` needs its times".to_owned(), hint);
    }
    let times = parameters.parsed("times", times)?;
    let early_s = parameters.seconds("early").unwrap_or(0.0);
    Some(maker(Timetable { times, early_s }))
}

impl Policy for Timetable {
    type State = ();

    fn decide(&self, (): &mut (), seen: &Observation<'_>) -> Decision {
        match self.at(seen.of_day_s) {
            // What the pool cannot have is limited by its bounds, and that is said.
            Some((at_s, count)) => {
                let minutes = at_s / 60.0;
                let (hour, minute) = ((minutes / 60.0).floor(), minutes % 60.0);
                Decision::of(count, format!("{count} from {hour:02}:{minute:02} on"))
            }
            None => Decision::of(seen.wanted(), "an empty timetable".to_owned()),
        }
    }

    fn begins(&self, of_day_s: f64) -> Option<Beginning> {
        self.at(of_day_s).map(|(_, count)| Beginning::Now(count))
    }

    fn range(&self) -> Option<(u32, u32)> {
        let counts = || self.times.iter().map(|(_, count)| *count);
        counts().min().zip(counts().max())
    }
}

impl Timetable {
    /// The entry in force at a time of the day, and how many.
    fn at(&self, of_day_s: f64) -> Option<(f64, u32)> {
        let now_s = (of_day_s + self.early_s + 1e-6).rem_euclid(DAY_S);
        let passed = self.times.iter().rev().find(|(at_s, _)| *at_s <= now_s);
        // Before the first it is still the last one, of the day before.
        passed.or(self.times.last()).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timetable_is_read_with_places() {
        assert_eq!(times("18:30=2,08:00=5").unwrap(), [(28_800.0, 5), (66_600.0, 2)]);
        for (text, at) in [
            ("24:00=1", 0),
            ("08:00=5,9=2", 8),
            ("08:60=5", 0),
            ("08:00=-1", 0),
            ("08:00=5,8:00=2", 8),
            ("", 0),
        ] {
            assert_eq!(times(text).unwrap_err().at, at, "{text}");
        }
    }
}
