//! What is said of cells that are executed elsewhere.
//!
//! Cells are given out by lease: each has a number, its *attempt*, which no other lease of the
//! session has. What comes of a cell names the attempt that it was given out by, and is taken only
//! where the cell has not been given to somebody else since.

use plimsoll_runs::experiment::Cell;
use plimsoll_runs::{FigureRow, World};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the cells are of that a worker is to execute.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CellsJob {
    /// The plan's text.
    pub plan: String,
    /// The experiment's id, which runs of cells are called after.
    pub id: String,
    /// What runs are tagged with.
    pub tags: BTreeMap<String, String>,
    /// How many cells there are at most.
    pub cells: u64,
    /// Which cells keep a run: `figures`, `few` or `all`.
    pub keeps: String,
    /// How many threads execute them; `None` for all processors that the worker has.
    pub threads: Option<u32>,
}

/// Cells that are given out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The attempt.
    pub attempt: u64,
    /// The cells, in the order in which they are executed.
    pub cells: Vec<LeasedCell>,
}

/// A [`Cell`] of a simulated world, as it is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeasedCell {
    number: u32,
    place: u32,
    factors: BTreeMap<String, String>,
    replication: u32,
    block: u32,
    seed: u64,
    hash: String,
}

impl From<&Cell> for LeasedCell {
    fn from(cell: &Cell) -> Self {
        let Cell { number, place, factors, replication, block, seed, hash, .. } = cell.clone();
        Self { number, place, factors, replication, block, seed, hash }
    }
}

impl From<LeasedCell> for Cell {
    fn from(cell: LeasedCell) -> Self {
        let LeasedCell { number, place, factors, replication, block, seed, hash } = cell;
        let world = World::Simulated;
        Self { number, place, factors, replication, block, seed, world, hash }
    }
}

/// A [`FigureRow`], bit for bit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FigureOf {
    name: String,
    bits: u64,
    low: Option<u64>,
    high: Option<u64>,
}

impl From<&FigureRow> for FigureOf {
    fn from(row: &FigureRow) -> Self {
        let FigureRow { name, value, low, high } = row;
        let bits = |value: &f64| value.to_bits();
        Self {
            name: name.clone(),
            bits: bits(value),
            low: low.as_ref().map(bits),
            high: high.as_ref().map(bits),
        }
    }
}

impl From<FigureOf> for FigureRow {
    fn from(of: FigureOf) -> Self {
        let FigureOf { name, bits, low, high } = of;
        let value = f64::from_bits;
        Self { name, value: value(bits), low: low.map(value), high: high.map(value) }
    }
}

/// A piece of a file of a cell's run, behind those before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// The attempt.
    pub attempt: u64,
    /// The cell's number.
    pub cell: u32,
    /// The file's path in the folder of the run.
    pub file: String,
    /// The piece, in base64.
    pub base64: String,
}

/// What came of a cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellAnswer {
    /// The attempt.
    pub attempt: u64,
    /// The cell's number.
    pub cell: u32,
    /// Its figures.
    pub figures: Vec<FigureOf>,
    /// How long it took, nanoseconds.
    pub took_ns: u64,
    /// Its run, where it keeps one.
    pub run: Option<RunOf>,
    /// Why it came to nothing, where it failed.
    pub failed: Option<String>,
}

/// What closes the pieces of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOf {
    /// How many bytes its files have.
    pub bytes: u64,
    /// The SHA-256 of its files in the order of their pieces: of each its path, a zero byte, and
    /// the SHA-256 of what it holds.
    pub sha256: String,
}

/// How a lease ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseEnd {
    /// The attempt.
    pub attempt: u64,
    /// What a reader should know of what came out.
    pub notes: Vec<String>,
    /// Why it ended before its last cell: what is wrong would be so anywhere.
    pub fault: Option<Fault>,
}

/// What keeps cells from being executed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// Why.
    pub why: String,
    /// What could be done about it.
    pub hint: Option<String>,
    /// Whether what was asked for is wrong.
    pub is_usage: bool,
}
