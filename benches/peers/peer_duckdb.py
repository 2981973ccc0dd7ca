"""A lake as a data engineer would write it without us.

DuckDB reads the traces' JSON lines, takes organisation, repository and date of each session from its first line, and
writes the events as zstd Parquet, one folder an organisation, repository and date, each session's events together.

usage: peer_duckdb.py DATA_DIR OUT
"""

import sys
import time

import duckdb

COLUMNS = {
    "v": "INTEGER",
    "event_id": "VARCHAR",
    "session_id": "VARCHAR",
    "seq": "BIGINT",
    "ts": "TIMESTAMP",
    "type": "VARCHAR",
    "harness": "JSON",
    "agent_id": "VARCHAR",
    "turn_id": "VARCHAR",
    "response_id": "VARCHAR",
    "source": "VARCHAR",
    "cwd": "VARCHAR",
    "repo": "VARCHAR",
    "org": "VARCHAR",
    "base_commit": "VARCHAR",
    "model": "VARCHAR",
    "task_id": "VARCHAR",
    "role": "VARCHAR",
    "text": "VARCHAR",
    "thinking": "VARCHAR",
    "origin": "VARCHAR",
    "tool": "VARCHAR",
    "call_id": "VARCHAR",
    "input": "JSON",
    "output": "JSON",
    "status": "VARCHAR",
    "duration_ms": "DOUBLE",
    "mode": "VARCHAR",
    "attempt": "INTEGER",
    "verdict": "VARCHAR",
    "diff_sha256": "VARCHAR",
    "tests_hash": "VARCHAR",
    "run_id": "VARCHAR",
    "signature": "JSON",
    "reason": "VARCHAR",
    "outcome": "VARCHAR",
    "ended_by": "VARCHAR",
}

QUERY = """
copy (
    with starts as (
        select
            session_id,
            any_value(org) as in_org,
            split_part(any_value(repo), '/', -1) as in_repo,
            min(ts)::date as on_date
        from events
        where type = 'session_start'
        group by session_id
    )
    select events.* exclude (org, repo), in_org, in_repo, on_date
    from events join starts using (session_id)
    order by session_id, seq
)
to '{out}' (format parquet, compression zstd, partition_by (in_org, in_repo, on_date), overwrite_or_ignore)
"""


def main() -> None:
    data_dir, out = sys.argv[1:3]
    started = time.monotonic()
    connection = duckdb.connect()
    connection.execute("set preserve_insertion_order = false")
    columns = ", ".join(f"{name}: '{kind}'" for name, kind in COLUMNS.items())
    connection.execute(
        f"create view events as select * from read_json('{data_dir}/traces/*.jsonl', columns = {{{columns}}},"
        " format = 'newline_delimited', maximum_object_size = 134217728)"
    )
    connection.execute(QUERY.format(out=out))
    print(f"{time.monotonic() - started:.2f} s")


if __name__ == "__main__":
    main()
