//! The model's own template with the row's mask in it: what a message may not teach stands outside `{% generation %}`.

use super::tags::{Block, Tag, blocks, tags};

/// What a refused template is told to have.
const WRAP: &str = "put {% generation %} before what the model says in its turn and {% endgeneration %} after it";

/// The name under which a turn stands before it is cut into head, words and tail.
const TURN: &str = "lake_turn";

/// Where a template goes through the messages, and what it calls one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loop<'s> {
    /// Bytes of its body.
    body: (usize, usize),
    variable: &'s str,
    /// Whitespace control of the tags around the body, towards it.
    inner: (&'s str, &'s str),
}

/// What stands around the model's words in each of its turns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) head: String,
    pub(super) tail: String,
}

pub(super) fn has_generation(source: &str) -> bool {
    tags(source).iter().any(|tag| tag.word == "generation")
}

/// Makes the template's own `{% generation %}` depend on the message's `train`. A template that asks for it already stays.
///
/// # Errors
/// What the tags lack.
pub(super) fn with_train(source: &str) -> Result<String, String> {
    let tags = tags(source);
    let blocks = blocks(&tags).ok_or("its blocks do not close")?;
    let mut out = String::new();
    let mut done = 0;
    for block in blocks.iter().filter(|block| tags[block.open].word == "generation") {
        let around = around(&blocks, block);
        if let Some(other) = around.clone().map(|b| tags[b.open].word).find(|word| !matches!(*word, "for" | "if")) {
            return Err(format!(
                "{{% generation %}} stands in a {{% {other} %}}, where transformers miscounts: take it out of that"
            ));
        }
        let variable = around.clone().find_map(|b| over_messages(&tags[b.open]));
        let variable = variable.ok_or("{% generation %} stands in no {% for … in messages %}")?;
        let train = format!("{variable}.train");
        if around.clone().any(|b| tags[b.open].word == "if" && tags[b.open].rest.contains(&train)) {
            continue;
        }
        let (open, close) = (&tags[block.open], &tags[block.close]);
        let body = &source[open.at.end..close.at.start];
        out.push_str(&source[done..open.at.start]);
        out.push_str(&format!(
            "{{%{} if {train} %}}{{% generation {}%}}{body}{{%{} endgeneration %}}{{% else {}%}}{body}{{%{} endif {}%}}",
            open.left, open.right, close.left, open.right, close.left, close.right
        ));
        done = close.at.end;
    }
    out.push_str(&source[done..]);
    Ok(out)
}

/// The loops that may be the one that prints the messages.
pub(super) fn loops(source: &str) -> Vec<Loop<'_>> {
    let tags = tags(source);
    let blocks = blocks(&tags).unwrap_or_default();
    let mut loops = Vec::new();
    for block in &blocks {
        let Some(variable) = over_messages(&tags[block.open]) else { continue };
        if around(&blocks, block).all(|b| matches!(tags[b.open].word, "for" | "if")) {
            let (open, end) = (&tags[block.open], &tags[block.body_end]);
            loops.push(Loop { body: (open.at.end, end.at.start), variable, inner: (open.right, end.left) });
        }
    }
    loops
}

/// The source with each whole turn of the model as a generation: shows what stands around its words.
pub(super) fn whole_turns(source: &str, one: Loop<'_>) -> String {
    let variable = one.variable;
    put(
        source,
        one,
        &format!(
            "{{%- if {variable}.role == \"assistant\" %}}{{% generation %}}{{{{- {TURN} }}}}{{% endgeneration %}}{{% else %}}{{{{- {TURN} }}}}{{% endif %}}"
        ),
    )
}

/// The source with the words of each turn that is trained as a generation.
pub(super) fn wrapped(source: &str, one: Loop<'_>, frame: &Frame) -> String {
    let (variable, head, tail) = (one.variable, literal(&frame.head), literal(&frame.tail));
    let end = match frame.tail.chars().count() {
        0 => String::new(),
        n => format!("-{n}"),
    };
    let start = frame.head.chars().count();
    let print = format!("{{{{- {TURN}[{start}:{end}] }}}}");
    let tail = if frame.tail.is_empty() { String::new() } else { format!("{{{{- {tail} }}}}") };
    put(
        source,
        one,
        &format!(
            "{{%- if {variable}.role == \"assistant\" and {TURN}[:{start}] == {head} %}}{{{{- {head} }}}}\
         {{% if {variable}.train %}}{{% generation %}}{print}{{% endgeneration %}}{{% else %}}{print}{{% endif %}}{tail}\
         {{% else %}}{{{{- {TURN} }}}}{{% endif %}}"
        ),
    )
}

fn put(source: &str, one: Loop<'_>, print: &str) -> String {
    let (start, end) = one.body;
    let (left, right) = one.inner;
    format!(
        "{}{{% set {TURN} {left}%}}{}{{%{right} endset %}}{print}{}",
        &source[..start],
        &source[start..end],
        &source[end..]
    )
}

/// A text as a literal of Jinja.
fn literal(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '"' | '\\' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// What to wrap, for a template in which no loop could be told.
pub(super) fn what_to_wrap(source: &str) -> String {
    let lines = source.lines().zip(1..).filter(|(line, _)| line.contains("assistant") && line.contains('%'));
    let shown: Vec<String> =
        lines.take(4).map(|(line, number)| format!("line {number}: {}", shortened(line.trim()))).collect();
    match shown.as_slice() {
        [] => format!("no branch in it names the assistant: {WRAP}"),
        shown => format!("{WRAP}, after its header; the assistant is named in {}", shown.join("; ")),
    }
}

fn shortened(line: &str) -> String {
    let end = line.char_indices().nth(80).map_or(line.len(), |(at, _)| at);
    format!("{}{}", &line[..end], if end < line.len() { "…" } else { "" })
}

/// The blocks around one, from the inside out.
fn around<'b>(blocks: &'b [Block], block: &Block) -> impl Iterator<Item = &'b Block> + Clone {
    std::iter::successors(block.parent, |parent| blocks[*parent].parent).map(|parent| &blocks[parent])
}

/// The variable of a loop over messages.
fn over_messages<'s>(tag: &Tag<'s>) -> Option<&'s str> {
    let (variable, over) = tag.rest.split_once(" in ").filter(|_| tag.word == "for")?;
    let variable = variable.trim();
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    (variable.chars().all(is_name) && over.contains("messages")).then_some(variable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_tags_get_the_rows_flag_once() {
        let source = "{% for m in messages[1:] %}{%- generation -%} {{ m.content }}{%+ endgeneration %}{% endfor %}";
        let with = with_train(source).expect("wrapped");
        assert_eq!(
            with,
            "{% for m in messages[1:] %}{%- if m.train %}{% generation -%} {{ m.content }}{%+ endgeneration %}{% else -%} {{ m.content }}{%+ endif %}{% endfor %}"
        );
        assert_eq!(with_train(&with), Ok(with));
        for refused in [
            "{% macro x() %}{% generation %}{% endgeneration %}{% endmacro %}",
            "{% generation %}{% endgeneration %}",
            "{% generation %}",
        ] {
            assert!(with_train(refused).is_err(), "{refused}");
        }
    }
}
