//! `plimsoll capacity compare`: searches of several targets side by side, and what they cost.

use super::shown::{self, dash, interval};
use crate::commands::compare::{Shown, say_against, tolerance};
use crate::commands::report::write;
use crate::exit::Exit;
use crate::series_args::CapacityCompare;
use crate::terminal::align::align;
use crate::terminal::error::{FlagError, Result};
use crate::terminal::paint::Paint;
use crate::terminal::{pretty, print, say};
use plimsoll_analysis::compared::{self, Change, One, Side, With};
use plimsoll_capacity::compared::{By, Compared, Group, Grouped, compare, group};
use plimsoll_capacity::cost::price;
use plimsoll_capacity::series::SeriesRun;
use plimsoll_experiment::series::searches;
use plimsoll_report::Source;
use plimsoll_report::ci::Checks;
use plimsoll_stats::{Described, figure};
use plimsoll_units::{ParseError, show_rate};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Runs the command.
pub(super) fn run(args: &CapacityCompare) -> Result<Exit> {
    args.ci.check()?;
    let by = By::named(&args.by).ok_or_else(|| {
        let wanted = "series, name or target";
        FlagError::new("--by", &args.by, ParseError::new(wanted, &args.by, 0, args.by.len()))
    })?;
    let prices = args.price.iter().map(|text| read_price(text)).collect::<Result<Vec<_>, _>>()?;
    let mut all = Vec::new();
    for path in &args.runs {
        let named = searches(path)?;
        all.extend(named.searches.into_iter().map(|search| (named.id.clone(), search)));
    }
    let mut groups = group(by, all);
    set_prices(&mut groups, &prices)?;
    let compared = compare(by, groups);
    if let Some(path) = &args.out {
        write(Source::Searches(&compared), (path, "--out"), args.title.clone())?;
    }
    let judged = match (&args.tolerance, args.ci.is_wanted()) {
        (None, false) => None,
        (None, true) => Some(judged(&compared, tolerance(TOLERANCE)?)),
        (Some(text), _) => Some(judged(&compared, tolerance(text)?)),
    };
    if args.json {
        let mut document = serde_json::to_value(&compared).map_err(std::io::Error::from)?;
        if let Some(judged) = &judged {
            document["comparison"] = judged.json();
        }
        print(&pretty(&document)?)?;
    } else {
        print(&render(&compared))?;
        say_against(judged.as_ref())?;
    }
    if let Some(path) = &args.out {
        say(&format!("page: {}", path.display()));
    }
    let found = compared.groups.iter().any(|group| group.summary.found > 0);
    let exit = if found { Exit::Held } else { Exit::Incomplete };
    let exit = exit.and(judged.as_ref().map_or(Exit::Held, Shown::exit));
    let checks = || {
        let mut checks = Checks::default();
        judged.iter().for_each(|judged| checks.add_compared(&judged.compared));
        Ok(checks)
    };
    args.ci.write(checks, exit)?;
    Ok(exit)
}

/// By how much a capacity may be worse unless somebody says so.
const TOLERANCE: &str = "5%";

/// Every other group held against the first, by the searches that have an estimate. What is no more
/// than a bound counts for nothing.
fn judged(of: &Compared, tolerance: f64) -> Shown {
    let capacity = figure::ESTIMATE_PER_S;
    let ones = |group: &Group, side: u64| -> Vec<One> {
        let found = group.runs.iter().filter(|run| run.bound.is_none());
        let one = |(seed, run): (u64, &SeriesRun)| {
            let figures = BTreeMap::from([(capacity.name.to_owned(), run.estimate_per_s?)]);
            let id = run.run.clone().unwrap_or_default();
            Some(One { id, seed, noise: Vec::new(), figures })
        };
        // Searches of two groups have nothing in common by which they were pairs.
        (side..).step_by(2).zip(found).filter_map(one).collect()
    };
    let side = |id: String, groups: Vec<(&str, Vec<One>)>| {
        let of = |(name, ones): (&str, Vec<One>)| {
            let factors = BTreeMap::from([("group".to_owned(), name.to_owned())]);
            compared::Group { factors, block: 0, ones }
        };
        let name = "capacity".to_owned();
        Side { id, name, groups: groups.into_iter().map(of).collect() }
    };
    let (first, others) = match &of.groups[..] {
        [first, others @ ..] => (Some(first), others),
        [] => (None, &[][..]),
    };
    let mut sides = [Vec::new(), Vec::new()];
    for other in others {
        let name = other.group.as_str();
        sides[0].push((name, first.map(|first| ones(first, 0)).unwrap_or_default()));
        sides[1].push((name, ones(other, 1)));
    }
    let [of_a, of_b] = sides;
    let names: Vec<&str> = others.iter().map(|group| group.group.as_str()).collect();
    let a = side(first.map(|first| first.group.clone()).unwrap_or_default(), of_a);
    let b = side(names.join(", "), of_b);
    let figures = [capacity];
    let (shown, change) = (&figures, Change::Ratio);
    let with = With { tolerance, shown, judged: &figures, change, least: 2 };
    Shown::of_groups(compared::compared(&a, &b, &with))
}

