//! The facts of a run as rows of `run.sqlite`'s table `meta`: text by key.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

use plimsoll_units::secret::hidden;
use rusqlite::Connection;

use crate::meta::{End, Ended, Kind, LoadMeta, RunMeta, World};

/// How much of `latency.hlog` was written when the last transaction was made.
pub(crate) const HLOG_BYTES: &str = "hlog_bytes";

/// How much of `artifacts/samples.bin` was written when the run ended.
pub(crate) const SAMPLES_BYTES: &str = "samples_bytes";

/// Until when figures by name, of users and of WebSockets are.
pub(crate) const BOOKS_NS: &str = "books_ns";

/// How long the warm-up was.
pub(crate) const WARMUP_NS: &str = "warmup_ns";

/// Rows of the table: what is known at the start.
pub(crate) fn of_meta(meta: &RunMeta) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("id", meta.id.clone()),
        ("kind", meta.kind.name().to_owned()),
        ("cell", meta.cell.to_string()),
        ("name", meta.name.clone()),
        ("subject", hidden(&meta.subject).into_owned()),
        ("started_unix_ns", meta.started_unix_ns.to_string()),
        ("version", meta.version.clone()),
        ("seed", meta.seed.to_string()),
        ("plan_text", meta.plan_text.clone()),
        ("plan_sha256", meta.plan_sha256.clone()),
        (WARMUP_NS, meta.warmup_ns.to_string()),
        ("duration_ns", meta.duration_ns.to_string()),
        ("world", meta.world.name().to_owned()),
        ("host", json(&meta.host)),
    ];
    facts.extend((!meta.factors.is_empty()).then(|| ("factors", json(&meta.factors))));
    facts.extend((!meta.tags.is_empty()).then(|| ("tags", json(&meta.tags))));
    facts.extend((!meta.about.is_empty()).then(|| ("about", meta.about.clone())));
    facts.extend(meta.inputs_sha256.iter().map(|of| ("inputs_sha256", of.clone())));
    facts.extend(meta.slo.iter().map(|slo| ("slo", slo.clone())));
    facts.extend(meta.load.iter().flat_map(of_load));
    facts
}

fn of_load(load: &LoadMeta) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("threads", load.threads.to_string()),
        ("pacing", load.pacing.clone()),
        ("patience_ns", load.patience_ns.to_string()),
        ("samples", u8::from(load.samples).to_string()),
    ];
    facts.extend((!load.names.is_empty()).then(|| ("names", json(&load.names))));
    facts.extend(load.workload.iter().map(|workload| ("workload", json(workload))));
    facts
}

/// Rows of the table: what is known at the end.
pub(crate) fn of_end(end: &End) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("ended", end.ended.name().to_owned()),
        ("ended_because", hidden(end.ended.reason()).into_owned()),
        ("drain_ns", end.drain_ns.to_string()),
        ("cpu_ns", end.cpu_ns.to_string()),
        ("invalid_because", json(&end.invalid_because)),
        ("warnings", json(&end.warnings.iter().map(|of| hidden(of)).collect::<Vec<_>>())),
    ];
    facts.extend(end.measured_ns.map(|ns| ("measured_ns", ns.to_string())));
    facts.extend(end.tls.map(|tls| ("tls", json(&tls))));
    facts.extend(end.max_rss_bytes.map(|bytes| ("max_rss_bytes", bytes.to_string())));
    facts.extend(end.max_rate_per_s.map(|rate| ("max_rate_per_s", rate.to_string())));
    facts
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| unreachable!("texts and numbers serialise"))
}

/// The table's rows, read.
pub(crate) struct Facts(BTreeMap<String, String>);

impl Facts {
    /// Reads the table.
    pub(crate) fn read(database: &Connection) -> rusqlite::Result<Self> {
        let mut statement = database.prepare("SELECT key, value FROM meta")?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.collect::<rusqlite::Result<_>>().map(Self)
    }

    /// Whether nothing is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it is stated what the run is one of: version 1 did not.
    pub(crate) fn has_kind(&self) -> bool {
        self.0.contains_key("kind")
    }

