//! What an import writes: a trace, and a list of URLs.

use std::io::{self, Write};

use super::import::ImportedLog;

/// Longer gaps are not written in full.
const LONG_GAP_S: i64 = 3600;

/// What is written of them: enough that rows a second apart stay the most frequent.
const WRITTEN_OF_GAP_S: i64 = 60;

impl ImportedLog {
    /// Writes the trace: a line `time_s,count`, then one for every second from the first to the
    /// last with a request, its time counted from the first. Of more than an hour without a
    /// request only the first minute is written, as a trace holds its rate from row to row: so a
    /// line with a wrong year costs a minute of rows.
    ///
    /// # Errors
    /// What the writer answers.
    pub fn write_trace_csv(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(b"time_s,count\n")?;
        let first = self.seconds.first();
        let mut next = first;
        for (second, count) in self.seconds.busy() {
            let end = if second - next > LONG_GAP_S { next + WRITTEN_OF_GAP_S } else { second };
            for idle in next..end {
                writeln!(out, "{},0", idle - first)?;
            }
            writeln!(out, "{},{count}", second - first)?;
            next = second + 1;
        }
        out.flush()
    }

    /// Writes the URLs: a line `url,count`, then one for each URL, the most requested first. It is
    /// read back by [`UrlListReader`](crate::request::UrlListReader).
    ///
    /// A URL that holds a comma or a quote is put in double quotes, its own quotes doubled. No
    /// other character needs it, because URLs are visible ASCII and start with `/` or `http`.
    ///
    /// # Errors
    /// What the writer answers.
    pub fn write_urls_csv(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(b"url,count\n")?;
        for (url, count) in self.urls.iter() {
            if url.contains([',', '"']) {
                writeln!(out, "\"{}\",{count}", url.replace('"', "\"\""))?;
            } else {
                writeln!(out, "{url},{count}")?;
            }
        }
        out.flush()
    }
}