/// A price, and the group that it is of; of all groups where none is named.
struct Price<'a> {
    text: &'a str,
    group: Option<&'a str>,
    per_hour: f64,
}

fn read_price(text: &str) -> Result<Price<'_>, FlagError> {
    let (group, price_text) = match text.rsplit_once('=') {
        Some((group, price)) => (Some(group), price),
        None => (None, text),
    };
    let at = text.len() - price_text.len();
    let read =
        price(price_text).map_err(|error| FlagError::new("--price", text, error.shifted(at)));
    Ok(Price { text, group, per_hour: read? })
}

/// Gives each group its price: its own before that of all.
fn set_prices(groups: &mut [Grouped], prices: &[Price<'_>]) -> Result<(), FlagError> {
    let is = |group: &Grouped, name: &str| group.group == name || group.key == name;
    for price in prices {
        let Some(name) = price.group else { continue };
        if !groups.iter().any(|group| is(group, name)) {
            let names: Vec<&str> = groups.iter().map(|group| group.group.as_str()).collect();
            let wanted = format!("one of the groups {}", names.join(", "));
            let error = ParseError::new(wanted, name, 0, name.len());
            return Err(FlagError::new("--price", price.text, error));
        }
    }
    for group in groups {
        let own = prices.iter().rev().find(|price| price.group.is_some_and(|name| is(group, name)));
        let all = || prices.iter().rev().find(|price| price.group.is_none());
        group.price_per_hour = own.or_else(all).map(|price| price.per_hour);
    }
    Ok(())
}

/// A table: heads, then a row a group, the first column to the left.
fn table(out: &mut String, heads: &[&str], rows: &[Vec<String>]) {
    let heads = heads.iter().map(|head| (*head).to_owned()).collect();
    let all: Vec<Vec<String>> = std::iter::once(heads).chain(rows.iter().cloned()).collect();
    align(out, &all, 1, Paint::stdout());
}

fn render(compared: &Compared) -> String {
    let mut out = String::new();
    let rows = |cells: &dyn Fn(&Group) -> Vec<String>| -> Vec<Vec<String>> {
        let row = |group: &Group| [vec![group.group.clone()], cells(group)].concat();
        compared.groups.iter().map(row).collect()
    };
    let of = |group: &Group, show: &dyn Fn(&Described) -> String| {
        group.summary.estimate_per_s.as_ref().map_or_else(dash, show)
    };
    let heads = [compared.by.as_str(), "n", "median", "95%", "mean", "95%", "CV"];
    let figures = rows(&|group| {
        vec![
            shown::found(&group.summary),
            of(group, &|all| show_rate(all.spread.median)),
            of(group, &|all| interval(all.median_ci95)),
            of(group, &|all| show_rate(all.mean)),
            of(group, &|all| interval(all.mean_ci95)),
            of(group, &shown::cv),
        ]
    });
    table(&mut out, &heads, &figures);
    let heads = ["", "min", "quartile", "median", "quartile", "max", "beyond the whiskers"];
    let spread = rows(&|group| {
        let show = |of_box: fn(&Described) -> f64| of(group, &|all| show_rate(of_box(all)));
        vec![
            show(|all| all.spread.min),
            show(|all| all.spread.q1),
            show(|all| all.spread.median),
            show(|all| all.spread.q3),
            show(|all| all.spread.max),
            of(group, &|all| all.spread.outliers.len().to_string()),
        ]
    });
    out.push('\n');
    table(&mut out, &heads, &spread);
    if compared.groups.iter().any(|group| group.cost().is_some()) {
        let heads = ["", "price an hour", "a request", "a million requests"];
        let costs = rows(&|group| {
            let Some(cost) = group.cost() else { return vec![dash(), dash(), dash()] };
            let price = cost.price_per_hour.to_string();
            vec![price, cost.show_per_request(), cost.show_per_million()]
        });
        out.push('\n');
        table(&mut out, &heads, &costs);
    }
    out.push_str(&remarks(compared));
    out
}

fn remarks(compared: &Compared) -> String {
    let paint = Paint::stdout();
    let mut out = String::from("\n");
    for group in compared.groups.iter().filter(|group| group.is_poor()) {
        let score = group.score.unwrap_or_default();
        let _ = writeln!(
            out,
            "  {} is unusually {}: its median has the modified z-score {score:.1} among the groups",
            group.group,
            paint.bad("poor"),
        );
    }
    for group in &compared.groups {
        for remark in shown::remarks(&group.summary) {
            let _ = writeln!(out, "  {} {remark}", group.group);
        }
        if let Some(of) = &group.summary.restarts {
            let _ = writeln!(out, "  {} after restarts: {}", group.group, shown::restarts(of));
        }
    }
    for warning in &compared.warnings {
        let _ = writeln!(out, "{} {warning}", paint.warn("note:"));
    }
    if out == "\n" { String::new() } else { out }
}
