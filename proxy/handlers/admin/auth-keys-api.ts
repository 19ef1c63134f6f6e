/**
 * The /admin/auth-keys endpoints (docs/reference/admin-api.md). The proxy generates a key, unless
 * the body names an existing one, and returns it once; the daemon gets its hash. The daemon
 * validates bodies, also for the command line.
 */

import type { IssuedKey, KeyItem } from "../../../shared/api/key-item.js";
import { firstKeyNotice, isFirstKey, takeImportedKey } from "../../../shared/domain/managed-key.js";
import { invalid } from "../../../shared/error-code.js";
import { type AdminEndpoint, keyInPath } from "../../http/paths/admin-routes.js";
import { replyJson, replyNothing } from "../../http/respond.js";
import type { RequestContext } from "../../request-context.js";
import { failAdmin, readJson } from "./admin-json.js";
import { askedBy } from "./asked-by.js";
import { type ListOf, replyList } from "./reply-list.js";

type KeyNeeds = "credentials" | "limiter" | "makeManagedKey" | "isUtf8" | "sessionKeeping";
type KeyEndpoint = Extract<AdminEndpoint, `auth-keys${string}`>;

/** These answers contain keys or their names: no cache may store them. */
const noStore = ["cache-control", "no-store"];

const keyList: ListOf = {
  op: "keys.list",
  items: "keys",
  pageItems: "auth_keys",
  whole: "array",
  headers: noStore,
};

export async function handleAuthKeys(
  context: RequestContext<KeyNeeds>,
  endpoint: KeyEndpoint,
): Promise<void> {
  if (endpoint === "auth-keys-rotate") return rotate(context);
  if (endpoint === "auth-keys-deactivate") return changeKey(context, "keys.deactivate");
  if (endpoint === "auth-keys-delete") return changeKey(context, "keys.delete");
  if (context.exchange.method === "POST") return issue(context);
  return replyList(context, keyList, context.exchange.query);
}

async function issue(context: RequestContext<KeyNeeds>): Promise<void> {
  const { gateway, exchange, record } = context;
  const body = await readJson(context);
  if (!body.ok) return failAdmin(context, body.failure);
  const parsed = takeImportedKey(body.value);
  if (!parsed.ok) return failAdmin(context, parsed.failure);
  const { imported } = parsed.value;
  const { masterKey, isHashOf } = gateway.credentials;
  if (imported !== null && masterKey !== null && isHashOf(imported.hash, masterKey))
    return failAdmin(context, invalid("hash must not be that of the master key", "hash"));
  const newKey = imported === null ? gateway.makeManagedKey() : null;
  const { hash, redacted } = imported ?? newKey!;
  const issued = await gateway.limiter.call(
    "keys.issue",
    {
      key_hash: hash,
      redacted_value: redacted,
      key: parsed.value.key,
    },
    askedBy(context),
  );
  if (!issued.ok) return failAdmin(context, issued.failure);
  const key = issued.body as KeyItem;
  record.note = `${newKey === null ? "imported" : "issued"} ${key.id}`;
  record.end(201, "answered");
  const closes = gateway.credentials.open && isFirstKey(key.id);
  const notice = closes ? { notice: firstKeyNotice } : {};
  const answer: KeyItem & Partial<IssuedKey> = {
    ...key,
    ...(newKey === null ? {} : { value: newKey.value }),
    ...notice,
  };
  replyJson(exchange, 201, answer, noStore);
}

async function rotate(context: RequestContext<KeyNeeds>): Promise<void> {
  const { gateway, exchange, record } = context;
  const body = await readJson(context);
  if (!body.ok) return failAdmin(context, body.failure);
  const { value, hash, redacted } = gateway.makeManagedKey();
  const rotated = await gateway.limiter.call(
    "keys.rotate",
    {
      id: keyInPath(exchange.path),
      new_hash: hash,
      redacted_value: redacted,
      rotation: body.value,
    },
    askedBy(context),
  );
  if (!rotated.ok) return failAdmin(context, rotated.failure);
  const key = rotated.body as KeyItem;
  record.note = `rotated ${key.id}`;
  record.end(200, "answered");
  const answer: IssuedKey = { ...key, value };
  replyJson(exchange, 200, answer, noStore);
}

async function changeKey(
  context: RequestContext<KeyNeeds>,
  op: "keys.deactivate" | "keys.delete",
): Promise<void> {
  const { gateway, exchange, record } = context;
  const done = await gateway.limiter.call(op, { id: keyInPath(exchange.path) }, askedBy(context));
  if (!done.ok) return failAdmin(context, done.failure);
  record.end(204, "answered");
  replyNothing(exchange);
}
