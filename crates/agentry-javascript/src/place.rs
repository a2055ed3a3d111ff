//! Places in the agent file. The engine counts bytes of a line; people count characters.

use crate::job::ScriptBlock;

/// A place in the file of the code: line and column in characters, both from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodePlace {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

/// Returns the place of a byte of a line. `None` if no block has that line: code can forge its stack.
pub(crate) fn in_file(blocks: &[ScriptBlock], line: u32, byte: u32) -> Option<CodePlace> {
    let found = blocks.iter().find_map(|block| {
        let index = usize::try_from(line.checked_sub(block.line)?).ok()?;
        block.text.split('\n').nth(index)
    })?;
    let before = usize::try_from(byte.saturating_sub(1)).ok()?;
    let characters = found.char_indices().take_while(|(at, _)| *at < before).count();
    Some(CodePlace { line, column: u32::try_from(characters).ok()?.saturating_add(1) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_columns_become_character_columns() {
        let block = |line, text: &str| ScriptBlock { line, text: text.to_owned() };
        let blocks = [block(10, "a\näöü b"), block(20, "  x")];
        let cases = [
            ((10, 1), Some((10, 1))),
            ((11, 8), Some((11, 5))),
            ((11, 99), Some((11, 6))),
            ((11, 0), Some((11, 1))),
            ((20, 3), Some((20, 3))),
            ((12, 1), None),
            ((1, 1), None),
            ((21, 1), None),
            ((u32::MAX, 1), None),
        ];
        for ((line, byte), expected) in cases {
            let found = in_file(&blocks, line, byte).map(|place| (place.line, place.column));
            assert_eq!(found, expected, "{line}:{byte}");
        }
    }
}
