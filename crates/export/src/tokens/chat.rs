//! The template that rows are rendered with: the model's own, with the mask of the rows in it, and proven.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::probe::{self, FLAGS, Kept, Shape, TURNS};
use super::template::{Rendered, Template};
use super::wrap::{self, Loop};
use crate::{Error, Result};

/// A proven chat template.
pub(super) struct Chat {
    pub(super) template: Template,
    /// Its source, for trainers: what a row marks with `train` is inside `{% generation %}`, nothing else is.
    pub(super) source: String,
    /// Whether reasoning comes out of it.
    pub(super) thinking: Kept,
    /// It asks what day it is.
    pub(super) asks_date: bool,
}

const PLAIN: Shape = Shape { thinks: false, parallel: false };
const THINKS: Shape = Shape { thinks: true, parallel: false };
const PARALLEL: Shape = Shape { thinks: false, parallel: true };

impl Chat {
    /// # Errors
    /// What the template drops or does not take, and what to wrap where no place for the mask could be told.
    pub(super) fn open(source: &str, specials: &BTreeMap<String, String>, now: DateTime<Utc>) -> Result<Chat> {
        let parse = |source: &str| Template::parse(source, specials, now);
        let refused = |what: String| Error::ChatTemplate(what);
        let own = parse(source).map_err(refused)?;
        let plain = own.render(&probe::messages(PLAIN, FLAGS[0]), &probe::tools(), false, 0);
        let plain = plain.map_err(|said| refused(format!("it does not take a conversation with tools: {said}")))?;
        if let Some(what) = probe::lost(&plain, PLAIN) {
            return Err(refused(format!("it drops {what}")));
        }
        let made = if wrap::has_generation(source) {
            wrap::with_train(source).map_err(refused)?
        } else {
            wrapped(source, &own, &parse)?
        };
        let template = parse(&made).map_err(refused)?;
        if !same(&own, &template, PLAIN) {
            return Err(refused(
                "what its {% generation %} holds is not what the model says, or not in every turn of it".to_owned(),
            ));
        }
        let kept = |shape: Shape| match probe::kept(&template, shape) {
            // Masks that only hold for other shapes of turns hold for nothing.
            Kept::Yes if !same(&own, &template, shape) => Kept::No,
            kept => kept,
        };
        let thinking = kept(THINKS);
        if kept(PARALLEL) == Kept::No {
            return Err(refused("it drops parallel calls of tools, or their outputs".to_owned()));
        }
        Ok(Chat { template, source: made, thinking, asks_date: source.contains("strftime_now") })
    }
}

/// Wraps the one loop in which that proves to hold.
fn wrapped(
    source: &str,
    own: &Template,
    parse: &dyn Fn(&str) -> std::result::Result<Template, String>,
) -> Result<String> {
    let loops = wrap::loops(source);
    let proven: Vec<String> = loops.into_iter().filter_map(|one| wrap_loop(source, one, own, parse)).collect();
    match proven.as_slice() {
        [one] => Ok(one.clone()),
        _ => Err(Error::ChatTemplate(format!(
            "it cannot be told where the model speaks in it: {}",
            wrap::what_to_wrap(source)
        ))),
    }
}

fn wrap_loop(
    source: &str,
    one: Loop<'_>,
    own: &Template,
    parse: &dyn Fn(&str) -> std::result::Result<Template, String>,
) -> Option<String> {
    let whole = parse(&wrap::whole_turns(source, one)).ok()?;
    let render = |shape| whole.render(&probe::messages(shape, FLAGS[0]), &probe::tools(), false, 0);
    let plain = render(PLAIN).ok().filter(|rendered| rendered.spans.len() == TURNS)?;
    // Shapes that the template refuses or drops show nothing of its turns.
    let others = [THINKS, PARALLEL].into_iter().filter_map(|shape| render(shape).ok());
    let shown: Vec<Rendered> = [plain].into_iter().chain(others).collect();
    let turns: Vec<&str> = shown.iter().flat_map(|r| r.spans.iter().map(|span| &r.text[span.clone()])).collect();
    let messages = probe::messages(PLAIN, FLAGS[0]);
    let prompted = own.render(&messages, &probe::tools(), true, 0).ok();
    let unprompted = own.render(&messages, &probe::tools(), false, 0).ok()?;
    let prompt = prompted.as_ref().and_then(|prompted| prompted.text.strip_prefix(unprompted.text.as_str()));
    let frame = probe::frame(&turns, prompt.filter(|prompt| !prompt.is_empty()));
    let made = wrap::wrapped(source, one, &frame);
    same(own, &parse(&made).ok()?, PLAIN).then_some(made)
}

