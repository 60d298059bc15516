//! The run: a folder that explains itself. Writing, reading, index, exports.
//!
//! # The folder
//!
//! `runs/<time>-<short id>/`
//!
//! | file | what | written |
//! | --- | --- | --- |
//! | `plan.toml` | the plan, complete, defaults filled in | at the start |
//! | `run.sqlite` | tables `meta`, `interval`, `total`, `reason`, `event`, [`series`], [`window`], `figure` ([`figures`]), `name` ([`by_name`]), `label` and `label_name` ([`by_label`]), `users`, `websocket`; in WAL mode while it runs (then with `run.sqlite-wal` and `-shm` beside it), one plain file at the end | one transaction a second |
//! | `latency.hlog` | histograms by second, phase and [`tag`]: HdrHistogram log 1.3, V2, nanoseconds | appended each second |
//! | `artifacts/samples.bin` | every request, where samples are kept ([`samples`]) | in blocks |
//! | `summary.json` | the [`Summary`], of what has a load | at the end; rebuilt when missing |
//!
//! Several cells of one plan are an [`experiment`]: a folder with a journal, and a run folder for
//! each cell.
//!
//! Histograms are kept, not percentiles, so runs merge exactly. A crash at any moment leaves a run
//! that reads up to that moment ([`folder`] says what may be lost when). `runs/index.sqlite`
//! serves lists and is rebuilt from the folders ([`index`]).
//!
//! # The way through
//!
//! The engine fills [`Interval`]s and hands them to a [`Sink`]; [`RunWriter`] is the one that
//! writes the folder. [`Run`] reads it, whether finished, killed or still going on, and
//! [`summarise`] is the one way a summary comes about.

mod answered;
pub mod baseline;
pub mod by_label;
pub mod by_name;
pub mod error;
pub mod event;
pub mod experiment;
pub mod export;
pub mod figures;
pub mod folder;
pub mod handshakes;
pub mod index;
pub mod interval;
pub mod labels;
pub mod local;
pub mod meta;
pub mod names;
pub mod outcome;
pub mod own;
pub mod reasons;
mod replace;
pub mod row;
pub mod run;
pub mod samples;
pub mod series;
pub mod sink;
pub mod slowest;
pub mod summary;
pub mod tag;
mod watched;
pub mod window;
mod writing;

mod database;
mod decision;
mod facts;
mod failures;
mod hgrm;
mod hlog;
mod label_table;
mod later;
mod name_table;
mod opened;
mod part_health;
mod schema;
mod summarise;
mod summary_figures;
mod summary_file;
mod times;
mod users;
mod validity;
mod websocket;

pub use answered::Answered;
pub use by_label::{LabelBook, LabelBooks, LabelFigures};
pub use by_name::{NameBook, NameBooks, NamedFigures};
pub use decision::DecisionRow;
pub use error::{RunError, SinkError, hint_for_write};
pub use event::{Class, Event};
pub use figures::FigureRow;
pub use folder::RunWriter;
pub use handshakes::{Handshakes, TlsHandshakes};
pub use interval::{Counters, Interval, PhaseSlice, Sample};
pub use labels::{Labelled, Labelling};
pub use later::add_events;
pub use local::LocalCause;
pub use meta::{End, Ended, HostSample, Kind, LoadMeta, RunMeta, World, currency};
pub use names::{Name, NameKind, NamedEvent, NamedPart, Names, Naming};
pub use outcome::{Blame, ErrorKind, Phase};
pub use part_health::{PartHealth, PartSecond};
pub use plimsoll_units::civil::iso8601;
pub use reasons::{Reason, Reasons, Secrets};
pub use replace::replace;
pub use row::{HostRow, IntervalRow};
pub use run::Run;
pub use series::SeriesRow;
pub use sink::Sink;
pub use slowest::{SlowTrace, Slowest, TraceId};
pub use summarise::{refused, summarise};
pub use summary::{SlowTraceFigures, Summary};
pub use tag::{Named, Tag, TagName};
pub use users::UserCounts;
pub use websocket::{
    BroadcastCounts, BroadcastFigures, ClockOffset, WebSocketCounts, WebSocketFigures,
};
pub use window::WindowRow;
pub use writing::{ask_to_end, is_written};
