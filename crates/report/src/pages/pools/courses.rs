//! The courses of every policy, a panel each on the same axes: instances against demand, processor
//! time, response time, loss.

use plimsoll_elastic::course::Course;
use plimsoll_stats::slo::Slo;

use super::policies::Pools;
use crate::columns::{Stretch, highest, mean, time_axis_of};
use crate::document::chart;
use plimsoll_draw::chart::Chart;
use plimsoll_draw::chart::axis::Axis;
use plimsoll_draw::chart::figure::{Choice, Figure, Mark, Panel, Series, Stroke};
use plimsoll_draw::chart::unit::{Unit, moment, trimmed};

/// Most columns of all panels of a figure together, and of one of them.
const COLUMNS: usize = 3456;
const MOST_COLUMNS: usize = 600;
/// Fewest columns of a panel, however many policies there are.
const MIN_COLUMNS: usize = 60;
/// Without an SLO on a percentile the ticks have the response time at this quantile.
const QUANTILE: f64 = 0.99;

/// A tick of a course: where its values stand, and the time that it covers.
#[derive(Debug, Clone, Copy)]
struct Tick {
    index: usize,
    start_s: f64,
    len_s: f64,
}

impl Stretch for Tick {
    fn stretch(&self) -> (f64, f64) {
        (self.start_s, self.len_s)
    }
}

/// A course with its ticks; such as are not in order of time are left out.
struct Ticked<'a> {
    course: &'a Course,
    ticks: Vec<Tick>,
}

impl<'a> Ticked<'a> {
    fn new(course: &'a Course) -> Self {
        let (mut ticks, mut start_s) = (Vec::new(), 0.0);
        for (index, &at_s) in course.at_s.iter().enumerate() {
            let len_s = at_s - start_s;
            if len_s.is_finite() && len_s > 0.0 {
                ticks.push(Tick { index, start_s, len_s });
                start_s = at_s;
            }
        }
        Self { course, ticks }
    }

    fn end_s(&self) -> f64 {
        self.ticks.last().map_or(0.0, |tick| tick.start_s + tick.len_s)
    }

    fn mean(&self, axis: Axis, of: impl Fn(usize) -> Option<f64>) -> Vec<Option<f64>> {
        mean(axis, &self.ticks, |tick| of(tick.index))
    }

    fn highest(&self, axis: Axis, of: impl Fn(usize) -> Option<f64>) -> Vec<Option<f64>> {
        highest(axis, &self.ticks, |tick| of(tick.index))
    }

    fn ready(&self, tick: usize) -> Option<f64> {
        self.course.ready.get(tick).copied()
    }

    fn demand(&self, tick: usize) -> Option<f64> {
        self.course.demand.get(tick).copied().flatten().map(f64::from)
    }
}

/// What all figures share.
struct Shared<'a> {
    courses: Vec<Ticked<'a>>,
    axis: Axis,
    /// Whether a column covers several ticks.
    joins: bool,
}

impl<'a> Shared<'a> {
    fn new(pools: &'a Pools<'_>) -> Self {
        let courses: Vec<Ticked<'a>> = pools.courses.iter().map(Ticked::new).collect();
        let ticks = || courses.iter().flat_map(|of| &of.ticks).map(|tick| tick.len_s);
        let longest_s = ticks().fold(0.0, f64::max);
        let shortest_s = ticks().fold(f64::INFINITY, f64::min);
        let end_s = courses.iter().map(Ticked::end_s).fold(0.0, f64::max);
        let limit = COLUMNS / courses.len().max(1);
        let limit = limit.clamp(MIN_COLUMNS, MOST_COLUMNS);
        let axis = time_axis_of(longest_s, end_s, limit).from_clock(pools.about.clock_s);
        let joins = matches!(axis, Axis::Time { column_s, .. } if column_s > 1.5 * shortest_s);
        Self { courses, axis, joins }
    }

