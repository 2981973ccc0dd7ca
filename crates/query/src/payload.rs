//! `payload(envelope)`: what a DSSE envelope holds, as text.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use datafusion::arrow::array::StringBuilder;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::types::logical_string;
use datafusion::common::utils::take_function_args;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{
    Coercion, ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignatureClass, Volatility,
};

use crate::json_get::{Texts, json_at};

/// `payload(envelope)`: the payload of a verdict's `signature`, NULL where there is none that is text. Whoever can write
/// to a trace can write an envelope: what it says counts once its signature was verified, and an odd one is no error.
pub(crate) fn payload() -> ScalarUDF {
    let text = Coercion::new_exact(TypeSignatureClass::Native(logical_string()));
    ScalarUDF::new_from_impl(Payload { signature: Signature::coercible(vec![text], Volatility::Immutable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Payload {
    signature: Signature,
}

impl ScalarUDFImpl for Payload {
    fn name(&self) -> &str {
        "payload"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [envelopes] = take_function_args("payload", args.args)?;
        if matches!(&envelopes, ColumnarValue::Scalar(value) if value.is_null()) {
            return Ok(ColumnarValue::Scalar(ScalarValue::Utf8(None)));
        }
        let envelopes = Texts::of(envelopes.into_array(args.number_rows)?)?;
        let mut out = StringBuilder::new();
        for row in 0..args.number_rows {
            out.append_option(envelopes.get(row).and_then(decoded));
        }
        Ok(ColumnarValue::Array(Arc::new(out.finish())))
    }
}

fn decoded(envelope: &str) -> Option<String> {
    let base64 = json_at(envelope, "payload", true)?;
    String::from_utf8(STANDARD.decode(base64.as_bytes()).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn an_envelope_is_opened_and_an_odd_one_holds_nothing() {
        assert_eq!(decoded(r#"{"payload":"eyJhIjoxfQ=="}"#).as_deref(), Some(r#"{"a":1}"#));
        for odd in [
            "",
            "{}",
            "[]",
            r#"{"payload":5}"#,
            r#"{"payload":"%"}"#,
            r#"{"payload":"eyJhIjoxfQ"}"#,
            r#"{"payload":"/w=="}"#,
        ] {
            assert_eq!(decoded(odd), None, "{odd}");
        }
    }
}
