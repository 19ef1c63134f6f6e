/**
 * The admin operations on managed keys. The daemon gets only a key's hash: the process that issues
 * the key makes it (`shared/domain/make-managed-key.ts`). A deactivation applies immediately. The
 * daemon answers once a change is committed.
 */
import type { KeyItem, ListedKeys } from "../../../shared/api/key-item.js";
import { keysMax, periodSecondsMax } from "../../../shared/bounds.js";
import { bad, type Checked, good, isCount, isObject, show } from "../../../shared/checked.js";
import { parseKeyRotation } from "../../../shared/domain/key-rotation.js";
import {
  isImported,
  isKeyHash,
  isRedactedKey,
  keyNumber,
  keyStatuses,
  parseKeyIssue,
} from "../../../shared/domain/managed-key.js";
import { isPathWithin } from "../../../shared/domain/user-path.js";
import { type Failure, failure, invalid, plainFailure } from "../../../shared/error-code.js";
import { formatMillis, formatSeconds } from "../../../shared/time.js";
import type { AdminOp } from "../../../shared/wire/admin-op.js";
import { askKeyUses } from "../../cluster/remembered/shared-key-uses.js";
import { deactivatedKey, deletedKey, rotatedKey, rotationFlaw } from "../../keys/changed-key.js";
import {
  type KeyFields,
  keyStatus,
  type ManagedKey,
  workingOldSecrets,
} from "../../keys/key-ring.js";
import { itemsExaminedMax, matches, pageOf, parseListQuery } from "../../lists/list-query.js";
import type { DaemonState } from "../../state.js";
import { keyDefinition } from "../definitions/apply-credentials.js";
import {
  type AdminPorts,
  type AdminRequest,
  checkedValue,
  failOperation,
  makeChange,
  withinOf,
} from "./admin-operation.js";
import { notWithin } from "./confine.js";

type KeyOp = Extract<AdminOp, `keys.${string}`>;

/**
 * The bodies: `keys.issue` {key_hash, redacted_value, expires_in_seconds?, key: what POST
 * /admin/auth-keys takes, without an imported key}; `keys.list` as in `list-query.ts`, and
 * {unused_seconds?, expires_seconds?};
 * `keys.rotate` {new_hash, redacted_value, rotation: what POST /admin/auth-keys/{id}/rotate takes},
 * with {id} or {key_hash} as `keys.deactivate` and `keys.delete`.
 */
export function handleKeys(
  state: DaemonState,
  { op, body }: AdminRequest<KeyOp>,
  nowMs: number,
  ports: AdminPorts,
): void {
  const fields = isObject(body) ? body : {};
  switch (op) {
    case "keys.issue":
      return issue(state, fields, nowMs, ports);
    case "keys.list":
      return list(state, body, nowMs, ports);
    case "keys.rotate":
      return rotate(state, fields, nowMs, ports);
    case "keys.deactivate":
      return deactivate(state, fields, nowMs, ports);
    case "keys.delete":
      return remove(state, fields, nowMs, ports);
  }
}

function issue(
  state: DaemonState,
  fields: Readonly<Record<string, unknown>>,
  nowMs: number,
  ports: AdminPorts,
): void {
  const {
    key_hash: hash,
    redacted_value: redacted,
    expires_in_seconds: expiresInSeconds = null,
    key: issued,
  } = fields;
  if (!isKeyHash(hash) || !isRedactedKey(redacted))
    return ports.fail(invalid("key_hash and redacted_value must be those of a key", "key_hash"));
  const definition = parseKeyIssue(issued, nowMs);
  if (!definition.ok) return ports.fail(definition.failure);
  const within = withinOf(ports);
  const { userPath } = definition.value;
  if (!isPathWithin(userPath ?? "/", within))
    return ports.fail({
      ...notWithin(userPath ?? "a key for any path", within),
      param: "user_path",
    });
  if (definition.value.labels.length > 0 && within !== "/")
    return ports.fail(notSettableFailure("labels", within, "budgets of labels aren't in any path"));
  if (definition.value.role !== null && isImported(redacted))
    return ports.fail(invalid("role is for keys that Sluice generates", "role"));
  if (
    expiresInSeconds !== null &&
    (!isCount(expiresInSeconds, 1) ||
      expiresInSeconds > periodSecondsMax ||
      definition.value.expiresAtMs !== null)
  )
    return ports.fail(
      invalid(
        `expires_in_seconds must be an integer from 1 to ${periodSecondsMax}, ` +
          `without expires_at, not ${show(expiresInSeconds)}`,
        "expires_in_seconds",
      ),
    );
  const expiresAtMs =
    expiresInSeconds === null
      ? definition.value.expiresAtMs
      : nowMs - (nowMs % 1000) + expiresInSeconds * 1000;
  const { keys, writer } = state;
  makeChange(state, nowMs, ports, () => {
    if (keys.find(hash) !== undefined)
      return failOperation(
        ports,
        invalid(`this key exists already, as ${keys.find(hash)!.id}`, "hash"),
      );
    if (writer.failing !== null)
      return failOperation(ports, lostSecretFailure("no key is issued", writer.failing));
    if (keys.size >= keysMax) return failOperation(ports, tooManyKeys(keys.size));
    const number = keys.nextNumber;
    const key = {
      ...definition.value,
      expiresAtMs,
      number,
      hash,
      redacted,
      oldSecrets: [],
      createdAtMs: nowMs,
      deactivatedAtMs: null,
      deletedAtMs: null,
      lastUsedAtMs: null,
    };
    return { definitions: [keyDefinition(key)], answer: () => keyItem(state, number, nowMs) };
  });
}