    /// A figure over time with a panel a policy.
    fn figure(
        &self,
        (id, title): (&'static str, &'static str),
        (measure, unit): (&str, Unit),
        series: impl Fn(&Ticked<'a>) -> Vec<Series>,
    ) -> Figure {
        let panel = |of: &Ticked<'a>| Panel {
            heading: Some(of.course.label.clone()),
            series: series(of),
            bands: Vec::new(),
        };
        Figure {
            measure: measure.to_owned(),
            panels: self.courses.iter().map(panel).collect(),
            wide: true,
            ..Figure::lines(id, title, self.axis, unit)
        }
    }

    /// What a column holds, as a sentence with a space before it; empty where it is one tick.
    fn columns(&self, rule: &str) -> String {
        match self.axis {
            Axis::Time { column_s, .. } if self.joins => {
                format!(" Each column covers {}: {rule}.", moment(column_s))
            }
            _ => String::new(),
        }
    }
}

/// The charts over time.
pub(super) struct Courses {
    /// Instances against demand.
    pub(super) instances: Vec<Box<dyn Chart>>,
    /// The others.
    pub(super) others: Vec<Box<dyn Chart>>,
}

/// All charts over time.
pub(super) fn charts(pools: &Pools<'_>) -> Courses {
    let shared = Shared::new(pools);
    let mut others: Vec<Box<dyn Chart>> = load(&shared).map(chart).into_iter().collect();
    others.push(chart(processors(&shared)));
    others.push(chart(response(&shared, &pools.slo)));
    others.push(chart(loss(&shared)));
    Courses { instances: vec![chart(instances(&shared, &pools.about.demand))], others }
}

/// The courses of two runs in one chart each: their instances, and their response times.
pub(super) fn overlay(pools: &Pools<'_>) -> Vec<Box<dyn Chart>> {
    const TONES: [&str; 2] = ["c0", "c2"];
    let shared = Shared::new(pools);
    let both = |of: &dyn Fn(&Ticked<'_>, usize) -> Option<f64>, stroke| -> Vec<Series> {
        let one = |(course, tone): (&Ticked<'_>, &'static str)| {
            let values = course.mean(shared.axis, |tick| of(course, tick));
            Series::new(&course.course.label, tone, values).with(stroke)
        };
        shared.courses.iter().zip(TONES).map(one).collect()
    };
    let draw = |(id, title), (measure, unit): (&str, Unit), series| Figure {
        measure: measure.to_owned(),
        note: shared.columns("means").trim_start().to_owned(),
        panels: vec![Panel { series, ..Panel::default() }],
        wide: true,
        ..Figure::lines(id, title, shared.axis, unit)
    };
    let mut instances = both(&|of, tick| of.ready(tick), Stroke::Step);
    let first = shared.courses.first();
    let demand = first.map(|of| of.mean(shared.axis, |tick| of.demand(tick))).unwrap_or_default();
    instances.push(Series::new("demand", "c8", demand).with(Stroke::Step));
    let response =
        both(&|of, tick| of.course.response_us.get(tick).copied().flatten(), Stroke::Plain);
    vec![
        chart(draw(("both-instances", "Instances of both"), ("instances", Unit::Mean), instances)),
        chart(draw(
            ("both-response", "Mean response time of both"),
            ("response time", Unit::Micros),
            response,
        )),
    ]
}

