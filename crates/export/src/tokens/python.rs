//! Values and their printing as Python has them: templates are written for it.

use std::borrow::Cow;
use std::fmt::Write;

use lake_trace::json;
use minijinja::value::{Kwargs, Value, ValueKind};
use minijinja::{Error, ErrorKind};

/// A JSON value as a template sees it. None: a number that only Python can hold.
pub(super) fn value_of(value: &json::Value<'_>) -> Option<Value> {
    Some(match value {
        json::Value::Null => Value::from(()),
        json::Value::Bool(yes) => Value::from(*yes),
        json::Value::Num(text) if text.contains(['.', 'e', 'E']) => {
            Value::from(text.parse::<f64>().ok().filter(|float| float.is_finite())?)
        }
        json::Value::Num(text) => match text.parse::<i64>() {
            Ok(small) => Value::from(small),
            Err(_) => Value::from(text.parse::<i128>().ok()?),
        },
        json::Value::Str(text) => Value::from(text.decode()),
        json::Value::Arr(items) => Value::from(items.iter().map(value_of).collect::<Option<Vec<Value>>>()?),
        json::Value::Obj(members) => {
            let member = |(key, value): &(Cow<'_, str>, json::Value<'_>)| Some((key.to_string(), value_of(value)?));
            Value::from_pairs(members.iter().map(member).collect::<Option<Vec<_>>>()?)
        }
    })
}

/// What Python strips: the separators of files, groups, records and units, too.
pub(super) fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// `tojson` as transformers has it: `json.dumps(x, ensure_ascii=False, …)`.
pub(super) fn tojson(value: &Value, options: Kwargs) -> Result<Value, Error> {
    let indent: Option<Value> = options.get("indent")?;
    let indent = indent.filter(|indent| !indent.is_none()).map(|indent| match indent.as_str() {
        Some(text) => text.to_owned(),
        None => " ".repeat(usize::try_from(indent).unwrap_or(0)),
    });
    let separators: Option<Vec<String>> = options.get("separators")?;
    let mut separators = separators.unwrap_or_default().into_iter();
    let style = Style {
        item: separators.next().unwrap_or_else(|| if indent.is_some() { "," } else { ", " }.to_owned()),
        key: separators.next().unwrap_or_else(|| ": ".to_owned()),
        indent,
        ascii: options.get::<Option<bool>>("ensure_ascii")?.unwrap_or(false),
        sorted: options.get::<Option<bool>>("sort_keys")?.unwrap_or(false),
    };
    options.assert_all_used()?;
    let mut out = String::new();
    style.dump(&mut out, value, 0)?;
    Ok(Value::from(out))
}

struct Style {
    item: String,
    key: String,
    indent: Option<String>,
    ascii: bool,
    sorted: bool,
}

