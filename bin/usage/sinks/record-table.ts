/**
 * The tables in PostgreSQL that followed records go to, and the statements that fill them. Pure;
 * `docs/examples/usage-records.sql` is `tableDefinition`.
 */
import { signedPicoFromUsd, usdText } from "../../../shared/domain/money.js";
import {
  type ExportedRecord,
  type ExportedValue,
  type FieldKind,
  recordFields,
} from "../../../shared/export/exported-record.js";
import type { Batch } from "../follow/sink.js";

export const recordsTable = "sluice_usage_records";
export const followersTable = "sluice_usage_followers";

const typeOf: Readonly<Record<FieldKind, string>> = {
  text: "text not null",
  "text or null": "text",
  count: "bigint not null",
  "count or null": "bigint",
  tokens: "bigint not null",
  "tokens or null": "bigint",
  usd: "numeric(24, 12)",
  flag: "boolean not null",
  "later text": "text",
  "later texts": "text[]",
  "later count": "bigint",
};

/** A record's own fields as columns; its id is unique with the store's alone. */
const fieldColumns = recordFields.map(([name, kind]): readonly [string, string] => {
  if (name === "id") return ["record_id", "text not null"];
  if (name === "time") return ["time", "timestamptz not null"];
  return [name, typeOf[kind]];
});
const columns: readonly (readonly [name: string, type: string])[] = [
  ["store_id", "uuid not null"],
  ["host", "text not null"],
  ...fieldColumns,
];
const columnNames = columns.map(([name]) => name).join(", ");

const recordsDefinition = `create table if not exists ${recordsTable} (
${columns.map(([name, type]) => `  ${name} ${type},\n`).join("")}  primary key (store_id, record_id, time)
) partition by range (time)`;

const followersDefinition = `create table if not exists ${followersTable} (
  follower text not null,
  store_id uuid not null,
  host text not null,
  cursor text,
  records bigint not null default 0,
  missed_commits bigint not null default 0,
  handed_on_at timestamptz,
  primary key (follower, store_id)
)`;

/** Creates missing tables, and adds columns of a later release. */
export const tableStatements: readonly string[] = [
  recordsDefinition,
  ...columns.map(
    ([name, type]) =>
      `alter table ${recordsTable} add column if not exists ${name} ${type.replace(" not null", "")}`,
  ),
  followersDefinition,
];

/** The file that ships. */
export const tableDefinition = `-- The tables of \`sluice usage follow --to postgres://…\` (docs/who-spent-what.md#postgresql).
-- The follower makes a partition for each month (UTC) when its first record comes.

${recordsDefinition};

-- How far each follower of each store has got: changed in the transaction of the records.
${followersDefinition};
`;

/** A month of records, by their time. */
interface Partition {
  readonly name: string;
  /** Run in one transaction, if the table of that name isn't there. */
  readonly statements: readonly string[];
}

/** The partitions that records need, one for each of their months in UTC. */
export function partitionsOf(records: readonly ExportedRecord[]): readonly Partition[] {
  const months = new Set(records.map(({ time }) => String(time).slice(0, 7)));
  return [...months].filter((month) => /^\d{4}-\d{2}$/.test(month)).map(partitionOf);
}

/** Creates a table and attaches it, since creating it as a partition would block readers. */
function partitionOf(month: string): Partition {
  const name = `${recordsTable}_${month.replace("-", "_")}`;
  const next = new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)), 1));
  const until = next.toISOString().slice(0, 10);
  return {
    name,
    statements: [
      `create table ${name} (like ${recordsTable} including all)`,
      `alter table ${recordsTable} attach partition ${name} for values from ('${month}-01 00:00:00+00') to ('${until} 00:00:00+00')`,
    ],
  };
}

/** Takes \`rowsText\`. */
export const insertRecords = `insert into ${recordsTable} (${columnNames})
select ${columnNames} from json_populate_recordset(null::${recordsTable}, $1::text::json)
on conflict do nothing`;

/** The rows of a batch as JSON: one parameter, whatever they hold. */
export function rowsText({ records, storeId, host }: Batch): string {
  return JSON.stringify(records.map((record) => rowOf(record, storeId, host)));
}

function rowOf(
  record: ExportedRecord,
  storeId: string,
  host: string,
): Readonly<Record<string, ExportedValue>> {
  const row: Record<string, ExportedValue> = { store_id: storeId, host: clean(host) };
  for (const [index, [name, kind]] of recordFields.entries())
    row[fieldColumns[index]![0]] = cell(record[name], kind);
  return row;
}

function cell(value: ExportedValue, kind: FieldKind): ExportedValue {
  if (kind === "usd" && value !== null) {
    const pico = signedPicoFromUsd(value);
    return pico === null ? null : usdText(pico);
  }
  if (typeof value === "string") return clean(value);
  return Array.isArray(value) ? value.map(clean) : value;
}

/** Neither a NUL nor half of a pair can be in a text of PostgreSQL. */
function clean(text: string): string {
  return text.replaceAll("\u0000", "\ufffd").replaceAll(/\p{Surrogate}/gu, "\ufffd");
}
