import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import {
  type ExportedRecord,
  type FieldKind,
  isExportedRecord,
  recordFields,
} from "../../../shared/export/exported-record.js";
import { csvHeader, csvLine } from "../../../shared/export/usage-csv.js";
import { anyRecord, usageRecord } from "./usage-records.js";

/** A reader of RFC 4180 that shares no code with the writer: one character after the other. */
function readCsv(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = "";
  let inQuotes = false;
  for (let i = 0; i < text.length; i++) {
    const character = text[i]!;
    if (inQuotes && character === '"' && text[i + 1] === '"') cell += text[i++];
    else if (character === '"') inQuotes = !inQuotes;
    else if (inQuotes) cell += character;
    else if (character === "," || (character === "\r" && text[i + 1] === "\n")) {
      row.push(cell);
      cell = "";
      if (character === ",") continue;
      rows.push(row);
      row = [];
      i++;
    } else cell += character;
  }
  if (cell !== "" || row.length > 0 || inQuotes) throw new Error("the text ends within a line");
  return rows;
}

function valueIn(cell: string, kind: FieldKind): unknown {
  switch (kind) {
    case "text":
      return cell.replace(/^'/, "");
    case "later texts":
      return cell === "" ? [] : JSON.parse(cell);
    case "text or null":
    case "later text":
      return cell === "" ? null : cell.replace(/^'/, "");
    case "flag":
      return cell === "true";
    default:
      return cell === "" ? null : Number(cell);
  }
}

function readRecords(csv: string): unknown[] {
  const [header, ...rows] = readCsv(csv);
  return rows.map((cells) =>
    Object.fromEntries(
      header!.map((name, index) => [name, valueIn(cells[index]!, recordFields[index]![1])]),
    ),
  );
}

t.test("records survive a round trip through CSV, whatever their texts hold", async () => {
  fc.assert(
    fc.property(fc.array(anyRecord, { maxLength: 5 }), (records) => {
      assert.deepEqual(readRecords(csvHeader + records.map(csvLine).join("")), records);
    }),
    { numRuns: 300 },
  );
});

t.test("no text begins like a formula, whatever a caller names a model", async () => {
  fc.assert(
    fc.property(anyRecord, (record) => {
      const [, cells] = readCsv(csvHeader + csvLine(record));
      return cells!.every((cell) => !/^\s*[=+\-@＝＋－＠]/.test(cell));
    }),
    { numRuns: 300 },
  );
});

t.test("a line of CSV, to the letter", async (t) => {
  const table: readonly (readonly [changes: Partial<ExportedRecord>, cells: RegExp])[] = [
    [
      {},
      /^1813000000000\.0,2026-02-28T12:00:00.123Z,req_1,\/team\/app,,openai,openai,gpt-4o,\/v1\/chat\/completions,200,1000,200,1200,600,0,0.00175,0.002,0.00375,0,,false,false,812,97,gpt-4o,,,,,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,,,,,,0197-a,list,2026-11-28,req_openai_1,,0,,\r\n$/,
    ],
    [{ input_cost: null, output_cost: null, total_cost: null }, /,600,0,,,,0,/],
    [
      { total_cost: 1e-12, input_cost: 0, output_cost: 1999.999999999999 },
      /,0,1999\.999999999999,0\.000000000001,/,
    ],
    [{ model: "@cf/meta/llama-3" }, /,'@cf\/meta\/llama-3,/],
    [{ model: '=HYPERLINK("http://x","y")' }, /,"'=HYPERLINK\(""http:\/\/x"",""y""\)",/],
    [{ model: "'quoted'" }, /,''quoted',/],
    [{ model: "a,b" }, /,"a,b",/],
    [{ model: "a\r\n=b" }, /,"a\r\n=b",/],
    [{ first_byte_ms: null, estimated: true }, /,false,true,812,,/],
    [
      { requested_model: "smart", key_name: "=ci", labels: ["a,b", 'c"'], service_tier: "flex" },
      /,smart,'=ci,"\[""a,b"",""c\\""""\]",flex,,0,/,
    ],
    [
      { requested_model: undefined, labels: undefined, web_searches: undefined },
      /,812,97,,,,,,0,0,0,0,0,0,0,0,,0,0,0,0,0,0,0,0,0,,,,,,0197-a,list,2026-11-28,req_openai_1,,0,,\r\n$/,
    ],
  ];
  for (const [changes, line] of table)
    t.match(csvLine(usageRecord(changes)), line, JSON.stringify(changes));
  t.match(
    csvHeader,
    /^id,time,request_id,user_path,.*,first_byte_ms,requested_model,key_name,labels,.*,file_searches,.*,pages,cache_write_12h_input_tokens,tokens_at_most,cost_at_most,repriced_cost,repriced_at,corrects,session,cost_source,price_list,provider_request_id,provider_key,loop,tool_calls,cut_by\r\n$/,
  );
});

t.test("a value that isn't a record is recognized", async (t) => {
  t.ok(isExportedRecord(usageRecord()));
  const taken = { input_tokens: -7, total_cost: -0.5, tokens_at_most: -9, cost_at_most: -2 };
  t.ok(isExportedRecord(usageRecord(taken)), "an estimate that is taken back");
  t.match(
    csvLine(usageRecord(taken)),
    /,200,-7,200,.*,-0\.5,.*,-9,-2,,,,0197-a,list,2026-11-28,req_openai_1,,0,,\r\n$/,
  );
  const table: readonly Readonly<Record<string, unknown>>[] = [
    { status: "200" },
    { input_tokens: "1" },
    { rewrite_tokens_saved: -1 },
    { output_tokens: 1.5 },
    { total_cost: -10_000 },
    { total_cost: "0.1" },
    { total_cost: Number.NaN },
    { estimated: 1 },
    { provider: null },
    { latency_ms: null },
    { time: undefined },
    { labels: "eu" },
    { labels: [1] },
    { web_searches: -1 },
    { service_tier: 5 },
  ];
  for (const changes of table)
    t.notOk(isExportedRecord({ ...usageRecord(), ...changes }), JSON.stringify(changes));
  for (const value of [null, undefined, "record", 7]) t.notOk(isExportedRecord(value));
});
