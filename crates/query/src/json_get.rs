//! `json_get(text, path)` and `json_text(text, path)`: DataFusion has no JSON functions.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringViewBuilder};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::types::logical_string;
use datafusion::common::utils::take_function_args;
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::{
    Coercion, ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignatureClass, Volatility,
};
use serde_json::value::RawValue;

/// `json_get(text, path)`: the value there as text, a string without its quotes and all else as it was written. NULL
/// when the text is no JSON, nothing is there, or `null` is.
///
/// The path is a JSON pointer (`/ref/session_id`, RFC 6901) or the same with dots (`ref.session_id`); a number steps
/// into an array.
pub(crate) fn json_get() -> ScalarUDF {
    ScalarUDF::new_from_impl(JsonGet::new("json_get", false))
}

/// `json_text(text, path)`: as `json_get`, and NULL for all that is no string.
pub(crate) fn json_text() -> ScalarUDF {
    ScalarUDF::new_from_impl(JsonGet::new("json_text", true))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct JsonGet {
    name: &'static str,
    strings_only: bool,
    signature: Signature,
}

impl JsonGet {
    fn new(name: &'static str, strings_only: bool) -> JsonGet {
        let text = || Coercion::new_exact(TypeSignatureClass::Native(logical_string()));
        JsonGet { name, strings_only, signature: Signature::coercible(vec![text(), text()], Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for JsonGet {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [texts, paths] = take_function_args(self.name, args.args)?;
        let texts = Texts::of(texts.into_array(args.number_rows)?)?;
        let paths = Texts::of(paths.into_array(args.number_rows)?)?;
        let mut out = StringViewBuilder::new();
        for row in 0..args.number_rows {
            let found = match (texts.get(row), paths.get(row)) {
                (Some(text), Some(path)) => json_at(text, path, self.strings_only),
                _ => None,
            };
            out.append_option(found);
        }
        Ok(ColumnarValue::Array(Arc::new(out.finish())))
    }
}

/// A column of text of any of Arrow's kinds. Not cast to one of them: with long values its offsets could overflow.
pub(crate) struct Texts(ArrayRef);

impl Texts {
    pub(crate) fn of(array: ArrayRef) -> Result<Texts> {
        match array.data_type() {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Ok(Texts(array)),
            DataType::Dictionary(_, values) if values.is_string() => Ok(Texts(cast(&array, &DataType::Utf8View)?)),
            DataType::Null => Ok(Texts(cast(&array, &DataType::Utf8View)?)),
            other => exec_err!("{other} is no text"),
        }
    }

    pub(crate) fn get(&self, row: usize) -> Option<&str> {
        if self.0.is_null(row) {
            return None;
        }
        match self.0.data_type() {
            DataType::Utf8 => Some(self.0.as_string::<i32>().value(row)),
            DataType::LargeUtf8 => Some(self.0.as_string::<i64>().value(row)),
            _ => Some(self.0.as_string_view().value(row)),
        }
    }
}

/// One level at a time and never a tree: what is not on the path is only skipped, and numbers keep their text.
pub(crate) fn json_at<'a>(text: &'a str, path: &str, strings_only: bool) -> Option<Cow<'a, str>> {
    let mut here = text.trim();
    for step in steps(path) {
        here = match here.as_bytes().first()? {
            b'{' => {
                // A key that stands twice counts as in the trace's own reader: the last one.
                let members: HashMap<String, &RawValue> = serde_json::from_str(here).ok()?;
                members.get(step.as_ref()).copied()?.get()
            }
            b'[' => {
                let items: Vec<&RawValue> = serde_json::from_str(here).ok()?;
                items.get(step.parse::<usize>().ok()?)?.get()
            }
            _ => return None,
        };
    }
    match here.as_bytes().first()? {
        b'"' => serde_json::from_str::<String>(here).ok().map(Cow::Owned),
        b'n' => None,
        _ if strings_only => None,
        _ => serde_json::from_str::<&RawValue>(here).ok().map(|raw| Cow::Borrowed(raw.get())),
    }
}

fn steps(path: &str) -> Vec<Cow<'_, str>> {
    match path.strip_prefix('/') {
        Some(pointer) => pointer.split('/').map(|s| s.replace("~1", "/").replace("~0", "~").into()).collect(),
        None => path.split('.').filter(|s| !s.is_empty()).map(Cow::Borrowed).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(text: &str, path: &str) -> Option<String> {
        json_at(text, path, false).map(Cow::into_owned)
    }

    #[test]
    fn a_path_leads_to_a_value_as_text() {
        let text = r#"{"a":{"b":["x",{"c":1.50}],"d.e":"dot","/":"slash"},"n":null,"t":true,"big":1e999,"q":"a\"b"}"#;
        assert_eq!(get(text, "a.b.0").as_deref(), Some("x"));
        assert_eq!(get(text, "/a/b/1/c").as_deref(), Some("1.50"));
        assert_eq!(get(text, "/a/d.e").as_deref(), Some("dot"));
        assert_eq!(get(text, "/a/~1").as_deref(), Some("slash"));
        assert_eq!(get(text, "a.b.1").as_deref(), Some(r#"{"c":1.50}"#));
        assert_eq!(get(text, "t").as_deref(), Some("true"));
        assert_eq!(get(text, "big").as_deref(), Some("1e999"));
        assert_eq!(get(text, "q").as_deref(), Some("a\"b"));
        for nothing in ["n", "z", "a.b.9", "a.b.x", "t.x", "a.b.0.c"] {
            assert_eq!(get(text, nothing), None, "{nothing}");
        }
    }

    #[test]
    fn broken_json_has_nothing_in_it_and_the_last_of_two_keys_counts() {
        for broken in ["", "{", "nope", "{\"a\":1", "[1,]", "{\"a\":1}}"] {
            assert_eq!(get(broken, "a"), None, "{broken}");
        }
        assert_eq!(get(r#"{"a":1,"a":2}"#, "a").as_deref(), Some("2"));
    }

    #[test]
    fn json_text_takes_strings_only() {
        assert_eq!(json_at(r#"{"id":5}"#, "id", true), None);
        assert_eq!(json_at(r#"{"id":"5"}"#, "id", true).as_deref(), Some("5"));
    }
}
