//! A chat template with `{% generation %}` tags, rendered as transformers renders it.

use std::collections::BTreeMap;
use std::ops::Range;

use chrono::{DateTime, Utc};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Value, ValueKind};
use minijinja::{AutoEscape, Environment, ErrorKind, State};
use minijinja_contrib::pycompat;

use super::python::{is_space, tojson, write_str};
use super::tags::tags;

/// Stand around what the model says while a template renders: private use, so that they are in no text. Where they are,
/// the row cannot be told from its mask, and is refused.
const MARKS: [char; 2] = ['\u{10fff0}', '\u{10fff1}'];
/// What stands in the place of `generation`: a block whose output goes through a filter, and with variables of its own.
const FILTER: &str = "filter lake_generation";
const NAME: &str = "chat";

/// A chat template, ready to render.
pub(super) struct Template {
    environment: Environment<'static>,
    globals: Vec<(String, Value)>,
}

/// A rendered conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rendered {
    pub(super) text: String,
    /// Bytes inside `{% generation %}`, in order.
    pub(super) spans: Vec<Range<usize>>,
}

impl Template {
    /// `specials`: names such as `bos_token` and what they stand for. `now`: what `strftime_now` tells.
    ///
    /// # Errors
    /// The source is no template.
    pub(super) fn parse(
        source: &str,
        specials: &BTreeMap<String, String>,
        now: DateTime<Utc>,
    ) -> Result<Template, String> {
        let mut environment = Environment::new();
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        environment.set_syntax(syntax.map_err(|e| said(&e))?);
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        environment.set_unknown_method_callback(method);
        environment.set_formatter(|out, _, value| {
            let mut text = String::new();
            write_str(&mut text, value);
            Ok(out.write_str(&text)?)
        });
        environment.add_filter("tojson", tojson);
        environment.add_filter("string", |value: &Value| {
            let mut text = String::new();
            write_str(&mut text, value);
            text
        });
        environment.add_filter("trim", |text: std::borrow::Cow<'_, str>, these: Option<String>| match these {
            Some(these) => text.trim_matches(|c| these.contains(c)).to_owned(),
            None => text.trim_matches(is_space).to_owned(),
        });
        // In Python a string is a sequence, too, and so is a dictionary.
        let is_sequence = |value: &Value| matches!(value.kind(), ValueKind::Seq | ValueKind::Map | ValueKind::String);
        environment.add_test("sequence", is_sequence);
        environment.add_test("iterable", |value: &Value| value.kind() == ValueKind::String || value.try_iter().is_ok());
        environment.add_function("raise_exception", |text: String| -> Result<Value, minijinja::Error> {
            Err(minijinja::Error::new(ErrorKind::InvalidOperation, text))
        });
        environment.add_function("strftime_now", move |format: String| {
            let mut text = String::new();
            // A format that chrono does not know prints nothing.
            let _ = std::fmt::Write::write_fmt(&mut text, format_args!("{}", now.format(&format)));
            text
        });
        environment
            .add_filter("lake_generation", |said: std::borrow::Cow<'_, str>| format!("{}{said}{}", MARKS[0], MARKS[1]));
        environment.add_template_owned(NAME, with_filters(source)).map_err(|e| said(&e))?;
        let globals = specials.iter().map(|(name, text)| (name.clone(), Value::from(text.as_str()))).collect();
        Ok(Template { environment, globals })
    }

    /// Renders messages and tools; `prompt`: with what the model is prompted with at the end. `room`: bytes that this may
    /// take, if it is known.
    ///
    /// # Errors
    /// What the template says against them, or that its marks stand in them.
    pub(super) fn render(
        &self,
        messages: &Value,
        tools: &Value,
        prompt: bool,
        room: usize,
    ) -> Result<Rendered, String> {
        let template = self.environment.get_template(NAME).map_err(|e| said(&e))?;
        let own = [("messages", messages), ("tools", tools)].map(|(name, value)| (name.to_owned(), value.clone()));
        let own = own.into_iter().chain([
            ("documents".to_owned(), Value::from(())),
            ("add_generation_prompt".to_owned(), Value::from(prompt)),
        ]);
        let all = self.globals.iter().cloned().chain(own);
        let mut text = Vec::with_capacity(room);
        template.render_captured_to(Value::from_pairs(all), &mut text).map_err(|e| said(&e))?;
        String::from_utf8(text)
            .ok()
            .and_then(unmark)
            .ok_or_else(|| "a private-use character of the masks stands in a text".to_owned())
    }
}

