//! What an import writes: a trace, and a list of URLs.

use std::io::{self, Write};

use super::import::ImportedLog;

impl ImportedLog {
    /// Writes the trace: a line `time_s,count`, then one for every second from the first to the
    /// last with a request, its time counted from the first.
    ///
    /// # Errors
    /// What the writer answers.
    pub fn write_trace_csv(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(b"time_s,count\n")?;
        for (time_s, count) in self.seconds.dense().enumerate() {
            writeln!(out, "{time_s},{count}")?;
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
