//! What a template does, shown by made conversations whose every word is known: before any row is rendered.

use lake_trace::json::{self, Notes};
use minijinja::value::Value;

use super::python::value_of;
use super::template::{Rendered, Template};
use super::wrap::Frame;

/// What a conversation can hold beyond the least that a template must take.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shape {
    pub(super) thinks: bool,
    pub(super) parallel: bool,
}

/// Whether a part of a conversation comes out of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    Yes,
    /// The template says so.
    Refused,
    No,
}

/// Assistant turns of a probe.
pub(super) const TURNS: usize = 4;

/// Which of a probe's turns may be learned; each shape of turn is in both.
pub(super) const FLAGS: [[bool; TURNS]; 4] =
    [[true; TURNS], [true, false, true, false], [false, true, false, true], [false; TURNS]];

/// The words of turn `n` that must stand in it.
fn words(n: usize, shape: Shape) -> Vec<String> {
    let mut words = match n {
        0 => vec!["Qtext0", "Qtool0", "Qkey0", "Qvalue0"],
        1 => vec!["Qtool1", "Qkey1", "Qvalue1"],
        n => return [format!("Qtext{n}")].into_iter().chain(thought(n, shape)).collect(),
    };
    if n == 1 && shape.parallel {
        words.extend(["Qtool2", "Qkey2", "Qvalue2"]);
    }
    words.into_iter().map(str::to_owned).chain(thought(n, shape)).collect()
}

fn thought(n: usize, shape: Shape) -> Option<String> {
    shape.thinks.then(|| format!("Qthought{n}"))
}

/// Words that no turn of the model may have, and how each is named when it is lost. A template may leave out tools.
const CONTEXT: [(&str, &str); 6] = [
    ("Qsystem", "text of system messages"),
    ("Quser0", "text of user messages"),
    ("Quser1", "text of user messages"),
    ("Qoutput0", "outputs of tools"),
    ("Qoutput1", "outputs of tools"),
    ("Qdescribed", ""),
];

