/**
 * GET and POST /admin/limits: rules, budgets, keys and denied JWTs as the file of limits that
 * `sluice limits export` writes and `sluice limits apply` takes, as JSON
 * (docs/reference/admin-api.md, "Files of limits").
 */
import { administrationText, includesRole } from "../../../shared/access/admin-role.js";
import { assert } from "../../../shared/assert.js";
import { bad, type Checked, good, isObject } from "../../../shared/checked.js";
import { importedHash } from "../../../shared/domain/managed-key.js";
import { type Failure, invalid, plainFailure } from "../../../shared/error-code.js";
import { applyLimits } from "../../../shared/limit-files/apply-limits.js";
import { denialEntry, keyEntry } from "../../../shared/limit-files/credential-entry.js";
import { budgetEntry, ruleEntry } from "../../../shared/limit-files/limit-entry.js";
import {
  budgetLists,
  denialLists,
  isSwitchedOff,
  keyLists,
  readLimits,
  ruleLists,
} from "../../../shared/limit-files/read-limits.js";
import type { Exchange } from "../../http/exchange.js";
import { replyJson } from "../../http/respond.js";
import type { RequestContext } from "../../request-context.js";
import { failAdmin, readJson } from "./admin-json.js";
import { askDaemon, askedBy } from "./asked-by.js";
import { listParameters, writerTo } from "./reply-list.js";

type LimitsContext = RequestContext<
  "credentials" | "limiter" | "isUtf8" | "newId" | "sessionKeeping"
>;

/** Fits the maximum of rules and budgets, on paths of usual length. */
const fileBodyBytesMax = 4 * 1024 * 1024;
/** A list of rules, each nested as deep as in the other bodies. */
const fileBodyDepthMax = 6;

export function handleLimitsFile(context: LimitsContext): Promise<void> {
  return context.exchange.method === "GET" ? replyLimits(context) : apply(context);
}

async function apply(context: LimitsContext): Promise<void> {
  const { gateway, exchange, record } = context;
  const body = await readJson(context, { bytesMax: fileBodyBytesMax, depthMax: fileBodyDepthMax });
  if (!body.ok) return failAdmin(context, body.failure);
  const problem = problemOfCredentials(context, body.value);
  if (problem !== null) return failAdmin(context, problem);
  const done = await applyLimits(body.value, {
    call: (op, daemonBody) => gateway.limiter.call(op, daemonBody, askedBy(context)),
    newId: gateway.newId,
  });
  if (!done.ok) return failAdmin(context, done.failure);
  record.end(200, "answered");
  replyJson(exchange, 200, done.plan);
}

/** Why a body with keys or denied JWTs can't be applied; null if it can. */
function problemOfCredentials(context: LimitsContext, body: unknown): Failure | null {
  const { keys, denied_jwts: denied } = isObject(body) ? body : {};
  if (keys === undefined && denied === undefined) return null;
  const forbidden = roleProblem(context);
  if (forbidden !== null) return forbidden;
  const { masterKey, isHashOf } = context.gateway.credentials;
  const hashes = (Array.isArray(keys) ? (keys as unknown[]) : []).map((entry) =>
    isObject(entry) ? importedHash(entry["hash"]) : null,
  );
  const index = hashes.findIndex(
    (hash) => hash !== null && masterKey !== null && isHashOf(hash, masterKey),
  );
  return index < 0
    ? null
    : invalid(`keys[${index}]: hash must not be that of the master key`, `keys[${index}].hash`);
}

/** As for /admin/auth-keys and /admin/denied-jwts, keys and denied JWTs need the role admin. */
function roleProblem({ caller: { administers } }: LimitsContext): Failure | null {
  assert(administers !== undefined, "only callers with a role reach /admin");
  if (includesRole(administers.role, "admin")) return null;
  const role = administrationText(administers);
  const message = `keys and denied_jwts need the role admin for /: this is ${role}`;
  return plainFailure(403, "permission_error", message);
}

