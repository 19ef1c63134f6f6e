/**
 * A bill from a file: a BigQuery export of Google's billing data, as JSON lines or CSV, or a CSV
 * with the columns of docs/reconcile.md. Pure.
 */
import { isObject, parseJson } from "../../../shared/checked.js";
import { dayOf, parseDay } from "../../../shared/time.js";
import { readAmount } from "../amount.js";
import {
  type Bill,
  BillError,
  type BillItem,
  type BillRow,
  isTokens,
  type Kind,
  kindNames,
  regionOf,
  requireUsd,
  tierOf,
} from "../bill.js";
import { skuLine } from "../line-words.js";
import type { BillQuery } from "./openai-bill.js";

type Fields = Readonly<Record<string, unknown>>;
interface Line {
  /** For errors: `line 7`. */
  readonly where: string;
  readonly fields: Fields;
}

/** The bill in the text of a file, of the days and projects of the query. Throws `BillError`. */
export function billFromFile(text: string, query: BillQuery): Bill {
  const { names, lines } = tableOf(text);
  const first = lines[0]?.fields ?? Object.fromEntries(names.map((name) => [name, ""]));
  const isOfBigQuery = fieldOf(first, "usage_start_time") !== undefined;
  // An empty list of JSON has no names.
  if (!isOfBigQuery && Object.keys(first).length > 0) requireColumns(Object.keys(first));
  const bill = isOfBigQuery ? fromBigQuery(lines, query) : fromColumns(lines, query);
  return bill.rows.length > 0 || lines.length === 0
    ? bill
    : { ...bill, notes: [...bill.notes, daysNote(lines, isOfBigQuery)] };
}

/** Why no line of the bill counts, if it has lines. */
function daysNote(lines: readonly Line[], isOfBigQuery: boolean): string {
  const field = isOfBigQuery ? "usage_start_time" : "date";
  const days = lines.map(({ where, fields }) =>
    dayIn(fieldOf(fields, field), `${field}, ${where}`),
  );
  const [first, last] = [days.reduce(smallerText), days.reduce(largerText)];
  return `the bill has lines of ${first} to ${last}; give --from and --to, or check --project`;
}

function smallerText(a: string, b: string): string {
  return a < b ? a : b;
}

function largerText(a: string, b: string): string {
  return a > b ? a : b;
}

interface Table {
  /** The names of a CSV's columns; empty for JSON. */
  readonly names: readonly string[];
  readonly lines: readonly Line[];
}

