//! Which tools there were, as the calls show them.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use lake_trace::json::{self, Notes, Value, write_str, write_value};
use sha2::{Digest, Sha256};

use crate::conversation::Conversation;
use crate::{Error, Result};

/// JSON types, sorted by name; a set of them is a byte.
const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];
const NUMBER: u8 = 1 << 4;
const INTEGER: u8 = 1 << 2;

/// What the calls of one tool have in common: for each argument its types, and whether it is in every call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Shape {
    name: String,
    arguments: BTreeMap<String, (u8, bool)>,
}

impl Shape {
    fn merge(&mut self, other: &Shape) {
        for (key, (types, always)) in &mut self.arguments {
            match other.arguments.get(key) {
                Some((more, also)) => (*types, *always) = (*types | more, *always && *also),
                None => *always = false,
            }
        }
        for (key, (types, _)) in &other.arguments {
            self.arguments.entry(key.clone()).or_insert((*types, false));
        }
    }
}

fn type_of(value: &Value<'_>) -> u8 {
    match value {
        Value::Arr(_) => 1,
        Value::Bool(_) => 1 << 1,
        Value::Num(text) if text.contains(['.', 'e', 'E']) => NUMBER,
        Value::Num(_) => INTEGER,
        Value::Null => 1 << 3,
        Value::Obj(_) => 1 << 5,
        Value::Str(_) => 1 << 6,
    }
}

/// The shapes of a conversation's calls, one a tool, by name.
pub(crate) fn shapes(conversation: &Conversation<'_>) -> Vec<Shape> {
    let mut tools: BTreeMap<&str, Shape> = BTreeMap::new();
    for call in conversation.calls() {
        let members = call.arguments.as_obj().unwrap_or_default();
        let arguments = members.iter().map(|(key, value)| (key.to_string(), (type_of(value), true))).collect();
        let shape = Shape { name: call.name.to_string(), arguments };
        match tools.get_mut(call.name.as_ref()) {
            Some(known) => known.merge(&shape),
            None => {
                tools.insert(&call.name, shape);
            }
        }
    }
    tools.into_values().collect()
}

/// Each shape once: sessions of one harness have the same few.
#[derive(Debug, Default)]
pub(crate) struct Shapes(Mutex<HashSet<Arc<Shape>>>);

impl Shapes {
    pub(crate) fn intern(&self, shapes: Vec<Shape>) -> Vec<Arc<Shape>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut one = |shape: Shape| match known.get(&shape) {
            Some(same) => Arc::clone(same),
            None => {
                let new = Arc::new(shape);
                known.insert(Arc::clone(&new));
                new
            }
        };
        shapes.into_iter().map(&mut one).collect()
    }
}

/// Name and version of a harness; the empty string where a trace names none.
pub(crate) type Harness = (String, String);

/// The tools of each harness, as JSON text.
#[derive(Clone, Debug, Default)]
pub(crate) struct ToolSchemas {
    /// One text for all, from the request.
    given: Option<String>,
    inferred: BTreeMap<Harness, String>,
}

impl ToolSchemas {
    /// One schema for all. `text` is a JSON array of objects.
    pub(crate) fn given(text: &str) -> Result<ToolSchemas> {
        let bad = |what: &str| Error::ToolsFile(what.to_owned());
        let value = json::parse(text, &mut Notes::default()).map_err(|reject| bad(&reject.to_string()))?;
        let Value::Arr(tools) = &value else { return Err(bad("not a JSON array")) };
        if !tools.iter().all(|tool| tool.as_obj().is_some()) {
            return Err(bad("a tool in it is not an object"));
        }
        let mut given = String::new();
        write_value(&mut given, &value);
        Ok(ToolSchemas { given: Some(given), inferred: BTreeMap::new() })
    }

    /// What the calls of the rows used show.
    pub(crate) fn infer<'a>(rows: impl Iterator<Item = (&'a Harness, &'a [Arc<Shape>])>) -> ToolSchemas {
        let mut distinct: BTreeMap<&Harness, HashSet<&Arc<Shape>>> = BTreeMap::new();
        for (harness, shapes) in rows {
            distinct.entry(harness).or_default().extend(shapes);
        }
        let schema = |shapes: HashSet<&Arc<Shape>>| {
            let mut tools: BTreeMap<&str, Shape> = BTreeMap::new();
            for shape in shapes {
                match tools.get_mut(shape.name.as_str()) {
                    Some(known) => known.merge(shape),
                    None => {
                        tools.insert(&shape.name, Shape::clone(shape));
                    }
                }
            }
            render(tools.values())
        };
        let inferred = distinct.into_iter().map(|(harness, shapes)| (harness.clone(), schema(shapes))).collect();
        ToolSchemas { given: None, inferred }
    }

    /// The schema for a row of this harness.
    pub(crate) fn of(&self, harness: &Harness) -> &str {
        match &self.given {
            Some(given) => given,
            None => self.inferred.get(harness).map_or("[]", String::as_str),
        }
    }

    /// Harness, where there is one schema each, and text.
    pub(crate) fn all(&self) -> impl Iterator<Item = (Option<&Harness>, &str)> {
        let given = self.given.as_deref().map(|text| (None, text));
        given.into_iter().chain(self.inferred.iter().map(|(harness, text)| (Some(harness), text.as_str())))
    }
}