/// Messages of a probe.
pub(super) fn messages(shape: Shape, flags: [bool; TURNS]) -> Value {
    let call = |n: usize| {
        format!(
            r#"{{"id":"call_{n}","type":"function","function":{{"name":"Qtool{n}","arguments":{{"Qkey{n}":"Qvalue{n}"}}}}}}"#
        )
    };
    let output = |n: usize| {
        format!(r#"{{"role":"tool","tool_call_id":"call_{n}","name":"Qtool{n}","content":"Qoutput{n}","train":false}}"#)
    };
    let turn = |n: usize, text: &str, calls: &[usize]| {
        let thought = if shape.thinks { format!(r#","reasoning_content":"Qthought{n}""#) } else { String::new() };
        let thinking = if shape.thinks { format!(r#""thinking":"Qthought{n}","#) } else { String::new() };
        let calls: Vec<String> = calls.iter().map(|n| call(*n)).collect();
        let calls = if calls.is_empty() { String::new() } else { format!(r#","tool_calls":[{}]"#, calls.join(",")) };
        format!(r#"{{{thinking}"role":"assistant","content":"{text}"{thought}{calls},"train":{}}}"#, flags[n])
    };
    let plain = |role: &str, text: &str| format!(r#"{{"role":"{role}","content":"{text}","train":false}}"#);
    let mut all = vec![plain("system", "Qsystem"), plain("user", "Quser0"), turn(0, "Qtext0", &[0]), output(0)];
    if shape.parallel {
        all.extend([turn(1, "", &[1, 2]), output(1), output(2)]);
    } else {
        all.extend([turn(1, "", &[1]), output(1)]);
    }
    all.extend([turn(2, "Qtext2", &[]), plain("user", "Quser1"), turn(3, "Qtext3", &[])]);
    parsed(&format!("[{}]", all.join(",")))
}

/// Tools of a probe.
pub(super) fn tools() -> Value {
    let tool = |n: usize| {
        format!(
            r#"{{"type":"function","function":{{"name":"Qtool{n}","description":"Qdescribed","parameters":{{"type":"object","properties":{{"Qkey{n}":{{"type":"string","description":""}}}},"required":["Qkey{n}"]}}}}}}"#
        )
    };
    parsed(&format!("[{},{},{}]", tool(0), tool(1), tool(2)))
}

fn parsed(text: &str) -> Value {
    json::parse(text, &mut Notes::default()).ok().and_then(|value| value_of(&value)).unwrap_or_default()
}

/// What a rendering lost of what must be in it.
pub(super) fn lost(rendered: &Rendered, shape: Shape) -> Option<&'static str> {
    let is_there = |word: &str| rendered.text.contains(word);
    if let Some((_, what)) = CONTEXT.iter().find(|(word, what)| !what.is_empty() && !is_there(word)) {
        return Some(what);
    }
    if shape.parallel && !is_there("Qoutput2") {
        return Some("outputs of parallel calls");
    }
    let words = (0..TURNS).flat_map(|n| words(n, shape));
    words.into_iter().find(|word| !is_there(word)).map(|word| match &word[..5] {
        "Qtext" => "the assistant's text",
        "Qthou" => "reasoning",
        _ => "calls of tools",
    })
}

/// Whether the spans are the turns that `flags` names: the words of each, and no others.
pub(super) fn holds(rendered: &Rendered, shape: Shape, flags: [bool; TURNS]) -> bool {
    let turns: Vec<usize> = (0..TURNS).filter(|n| flags[*n]).collect();
    let texts: Vec<&str> = rendered.spans.iter().map(|span| &rendered.text[span.clone()]).collect();
    texts.len() == turns.len()
        && turns.iter().zip(&texts).all(|(turn, text)| {
            let others = (0..TURNS).filter(|n| n != turn).flat_map(|n| words(n, shape));
            words(*turn, shape).iter().all(|word| text.contains(word.as_str()))
                && !others.into_iter().any(|word| text.contains(&word))
                && !CONTEXT.iter().any(|(word, _)| text.contains(word))
                && !text.contains("Qoutput2")
        })
}

/// What all turns of the model begin and end with, where `prompt` is what it is prompted with.
pub(super) fn frame(turns: &[&str], prompt: Option<&str>) -> Frame {
    let Some((first, rest)) = turns.split_first() else { return Frame::default() };
    let head = rest.iter().copied().chain(prompt).fold(*first, |head, other| {
        let same = head.char_indices().zip(other.chars()).take_while(|((_, a), b)| a == b);
        &head[..same.last().map_or(0, |((at, c), _)| at + c.len_utf8())]
    });
    let mut end = *first;
    for other in rest {
        let same = end.char_indices().rev().zip(other.chars().rev()).take_while(|((_, a), b)| a == b);
        end = &end[same.last().map_or(end.len(), |((at, _), _)| at)..];
    }
    // The mark that ends a turn is learned, or the model would never stop; the space after it is not.
    let spaces = end.len() - end.trim_end().len();
    let tail = if spaces < end.len() { &end[end.len() - spaces..] } else { "" };
    Frame { head: head.to_owned(), tail: tail.to_owned() }
}

/// Whether reasoning, or parallel calls, come out of a template that prints the rest.
pub(super) fn kept(template: &Template, shape: Shape) -> Kept {
    match template.render(&messages(shape, FLAGS[0]), &tools(), false, 0) {
        Err(_) => Kept::Refused,
        Ok(rendered) if lost(&rendered, shape).is_some() || !holds(&rendered, shape, FLAGS[0]) => Kept::No,
        Ok(_) => Kept::Yes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_frame_is_what_all_turns_share_and_the_model_does_not_say() {
        let turns =
            ["<|im_start|>assistant\nHi<|im_end|>\n", "<|im_start|>assistant\n<tool_call>x</tool_call><|im_end|>\n"];
        let frame = |prompt| super::frame(&turns, prompt);
        let expected = Frame { head: "<|im_start|>assistant\n".to_owned(), tail: "\n".to_owned() };
        assert_eq!(frame(None), expected);
        assert_eq!(frame(Some("<|im_start|>assistant\n<think>\n")), expected);
        assert_eq!(frame(Some("<|im_start|>")).head, "<|im_start|>");
    }
}