/** A field of keys that a role for a subtree can't choose. */
function notSettableFailure(field: string, within: string, why: string): Failure {
  const message = `${field} can't be set by a role for ${within}: ${why}`;
  return { ...plainFailure(403, "permission_error", message), param: field };
}

function tooManyKeys(count: number): Failure {
  return invalid(`no key can be issued: there are ${count}, the most allowed`);
}

/** The key with this number, as lists show it. */
function keyItem({ keys }: DaemonState, number: number, nowMs: number): KeyItem {
  return listedKey(keys.byNumber(number)!, nowMs);
}

function list(state: DaemonState, body: unknown, nowMs: number, ports: AdminPorts): void {
  const { keys, cluster } = state;
  const { unused_seconds, expires_seconds, ...listFields } = isObject(body) ? body : {};
  const ages = checkedValue(parseAges({ unused_seconds, expires_seconds }), ports);
  const query =
    ages &&
    checkedValue(
      parseListQuery(isObject(body) ? listFields : body, { status: keyStatuses }),
      ports,
    );
  if (ages === null || query === null) return;
  const below = query.after === null ? keys.nextNumber : keyNumber(query.after);
  if (below === null)
    return ports.fail(invalid("after must be the next of the previous page", "after"));
  const { status } = query.chosen;
  const { items, last } = pageOf(
    keys.newest(below, itemsExaminedMax + 1),
    0,
    query.limit,
    (key) =>
      isPathWithin(key.userPath ?? "/", query.userPath) &&
      (status === undefined || keyStatus(key, nowMs) === status) &&
      matchesAges(key, ages, nowMs) &&
      [key.id, key.name ?? "", key.userPath ?? ""].some((name) => matches(query, name)),
  );
  const page = (listedKeys: readonly ManagedKey[]): ListedKeys => ({
    keys: listedKeys.map((key) => listedKey(key, nowMs)),
    next: last?.id ?? null,
    issued: keys.size,
    server_time: formatMillis(nowMs),
  });
  if (cluster === null) return ports.answer(page(items));
  // While the engine is away, the list shows this host's own uses.
  const uses = askKeyUses(cluster.commands, cluster.name, items).catch(() => []);
  void uses.then((reported) => {
    keys.applyUses(reported);
    // Another host may have used a key that seemed unused.
    ports.answer(page(items.filter((key) => matchesAges(key, ages, nowMs))));
  });
}

/** Filters of the list by time, in seconds; null: no filter. */
interface KeyAges {
  /** Keys that weren't used for this long; a key that was never used counts from its issue. */
  readonly unused_seconds: number | null;
  /** Active keys that expire within this time. */
  readonly expires_seconds: number | null;
}

function parseAges(raw: { readonly [N in keyof KeyAges]: unknown }): Checked<KeyAges> {
  const { unused_seconds = null, expires_seconds = null } = raw;
  for (const [name, value] of Object.entries({ unused_seconds, expires_seconds }))
    if (value !== null && !isCount(value, 1))
      return bad(`${name} must be a number of seconds from 1, not ${show(value)}`, name);
  return good({ unused_seconds, expires_seconds } as KeyAges);
}

function matchesAges(
  key: ManagedKey,
  { unused_seconds: unused, expires_seconds: left }: KeyAges,
  nowMs: number,
): boolean {
  if (unused !== null && (key.lastUsedAtMs ?? key.createdAtMs) >= nowMs - unused * 1000)
    return false;
  if (left === null) return true;
  const { expiresAtMs } = key;
  return (
    expiresAtMs !== null && expiresAtMs <= nowMs + left * 1000 && keyStatus(key, nowMs) === "active"
  );
}