/// Whether the made template prints what the model's own does, and its mask is the rows', whatever they mark.
fn same(own: &Template, made: &Template, shape: Shape) -> bool {
    FLAGS.iter().all(|flags| {
        let messages = probe::messages(shape, *flags);
        let of = |template: &Template| template.render(&messages, &probe::tools(), false, 0);
        match (of(own), of(made)) {
            (Ok(own), Ok(made)) => own.text == made.text && probe::holds(&made, shape, *flags),
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(source: &str) -> std::result::Result<Chat, String> {
        Chat::open(source, &BTreeMap::new(), DateTime::UNIX_EPOCH).map_err(|e| e.to_string())
    }

    const CALLS: &str = "{% for call in message.tool_calls or [] %}<call>{{ call.function.name }} {{ call.function.arguments | tojson }}</call>{% endfor %}";

    /// A template with one way of printing each kind of message.
    fn source(text: &str) -> String {
        format!(
            "{{%- if tools %}}{{{{ tools | tojson }}}}{{% endif %}}{{%- for message in messages %}}{{{{- '<|' + message.role + '|>' }}}}{text}{{{{ '<|end|>\\n' }}}}{{% endfor %}}{{% if add_generation_prompt %}}{{{{ '<|assistant|>' }}}}{{% endif %}}"
        )
    }

    #[test]
    fn a_template_without_tags_gets_them_around_what_the_model_says() {
        let thinking = "{% if message.reasoning_content %}<think>{{ message.reasoning_content }}</think>{% endif %}";
        let chat = open(&source(&format!("{thinking}{{{{ message.content }}}}{CALLS}"))).map(|chat| {
            let rendered = chat.template.render(&probe::messages(THINKS, FLAGS[1]), &probe::tools(), false, 0);
            (chat.thinking, rendered.expect("rendered"))
        });
        let (thinking, rendered) = chat.expect("a template");
        assert_eq!(thinking, Kept::Yes);
        let texts: Vec<&str> = rendered.spans.iter().map(|span| &rendered.text[span.clone()]).collect();
        assert_eq!(
            texts,
            [
                "<think>Qthought0</think>Qtext0<call>Qtool0 {\"Qkey0\": \"Qvalue0\"}</call><|end|>",
                "<think>Qthought2</think>Qtext2<|end|>"
            ]
        );
    }

    #[test]
    fn what_a_template_drops_is_named() {
        for (text, what) in [
            ("{{ message.content }}".to_owned(), "it drops calls of tools"),
            (
                format!("{{% if message.role != 'tool' %}}{{{{ message.content }}}}{{% endif %}}{CALLS}"),
                "it drops outputs of tools",
            ),
            (
                format!("{{% if message.role != 'system' %}}{{{{ message.content }}}}{{% endif %}}{CALLS}"),
                "it drops text of system messages",
            ),
            (
                format!("{{% if not message.tool_calls %}}{{{{ message.content }}}}{{% endif %}}{CALLS}"),
                "it drops the assistant's text",
            ),
            (
                format!(
                    "{{{{ message.content }}}}{}",
                    CALLS
                        .replace(" or [] ", "[:1] ")
                        .replace("in message", "in (message")
                        .replace("[:1]", " or [])[:1]")
                ),
                "it drops parallel calls of tools, or their outputs",
            ),
            (
                "{{ raise_exception('no tools here') }}".to_owned(),
                "it does not take a conversation with tools: invalid operation: no tools here (in chat:1)",
            ),
        ] {
            let refused = open(&source(&text)).err().unwrap_or_default();
            assert_eq!(refused, format!("the chat template is refused: {what}"), "{text}");
        }
    }

    #[test]
    fn reasoning_that_is_dropped_is_known() {
        let last = "{% if loop.last and message.reasoning_content %}{{ message.reasoning_content }}{% endif %}";
        for thinking in ["", last] {
            let chat = open(&source(&format!("{thinking}{{{{ message.content }}}}{CALLS}"))).expect("a template");
            assert_eq!(chat.thinking, Kept::No);
        }
    }

    #[test]
    fn where_the_model_speaks_must_be_told() {
        let macros = format!(
            "{{{{ tools | tojson }}}}{{% macro say(message) %}}{{{{ message.content }}}}{CALLS}{{% endmacro %}}{{% for i in range(messages|length) %}}\n{{% if messages[i].role == 'assistant' %}}{{{{ say(messages[i]) }}}}{{% else %}}{{{{ say(messages[i]) }}}}{{% endif %}}{{% endfor %}}"
        );
        let refused = open(&macros).err().unwrap_or_default();
        assert!(refused.contains("{% generation %}") && refused.contains("line 2:"), "{refused}");
        let all = source(&format!("{{% generation %}}{{{{ message.content }}}}{{% endgeneration %}}{CALLS}"));
        assert!(open(&all).err().unwrap_or_default().contains("is not what the model says"));
    }

    #[test]
    fn the_made_template_is_taken_as_it_is() {
        let made = open(&source(&format!("{{{{ message.content }}}}{CALLS}"))).expect("a template").source;
        assert_eq!(open(&made).expect("itself").source, made);
    }
}
