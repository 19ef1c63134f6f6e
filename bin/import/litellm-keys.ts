/**
 * Reads an export of LiteLLM's table `LiteLLM_VerificationToken`, JSON or CSV, and says which keys,
 * rules and budgets it becomes (docs/coming-from-litellm.md). Pure.
 */
import { importedHash, unknownRedacted } from "../../shared/domain/managed-key.js";
import { parseTimestamp } from "../../shared/time.js";
import { budgetPeriod } from "./budget-duration.js";
import { type Fields, type ImportedKeys, type KeyToImport, segmentOf } from "./imported-values.js";
import { isTrue, tableRows } from "./table-rows.js";

/** Null if the text is neither JSON nor CSV of such a table. */
export function readLitellmKeys(text: string, nowMs: number): ImportedKeys | null {
  const rows = tableRows(text, "token");
  if (rows === null) return null;
  const notes: string[] = [];
  const imported: { readonly row: Fields; readonly hash: string }[] = [];
  for (const [i, row] of rows.entries()) {
    const hash = importedHash(row["token"]);
    const keyLabel = nameOf(row) ?? `row ${i + 1}`;
    const expires = timeOf(row["expires"]);
    if (hash === null) notes.push(`${keyLabel}: its token is no SHA-256: left out`);
    else if (isTrue(row["blocked"])) notes.push(`${keyLabel}: it is blocked: left out`);
    else if (expires !== null && expires <= nowMs)
      notes.push(`${keyLabel}: it has expired: left out`);
    else imported.push({ row, hash });
  }
  const paths = imported.map(({ row }) => pathOf(row));
  const keys = imported.map(({ row, hash }, i) => {
    const base = paths[i]!;
    // Limits of a key, not of all keys of its team or user.
    const isShared =
      base === "" || paths.some((path, j) => j !== i && `${path}/`.startsWith(`${base}/`));
    const segment = segmentOf(nameOf(row) ?? `key-${hash.slice(0, 8)}`);
    const userPath = isShared ? `${base}/${segment}` : base;
    return keyOf(row, { hash, userPath }, notes);
  });
  if (rows.some((row) => Number(row["spend"]) > 0))
    notes.push("spend: budgets begin at 0, without what was spent before");
  return { keys, notes };
}

function keyOf(
  row: Fields,
  { hash, userPath }: { readonly hash: string; readonly userPath: string },
  notes: string[],
): KeyToImport {
  const subject = { scope: "user_path", subject: userPath };
  const [rpm, tpm, parallel, amount] = [
    "rpm_limit",
    "tpm_limit",
    "max_parallel_requests",
    "max_budget",
  ].map((name) => positiveNumber(row[name]));
  const name = nameOf(row);
  const models = modelsOf(row["models"]);
  const expires = timeOf(row["expires"]);
  const rules = [
    ...(rpm === null && tpm === null
      ? []
      : [
          {
            ...subject,
            limit_key: { period: "minute" },
            ...(rpm === null ? {} : { max_requests: rpm }),
            ...(tpm === null ? {} : { max_tokens: tpm }),
          },
        ]),
    ...(parallel === null
      ? []
      : [{ ...subject, limit_key: { period: "concurrent" }, max_requests: parallel }]),
  ];
  const period = budgetPeriod(row["budget_duration"]);
  if (amount !== null && period.note !== null) notes.push(`${userPath}: ${period.note}`);
  return {
    hash,
    redacted: unknownRedacted,
    key: {
      user_path: userPath,
      ...(name === null ? {} : { name: name.slice(0, 60) }),
      ...(models === null ? {} : { models }),
      ...(expires === null ? {} : { expires_at: new Date(expires).toISOString() }),
    },
    rules,
    budgets: amount === null ? [] : [{ ...subject, budget_key: period.period, amount }],
  };
}

function nameOf(row: Fields): string | null {
  const { key_alias: alias } = row;
  return typeof alias === "string" && alias.trim() !== "" ? alias.trim() : null;
}

function pathOf({ team_id: team, user_id: user }: Fields): string {
  return [team, user]
    .filter((id): id is string => typeof id === "string" && id.trim() !== "")
    .map((id) => `/${segmentOf(id)}`)
    .join("");
}

/** A list in JSON, or as PostgreSQL writes an array; null for any model. */
function modelsOf(value: unknown): readonly string[] | null {
  const list = typeof value === "string" ? listOfText(value) : value;
  if (!Array.isArray(list)) return null;
  const models = (list as unknown[]).filter(
    (model): model is string =>
      typeof model === "string" &&
      model !== "" &&
      !/^(?:all-team|all-proxy|no-default)-models$/.test(model),
  );
  return models.length === 0 ? null : models;
}

function listOfText(text: string): readonly string[] {
  return text
    .replace(/^\s*[[{]|[\]}]\s*$/g, "")
    .split(",")
    .map((item) => item.trim().replace(/^"(.*)"$/, "$1"));
}

function positiveNumber(value: unknown): number | null {
  const number = value === "" || value === null ? Number.NaN : Number(value);
  return Number.isFinite(number) && number > 0 ? number : null;
}

/** Without an offset it is UTC, as PostgreSQL's column has none. */
function timeOf(value: unknown): number | null {
  if (typeof value !== "string" || value.trim() === "") return null;
  const text = value.trim().replace(" ", "T").replace(/\+00$/, "Z");
  return parseTimestamp(/(?:Z|[+-]\d\d:\d\d)$/.test(text) ? text : `${text}Z`);
}
