//! Reads lines with a limit. A longer line is an error, because the call that it answers would otherwise
//! never return.

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Why no further line can be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineFailure {
    /// A line exceeds this many bytes.
    #[error("a line has more than {0} bytes")]
    TooLong(usize),
    /// The stream failed.
    #[error("{0}")]
    Broken(String),
}

/// Reads lines of at most `most` bytes.
pub struct LineReader<R> {
    source: R,
    most: usize,
    /// What was read and not returned yet.
    buffer: Vec<u8>,
    /// How much of the buffer has no line break.
    searched: usize,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    /// Reads from `source`.
    pub fn new(source: R, most: usize) -> Self {
        Self { source, most, buffer: Vec::new(), searched: 0 }
    }

    /// Returns the next line without its end, or `None` at the end of the stream.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, LineFailure> {
        const CHUNK: usize = 64 << 10;
        loop {
            let fresh = self.buffer.get(self.searched..).unwrap_or_default();
            if let Some(at) = fresh.iter().position(|byte| *byte == b'\n') {
                let rest = self.buffer.split_off(self.searched + at + 1);
                let mut line = std::mem::replace(&mut self.buffer, rest);
                self.searched = 0;
                line.pop();
                return Ok(Some(line));
            }
            self.searched = self.buffer.len();
            if self.buffer.len() > self.most {
                return Err(LineFailure::TooLong(self.most));
            }
            self.buffer.reserve(CHUNK);
            let read = self.source.read_buf(&mut self.buffer).await;
            match read {
                // A last line without an end is incomplete.
                Ok(0) => return Ok(None),
                Ok(_) => {}
                Err(error) => return Err(LineFailure::Broken(error.to_string())),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_longer_than_the_limit_are_errors() {
        let mut lines = LineReader::new(&b"a\n\nbcd\nrest"[..], 3);
        let mut found = Vec::new();
        while let Ok(Some(line)) = lines.next().await {
            found.push(String::from_utf8(line).unwrap());
        }
        assert_eq!(found, ["a", "", "bcd"]);
        let long = vec![b'x'; 1 << 20];
        let mut lines = LineReader::new(&long[..], 1000);
        assert_eq!(lines.next().await, Err(LineFailure::TooLong(1000)));
    }
}
