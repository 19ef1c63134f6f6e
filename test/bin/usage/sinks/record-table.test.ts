import { readFileSync } from "node:fs";
import fc from "fast-check";
import t from "tap";
import type { Batch } from "../../../../bin/usage/follow/sink.js";
import { postgresFailure } from "../../../../bin/usage/sinks/postgres-sink.js";
import {
  partitionsOf,
  rowsText,
  tableDefinition,
} from "../../../../bin/usage/sinks/record-table.js";
import { anyRecord, usageRecord } from "../../../shared/export/usage-records.js";
import { exactly } from "../../../support/patterns/exactly.js";

const batch = (records: Batch["records"]): Batch => ({
  after: null,
  next: "store/2.0",
  storeId: "store",
  host: "host",
  records,
  missedCommits: 0,
});

t.test("the definition that ships is that of the command", async (t) => {
  const file = new URL("../../../../../docs/examples/usage-records.sql", import.meta.url);
  t.equal(readFileSync(file, "utf8"), tableDefinition);
});

t.test("rows hold money exactly, and no text that PostgreSQL refuses", async (t) => {
  const record = usageRecord({
    total_cost: 0.000000000001,
    model: "nul\u0000 \ud800 💥",
    labels: ["a\u0000", "b"],
  });
  t.match(
    JSON.parse(rowsText(batch([record]))),
    exactly([
      {
        store_id: "store",
        host: "host",
        record_id: record.id,
        total_cost: "0.000000000001",
        rewrite_cost_saved: null,
        model: "nul\ufffd \ufffd 💥",
        labels: ["a\ufffd", "b"],
      },
    ]),
  );
  fc.assert(
    fc.property(fc.array(anyRecord, { maxLength: 5 }), (records) => {
      t.equal((JSON.parse(rowsText(batch(records))) as unknown[]).length, records.length);
    }),
    { numRuns: 50 },
  );
});

t.test("each month has a partition, the last of a year too", async (t) => {
  const at = (time: string): ReturnType<typeof usageRecord> => usageRecord({ time });
  const partitions = partitionsOf([
    at("2026-12-31T23:59:59.999Z"),
    at("2026-12-01T00:00:00.000Z"),
    at("2027-01-01T00:00:00.000Z"),
  ]);
  t.same(
    partitions.map(({ name }) => name),
    ["sluice_usage_records_2026_12", "sluice_usage_records_2027_01"],
  );
  t.match(partitions[0]!.statements[1], /from \('2026-12-01 00:00:00\+00'\) to \('2027-01-01 00/);
});

t.test("temporary failures are distinguished from permanent ones", async (t) => {
  const fails = (code: string, message = "m"): boolean =>
    postgresFailure("postgres://db/usage", { code, message }).isPassing;
  for (const code of [
    "08006",
    "57P01",
    "57P03",
    "53100",
    "40001",
    "25006",
    "ECONNREFUSED",
    "EPIPE",
  ])
    t.equal(fails(code), true, code);
  for (const code of ["28P01", "3D000", "42P01", "42501", "22P02", "DEPTH_ZERO_SELF_SIGNED_CERT"])
    t.equal(fails(code), false, code);
  t.equal(fails("", "Connection terminated unexpectedly"), true);
  t.equal(fails("", "The server does not support SSL connections"), false);
  t.match(postgresFailure("at", { code: "42P01", message: "m" }).message, /--create-table/);
});
