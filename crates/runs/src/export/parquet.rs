//! Every request of a run that kept them, as a table of Parquet: the columns of `samples-csv`, each
//! with a type of its own, and null for what never came.
//!
//! Rows are gathered into groups, of which one is in memory at a time. Times are stored as
//! differences, texts by a dictionary; nothing is compressed besides.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use parquet::basic::{Encoding, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnPath, Type};

use super::samples::{NAMES, every, values};
use crate::error::RunError;
use crate::run::Run;

/// Rows of a group.
const ROWS: usize = 1 << 17;
/// The columns that hold offsets of time, and those that hold texts; others are numbers.
const TIMES: [&str; 4] = ["due_ns", "sent_ns", "first_byte_ns", "done_ns"];
const TEXTS: [&str; 4] = ["kind", "name", "phase", "trace_id"];
/// The columns that every request has.
const ALWAYS: [&str; 3] = ["due_ns", "received_bytes", "phase"];

/// What was written and is not handed on yet: the writer wants what may go to another thread.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Written {
    /// Hands on what there is.
    fn flush_to(&self, out: &mut dyn Write) -> Result<(), RunError> {
        let bytes = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        out.write_all(&bytes).map_err(RunError::Export)
    }
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A row a request.
pub(super) fn write(run: &Run, out: &mut dyn Write) -> Result<(), RunError> {
    let written = Written::default();
    let made = || -> Result<_, ParquetError> {
        SerializedFileWriter::new(written.clone(), Arc::new(schema()?), Arc::new(properties()))
    };
    let mut writer = made().map_err(failed)?;
    let mut columns = Column::all();
    let mut rows = 0;
    every(run, |sample| {
        for (column, value) in columns.iter_mut().zip(values(run, sample)) {
            column.push(&value);
        }
        rows += 1;
        if rows == ROWS {
            rows = 0;
            write_group(&mut writer, &mut columns).map_err(failed)?;
            written.flush_to(out)?;
        }
        Ok(())
    })?;
    if rows > 0 {
        write_group(&mut writer, &mut columns).map_err(failed)?;
    }
    writer.close().map_err(failed)?;
    written.flush_to(out)
}

fn failed(error: ParquetError) -> RunError {
    RunError::Export(io::Error::other(error))
}

/// The columns of a table of samples.
fn schema() -> Result<Type, ParquetError> {
    let field = |name: &&str| {
        let (physical, logical) = match *name {
            name if TEXTS.contains(&name) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            "status" => (Physical::INT32, None),
            _ => (Physical::INT64, None),
        };
        let is_always = ALWAYS.contains(name);
        let repetition = if is_always { Repetition::REQUIRED } else { Repetition::OPTIONAL };
        let builder = Type::primitive_type_builder(name, physical);
        builder.with_repetition(repetition).with_logical_type(logical).build().map(Arc::new)
    };
    let fields = NAMES.iter().map(field).collect::<Result<Vec<_>, _>>()?;
    Type::group_type_builder("sample").with_fields(fields).build()
}

fn properties() -> WriterProperties {
    let own = concat!("plimsoll ", env!("CARGO_PKG_VERSION")).to_owned();
    TIMES
        .iter()
        .fold(WriterProperties::builder().set_created_by(own), |properties, name| {
            let path = ColumnPath::from(*name);
            properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED)
        })
        .build()
}

/// The values of a column in a group: those that there are, and where they are.
struct Column {
    is_always: bool,
    values: Values,
    /// For each row 1, or 0 where it has no value.
    levels: Vec<i16>,
}

enum Values {
    Status(Vec<i32>),
    Number(Vec<i64>),
    Text(Vec<ByteArray>),
}

impl Column {
    fn all() -> Vec<Self> {
        let column = |name: &str| Self {
            is_always: ALWAYS.contains(&name),
            values: match name {
                name if TEXTS.contains(&name) => Values::Text(Vec::new()),
                "status" => Values::Status(Vec::new()),
                _ => Values::Number(Vec::new()),
            },
            levels: Vec::new(),
        };
        NAMES.into_iter().map(column).collect()
    }

    fn push(&mut self, value: &serde_json::Value) {
        let number = value.as_u64().map(|number| i64::try_from(number).unwrap_or(i64::MAX));
        let has_value = match (&mut self.values, number, value.as_str()) {
            (Values::Status(all), Some(number), _) => {
                all.push(i32::try_from(number).unwrap_or(i32::MAX));
                true
            }
            (Values::Number(all), Some(number), _) => {
                all.push(number);
                true
            }
            (Values::Text(all), _, Some(text)) => {
                all.push(ByteArray::from(text));
                true
            }
            _ => false,
        };
        self.levels.push(i16::from(has_value));
    }

    fn write(&mut self, out: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        let levels = std::mem::take(&mut self.levels);
        let levels = (!self.is_always).then_some(&levels[..]);
        match &mut self.values {
            Values::Status(all) => {
                out.typed::<Int32Type>().write_batch(all, levels, None)?;
                all.clear();
            }
            Values::Number(all) => {
                out.typed::<Int64Type>().write_batch(all, levels, None)?;
                all.clear();
            }
            Values::Text(all) => {
                out.typed::<ByteArrayType>().write_batch(all, levels, None)?;
                all.clear();
            }
        }
        Ok(())
    }
}

fn write_group(
    writer: &mut SerializedFileWriter<Written>,
    columns: &mut [Column],
) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    for column in columns {
        let Some(mut out) = group.next_column()? else { break };
        column.write(&mut out)?;
        out.close()?;
    }
    group.close().map(drop)
}