/// SHA-256 of a text, hex.
pub(crate) fn sha256_hex(text: &str) -> String {
    hex::encode(Sha256::digest(text.as_bytes()))
}

fn render<'a>(tools: impl Iterator<Item = &'a Shape>) -> String {
    let mut out = String::from("[");
    for tool in tools {
        if out.len() > 1 {
            out.push(',');
        }
        out.push_str("{\"type\":\"function\",\"function\":{\"name\":");
        write_str(&mut out, &tool.name);
        // Templates read the description of every tool, and nothing in a trace gives one.
        out.push_str(",\"description\":\"\",\"parameters\":{\"type\":\"object\",\"properties\":{");
        for (i, (key, (types, _))) in tool.arguments.iter().enumerate() {
            if i > 0 {
                out.push(',');
            }
            write_str(&mut out, key);
            out.push_str(":{\"type\":");
            write_types(&mut out, *types);
            out.push('}');
        }
        out.push_str("},\"required\":[");
        let required = tool.arguments.iter().filter(|(_, (_, always))| *always);
        for (i, (key, _)) in required.enumerate() {
            if i > 0 {
                out.push(',');
            }
            write_str(&mut out, key);
        }
        out.push_str("]}}}");
    }
    out.push(']');
    out
}

fn write_types(out: &mut String, types: u8) {
    // Every integer is a number.
    let types = if types & NUMBER > 0 { types & !INTEGER } else { types };
    let names: Vec<&str> = TYPES.iter().enumerate().filter(|(i, _)| types & (1 << i) > 0).map(|(_, n)| *n).collect();
    // Writing to a string cannot fail.
    let _ = match names.as_slice() {
        [one] => write!(out, "\"{one}\""),
        several => write!(out, "[\"{}\"]", several.join("\",\"")),
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::{Assistant, Call, Turn};

    fn schema(calls: &[(&str, &str)]) -> String {
        let calls = calls.iter().map(|(name, arguments)| Call {
            id: "c".into(),
            name: (*name).into(),
            arguments: json::parse(arguments, &mut Notes::default()).expect("JSON"),
        });
        let turn = Turn::Assistant(Assistant { calls: calls.collect(), ..Assistant::default() });
        let shapes = Shapes::default().intern(shapes(&Conversation { turns: vec![turn], ..Conversation::default() }));
        let harness = (String::new(), String::new());
        ToolSchemas::infer([(&harness, shapes.as_slice())].into_iter()).of(&harness).to_owned()
    }

    #[test]
    fn names_and_keys_are_sorted_and_only_what_is_always_there_is_required() {
        insta::assert_snapshot!(
            schema(&[("Read", r#"{"path":"a","limit":3}"#), ("Bash", r#"{"b":1,"a":null}"#), ("Read", r#"{"path":"b","limit":1.5,"x":[]}"#), ("Read", r#"{"path":7}"#)]),
            @r#"[{"type":"function","function":{"name":"Bash","description":"","parameters":{"type":"object","properties":{"a":{"type":"null"},"b":{"type":"integer"}},"required":["a","b"]}}},{"type":"function","function":{"name":"Read","description":"","parameters":{"type":"object","properties":{"limit":{"type":"number"},"path":{"type":["integer","string"]},"x":{"type":"array"}},"required":["path"]}}}]"#
        );
    }

    #[test]
    fn a_tools_file_is_an_array_of_objects() {
        assert_eq!(
            ToolSchemas::given("[ {\"b\": 1.0, \"a\": 2} ]").expect("tools").of(&Harness::default()),
            r#"[{"b":1.0,"a":2}]"#
        );
        for bad in ["{}", "[1]", "[", ""] {
            assert!(matches!(ToolSchemas::given(bad), Err(Error::ToolsFile(_))), "{bad}");
        }
    }
}
