"""Counts the rows of each table with deltalake and with DuckDB: LAKE GENERATION COUNTED, a line of COUNTED being a table, a tab and SQL."""
import glob
import importlib.util
import json
import os
import sys

import deltalake
import duckdb

lake, generation, counted = sys.argv[1:]

# The extension comes with a package, not from the network.
package = importlib.util.find_spec("duckdb_extension_delta").submodule_search_locations[0]
(extension,) = glob.glob(f"{package}/extensions/v{duckdb.__version__}/delta.duckdb_extension")
connection = duckdb.connect(config={"autoinstall_known_extensions": False, "autoload_known_extensions": False})
connection.execute(f"load '{extension}'")


def place(table):
    beside = table in ("checks", "exports")
    return os.path.join(lake, table) if beside else os.path.join(lake, "tables", generation, table)


found = {"deltalake": {}, "duckdb": {}}
for line in counted.splitlines():
    table, sql = line.split("\t")
    row = connection.execute(f"select {sql} from delta_scan('{place(table)}')").fetchone()
    found["duckdb"][table] = [None if value is None else int(value) for value in row]
    builder = deltalake.QueryBuilder().register(table, deltalake.DeltaTable(place(table)))
    batch = builder.execute(f"select {sql} from {table}").read_all()
    found["deltalake"][table] = [batch.column(i)[0].as_py() for i in range(batch.num_columns)]
json.dump(found, sys.stdout)
