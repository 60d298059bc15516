//! Samples of series, and what a series is.
//!
//! A series has a name, labels, a unit, and a place that it is read from. Names are those of the
//! field where it has one for the same thing (node_exporter's for a host, cAdvisor's for a cgroup,
//! those of the usual exporters for a service), so that what people know of them holds here too.
//! `docs/collectors.md` lists all of them.

use std::borrow::Cow;

/// Whether the values of a series only rise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The value only rises, until its source starts anew. Its differences are of interest.
    Counter,
    /// The value rises and falls, and is of interest itself.
    Gauge,
}

impl Kind {
    /// The word that Prometheus has for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
        }
    }
}

/// A series that a collector knows how to read.
#[derive(Debug, Clone, Copy)]
pub struct Series {
    /// The name of the value in its source: the word that stands beside it, or the number of its
    /// field.
    pub key: &'static str,
    /// The name of the series.
    pub name: &'static str,
    /// The names of its labels, sorted. `instance` is added to the series of an instance.
    pub labels: &'static [&'static str],
    /// Whether its values only rise.
    pub kind: Kind,
    /// The unit of its values; empty where they are counted.
    pub unit: &'static str,
    /// What its values are, as a clause for the manual.
    pub about: &'static str,
    times: f64,
    over: f64,
}

impl Series {
    const fn new(kind: Kind, [key, name, unit, about]: [&'static str; 4]) -> Self {
        Self { key, name, labels: &[], kind, unit, about, times: 1.0, over: 1.0 }
    }

    /// Gives the series these labels, which must be sorted.
    pub(crate) const fn by(self, labels: &'static [&'static str]) -> Self {
        Self { labels, ..self }
    }

    /// Multiplies the source's values by this, to come to the unit of the series.
    pub(crate) const fn times(self, times: f64) -> Self {
        Self { times, ..self }
    }

    /// Divides the source's values by this, to come to the unit of the series.
    pub(crate) const fn over(self, over: f64) -> Self {
        Self { over, ..self }
    }
}

/// Makes a counter of its key, name, unit and description.
pub(crate) const fn counter(
    key: &'static str,
    name: &'static str,
    unit: &'static str,
    about: &'static str,
) -> Series {
    Series::new(Kind::Counter, [key, name, unit, about])
}

/// Makes a gauge of its key, name, unit and description.
pub(crate) const fn gauge(
    key: &'static str,
    name: &'static str,
    unit: &'static str,
    about: &'static str,
) -> Series {
    Series::new(Kind::Gauge, [key, name, unit, about])
}

/// Series that are read from one place.
#[derive(Debug)]
pub struct Group {
    /// The file below the root, or the command of a service.
    pub source: &'static str,
    /// The series that are read from it.
    pub series: &'static [Series],
}

impl Group {
    /// The first series with this key.
    pub(crate) fn find(&self, key: &str) -> Option<&'static Series> {
        self.series.iter().find(|series| series.key == key)
    }
}

/// The labels of a sample: pairs of a name and a text, sorted by name.
pub type Labels = Vec<(Cow<'static, str>, String)>;

/// One value of one series.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The name of the series.
    pub name: Cow<'static, str>,
    /// The labels that tell the series from others of its name.
    pub labels: Labels,
    /// The value, a finite number.
    pub value: f64,
}

impl Sample {
    /// The text of a label; `None` where the sample does not have it.
    #[must_use]
    pub fn label(&self, name: &str) -> Option<&str> {
        self.labels.iter().find(|(own, _)| own == name).map(|(_, text)| text.as_str())
    }
}

/// Why a collector gave no samples, or not all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The collector's name.
    pub collector: &'static str,
    /// The instance that it watches, where it watches one.
    pub instance: Option<String>,
    /// True where the collector gave no sample at all, false where it gave some.
    pub is_down: bool,
    /// The reason, in one line.
    pub reason: String,
}

/// The samples of one reading of one collector.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Samples {
    pub(crate) list: Vec<Sample>,
    instance: Option<String>,
    left_out: u64,
    reason: Option<String>,
    /// When the values were taken, where the source says so, on the monotonic clock.
    taken_ns: Option<u64>,
    pub(crate) faults: Vec<Fault>,
}

impl Samples {
    /// An empty list, for a collector of this instance, or of the host itself.
    #[must_use]
    pub fn of(instance: Option<&str>) -> Self {
        Self { instance: instance.map(str::to_owned), ..Self::default() }
    }

