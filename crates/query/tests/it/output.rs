use datafusion::arrow::array::Array;
use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use lake_query::{Error, Format, write};

use crate::lake::{empty, lake};

const SQL: &str =
    "select session_id, bytes, flags, outcome, started_at from sessions order by session_id, branch limit 2";

async fn written(sql: &str, format: Format) -> (String, u64) {
    let mut out = Vec::new();
    let rows = write(lake().run(sql).await.expect("a stream"), format, &mut out).await.expect("an answer");
    (String::from_utf8(out).expect("UTF-8"), rows)
}

#[tokio::test]
async fn csv_has_a_header_and_lists_as_json() {
    let (text, rows) = written(SQL, Format::Csv).await;
    assert_eq!(rows, 2);
    assert_eq!(
        text,
        "session_id,bytes,flags,outcome,started_at\n\
         s1,200,\"[\"\"bad_field\"\",\"\"clock\"\",\"\"finished_late\"\"]\",flipped,2026-08-03T10:00:00Z\n\
         s1,80,\"[\"\"rewritten\"\"]\",,2026-08-03T10:00:00Z\n"
    );
    let mut out = Vec::new();
    let stream = empty().run("select session_id, flags from sessions").await.expect("a stream");
    assert_eq!(write(stream, Format::Csv, &mut out).await.expect("an answer"), 0);
    assert_eq!(out, b"session_id,flags\n");
}

#[tokio::test]
async fn json_has_one_object_a_line_with_every_column() {
    let (text, _) = written(SQL, Format::Json).await;
    assert_eq!(
        text,
        "{\"session_id\":\"s1\",\"bytes\":200,\"flags\":[\"bad_field\",\"clock\",\"finished_late\"],\"outcome\":\"flipped\",\"started_at\":\"2026-08-03T10:00:00Z\"}\n\
         {\"session_id\":\"s1\",\"bytes\":80,\"flags\":[\"rewritten\"],\"outcome\":null,\"started_at\":\"2026-08-03T10:00:00Z\"}\n"
    );
    assert_eq!(written("select text from messages", Format::Json).await.0, "{\"text\":\"Fix\\u001b[2J it\"}\n");
    assert_eq!(written("select text from messages", Format::Csv).await.0, "text\nFix\u{1b}[2J it\n");
}

#[tokio::test]
async fn a_table_is_aligned() {
    let (text, _) = written("select session_id, bytes, outcome from sessions order by bytes", Format::Table).await;
    let expected = [
        "session_id  bytes  outcome",
        "----------  -----  --------",
        "s5             50  unproven",
        "s4             60",
        "s3             70  flipped",
        "s1             80",
        "s2             90  no_flip",
        "s1            200  flipped",
    ];
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn a_table_shows_control_characters_escaped_and_long_values_cut() {
    assert!(written("select text from messages", Format::Table).await.0.ends_with("Fix\\u{1b}[2J it\n"));
    let sql = "select 'a' || chr(10) || 'b' || chr(9) || chr(155) || chr(8238) || 'c' as \"x\x07y\"";
    let (text, _) = written(sql, Format::Table).await;
    assert_eq!(text.lines().next(), Some("x\\u{7}y"));
    assert_eq!(text.lines().last(), Some("a\\nb\\t\\u{9b}\\u{202e}c"));
    let (text, _) = written("select repeat('é', 5000) as long", Format::Table).await;
    assert_eq!(text.lines().last().map(|line| line.chars().count()), Some(80));
    let (text, rows) = written("select value from generate_series(1, 3000)", Format::Table).await;
    assert_eq!((text.lines().count(), rows), (3002, 3000));
}

#[tokio::test]
async fn a_plan_keeps_its_lines() {
    let (text, _) = written("explain select * from sessions", Format::Table).await;
    assert!(text.lines().count() > 10 && !text.contains("\\n"), "{text}");
}

#[tokio::test]
async fn parquet_is_read_back() {
    let mut out = Vec::new();
    let stream = lake().run("select * from sessions").await.expect("a stream");
    assert_eq!(write(stream, Format::Parquet, &mut out).await.expect("an answer"), 6);
    let path = std::env::temp_dir().join(format!("lake-query-{}.parquet", std::process::id()));
    std::fs::write(&path, &out).expect("a file");
    let file = std::fs::File::open(&path).expect("a file");
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).expect("Parquet").build().expect("a reader");
    let rows: usize = reader.map(|batch| batch.expect("a batch").column(0).len()).sum();
    std::fs::remove_file(path).expect("the file");
    assert_eq!(rows, 6);
}

struct Gone;

impl std::io::Write for Gone {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Err(std::io::ErrorKind::BrokenPipe.into())
    }
}

#[tokio::test]
async fn a_reader_that_went_away_is_told() {
    for format in [Format::Table, Format::Csv, Format::Json, Format::Parquet] {
        let stream = lake().run("select * from sessions").await.expect("a stream");
        let result = write(stream, format, &mut Gone).await;
        assert!(
            matches!(&result, Err(Error::Write(e)) if e.kind() == std::io::ErrorKind::BrokenPipe),
            "{format:?}: {result:?}"
        );
    }
}

#[test]
fn formats_have_names() {
    assert_eq!(Format::parse("json"), Some(Format::Json));
    assert_eq!(Format::parse("xml"), None);
}
