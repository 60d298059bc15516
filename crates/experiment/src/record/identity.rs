//! What the figures of a cell depend on, as a hash: a cell of an equal hash is the same cell,
//! however the plan has changed beside it.

use std::path::PathBuf;

use plimsoll_runs::experiment::Cell;
use plimsoll_units::hash::hex;
use sha2::{Digest, Sha256};

use super::{CellPlan, Record, Subject};
use crate::error::ExperimentError;
use crate::inputs::{self, Input, inputs};

/// What the figures of one combination of levels depend on, beside the seed of each cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Own {
    /// A digest of the plan as it is with these levels, and of what it is executed by.
    digest: [u8; 32],
    /// The files that it reads.
    files: Vec<PathBuf>,
}

impl Own {
    /// Of the text of a plan with its levels, and of the files that it reads.
    #[must_use]
    pub fn new(text: &str, files: Vec<PathBuf>) -> Self {
        Self { digest: Sha256::digest(text).into(), files }
    }

    /// The files that it reads.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }
}

/// What cells depend on that is the same for all of them.
pub(super) struct Basis {
    /// The files of all cells.
    pub(super) inputs: Vec<Input>,
    /// Digest of the plan and of what the files hold; of an experiment whose combinations have
    /// their own, of neither.
    digest: Sha256,
}

impl Record<'_> {
    /// What all cells depend on.
    pub(super) fn basis(&self) -> Result<&Basis, ExperimentError> {
        if let Some(basis) = self.basis.get() {
            return Ok(basis);
        }
        let Subject { identity, files, own, .. } = &self.opening.of;
        let inputs = inputs(files)?;
        let mut digest = Sha256::new_with_prefix(identity);
        if own.is_empty() {
            digest.update(inputs::identity(&inputs));
        }
        Ok(self.basis.get_or_init(|| Basis { inputs, digest }))
    }

    pub(super) fn cell(&self, basis: &Basis, of: CellPlan) -> Cell {
        let CellPlan { number, factors, replication, block, seed } = of;
        let place = number;
        let mut digest = basis.digest.clone();
        match self.opening.of.own.get(&factors) {
            // The levels stand in the text, whatever the factors are called.
            Some(own) => {
                digest.update(own.digest);
                digest.update(inputs::identity(&inputs::of(&basis.inputs, &own.files)));
            }
            None => factors.iter().for_each(|(factor, level)| {
                digest.update(format!("\0{factor}={level}"));
            }),
        }
        digest.update(seed.to_le_bytes());
        let (hash, world) = (hex(&digest.finalize()), self.opening.of.world);
        Cell { number, place, factors, replication, block, seed, world, hash }
    }
}
