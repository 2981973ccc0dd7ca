//! Where the tags of a Jinja source are: enough of its lexer to put a block around something.

use std::ops::Range;

/// A `{% … %}` of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tag<'s> {
    /// From brace to brace.
    pub(super) at: Range<usize>,
    /// `-`, `+` or nothing after the opening brace.
    pub(super) left: &'s str,
    /// `-`, `+` or nothing before the closing brace.
    pub(super) right: &'s str,
    /// The first word.
    pub(super) word: &'s str,
    /// What follows it.
    pub(super) rest: &'s str,
}

/// All block tags in order; of what stands in comments and raw blocks none.
pub(super) fn tags(source: &str) -> Vec<Tag<'_>> {
    let mut tags = Vec::new();
    let mut at = 0;
    while let Some(found) = source[at..].find('{') {
        let start = at + found;
        at = match source.as_bytes().get(start + 1) {
            Some(b'#') => source[start..].find("#}").map_or(source.len(), |end| start + end + 2),
            Some(b'{') => end_of(source, start + 2, "}}"),
            Some(b'%') => {
                let end = end_of(source, start + 2, "%}");
                let tag = tag(source, start..end);
                let is_raw = tag.as_ref().is_some_and(|tag| tag.word == "raw");
                tags.extend(tag);
                if is_raw { end_of_raw(source, end) } else { end }
            }
            _ => start + 1,
        };
    }
    tags
}

/// After the first `close` that does not stand in a string.
fn end_of(source: &str, from: usize, close: &str) -> usize {
    let bytes = source.as_bytes();
    let mut quote = None;
    let mut at = from;
    while at < bytes.len() {
        match (quote, bytes[at]) {
            (Some(_), b'\\') => at += 1,
            (Some(open), byte) if byte == open => quote = None,
            (None, b'"' | b'\'') => quote = Some(bytes[at]),
            (None, _) if bytes[at..].starts_with(close.as_bytes()) => return at + close.len(),
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

fn end_of_raw(source: &str, from: usize) -> usize {
    let mut at = from;
    while let Some(found) = source[at..].find("{%") {
        let start = at + found;
        let end = end_of(source, start + 2, "%}");
        if tag(source, start..end).is_some_and(|tag| tag.word == "endraw") {
            return start;
        }
        at = start + 2;
    }
    source.len()
}

fn tag(source: &str, at: Range<usize>) -> Option<Tag<'_>> {
    let inner = source[at.clone()].strip_prefix("{%")?.strip_suffix("%}")?;
    let left = if inner.starts_with(['-', '+']) { &inner[..1] } else { "" };
    let inner = &inner[left.len()..];
    let right = if inner.ends_with(['-', '+']) { &inner[inner.len() - 1..] } else { "" };
    let inner = inner[..inner.len() - right.len()].trim();
    let end = inner.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(inner.len());
    Some(Tag { at, left, right, word: &inner[..end], rest: inner[end..].trim() })
}

/// A block: its opening and closing tag, and the `{% else %}` of its own that ends its body early.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) open: usize,
    pub(super) close: usize,
    /// The tag that the body ends before.
    pub(super) body_end: usize,
    /// The block around it.
    pub(super) parent: Option<usize>,
}

/// Blocks in the order of their opening tags, which are places in `tags`. None: the tags do not match.
pub(super) fn blocks(tags: &[Tag<'_>]) -> Option<Vec<Block>> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    for (i, tag) in tags.iter().enumerate() {
        if let Some(word) = tag.word.strip_prefix("end") {
            let block = &mut blocks[open.pop()?];
            if tags[block.open].word != word {
                return None;
            }
            block.close = i;
            block.body_end = block.body_end.min(i);
        } else if matches!(tag.word, "else" | "elif") {
            let block = &mut blocks[*open.last()?];
            block.body_end = block.body_end.min(i);
        } else if opens(tag) {
            blocks.push(Block { open: i, close: i, body_end: usize::MAX, parent: open.last().copied() });
            open.push(blocks.len() - 1);
        }
    }
    open.is_empty().then_some(blocks)
}

fn opens(tag: &Tag<'_>) -> bool {
    match tag.word {
        "set" => !tag.rest.contains('='),
        word => {
            ["for", "if", "macro", "call", "filter", "with", "block", "autoescape", "raw", "generation"].contains(&word)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_found_and_what_only_looks_like_one_is_not() {
        let source = "{# {% no %} #}{{ '{% no %}' }}{%- for m in messages -%}{% set x = \"%}\" %}{ %}{% raw %}{% no %}{% endraw %}{%+endfor%}";
        let found = tags(source);
        let words: Vec<_> = found.iter().map(|tag| (tag.left, tag.word, tag.rest, tag.right)).collect();
        let expected = [
            ("-", "for", "m in messages", "-"),
            ("", "set", "x = \"%}\"", ""),
            ("", "raw", "", ""),
            ("", "endraw", "", ""),
            ("+", "endfor", "", ""),
        ];
        assert_eq!(words, expected);
        let blocks = blocks(&found).expect("they match");
        assert_eq!(
            blocks.iter().map(|b| (b.open, b.close, b.parent)).collect::<Vec<_>>(),
            [(0, 4, None), (2, 3, Some(0))]
        );
    }
}
