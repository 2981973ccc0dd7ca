//! `words(…)`: the union of words, sorted, each once, never NULL.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, ListBuilder, StringArray, StringBuilder};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};

/// Takes texts, lists of texts, and findings, of which the rule is the word. NULLs add nothing.
///
/// A function and not a join of unnested lists: a session's flags are one row's business.
pub(crate) fn words() -> ScalarUDF {
    ScalarUDF::new_from_impl(Words { signature: Signature::variadic_any(Volatility::Immutable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Words {
    signature: Signature,
}

impl ScalarUDFImpl for Words {
    fn name(&self) -> &str {
        "words"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::List(item()))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let columns: Vec<Column> =
            args.args.into_iter().map(|arg| Column::of(&arg.into_array(args.number_rows)?)).collect::<Result<_>>()?;
        let mut out = ListBuilder::new(StringBuilder::new()).with_field(item());
        for row in 0..args.number_rows {
            let all: BTreeSet<&str> = columns.iter().flat_map(|column| column.at(row)).collect();
            out.append_value(all.into_iter().map(Some));
        }
        Ok(ColumnarValue::Array(Arc::new(out.finish())))
    }
}

fn item() -> Arc<Field> {
    Arc::new(Field::new("element", DataType::Utf8, true))
}

/// The words of a column: row `i` has those from `starts[i]` to `ends[i]`.
struct Column {
    words: StringArray,
    spans: Vec<(usize, usize)>,
}

impl Column {
    fn of(array: &ArrayRef) -> Result<Column> {
        match array.data_type() {
            DataType::Null => Ok(Column { words: StringArray::new_null(0), spans: vec![(0, 0); array.len()] }),
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                let spans =
                    list.offsets().windows(2).enumerate().map(|(row, pair)| {
                        if list.is_null(row) { (0, 0) } else { (pair[0] as usize, pair[1] as usize) }
                    });
                Ok(Column { words: texts(list.values())?, spans: spans.collect() })
            }
            DataType::LargeList(_) => {
                let list = array.as_list::<i64>();
                let spans =
                    list.offsets().windows(2).enumerate().map(|(row, pair)| {
                        if list.is_null(row) { (0, 0) } else { (pair[0] as usize, pair[1] as usize) }
                    });
                Ok(Column { words: texts(list.values())?, spans: spans.collect() })
            }
            _ => Ok(Column { words: texts(array)?, spans: (0..array.len()).map(|row| (row, row + 1)).collect() }),
        }
    }

    fn at(&self, row: usize) -> impl Iterator<Item = &str> {
        let (start, end) = self.spans[row];
        (start..end).filter(|i| self.words.is_valid(*i)).map(|i| self.words.value(i))
    }
}

fn texts(array: &ArrayRef) -> Result<StringArray> {
    let array = match array.data_type() {
        DataType::Struct(_) => match array.as_struct().column_by_name("rule") {
            Some(rules) => rules,
            None => return exec_err!("a finding without a rule"),
        },
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Dictionary(_, _) | DataType::Null => {
            array
        }
        other => return exec_err!("{other} holds no words"),
    };
    Ok(cast(array, &DataType::Utf8)?.as_string::<i32>().clone())
}
