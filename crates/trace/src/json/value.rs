//! A JSON value that borrows from its line.

use std::borrow::Cow;

use super::Str;

/// A JSON value. Strings without an escape, and all numbers, are slices of the line.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as it was written.
    Num(&'a str),
    /// A string.
    Str(Str<'a>),
    /// An array.
    Arr(Vec<Value<'a>>),
    /// An object, keys in source order, each once.
    Obj(Vec<(Cow<'a, str>, Value<'a>)>),
}

impl<'a> Value<'a> {
    /// The string, if it is one that is decoded: all are that but those that [`super::parse_fields`] was asked to
    /// keep as they were written.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::Str(Str::Plain(text)) => Some(text),
            _ => None,
        }
    }

    /// Whether it is a string.
    pub fn is_str(&self) -> bool {
        matches!(self, Value::Str(_))
    }

    /// The members, if it is an object.
    pub fn as_obj(&self) -> Option<&[(Cow<'a, str>, Value<'a>)]> {
        match self {
            Value::Obj(members) => Some(members),
            _ => None,
        }
    }

    /// The member of that name, if this is an object that has it.
    pub fn get(&self, name: &str) -> Option<&Value<'a>> {
        self.as_obj()?.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// The number as a whole one, if it is that and not negative; `3.0` counts, `3.5` does not.
    pub fn as_u64(&self) -> Option<u64> {
        let Value::Num(text) = self else { return None };
        if let Ok(n) = text.parse::<u64>() {
            return Some(n);
        }
        let float: f64 = text.parse().ok()?;
        // Up to 2^53 each whole number has one float.
        (float >= 0.0 && float.fract() == 0.0 && float <= 9_007_199_254_740_992.0).then_some(float as u64)
    }

    /// The number as a float.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Num(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// Whether it is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }
}