/** Gives a key a new secret. The former secrets keep working for the overlap. */
function rotate(
  state: DaemonState,
  fields: Readonly<Record<string, unknown>>,
  nowMs: number,
  ports: AdminPorts,
): void {
  const { keys, writer } = state;
  const { new_hash: hash, redacted_value: redacted } = fields;
  if (!isKeyHash(hash) || !isRedactedKey(redacted) || keys.find(hash) !== undefined)
    return ports.fail(
      invalid("new_hash and redacted_value must be those of a new key", "new_hash"),
    );
  const rotation = parseKeyRotation(fields["rotation"]);
  if (!rotation.ok) return ports.fail(rotation.failure);
  const { overlapSeconds, models } = rotation.value;
  // In whole seconds, as shown to users.
  const untilMs = nowMs - (nowMs % 1000) + overlapSeconds * 1000;
  const within = withinOf(ports);
  makeChange(state, nowMs, ports, () => {
    const key = findKey(state, fields, within);
    if (key === undefined) return failOperation(ports, unknownKey(fields));
    if (models !== undefined && within !== "/")
      return failOperation(
        ports,
        notSettableFailure("models", within, `the models of ${key.id} stay`),
      );
    if (key.role !== null && models !== undefined)
      return failOperation(
        ports,
        invalid(`models is for keys that call models, and ${key.id} has a role`, "models"),
      );
    const flaw = rotationFlaw(key, overlapSeconds, nowMs);
    if (flaw !== null) return failOperation(ports, flaw);
    if (writer.failing !== null)
      return failOperation(ports, lostSecretFailure("no key is rotated", writer.failing));
    const rotated = rotatedKey(key, { hash, redacted }, untilMs, nowMs);
    const definition = keyDefinition(models === undefined ? rotated : { ...rotated, models });
    return { definitions: [definition], answer: () => keyItem(state, key.number, nowMs) };
  });
}

/**
 * Why no new secret is made while the store fails: the change could be lost, and the secret with
 * it.
 */
function lostSecretFailure(subject: string, failing: Error): Failure {
  return failure(
    "limiter_unavailable",
    `${subject}: the store can't be written (${failing.message})`,
  );
}

/** Deactivates a key; deactivating it again is no error. */
function deactivate(
  state: DaemonState,
  fields: Readonly<Record<string, unknown>>,
  nowMs: number,
  ports: AdminPorts,
): void {
  changeKey(state, fields, { nowMs, become: deactivatedKey }, ports);
}

/**
 * Deletes a key: its requests are refused from now on. Its id isn't assigned again, and deleting
 * the last key doesn't open the gateway.
 */
function remove(
  state: DaemonState,
  fields: Readonly<Record<string, unknown>>,
  nowMs: number,
  ports: AdminPorts,
): void {
  changeKey(state, fields, { nowMs, become: deletedKey }, ports);
}

interface KeyChange {
  readonly nowMs: number;
  become(key: ManagedKey, nowMs: number): KeyFields;
}

function changeKey(
  state: DaemonState,
  fields: Readonly<Record<string, unknown>>,
  { nowMs, become }: KeyChange,
  ports: AdminPorts,
): void {
  makeChange(state, nowMs, ports, () => {
    const key = findKey(state, fields, withinOf(ports));
    if (key === undefined) return failOperation(ports, unknownKey(fields));
    const { id } = key;
    return { definitions: [keyDefinition(become(key, nowMs))], answer: () => ({ id }) };
  });
}

/**
 * The key with the `id` or `key_hash` of a body; undefined if it is deleted or outside the subtree
 * `within`.
 */
export function findKey(
  { keys }: DaemonState,
  { id, key_hash: hash }: Readonly<Record<string, unknown>>,
  within: string,
): ManagedKey | undefined {
  const number = typeof id === "string" ? keyNumber(id) : null;
  const key = isKeyHash(hash)
    ? keys.find(hash)
    : number === null
      ? undefined
      : keys.byNumber(number);
  return key?.deletedAtMs === null && isPathWithin(key.userPath ?? "/", within) ? key : undefined;
}

/**
 * The 404 for keys. The message repeats the given id only if it looks like an id: it could be a
 * secret.
 */
export function unknownKey({ id }: Readonly<Record<string, unknown>>): Failure {
  const problem =
    typeof id === "string" && keyNumber(id) !== null
      ? `no key ${id} is known`
      : "no such key is known: expected an id such as key_7";
  return { ...plainFailure(404, "not_found_error", problem), param: "id" };
}

/** A key as lists show it: without its secret and its hash. */
function listedKey(key: ManagedKey, nowMs: number): KeyItem {
  const status = keyStatus(key, nowMs);
  return {
    id: key.id,
    name: key.name,
    user_path: key.userPath,
    labels: key.labels,
    models: key.models,
    ...(key.role === null ? {} : { role: key.role }),
    redacted_value: key.redacted,
    status,
    active: status === "active",
    created_at: formatSeconds(key.createdAtMs),
    expires_at: secondsOrNull(key.expiresAtMs),
    deactivated_at: secondsOrNull(key.deactivatedAtMs),
    last_used_at: secondsOrNull(key.lastUsedAtMs),
    old_secrets: workingOldSecrets(key, nowMs).map((old) => ({
      redacted_value: old.redacted,
      expires_at: formatSeconds(old.untilMs),
      last_used_at: secondsOrNull(old.lastUsedAtMs),
    })),
  };
}

function secondsOrNull(ms: number | null): string | null {
  return ms === null ? null : formatSeconds(ms);
}
