/**
 * Applies a file of limits by the daemon's operations: sends the entries in pieces that fit into
 * frames, requests the plan, and then has it carried out completely or not at all. For the HTTP API
 * and the command line.
 */

import { limitEntryCharsMax, limitsPerFileMax } from "../bounds.js";
import { asObject, bad, type Checked, good, isObject } from "../checked.js";
import { type Failure, failure, invalid, plainFailure } from "../error-code.js";
import { append } from "../long-lists.js";
import type { AdminOp } from "../wire/admin-op.js";
import type { KeyLock, LimitChangeItem, LimitsPlan, LimitsPlanPage } from "./limits-plan.js";

type Answer =
  | { readonly ok: true; readonly body: unknown }
  | { readonly ok: false; readonly failure: Failure };

interface Ports {
  /** An operation of the daemon. */
  call(op: AdminOp, body: unknown): Promise<Answer>;
  /** A random id by which the daemon identifies the file. */
  newId(): string;
}

type ApplyResult =
  | { readonly ok: true; readonly plan: LimitsPlan }
  | { readonly ok: false; readonly failure: Failure };

interface Request {
  readonly sections: Readonly<Record<SectionName, readonly unknown[] | null>>;
  readonly prune: boolean;
  readonly takeOver: boolean;
  readonly dryRun: boolean;
  readonly revision: string | null;
}

export const sectionNames = ["rate_limits", "budgets", "keys", "denied_jwts"] as const;
type SectionName = (typeof sectionNames)[number];

/** `body`: that of POST /admin/limits. Rejects if `call` does. */
export async function applyLimits(body: unknown, ports: Ports): Promise<ApplyResult> {
  const request = parseRequest(body);
  if (!request.ok) return request;
  const { sections, prune, takeOver, dryRun, revision } = request.value;
  const pieces = piecesOf(sections);
  if (!pieces.ok) return pieces;
  const id = ports.newId();
  for (const [part, piece] of pieces.value.entries()) {
    const staged = await ports.call("limits.stage", { id, part, ...piece });
    if (!staged.ok) return staged;
  }
  const plan = await readPlan(ports, { id, prune, take_over: takeOver, dry_run: dryRun });
  if (!plan.ok || dryRun) return plan;
  if (revision !== null && revision !== plan.plan.revision) {
    // The daemon refuses it, too, and drops the file.
    await ports.call("limits.apply", { id, revision });
    return { ok: false, failure: outdatedFailure };
  }
  const done = await ports.call("limits.apply", { id, revision: plan.plan.revision });
  return done.ok ? { ok: true, plan: { ...plan.plan, applied: true } } : done;
}

/** The answer if limits have changed since the plan was made. */
export const outdatedFailure: Failure = plainFailure(
  409,
  "invalid_request_error",
  "nothing was changed: rules, budgets, keys or denied JWTs have changed since the plan was made; look at the new plan",
);

export const tooManyLimits: Failure = invalid(
  `at most ${limitsPerFileMax} entries can be applied together`,
  "rate_limits",
);

const lockReasons: Readonly<Record<KeyLock, string>> = {
  deactivated: "is deactivated, and a file can't undo that: take it out",
  rotated:
    "has a new secret since it was rotated, and the file the hash of an old one: put the new hash",
  role: "is a key of administration, which no file has: take it out",
};

/** Why a file with this key isn't applied. */
export function lockedKeyText(id: string, lock: KeyLock): string {
  return `nothing was changed: ${id} ${lockReasons[lock]}`;
}

async function readPlan(ports: Ports, question: object): Promise<ApplyResult> {
  const all: LimitChangeItem[] = [];
  for (let after: string | null = null; ; ) {
    const answer = await ports.call("limits.plan", { ...question, after });
    if (!answer.ok) return answer;
    if (!isPlanPage(answer.body)) return { ok: false, failure: unreadableFailure };
    const { next, changes, ...facts } = answer.body;
    append(all, changes);
    if (next === null) return { ok: true, plan: { applied: false, ...facts, changes: all } };
    after = next;
  }
}

const unreadableFailure = failure("limiter_unavailable", "the daemon's plan can't be read");

function isPlanPage(body: unknown): body is LimitsPlanPage {
  return (
    isObject(body) &&
    Array.isArray(body["changes"]) &&
    typeof body["revision"] === "string" &&
    isObject(body["counts"])
  );
}

function parseRequest(body: unknown): Checked<Request> {
  const fieldNames = [...sectionNames, "prune", "take_over", "dry_run", "revision"];
  const fields = asObject(body, fieldNames);
  if (!fields.ok) return fields;
  const { prune, take_over: takeOver, dry_run: dryRun, revision = null } = fields.value;
  const sections: Record<SectionName, readonly unknown[] | null> = {
    rate_limits: null,
    budgets: null,
    keys: null,
    denied_jwts: null,
  };
  for (const name of sectionNames) {
    const list = fields.value[name] ?? null;
    if (list !== null && !Array.isArray(list)) return bad(`${name} must be a list`, name);
    sections[name] = list;
  }
  const lists = Object.values(sections).filter((list) => list !== null);
  if (lists.length === 0)
    return bad(
      `one of ${sectionNames.join(", ")} is required: a list, empty for none`,
      "rate_limits",
    );
  if (lists.reduce((sum, list) => sum + list.length, 0) > limitsPerFileMax)
    return { ok: false, failure: tooManyLimits };
  for (const [name, value] of Object.entries({ prune, take_over: takeOver, dry_run: dryRun }))
    if (value !== undefined && typeof value !== "boolean")
      return bad(`${name} must be true or false`, name);
  if (revision !== null && typeof revision !== "string")
    return bad("revision must be that of a plan", "revision");
  return good({
    sections,
    prune: prune === true,
    takeOver: takeOver === true,
    dryRun: dryRun === true,
    revision,
  });
}

type Piece = { [Name in SectionName]?: unknown[] };

/** The entries in order; the first piece names all sections, including empty ones. */
function piecesOf(sections: Request["sections"]): Checked<readonly Piece[]> {
  let piece: Piece = {};
  for (const name of sectionNames) if (sections[name] !== null) piece[name] = [];
  const pieces = [piece];
  let chars = 0;
  for (const name of sectionNames)
    for (const [i, entry] of (sections[name] ?? []).entries()) {
      const length = JSON.stringify(entry).length;
      if (length > limitEntryCharsMax) return bad(`${name}[${i}] is too large`, `${name}[${i}]`);
      if (chars > 0 && chars + length > limitEntryCharsMax) {
        piece = {};
        pieces.push(piece);
        chars = 0;
      }
      piece[name] ??= [];
      piece[name].push(entry);
      chars += length;
    }
  return good(pieces);
}
