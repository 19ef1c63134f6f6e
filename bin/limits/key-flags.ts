/** What `sluice keys issue` asks the daemon for, from its flags. Pure. */
import { periodSecondsMax } from "../../shared/bounds.js";
import { parseKeyIssue } from "../../shared/domain/managed-key.js";
import type { Failure } from "../../shared/error-code.js";
import { parseTimestamp } from "../../shared/time.js";
import type { ArgumentProblem } from "../session/command-failure.js";

export interface KeyIssueFlags {
  readonly path?: string;
  readonly name?: string;
  readonly label?: readonly string[];
  readonly expires?: string;
}

/**
 * `key` is the body of POST /admin/auth-keys; a length of time is counted by the daemon's clock.
 */
export interface KeyIssue {
  readonly key: Readonly<Record<string, unknown>>;
  readonly expires_in_seconds: number | null;
}

const unitSeconds: Readonly<Record<string, number>> = {
  s: 1,
  m: 60,
  h: 3600,
  d: 86_400,
  w: 604_800,
};

/** As they may be written: `--label a b`, `--label a --label b`, `--label a,b`; each once. */
function labelsOf(given: readonly string[]): readonly string[] {
  return [...new Set(given.flatMap((text) => text.split(",").map((label) => label.trim())))];
}

/** Every problem at once. Whether a moment is in the future is the daemon's to say. */
export function keyIssueFromFlags({
  path,
  name,
  label = [],
  expires,
}: KeyIssueFlags):
  | { readonly ok: true; readonly value: KeyIssue }
  | { readonly ok: false; readonly problems: readonly ArgumentProblem[] } {
  const problems: ArgumentProblem[] = [];
  const key = {
    ...(name === undefined ? {} : { name }),
    ...(path === undefined ? {} : { user_path: path }),
    ...(label.length === 0 ? {} : { labels: labelsOf(label) }),
  };
  for (const [field, value] of Object.entries(key)) {
    const checked = parseKeyIssue({ [field]: value }, 0);
    if (!checked.ok) problems.push(inFlagWords(checked.failure));
  }
  const expiry = expires === undefined ? {} : readExpiry(expires);
  if (expiry === null)
    problems.push({
      message: `--expires must be a length of time such as 30d (s, m, h, d or w) or a timestamp such as 2030-01-31T12:00:00Z, not ${JSON.stringify(expires)}`,
      param: "--expires",
    });
  if (problems.length > 0 || expiry === null) return { ok: false, problems };
  return {
    ok: true,
    value: {
      key: { ...key, ...(expiry.at === undefined ? {} : { expires_at: expiry.at }) },
      expires_in_seconds: expiry.inSeconds ?? null,
    },
  };
}

const flagOf: Readonly<Record<string, string>> = {
  name: "--name",
  user_path: "--path",
  labels: "--label",
  expires_at: "--expires",
};

/** What is wrong with a field of the body, told of the flag that gave it. */
export function inFlagWords({
  message,
  param,
}: Pick<Failure, "message" | "param">): ArgumentProblem {
  const flag = flagOf[(param ?? "").replace(/\[.*/, "")];
  return flag === undefined
    ? { message, param }
    : { message: message.replace(/^\w+/, flag), param: flag };
}

function readExpiry(text: string): { readonly at?: string; readonly inSeconds?: number } | null {
  if (parseTimestamp(text) !== null) return { at: text.trim() };
  const parts = /^(\d{1,10})([smhdw])$/.exec(text.trim());
  if (parts === null) return null;
  const inSeconds = Number(parts[1]) * unitSeconds[parts[2]!]!;
  return inSeconds >= 1 && inSeconds <= periodSecondsMax ? { inSeconds } : null;
}

/**
 * What is wrong with a text that is neither a key nor an id. It isn't told when it could be a part
 * of a key.
 */
export function notAKey(what: string, text: string): string {
  return `${what} must be an id such as key_7, or a whole key${text.includes("sk-") ? "" : `, not ${JSON.stringify(text.slice(0, 20))}`}`;
}
