/**
 * Exports of databases that one-api 0.6.11 (SQLite, as JSON) and new-api's schema (PostgreSQL, as
 * CSV) have made; passwords and columns that no import reads are left out.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { oneApiTables as columns, type OneApiTables } from "../../../bin/import/one-api-tables.js";
import { tableRows } from "../../../bin/import/table-rows.js";
import { root } from "../../tidy/source-tree.js";

export const oneApiExport = join(root, "test/bin/import/one-api");
export const newApiExport = join(root, "test/bin/import/new-api");

export function oneApiTables(): OneApiTables {
  return tablesOf(oneApiExport, "json");
}

export function newApiTables(): OneApiTables {
  return tablesOf(newApiExport, "csv");
}

function tablesOf(directory: string, type: string): OneApiTables {
  const read = (table: keyof OneApiTables): OneApiTables["users"] =>
    tableRows(readFileSync(join(directory, `${table}.${type}`), "utf8"), columns[table])!;
  return {
    channels: read("channels"),
    tokens: read("tokens"),
    users: read("users"),
    options: read("options"),
  };
}
