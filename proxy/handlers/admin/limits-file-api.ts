/**
 * GET and POST /admin/limits: rules and budgets as the file of limits that `sluice limits export`
 * writes and `sluice limits apply` takes, as JSON (docs/reference/admin-api.md, "Files of limits").
 */
import { bad, type Checked, good } from "../../../shared/checked.js";
import type { Failure } from "../../../shared/error-code.js";
import { applyLimits } from "../../../shared/limit-files/apply-limits.js";
import { budgetEntry, ruleEntry } from "../../../shared/limit-files/limit-entry.js";
import {
  budgetLists,
  isSwitchedOff,
  readLimits,
  ruleLists,
} from "../../../shared/limit-files/read-limits.js";
import type { Exchange } from "../../http/exchange.js";
import { replyJson } from "../../http/respond.js";
import type { RequestContext } from "../../request-context.js";
import { failAdmin, readJson } from "./admin-json.js";
import { askDaemon, askedBy } from "./asked-by.js";
import { listParameters, writerTo } from "./reply-list.js";

type LimitsContext = RequestContext<"limiter" | "isUtf8" | "newId" | "sessionKeeping">;

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
  const done = await applyLimits(body.value, {
    call: (op, asked) => gateway.limiter.call(op, asked, askedBy(context)),
    newId: gateway.newId,
  });
  if (!done.ok) return failAdmin(context, done.failure);
  record.end(200, "answered");
  replyJson(exchange, 200, done.plan);
}

/** `all` includes what the configuration declares. A disabled section is omitted. */
async function replyLimits(context: LimitsContext): Promise<void> {
  const { exchange, record } = context;
  const all = parseAll(exchange.query);
  if (!all.ok) return failAdmin(context, all.failure);
  const asked: Parameters<typeof readLimits>[1] = {
    call: (op, body) => askDaemon(context, op, body),
    all: all.value,
  };
  const sections = createSections(exchange);
  const rules = await sections.write("rate_limits", readLimits(ruleLists, asked), ruleEntry);
  const budgets =
    rules === null || isSwitchedOff(rules)
      ? await sections.write("budgets", readLimits(budgetLists, asked), budgetEntry)
      : rules;
  const failed = budgets !== null && (rules !== null || !isSwitchedOff(budgets)) ? budgets : null;
  if (failed === null) {
    record.end(200, "answered");
    return sections.end();
  }
  if (!sections.isBegun) return failAdmin(context, failed);
  // A truncated answer must not look complete.
  record.end(200, "answered");
  exchange.cut();
}

function parseAll(query: string): Checked<boolean> {
  const parameters = listParameters(query);
  if (!parameters.ok) return parameters;
  const { all = "false", ...others } = parameters.value;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) return bad(`unknown field ${unknown}: expected all`, unknown);
  return all === "true" || all === "false"
    ? good(all === "true")
    : bad("all must be true or false", "all");
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