function tableOf(text: string): Table {
  if (text.includes("\u0000")) throw new BillError("the bill must be UTF-8");
  const content = text.replace(/^\uFEFF/, "");
  if (content.trim() === "") throw new BillError("the bill is empty: it has no header");
  if (!/^\s*[{[]/.test(content)) return csvTable(content);
  const parsed = parseJson(content);
  const lines = Array.isArray(parsed)
    ? parsed.map((fields, index) => lineOf(fields, `item ${index + 1}`))
    : content
        .split("\n")
        .flatMap((line, index) =>
          line.trim() === "" ? [] : [lineOf(parseJson(line), `line ${index + 1}`)],
        );
  return { names: [], lines };
}

function lineOf(fields: unknown, where: string): Line {
  if (!isObject(fields)) throw new BillError(`${where} of the bill must be a JSON object`);
  return { where, fields };
}

/** RFC 4180, whose comma may be a semicolon or a tab. */
function csvTable(text: string): Table {
  const separator = separatorOf(text);
  const [header, ...rows] = csvRows(text, separator);
  if (header === undefined) throw new BillError("the bill is empty: it has no header");
  const names = header.cells.map((name) => name.trim().toLowerCase());
  const twice = names.find((name, index) => name !== "" && names.indexOf(name) !== index);
  if (twice !== undefined) throw new BillError(`the bill has two columns ${twice}`);
  const lines = rows.map(({ cells, line }) => {
    if (cells.length !== names.length)
      throw new BillError(
        `line ${line} of the bill has ${cells.length} columns, and the header ${names.length}: a cell that contains ${JSON.stringify(separator)} needs quotes`,
      );
    return {
      where: `line ${line}`,
      fields: Object.fromEntries(names.map((name, index) => [name, cells[index]])),
    };
  });
  return { names, lines };
}

/** The one that the header has most of. */
function separatorOf(text: string): string {
  const header = /^[^\r\n]*/.exec(text)![0];
  const count = (separator: string): number => header.split(separator).length;
  return [",", ";", "\t"].reduce((best, separator) =>
    count(separator) > count(best) ? separator : best,
  );
}

/** Rows without any content are left out; a line break within quotes becomes a space. */
function csvRows(
  text: string,
  separator: string,
): readonly { readonly cells: readonly string[]; readonly line: number }[] {
  const rows: { readonly cells: readonly string[]; readonly line: number }[] = [];
  let cells: string[] = [];
  let cell = "";
  let isQuoted = false;
  let line = 1;
  let began = 1;
  let wasQuoted = false;
  const endCell = (): void => {
    cells.push(cell.replaceAll(/\s*[\r\n]\s*/g, " "));
    cell = "";
    wasQuoted = false;
  };
  const endRow = (): void => {
    endCell();
    if (cells.some((content) => content.trim() !== "")) rows.push({ cells, line: began });
    cells = [];
    began = line;
  };
  for (let position = 0; position < text.length; position++) {
    const char = text[position]!;
    if (char === "\n") line++;
    if (isQuoted) {
      if (char !== '"') cell += char;
      else if (text[position + 1] === '"') cell += text[++position]!;
      else {
        isQuoted = false;
        wasQuoted = true;
      }
    } else if (char === separator) endCell();
    else if (char === "\n") endRow();
    else if (char === "\r") continue;
    else if (wasQuoted)
      throw new BillError(`line ${line} of the bill has text after a closing quote`);
    else if (char === '"' && cell === "") isQuoted = true;
    else cell += char;
  }
  if (isQuoted) throw new BillError(`line ${began} of the bill has a quote that isn't closed`);
  endRow();
  return rows;
}

/** A nested field; in CSV its name has points or underscores: `sku.description`. */
function fieldOf(fields: Fields, path: string): unknown {
  if (fields[path] !== undefined) return fields[path];
  const underscored = fields[path.replaceAll(".", "_")];
  if (underscored !== undefined) return underscored;
  let value: unknown = fields;
  for (const name of path.split(".")) value = isObject(value) ? value[name] : undefined;
  return value;
}

const bigQuerySeparates: ReadonlySet<Kind> = new Set(
  kindNames.filter((kind) => isTokens(kind) || kind === "web_searches" || kind === "maps_searches"),
);

/** Times of the export are in UTC; Google's invoice has days of Pacific time. */
function fromBigQuery(lines: readonly Line[], query: BillQuery): Bill {
  const rows: BillRow[] = [];
  let decimals = 6;
  let otherServices = 0;
  for (const { where, fields } of lines) {
    const day = dayIn(fieldOf(fields, "usage_start_time"), `usage_start_time, ${where}`);
    const project = trimmedOrNull(fieldOf(fields, "project.id"));
    if (!isWithin(query, day, project)) continue;
    requireUsd(fieldOf(fields, "currency"), `${where} of the bill`);
    const sku = trimmedOrNull(fieldOf(fields, "sku.description"));
    if (sku === null) throw new BillError(`${where} of the bill has no sku.description`);
    const service = trimmedOrNull(fieldOf(fields, "service.description"));
    if (service !== null && !modelServices.test(service)) {
      otherServices++;
      continue;
    }
    const cost = amountIn(fieldOf(fields, "cost"), `cost, ${where}`);
    decimals = Math.max(decimals, Math.min(12, cost.decimals));
    const meaning = skuLine(sku);
    const isUsage = [null, "regular"].includes(trimmedOrNull(fieldOf(fields, "cost_type")));
    const quantity = Number(fieldOf(fields, "usage.amount"));
    const place = { day, tier: meaning.tier, region: "", project, text: sku };
    rows.push({
      ...place,
      model: meaning.model,
      item: isUsage ? meaning.item : "credit",
      quantity: isUsage && meaning.item in countable && isQuantity(quantity) ? quantity : null,
      amount: cost.pico,
    });
    for (const credit of creditsOf(fieldOf(fields, "credits"), where))
      rows.push({ ...place, model: meaning.model, item: "credit", quantity: null, amount: credit });
  }
  const notes =
    otherServices === 0
      ? []
      : [`lines of other services than models are left out: ${otherServices}`];
  return { rows, separates: bigQuerySeparates, decimals, notes };
}

/** The services that run models. The bill of an account covers all of Google Cloud. */
const modelServices =
  /gemini|vertex|generative|agent platform|claude|anthropic|mistral|invoice|tax/i;

const countable = Object.fromEntries(kindNames.map((kind) => [kind, true]));

/** Credits as a list (in CSV a JSON text), or as one amount. */
function creditsOf(value: unknown, where: string): readonly bigint[] {
  const list =
    typeof value === "string" && value.trim() !== "" ? (parseJson(value) ?? value) : value;
  if (list === undefined || list === null || list === "") return [];
  const items: readonly unknown[] = Array.isArray(list) ? list : [{ amount: list }];
  return items.map(
    (item) => amountIn(isObject(item) ? item["amount"] : item, `credits, ${where}`).pico,
  );
}

/** The columns of a CSV; those with a quantity have the names of our own records. */
const quantityColumns: Readonly<Record<string, BillItem>> = {
  requests: "requests",
  input_tokens: "input",
  cached_input_tokens: "cached_input",
  cache_write_input_tokens: "cache_write",
  output_tokens: "output",
  audio_input_tokens: "audio_input",
  audio_output_tokens: "audio_output",
  web_searches: "web_searches",
  images: "images",
  audio_seconds: "audio_seconds",
  characters: "characters",
};
const otherItems: readonly string[] = ["requests", "tool", "credit", "other"];
const required = ["date", "model", "amount"] as const;
const columnNames: readonly string[] = [
  ...required,
  "currency",
  "tier",
  "region",
  "project",
  "kind",
  "quantity",
  ...Object.keys(quantityColumns),
];

function requireColumns(names: readonly string[]): void {
  const missing = required.find((name) => !names.includes(name));
  if (missing === undefined) return;
  const has = names.slice(0, namesMax).map((name) => JSON.stringify(name.slice(0, nameCharsMax)));
  throw new BillError(
    `the bill has no column ${missing}, but ${has.join(", ")}: a CSV needs ${required.join(", ")}, and may have ${columnNames.slice(required.length).join(", ")}`,
  );
}

const namesMax = 20;
const nameCharsMax = 40;

function fromColumns(lines: readonly Line[], query: BillQuery): Bill {
  const separates = new Set<Kind>();
  const rows: BillRow[] = [];
  let decimals = 2;
  for (const { where, fields } of lines) {
    const day = dayIn(fields["date"], `date, ${where}`);
    const project = trimmedOrNull(fields["project"]);
    if (!isWithin(query, day, project)) continue;
    requireUsd(fields["currency"], `${where} of the bill`);
    // A line may be about a quantity alone.
    const hasAmount =
      trimmedOrNull(fields["amount"]) !== null || trimmedOrNull(fields["quantity"]) === null;
    const amount = hasAmount ? amountIn(fields["amount"], `amount, ${where}`) : null;
    decimals = Math.max(decimals, Math.min(12, amount?.decimals ?? 0));
    const place = {
      day,
      model: trimmedOrNull(fields["model"]),
      tier: tierOf(fields["tier"]),
      region: regionOf(fields["region"]),
      project,
      text: trimmedOrNull(fields["model"]) ?? where,
    };
    const item = itemIn(fields["kind"], { where, isNegative: (amount?.pico ?? 0n) < 0n });
    if (item in countable) separates.add(item as Kind);
    rows.push({
      ...place,
      item,
      quantity:
        trimmedOrNull(fields["quantity"]) === null
          ? null
          : countIn(fields["quantity"], `quantity, ${where}`),
      amount: amount?.pico ?? null,
    });
    for (const [name, number] of quantitiesIn(fields, where)) {
      if (name in countable) separates.add(name as Kind);
      rows.push({ ...place, item: name, quantity: number, amount: null });
    }
  }
  const unread = Object.keys(lines[0]?.fields ?? {}).filter((name) => !columnNames.includes(name));
  const names = unread.slice(0, namesMax).map((name) => name.slice(0, nameCharsMax));
  const notes = unread.length === 0 ? [] : [`columns that aren't read: ${names.join(", ")}`];
  return { rows, separates, decimals, notes };
}

/** Input includes what caches read and wrote, and audio, as in our records. */
function quantitiesIn(fields: Fields, where: string): readonly (readonly [BillItem, number])[] {
  const quantities = new Map<BillItem, number>();
  for (const [name, item] of Object.entries(quantityColumns))
    if (trimmedOrNull(fields[name]) !== null)
      quantities.set(item, countIn(fields[name], `${name}, ${where}`));
  const part = (item: BillItem): number => quantities.get(item) ?? 0;
  const input = quantities.get("input");
  const output = quantities.get("output");
  if (input !== undefined)
    quantities.set(
      "input",
      input - part("cached_input") - part("cache_write") - part("audio_input"),
    );
  if (output !== undefined) quantities.set("output", output - part("audio_output"));
  for (const item of ["input", "output"] as const)
    if (part(item) < 0)
      throw new BillError(`${where} of the bill: ${item}_tokens must include its parts`);
  return [...quantities];
}

function itemIn(
  value: unknown,
  { where, isNegative }: { readonly where: string; readonly isNegative: boolean },
): BillItem {
  const kind = trimmedOrNull(value);
  if (kind === null) return isNegative ? "credit" : "total";
  if (otherItems.includes(kind) || kind in countable) return kind as BillItem;
  throw new BillError(
    `kind, ${where} of the bill, must be one of ${[...kindNames, ...otherItems].join(", ")}, not ${JSON.stringify(kind)}`,
  );
}

function isWithin(
  { startDate, endDate, projects }: BillQuery,
  day: string,
  project: string | null,
): boolean {
  return (
    day >= startDate &&
    day <= endDate &&
    (projects.length === 0 || (project !== null && projects.includes(project)))
  );
}

/** `2026-11-20`, `2026-11-20 08:00:00 UTC` or RFC 3339, whose offset counts. */
function dayIn(value: unknown, where: string): string {
  const text = typeof value === "string" ? value.trim() : "";
  if (/^\d{4}-\d\d-\d\d$/.test(text) && parseDay(text) !== null) return text;
  const time =
    /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d(?::\d\d(?:\.\d+)?)?) ?(UTC|Z|[+-]\d\d:\d\d)?$/.exec(text);
  const ms = time === null ? Number.NaN : Date.parse(`${time[1]}T${time[2]}${offsetOf(time[3])}`);
  if (Number.isNaN(ms))
    throw new BillError(
      `${where} of the bill, must be a date such as 2026-11-20 or a time, not ${JSON.stringify(value)}`,
    );
  return dayOf(ms);
}

function offsetOf(zone: string | undefined): string {
  return zone === undefined || zone === "UTC" ? "Z" : zone;
}

function amountIn(value: unknown, where: string): NonNullable<ReturnType<typeof readAmount>> {
  const amount = readAmount(value);
  if (amount === null)
    throw new BillError(
      `${where} of the bill, must be a decimal such as 1.25, not ${shownNumber(value)}`,
    );
  return amount;
}

function countIn(value: unknown, where: string): number {
  const number = Number(value);
  if (!isQuantity(number))
    throw new BillError(`${where} of the bill, must be a number from 0, not ${shownNumber(value)}`);
  return number;
}

/** A comma may mean decimals or thousands. */
function shownNumber(value: unknown): string {
  const text = JSON.stringify(value);
  return typeof value === "string" && value.includes(",")
    ? `${text}: write decimals after a point, and thousands without a separator`
    : text;
}

function isQuantity(number: number): boolean {
  return Number.isFinite(number) && number >= 0;
}

function trimmedOrNull(value: unknown): string | null {
  return typeof value === "string" && value.trim() !== "" ? value.trim() : null;
}