/// The first line of an error, and what caused it.
fn said(error: &minijinja::Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

fn with_filters(source: &str) -> String {
    let mut out = String::new();
    let mut done = 0;
    for tag in tags(source) {
        let (outer, inner) = match tag.word {
            "generation" => (FILTER, "with"),
            "endgeneration" => ("endwith", "endfilter"),
            _ => continue,
        };
        out.push_str(&source[done..tag.at.start]);
        out.push_str(&format!("{{%{} {outer} %}}{{% {inner} {}%}}", tag.left, tag.right));
        done = tag.at.end;
    }
    out.push_str(&source[done..]);
    out
}

/// Takes the marks out, in place. None: they do not stand in pairs.
fn unmark(mut marked: String) -> Option<Rendered> {
    let mut spans: Vec<Range<usize>> = Vec::new();
    let mut open = None;
    let mut removed = 0;
    for (at, text) in marked.match_indices(MARKS) {
        let at = at - removed;
        removed += text.len();
        match open.take() {
            None if text.starts_with(MARKS[0]) => open = Some(at),
            Some(start) if text.starts_with(MARKS[1]) => spans.push(start..at),
            _ => return None,
        }
    }
    if removed > 0 {
        marked.retain(|c| !MARKS.contains(&c));
    }
    open.is_none().then_some(Rendered { text: marked, spans })
}

/// Methods of Python's strings and dictionaries that templates call.
fn method(state: &mut State, value: &Value, name: &str, args: &[Value]) -> Result<Value, minijinja::Error> {
    if let (Some(text), true) = (value.as_str(), args.iter().all(Value::is_none)) {
        match name {
            "strip" => return Ok(text.trim_matches(is_space).into()),
            "lstrip" => return Ok(text.trim_start_matches(is_space).into()),
            "rstrip" => return Ok(text.trim_end_matches(is_space).into()),
            "split" => return Ok(Value::from_iter(text.split(is_space).filter(|word| !word.is_empty()))),
            _ => {}
        }
    }
    if let (Some(text), Some(first)) = (value.as_str(), args.first().and_then(Value::as_str)) {
        let most = args.get(1).and_then(|most| usize::try_from(most.clone()).ok());
        match name {
            "removeprefix" => return Ok(text.strip_prefix(first).unwrap_or(text).into()),
            "removesuffix" => return Ok(text.strip_suffix(first).unwrap_or(text).into()),
            "rsplit" if !first.is_empty() => {
                let mut parts: Vec<&str> = match most {
                    Some(most) => text.rsplitn(most + 1, first).collect(),
                    None => text.rsplit(first).collect(),
                };
                parts.reverse();
                return Ok(Value::from_iter(parts));
            }
            "partition" | "rpartition" => {
                let found = if name == "partition" { text.split_once(first) } else { text.rsplit_once(first) };
                let parts = match found {
                    Some((before, after)) => [before, first, after],
                    None if name == "partition" => [text, "", ""],
                    None => ["", "", text],
                };
                return Ok(Value::from_iter(parts));
            }
            _ => {}
        }
    }
    pycompat::unknown_method_callback(state, value, name, args)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(source: &str) -> Result<Rendered, String> {
        let specials = BTreeMap::from([("bos_token".to_owned(), "<s>".to_owned())]);
        let template = Template::parse(source, &specials, DateTime::UNIX_EPOCH)?;
        let message =
            |role: &str, text: &str| Value::from_pairs([("role", Value::from(role)), ("content", Value::from(text))]);
        let messages = Value::from(vec![message("user", " é "), message("assistant", "b"), message("assistant", "c")]);
        template.render(&messages, &Value::from(()), false, 0)
    }

    #[test]
    fn what_the_model_says_is_spanned_and_the_marks_are_gone() {
        let source = "{{- bos_token }}\n{% for m in messages %}\n  {%- if m['role'] == 'assistant' %}\n[{{ loop.index }}\n  {%- generation -%}\n  {% set x = m.content %}{{ x ~ '/' }}\n  {%- endgeneration %}]\n  {%- else %}{{ m.content.strip() | upper }}{% endif %}\n{%- endfor %}";
        let rendered = render(source).expect("rendered");
        assert_eq!(rendered.text, "<s>\nÉ[2b/][3c/]");
        let texts: Vec<_> = rendered.spans.iter().map(|span| &rendered.text[span.clone()]).collect();
        assert_eq!(texts, ["b/", "c/"]);
    }

    #[test]
    fn templates_say_what_they_do_not_take() {
        assert_eq!(
            render("{{ raise_exception('no system') }}"),
            Err("invalid operation: no system (in chat:1)".to_owned())
        );
        assert!(render("{% for %}").is_err());
        assert!(render("{{ '\u{10fff0}' }}").is_err());
    }

    #[test]
    fn python_is_spoken() {
        let source = "{% set ns = namespace(n=0) %}{% for m in messages[::-1] %}{% if loop.first %}{% continue %}{% endif %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }} {{ 'a</t>b</t>c'.split('</t>')[-1] }} {{ 'a.b.c'.rsplit('.', 1)|tojson }} {{ true }} {{ none }} {{ messages[0] is mapping }} {{ 'x' is iterable }} {{ messages|length }} {{ 'abc'[1:-1] }} {{ messages[-1].role in ['assistant'] }} {{ missing }} {{ {'a': 1}.items()|list }} {{ strftime_now('%d %b %Y') }} {{ messages[0].get('x', 'none') }} {{ '%s' % 'x' if false else 'y' }}";
        assert_eq!(
            render(source).expect("rendered").text,
            "2 c [\"a.b\", \"c\"] True None True True 3 b True  [['a', 1]] 01 Jan 1970 none y"
        );
    }
}
