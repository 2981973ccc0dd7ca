//! Values as text.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, RecordBatch, StringBuilder};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion::arrow::error::{ArrowError, Result};
use datafusion::arrow::json::writer::{EncoderOptions, make_encoder};

/// The batch with lists, structs and maps as JSON text: CSV has no form for them.
pub(super) fn flat(batch: &RecordBatch) -> Result<RecordBatch> {
    let schema = batch.schema();
    let mut fields: Vec<FieldRef> = Vec::with_capacity(batch.num_columns());
    let mut columns: Vec<ArrayRef> = Vec::with_capacity(batch.num_columns());
    for (field, column) in schema.fields().iter().zip(batch.columns()) {
        if field.data_type().is_nested() {
            fields.push(Arc::new(Field::new(field.name(), DataType::Utf8, true)));
            columns.push(Arc::new(as_json(field, column)?));
        } else {
            fields.push(Arc::clone(field));
            columns.push(Arc::clone(column));
        }
    }
    let options = datafusion::arrow::array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)
}

fn as_json(field: &FieldRef, column: &ArrayRef) -> Result<datafusion::arrow::array::StringArray> {
    let options = EncoderOptions::default();
    let mut encoder = make_encoder(field, column, &options)?;
    let mut out = StringBuilder::new();
    let mut text = Vec::new();
    for row in 0..column.len() {
        if column.is_null(row) {
            out.append_null();
            continue;
        }
        text.clear();
        encoder.encode(row, &mut text);
        out.append_value(std::str::from_utf8(&text).map_err(|e| ArrowError::JsonError(e.to_string()))?);
    }
    Ok(out.finish())
}

/// Appends a text with what a terminal would act on escaped: control characters, and those that turn the direction
/// of writing, so that what is seen is what is there.
pub(super) fn escape_into(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() || turns(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
}

fn turns(c: char) -> bool {
    matches!(c, '\u{200E}' | '\u{200F}' | '\u{061C}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
}