    /// Adds a sample of a known series. The value is in the unit of the source, and there is a text
    /// for each label of the series.
    pub fn push(&mut self, series: &'static Series, labels: &[&str], value: f64) {
        debug_assert_eq!(series.labels.len(), labels.len(), "{}", series.name);
        let own = series.labels.iter().zip(labels);
        let own = own.map(|(name, text)| (Cow::Borrowed(*name), (*text).to_owned()));
        self.add(Cow::Borrowed(series.name), own.collect(), value * series.times / series.over);
    }

    /// Adds a sample of a series that only its source knows. Where an instance is watched, a label
    /// `instance` of the source's own becomes `exported_instance`, as in Prometheus.
    pub fn push_foreign<'a>(
        &mut self,
        name: &str,
        labels: impl IntoIterator<Item = (&'a str, &'a str)>,
        value: f64,
    ) {
        let taken = self.instance.is_some();
        let own = labels.into_iter().map(|(name, text)| {
            let name = if taken && name == INSTANCE { EXPORTED_INSTANCE } else { name };
            (Cow::Owned(name.to_owned()), text.to_owned())
        });
        self.add(Cow::Owned(name.to_owned()), own.collect(), value);
    }

    /// Adds a sample of a series that only its source knows, of the instance that it names.
    pub(crate) fn push_named<'a>(
        &mut self,
        name: &str,
        labels: impl IntoIterator<Item = (&'a str, &'a str)>,
        value: f64,
    ) {
        if !value.is_finite() {
            return self.leave_out(1, name);
        }
        let own = labels.into_iter();
        let own = own.map(|(name, text)| (Cow::Owned(name.to_owned()), text.to_owned()));
        let mut labels: Labels = own.collect();
        labels.sort_unstable();
        self.list.push(Sample { name: Cow::Owned(name.to_owned()), labels, value });
    }

    /// Adds a sample that is not of the instance, but of the whole run.
    pub(crate) fn push_of_all(&mut self, series: &'static Series, value: f64) {
        self.list.push(Sample { name: Cow::Borrowed(series.name), labels: Labels::new(), value });
    }

    fn add(&mut self, name: Cow<'static, str>, mut labels: Labels, value: f64) {
        if !value.is_finite() {
            return self.leave_out(1, name);
        }
        if let Some(instance) = &self.instance {
            labels.push((Cow::Borrowed(INSTANCE), instance.clone()));
        }
        labels.sort_unstable();
        self.list.push(Sample { name, labels, value });
    }

    /// Dates the samples by a moment of the monotonic clock; otherwise they are dated by when the
    /// reading began.
    pub(crate) fn taken_at(&mut self, taken_ns: Option<u64>) {
        self.taken_ns = taken_ns;
    }

    /// When the samples were taken, of a reading that began at `at_ns` of a clock and at `begun_ns`
    /// of the monotonic one.
    pub(crate) fn dated(&self, at_ns: u64, begun_ns: u64) -> u64 {
        let Some(taken_ns) = self.taken_ns else { return at_ns };
        (at_ns.saturating_add(taken_ns)).saturating_sub(begun_ns)
    }

    /// Forgets the samples, of a source that has no new ones.
    pub(crate) fn forget(&mut self) {
        self.list.clear();
    }

    /// Counts lines or values of the source that were not understood. `what` says where the first
    /// of them stands.
    pub fn leave_out(&mut self, count: u64, what: impl Into<String>) {
        if count > 0 {
            self.left_out += count;
            self.reason.get_or_insert_with(|| what.into());
        }
    }

    /// How many lines or values of the source were not understood.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Where the first of what was left out stands.
    #[must_use]
    pub fn first_left_out(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// The samples, in the order in which they were read.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Sample> {
        self.list.iter()
    }

    /// How many samples there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there is no sample.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The faults of this reading. A fault that lasts is repeated in each reading.
    #[must_use]
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// The value of a sample, by its name and some of its labels; `None` unless there is exactly
    /// one such sample.
    #[must_use]
    pub fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let fits = |sample: &&Sample| {
            sample.name == name
                && labels.iter().all(|(label, text)| sample.label(label) == Some(text))
        };
        let mut all = self.list.iter().filter(fits);
        let value = all.next()?.value;
        all.next().is_none().then_some(value)
    }
}

/// The label that says which instance a series is of.
pub(crate) const INSTANCE: &str = "instance";
const EXPORTED_INSTANCE: &str = "exported_instance";