/// What was, and what had been predicted, a panel a policy: instances, processor time, response
/// time, loss.
pub(super) fn beside(pairs: &[[Course; 2]]) -> Vec<Box<dyn Chart>> {
    let ticked: Vec<[Ticked<'_>; 2]> =
        pairs.iter().map(|[real, predicted]| [Ticked::new(real), Ticked::new(predicted)]).collect();
    let all = || ticked.iter().flatten();
    let longest_s = all().flat_map(|of| &of.ticks).map(|tick| tick.len_s).fold(0.0, f64::max);
    let end_s = all().map(Ticked::end_s).fold(0.0, f64::max);
    let limit = (COLUMNS / ticked.len().max(1)).clamp(MIN_COLUMNS, MOST_COLUMNS);
    let axis = time_axis_of(longest_s, end_s, limit);
    let draw = |(id, title): (&'static str, &'static str),
                (measure, unit): (&str, Unit),
                of: &dyn Fn(&Ticked<'_>, usize) -> Option<f64>,
                stroke: Stroke| {
        let panel = |[real, predicted]: &[Ticked<'_>; 2]| {
            let line = |name: &str, tone, ticked: &Ticked<'_>| {
                let values = ticked.mean(axis, |tick| of(ticked, tick));
                Series::new(name, tone, values).with(stroke)
            };
            Panel {
                heading: Some(real.course.label.clone()),
                series: vec![line("real", "c0", real), line("predicted", "c2", predicted)],
                bands: Vec::new(),
            }
        };
        chart(Figure {
            measure: measure.to_owned(),
            panels: ticked.iter().map(panel).collect(),
            wide: true,
            ..Figure::lines(id, title, axis, unit)
        })
    };
    let instances = ("predicted-instances", "Instances that took requests");
    let response = ("predicted-response", "Mean response time");
    let loss = ("predicted-loss", "Requests lost");
    vec![
        draw(instances, ("instances", Unit::Mean), &|of, at| of.ready(at), Stroke::Step),
        draw(
            response,
            ("response time", Unit::Micros),
            &|of, at| of.course.response_us.get(at).copied().flatten(),
            Stroke::Plain,
        ),
        draw(
            loss,
            ("requests per second", Unit::PerSecond),
            &|of, at| of.course.lost.get(at).copied(),
            Stroke::Plain,
        ),
    ]
}

/// The rate of requests, which all policies had; `None` without a course.
fn load(shared: &Shared<'_>) -> Option<Figure> {
    let (axis, first) = (shared.axis, shared.courses.first()?);
    let rate = |tick: usize| first.course.rate.get(tick).copied();
    let mut series = vec![Series::new("rate", "c0", first.mean(axis, rate))];
    if shared.joins {
        series.push(Series::new("highest tick", "c2", first.highest(axis, rate)));
    }
    let panels = vec![Panel { series, ..Panel::default() }];
    Some(Figure {
        measure: "requests per second".to_owned(),
        note: format!("The same for every policy.{}", shared.columns("rates are means")),
        panels,
        wide: true,
        ..Figure::lines("rate", "Requests", axis, Unit::PerSecond)
    })
}

/// Supply against demand, which is told by a rule.
fn instances(shared: &Shared<'_>, rule: &str) -> Figure {
    let axis = shared.axis;
    let what = ("instances", "Instances against demand");
    let mut figure = shared.figure(what, ("instances", Unit::Mean), |of| {
        let off = |tick: usize| Some(of.ready(tick)? - of.demand(tick)?);
        let over = of.mean(axis, |tick| Some(off(tick)?.max(0.0)));
        let under = of.mean(axis, |tick| Some((-off(tick)?).max(0.0)));
        vec![
            Series::new("supply", "c0", of.mean(axis, |tick| of.ready(tick))).with(Stroke::Step),
            Series::new("demand", "c8", of.mean(axis, |tick| of.demand(tick))).with(Stroke::Step),
            Series::new("too few", "c3", under).with(Stroke::Above),
            Series::new("too many", "c5", over).with(Stroke::Below),
        ]
    });
    let rule = if rule.is_empty() { String::new() } else { format!(" Demand is {rule}.") };
    figure.note = format!(
        "Supply is the instances that took requests. Blue: more instances than needed. Orange: \
         too few.{rule}{}",
        shared.columns("all four are means, so an area is the sum over its time")
    );
    figure
}

/// Processor time.
fn processors(shared: &Shared<'_>) -> Figure {
    let axis = shared.axis;
    let mut figure = shared.figure(("cpu", "CPU"), ("of all cores", Unit::Share), |of| {
        let cpu = |tick: usize| of.course.cpu.get(tick).map(|cpu| cpu / 100.0);
        let mut series = vec![Series::new("CPU", "c0", of.mean(axis, cpu))];
        if shared.joins {
            series.push(Series::new("highest tick", "c2", of.highest(axis, cpu)));
        }
        series
    });
    figure.note = format!(
        "Processor time as a policy sees it, in the mean over its instances.{}",
        shared.columns("the mean, and the highest tick")
    );
    figure
}

/// Response times, with the SLO's bound where it has one.
fn response(shared: &Shared<'_>, slo: &str) -> Figure {
    let axis = shared.axis;
    let bound = Slo::parse(slo).ok().and_then(|slo| slo.response_bound());
    let quantile = bound.map_or(QUANTILE, |(quantile, _)| quantile);
    let name = format!("p{}", trimmed(100.0 * quantile));
    let what = ("response", "Response time");
    let mut figure = shared.figure(what, ("response time", Unit::Micros), |of| {
        let at = |values: &[Option<f64>], tick: usize| values.get(tick).copied().flatten();
        let mean = of.mean(axis, |tick| at(&of.course.response_us, tick));
        let quantile = of.highest(axis, |tick| at(&of.course.quantile_us, tick));
        vec![Series::new("mean", "c0", mean), Series::new(&name, "c2", quantile)]
    });
    figure.choice = Choice::LogFirst;
    let mark = |(_, ns): (f64, u64)| Mark { name: slo.to_owned(), value: ns as f64 / 1e3 };
    figure.marks = bound.into_iter().map(mark).collect();
    figure.note = format!(
        "Of the requests that were served in a tick; no line where none was.{}",
        shared.columns(&format!("the mean of the ticks' means, and the highest tick's {name}"))
    );
    figure
}

/// Lost requests.
fn loss(shared: &Shared<'_>) -> Figure {
    let axis = shared.axis;
    let what = ("loss", "Requests lost");
    let mut figure = shared.figure(what, ("requests per second", Unit::PerSecond), |of| {
        let lost = |tick: usize| of.course.lost.get(tick).copied();
        let mut series = vec![Series::new("lost", "c3", of.mean(axis, lost))];
        if shared.joins {
            series.push(Series::new("highest tick", "c2", of.highest(axis, lost)));
        }
        series
    });
    figure.note = format!(
        "For whatever cause.{}",
        shared.columns("the mean rate, and that of the highest tick")
    );
    figure
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course(at_s: &[f64], ready: &[f64], demand: &[u32]) -> Course {
        Course {
            label: "a".to_owned(),
            at_s: at_s.to_vec(),
            rate: Vec::new(),
            lost: Vec::new(),
            ready: ready.to_vec(),
            demand: demand.iter().copied().map(Some).collect(),
            cpu: Vec::new(),
            response_us: Vec::new(),
            quantile_us: Vec::new(),
            decisions: Vec::new(),
        }
    }

    #[test]
    fn ticks_out_of_order_are_left_out() {
        let odd = course(&[60.0, 60.0, 30.0, f64::NAN, 120.0, f64::INFINITY], &[1.0], &[]);
        let ticked = Ticked::new(&odd);
        let starts: Vec<_> = ticked.ticks.iter().map(|tick| (tick.index, tick.start_s)).collect();
        assert_eq!(starts, [(0, 0.0), (4, 60.0)]);
        assert_eq!((ticked.ready(0), ticked.ready(4), ticked.demand(0)), (Some(1.0), None, None));
    }

    /// Too few in one tick and too many in the next are both seen in a column of both.
    #[test]
    fn what_is_off_is_summed_tick_by_tick() {
        let course = course(&[30.0, 60.0], &[2.0, 6.0], &[4, 4]);
        let axis = Axis::Time { columns: 1, column_s: 60.0, clock_s: None };
        let shared = Shared { courses: vec![Ticked::new(&course)], axis, joins: true };
        let figure = instances(&shared, "");
        let values = figure.panels[0].series.iter().map(|one| one.values[0]);
        assert_eq!(values.collect::<Vec<_>>(), [4.0, 4.0, 1.0, 1.0].map(Some));
    }
}