/**
 * Answers with the limits as a file. `all` includes those that the configuration declares; `keys`
 * includes keys and denied JWTs. A disabled section is omitted.
 */
async function replyLimits(context: LimitsContext): Promise<void> {
  const { exchange, record } = context;
  const parameters = parseParameters(exchange.query);
  if (!parameters.ok) return failAdmin(context, parameters.failure);
  const { all, keys: hasKeys } = parameters.value;
  const forbidden = hasKeys ? roleProblem(context) : null;
  if (forbidden !== null) return failAdmin(context, forbidden);
  const reading: Parameters<typeof readLimits>[1] = {
    call: (op, body) => askDaemon(context, op, body),
    all,
  };
  const sections = createSections(exchange);
  const writtenRules = await sections.write(
    "rate_limits",
    readLimits(ruleLists, reading),
    ruleEntry,
  );
  const writtenBudgets = isLeftOut(writtenRules)
    ? await sections.write("budgets", readLimits(budgetLists, reading), budgetEntry)
    : writtenRules;
  const writtenKeys =
    isLeftOut(writtenBudgets) && hasKeys ? await writeKeys(sections, reading) : null;
  const failed =
    writtenKeys ?? (isLeftOut(writtenBudgets) && sections.isBegun ? null : writtenBudgets);
  if (failed === null) {
    record.end(200, "answered");
    return sections.end();
  }
  if (!sections.isBegun) return failAdmin(context, failed);
  // A truncated answer must not look complete.
  record.end(200, "answered");
  exchange.cut();
}

/** Whether the other sections are written although one isn't. */
function isLeftOut(failed: Failure | null): boolean {
  return failed === null || isSwitchedOff(failed);
}

async function writeKeys(
  sections: Sections,
  reading: Parameters<typeof readLimits>[1],
): Promise<Failure | null> {
  return (
    (await sections.write("keys", readLimits(keyLists, reading), keyEntry)) ??
    (await sections.write("denied_jwts", readLimits(denialLists, reading), denialEntry))
  );
}

function parseParameters(
  query: string,
): Checked<{ readonly all: boolean; readonly keys: boolean }> {
  const parameters = listParameters(query);
  if (!parameters.ok) return parameters;
  const { all = "false", keys = "false", ...unknownParameters } = parameters.value;
  const [unknown] = Object.keys(unknownParameters);
  if (unknown !== undefined) return bad(`unknown field ${unknown}: expected all, keys`, unknown);
  for (const [name, value] of Object.entries({ all, keys }))
    if (value !== "true" && value !== "false") return bad(`${name} must be true or false`, name);
  return good({ all: all === "true", keys: keys === "true" });
}

interface Sections {
  readonly isBegun: boolean;
  /** Why a section can't be read; null if it was written. */
  write<D>(
    name: string,
    pages: AsyncIterable<Checked<readonly D[]>>,
    entryOf: (limit: D) => object,
  ): Promise<Failure | null>;
  end(): void;
}

/** Writes an object of lists in pieces, since serializing it whole would block other requests. */
function createSections(exchange: Exchange): Sections {
  const write = writerTo(exchange);
  let isBegun = false;
  return {
    get isBegun() {
      return isBegun;
    },
    async write(name, pages, entryOf) {
      let isOpen = false;
      let separator = "";
      for await (const page of pages) {
        if (!page.ok) return page.failure;
        if (exchange.gone) return null;
        if (!isBegun)
          exchange.begin(200, ["content-type", "application/json", "x-request-id", exchange.id]);
        if (!isOpen) await write(`${isBegun ? "," : "{"}"${name}":[`);
        isBegun = true;
        isOpen = true;
        if (page.value.length === 0) continue;
        await write(separator + JSON.stringify(page.value.map(entryOf)).slice(1, -1));
        separator = ",";
      }
      await write("]");
      return null;
    },
    end() {
      if (exchange.gone) return;
      exchange.write(Buffer.from("}"));
      exchange.end();
    },
  };
}