    fn text(&self, key: &str) -> Result<&str, String> {
        self.0.get(key).map(String::as_str).ok_or_else(|| format!("`{key}` is missing"))
    }

    fn parsed<T: FromStr<Err: Display>>(&self, key: &str) -> Result<T, String> {
        let text = self.text(key)?;
        text.parse().map_err(|error| format!("`{key}` is `{text}`: {error}"))
    }

    fn optional<T: FromStr<Err: Display>>(&self, key: &str) -> Result<Option<T>, String> {
        self.0.contains_key(key).then(|| self.parsed(key)).transpose()
    }

    fn json<T: serde::de::DeserializeOwned>(&self, key: &str) -> Result<T, String> {
        serde_json::from_str(self.text(key)?).map_err(|error| format!("`{key}`: {error}"))
    }

    /// What was known at the start.
    pub(crate) fn meta(&self) -> Result<RunMeta, String> {
        let text = |key| self.text(key).map(str::to_owned);
        let world = self.text("world")?;
        let kind = self.0.get("kind").map_or(Kind::Load.name(), String::as_str);
        Ok(RunMeta {
            id: text("id")?,
            // Version 1 knew no kinds, nor cells.
            kind: Kind::named(kind).ok_or_else(|| format!("`kind` is `{kind}`, which is none"))?,
            cell: self.optional("cell")?.unwrap_or(0),
            name: text("name")?,
            subject: text("subject")?,
            about: self.0.get("about").cloned().unwrap_or_default(),
            factors: self.map("factors")?,
            tags: self.map("tags")?,
            started_unix_ns: self.parsed("started_unix_ns")?,
            version: text("version")?,
            seed: self.parsed("seed")?,
            plan_text: text("plan_text")?,
            plan_sha256: text("plan_sha256")?,
            inputs_sha256: self.optional("inputs_sha256")?,
            warmup_ns: self.parsed(WARMUP_NS)?,
            duration_ns: self.parsed("duration_ns")?,
            slo: self.optional("slo")?,
            load: self.0.contains_key("threads").then(|| self.load()).transpose()?,
            world: World::named(world)
                .ok_or_else(|| format!("`world` is `{world}`, expected live or simulated"))?,
            host: self.json("host")?,
        })
    }

    /// Texts by name; none where the table has no such row.
    fn map(&self, key: &str) -> Result<BTreeMap<String, String>, String> {
        let found = self.0.contains_key(key).then(|| self.json(key));
        Ok(found.transpose()?.unwrap_or_default())
    }

    fn load(&self) -> Result<LoadMeta, String> {
        Ok(LoadMeta {
            // Runs of HTTP have none, nor have those of former versions.
            workload: self.0.contains_key("workload").then(|| self.json("workload")).transpose()?,
            threads: self.parsed("threads")?,
            pacing: self.text("pacing")?.to_owned(),
            patience_ns: self.parsed("patience_ns")?,
            samples: self.text("samples")? == "1",
            names: self
                .0
                .contains_key("names")
                .then(|| self.json("names"))
                .transpose()?
                .unwrap_or_default(),
        })
    }

    /// What was learnt at the end; `None` where the run has not ended.
    pub(crate) fn end(&self) -> Result<Option<End>, String> {
        let Some(name) = self.0.get("ended") else { return Ok(None) };
        let ended = Ended::from_parts(name, self.text("ended_because")?)
            .ok_or_else(|| format!("`ended` is `{name}`, no way to end is called so"))?;
        Ok(Some(End {
            ended,
            measured_ns: self.optional("measured_ns")?,
            drain_ns: self.parsed("drain_ns")?,
            max_rss_bytes: self.optional("max_rss_bytes")?,
            cpu_ns: self.parsed("cpu_ns")?,
            max_rate_per_s: self.optional("max_rate_per_s")?,
            invalid_because: self.json("invalid_because")?,
            warnings: self.json("warnings")?,
            tls: self.0.contains_key("tls").then(|| self.json("tls")).transpose()?,
        }))
    }
}
