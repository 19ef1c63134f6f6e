/**
 * The /admin/auth-keys endpoints (CONTRACT section 6). A key is made here and goes out in one
 * answer; the daemon is told its hash. What a body may hold is checked by the daemon, for the
 * command line alike.
 */
import type { Failure } from "../../../shared/error-code.js";
import type { Gateway } from "../../gateway.js";
import type { Exchange } from "../../http/exchange.js";
import { type Endpoint, keyInPath } from "../../http/match-route.js";
import { replyJson, replyNothing } from "../../http/respond.js";
import type { RequestRecord } from "../../request-record.js";
import { failAdmin, readJson } from "./admin-api.js";

type KeyEndpoint = Extract<Endpoint, `auth-keys${string}`>;

/** No cache on the way may keep what stands in these answers. */
const unkept = ["cache-control", "no-store"];

export async function handleAuthKeys(
  gateway: Gateway,
  exchange: Exchange,
  endpoint: KeyEndpoint,
  record: RequestRecord,
): Promise<void> {
  if (endpoint === "auth-keys-deactivate") return deactivate(gateway, exchange, record);
  return exchange.method === "POST"
    ? issue(gateway, exchange, record)
    : list(gateway, exchange, record);
}

async function issue(gateway: Gateway, exchange: Exchange, record: RequestRecord): Promise<void> {
  const body = await readJson(exchange, gateway.isUtf8);
  if (!body.ok) return failAdmin(exchange, record, body.failure);
  const { value, hash, redacted } = gateway.newKey();
  const issued = await gateway.limiter.call("keys.issue", {
    key_hash: hash,
    redacted_value: redacted,
    key: body.value,
  });
  if (!issued.ok) return failAdmin(exchange, record, issued.failure);
  const key = issued.body as { readonly id: string };
  record.note = `issued ${key.id}`;
  record.end(201, "answered");
  replyJson(exchange, 201, { ...key, value }, unkept);
}

async function list(gateway: Gateway, exchange: Exchange, record: RequestRecord): Promise<void> {
  const keys = await listKeys(gateway);
  if (!keys.ok) return failAdmin(exchange, record, keys.failure);
  record.end(200, "answered");
  replyJson(exchange, 200, keys.keys, unkept);
}

async function deactivate(
  gateway: Gateway,
  exchange: Exchange,
  record: RequestRecord,
): Promise<void> {
  const done = await gateway.limiter.call("keys.deactivate", { id: keyInPath(exchange.path) });
  if (!done.ok) return failAdmin(exchange, record, done.failure);
  record.end(204, "answered");
  replyNothing(exchange);
}

type Listed =
  | { readonly ok: true; readonly keys: readonly unknown[] }
  | { readonly ok: false; readonly failure: Failure };

/** All pages of the daemon's list as one. */
async function listKeys({ limiter }: Gateway): Promise<Listed> {
  const keys: unknown[] = [];
  let after: number | null = null;
  for (;;) {
    const page = await limiter.call("keys.list", { after });
    if (!page.ok) return page;
    const { keys: more, next } = page.body as {
      readonly keys: readonly unknown[];
      readonly next: number | null;
    };
    keys.push(...more);
    if (next === null) return { ok: true, keys };
    after = next;
  }
}
