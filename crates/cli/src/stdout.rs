//! Room `cli`: standard output, as a stream.
//!
//! A report may be larger than memory, so text is written as soon as there is enough of it, or when an answer is complete.
//! A reader that has gone away is not an error; any other failure is kept, and reported at the end.

use std::fmt;
use std::io::{self, Write};

/// How much is collected before it is written.
const ENOUGH: usize = 1 << 16;

/// What goes to standard output.
#[derive(Default)]
pub struct Stdout {
    buffer: Vec<u8>,
    written: usize,
    gone: bool,
    error: Option<io::Error>,
}

impl Stdout {
    /// Says something.
    pub fn push_str(&mut self, text: &str) {
        let written = self.write_all(text.as_bytes());
        self.note(written);
    }

    /// Says one character.
    pub fn push(&mut self, c: char) {
        self.push_str(c.encode_utf8(&mut [0; 4]));
    }

    /// How many bytes were said.
    pub fn len(&self) -> usize {
        self.written + self.buffer.len()
    }

    /// Keeps a failure to be reported at the end.
    pub fn note(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            self.error.get_or_insert(error);
        }
    }

    /// Writes what was said so far.
    pub fn flush_soon(&mut self) {
        let written = self.flush();
        self.note(written);
    }

    /// Writes the rest; what went wrong, if something did.
    pub fn finish(&mut self) -> io::Result<()> {
        self.flush_soon();
        self.error.take().map_or(Ok(()), Err)
    }
}

/// Text that is written as it is made. There is no use for more when nobody reads it, or when writing has failed.
impl fmt::Write for Stdout {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push_str(text);
        if self.gone || self.error.is_some() { Err(fmt::Error) } else { Ok(()) }
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= ENOUGH {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.written += self.buffer.len();
        let bytes = std::mem::take(&mut self.buffer);
        if self.gone || self.error.is_some() {
            return Ok(());
        }
        let mut out = io::stdout().lock();
        match out.write_all(&bytes).and_then(|()| out.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.gone = true;
                Ok(())
            }
            written => written,
        }
    }
}