impl Style {
    fn dump(&self, out: &mut String, value: &Value, depth: usize) -> Result<(), Error> {
        match value.kind() {
            ValueKind::None => out.push_str("null"),
            ValueKind::Bool => out.push_str(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number => write_number(out, value),
            ValueKind::String => write_json_str(out, value.as_str().unwrap_or_default(), self.ascii),
            ValueKind::Seq | ValueKind::Iterable => {
                let items: Vec<Value> = value.try_iter()?.collect();
                self.list(out, ('[', ']'), depth, items.len(), |out, i| self.dump(out, &items[i], depth + 1))?;
            }
            ValueKind::Map => {
                let mut keys: Vec<Value> = value.try_iter()?.collect();
                if self.sorted {
                    keys.sort();
                }
                self.list(out, ('{', '}'), depth, keys.len(), |out, i| {
                    write_json_str(out, &keys[i].to_string(), self.ascii);
                    out.push_str(&self.key);
                    self.dump(out, &value.get_item(&keys[i])?, depth + 1)
                })?;
            }
            _ => return Err(Error::new(ErrorKind::InvalidOperation, "tojson of what is no JSON")),
        }
        Ok(())
    }

    fn list(
        &self,
        out: &mut String,
        (open, close): (char, char),
        depth: usize,
        items: usize,
        mut item: impl FnMut(&mut String, usize) -> Result<(), Error>,
    ) -> Result<(), Error> {
        out.push(open);
        for i in 0..items {
            if i > 0 {
                out.push_str(&self.item);
            }
            self.line(out, depth + 1);
            item(out, i)?;
        }
        if items > 0 {
            self.line(out, depth);
        }
        out.push(close);
        Ok(())
    }

    fn line(&self, out: &mut String, depth: usize) {
        if let Some(indent) = &self.indent {
            out.push('\n');
            (0..depth).for_each(|_| out.push_str(indent));
        }
    }
}

/// A string as `json.dumps` writes it.
pub(super) fn write_json_str(out: &mut String, text: &str, ascii: bool) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if c < ' ' || (ascii && c > '~') => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    // Writing to a string cannot fail.
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

fn write_number(out: &mut String, value: &Value) {
    match f64::try_from(value.clone()) {
        Ok(float) if !value.is_integer() => write_float(out, float),
        _ => {
            let _ = write!(out, "{value}");
        }
    }
}

/// `repr` of a float: the shortest digits that read back the same, with an exponent from 1e16 up and below 1e-4.
fn write_float(out: &mut String, float: f64) {
    let scientific = format!("{float:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let _ = if (-4..16).contains(&exponent) || float == 0.0 {
        write!(out, "{float:?}")
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        write!(out, "{digits}e{sign}{:02}", exponent.abs())
    };
}

/// What `{{ … }}` prints: Python's `str`.
pub(super) fn write_str(out: &mut String, value: &Value) {
    match value.kind() {
        ValueKind::Undefined => {}
        ValueKind::String => out.push_str(value.as_str().unwrap_or_default()),
        _ => write_repr(out, value),
    }
}

fn write_repr(out: &mut String, value: &Value) {
    let list = |out: &mut String, value: &Value, item: &dyn Fn(&mut String, &Value)| {
        for (i, one) in value.try_iter().into_iter().flatten().enumerate() {
            if i > 0 {
                out.push_str(", ");
            }
            item(out, &one);
        }
    };
    match value.kind() {
        ValueKind::None => out.push_str("None"),
        ValueKind::Bool => out.push_str(if value.is_true() { "True" } else { "False" }),
        ValueKind::Number => write_number(out, value),
        ValueKind::String => write_quoted(out, value.as_str().unwrap_or_default()),
        ValueKind::Seq => {
            out.push('[');
            list(out, value, &|out, item| write_repr(out, item));
            out.push(']');
        }
        ValueKind::Map => {
            out.push('{');
            list(out, value, &|out, key| {
                write_repr(out, key);
                out.push_str(": ");
                write_repr(out, &value.get_item(key).unwrap_or_default());
            });
            out.push('}');
        }
        _ => {
            let _ = write!(out, "{value}");
        }
    }
}

fn write_quoted(out: &mut String, text: &str) {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.push(quote);
    for c in text.chars() {
        let _ = match c {
            '\\' => out.write_str("\\\\"),
            '\n' => out.write_str("\\n"),
            '\r' => out.write_str("\\r"),
            '\t' => out.write_str("\\t"),
            c if c == quote => write!(out, "\\{c}"),
            c if c < ' ' || ('\u{7f}'..'\u{a1}').contains(&c) || c == '\u{ad}' => write!(out, "\\x{:02x}", c as u32),
            c => out.write_char(c),
        };
    }
    out.push(quote);
}

#[cfg(test)]
mod tests {
    use super::*;
    use lake_trace::json::Notes;

    fn value(text: &str) -> Value {
        value_of(&json::parse(text, &mut Notes::default()).expect("JSON")).expect("a number that fits")
    }

    fn render(template: &str, x: &str) -> String {
        let mut environment = minijinja::Environment::new();
        environment.add_filter("tojson", tojson);
        environment.render_str(template, minijinja::context! { x => value(x) }).expect("rendered")
    }

    #[test]
    fn tojson_is_json_dumps() {
        // Each right side is what Python printed.
        for (template, x, dumped) in [
            (
                "{{ x|tojson }}",
                r#"{"b":[1,2.50,{"a":null}],"a":true,"é<>":"é\u0001\"\n/"}"#,
                r#"{"b": [1, 2.5, {"a": null}], "a": true, "é<>": "é\u0001\"\n/"}"#,
            ),
            (
                "{{ x|tojson }}",
                "[1e16,1.5e-7,100000.0,1E5,-0.0,12345678901234567890123,1e22,0.0001]",
                "[1e+16, 1.5e-07, 100000.0, 100000.0, -0.0, 12345678901234567890123, 1e+22, 0.0001]",
            ),
            ("{{ x|tojson(ensure_ascii=true) }}", "\"é😀\"", r#""\u00e9\ud83d\ude00""#),
            ("{{ x|tojson(separators=(',', ':'), sort_keys=true) }}", r#"{"b":[],"a":{}}"#, r#"{"a":{},"b":[]}"#),
            ("{{ x|tojson(indent=2) }}", r#"{"b":[1,2],"a":{}}"#, "{\n  \"b\": [\n    1,\n    2\n  ],\n  \"a\": {}\n}"),
        ] {
            assert_eq!(render(template, x), dumped);
        }
    }

    #[test]
    fn printing_is_pythons() {
        let mut out = String::new();
        write_str(&mut out, &value(r#"{"a":[true,null,"it's","\"'\n",1.0]}"#));
        assert_eq!(out, r#"{'a': [True, None, "it's", '"\'\n', 1.0]}"#);
    }
}
