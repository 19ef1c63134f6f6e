/** The query of GET /admin/usage/records: the filters of a list of usage records. */
import { itemsPerPage } from "../../shared/bounds.js";
import { asQuery, bad, type Checked, good, isAbsent, show } from "../../shared/checked.js";
import { parseUserPath } from "../../shared/domain/limit-key.js";
import { keyNumber } from "../../shared/domain/managed-key.js";
import { targetName } from "../../shared/domain/target-name.js";
import { type ExportPage, parseMoments, parseRecordsPage } from "../usage/usage-query.js";
import type { UsageRecord } from "../usage/usage-records.js";
import { isWithin } from "./show-record.js";

/** A filter that is null doesn't apply. */
export interface RecordQuery extends ExportPage {
  /** In lower case: the executed model, with or without its provider, or the requested model. */
  readonly model: string | null;
  /** In lower case. */
  readonly provider: string | null;
  /** The id of a managed key; empty: records without a key. */
  readonly keyId: string | null;
  /** Both included. */
  readonly statuses: { readonly from: number; readonly to: number } | null;
  readonly requestId: string | null;
  readonly session: string | null;
}

const fieldsKnown = [
  "after",
  "limit",
  "user_path",
  "start_date",
  "end_date",
  "start",
  "end",
  "model",
  "provider",
  "key",
  "status",
  "request_id",
  "session",
];
const nameCharsMax = 1000;
/** The value of `key` for records without a key. */
const withoutKey = "none";

/** The body has the endpoint's parameters by name. */
export function parseRecordQuery(body: unknown): Checked<RecordQuery> {
  const fields = asQuery(body, fieldsKnown);
  if (!fields.ok) return fields;
  const page = parseRecordsPage(fields.value, itemsPerPage);
  if (!page.ok) return page;
  const path = parseUserPath(fields.value["user_path"] ?? "/", "user_path");
  if (!path.ok) return path;
  const moments = parseMoments(fields.value);
  if (!moments.ok) return moments;
  const names: (string | null)[] = [];
  for (const field of ["model", "provider", "request_id", "session"]) {
    const name = parseName(fields.value[field], field);
    if (!name.ok) return name;
    names.push(name.value);
  }
  const [model = null, provider = null, requestId = null, session = null] = names;
  const keyId = parseKeyId(fields.value["key"]);
  if (!keyId.ok) return keyId;
  const statuses = parseStatuses(fields.value["status"]);
  if (!statuses.ok) return statuses;
  return good({
    ...page.value,
    ...moments.value,
    userPath: path.value,
    model: model?.toLowerCase() ?? null,
    provider: provider?.toLowerCase() ?? null,
    requestId,
    session,
    keyId: keyId.value,
    statuses: statuses.value,
  });
}

function parseName(value: unknown, field: string): Checked<string | null> {
  if (isAbsent(value)) return good(null);
  return typeof value === "string" && value !== "" && value.length <= nameCharsMax
    ? good(value)
    : bad(`${field} must be a text of 1 to ${nameCharsMax} characters, not ${show(value)}`, field);
}

/** The error doesn't repeat an invalid id, because it could be a secret. */
function parseKeyId(value: unknown): Checked<string | null> {
  if (isAbsent(value)) return good(null);
  if (value === withoutKey) return good("");
  return typeof value === "string" && keyNumber(value) !== null
    ? good(value)
    : bad(`key must be a key's id such as key_7, or ${withoutKey}`, "key");
}

/** A status such as `429`, or a class such as `4xx`. */
function parseStatuses(value: unknown): Checked<RecordQuery["statuses"]> {
  if (isAbsent(value)) return good(null);
  const text = typeof value === "string" ? value.toLowerCase() : "";
  if (/^[1-5]\d\d$/.test(text)) return good({ from: Number(text), to: Number(text) });
  if (!/^[1-5]xx$/.test(text))
    return bad(
      `status must be a status such as 429 or a class such as 5xx, not ${show(value)}`,
      "status",
    );
  const from = Number(text[0]) * 100;
  return good({ from, to: from + 99 });
}

/** Whether a record satisfies a query. */
export function isWanted(record: UsageRecord, query: RecordQuery): boolean {
  const { model, provider, keyId, statuses, requestId, session } = query;
  if (keyId !== null && record.keyId !== keyId) return false;
  if (statuses !== null && (record.status < statuses.from || record.status > statuses.to))
    return false;
  if (requestId !== null && record.requestId !== requestId) return false;
  if (session !== null && record.session !== session) return false;
  if (provider !== null && record.provider.toLowerCase() !== provider) return false;
  return (model === null || isOfModel(record, model)) && isWithin(record, query);
}

function isOfModel({ provider, model, requestedModel }: UsageRecord, name: string): boolean {
  return (
    model.toLowerCase() === name ||
    requestedModel.toLowerCase() === name ||
    targetName({ provider, model }).toLowerCase() === name
  );
}
