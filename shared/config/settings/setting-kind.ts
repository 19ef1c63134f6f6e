/**
 * The kinds of values that settings hold: what each accepts, from a file, an environment variable
 * or a flag alike, and the words that say so when it doesn't. Which setting is of which kind stands
 * in `settings.ts` and `provider-settings.ts`.
 */
import { show } from "../../checked.js";
import { parseSubject } from "../../domain/rule.js";

export interface ValueKind<T> {
  /** What the documentation calls it. */
  readonly label: string;
  /** The rest of the sentence "<name> …". */
  readonly expected: string;
  /** Whether a message may quote this value. Secrets stay out of them. */
  readonly quotable: (raw: unknown) => boolean;
  /** The value, or undefined for one that isn't of this kind. */
  readonly parse: (raw: unknown) => T | undefined;
}

/**
 * The sentence about a value that isn't of its kind. `name` is the path, variable or flag that gave
 * it.
 */
export function kindProblem(kind: ValueKind<unknown>, name: string, raw: unknown): string {
  return kind.quotable(raw)
    ? `${name} ${kind.expected}, not ${show(raw)}`
    : `${name} ${kind.expected}`;
}

const always = (): boolean => true;
const never = (): boolean => false;

/**
 * A number, or a decimal one written as a text: environment variables and `${NAME}` hold nothing
 * else.
 */
export function numberOf(raw: unknown): number | undefined {
  if (typeof raw === "number") return raw;
  if (typeof raw === "string" && /^\s*-?\d{1,20}(?:\.\d{1,20})?\s*$/.test(raw)) return Number(raw);
  return undefined;
}

/**
 * As `numberOf`, with an exponent too, as the file and JSON may write it: for amounts, which
 * needn't be integers.
 */
export function amountOf(raw: unknown): number | undefined {
  return (
    numberOf(raw) ??
    (typeof raw === "string" && /^\s*-?\d+(?:\.\d+)?(?:e[+-]?\d+)?\s*$/i.test(raw)
      ? Number(raw)
      : undefined)
  );
}

function textOf(raw: unknown): string | undefined {
  return typeof raw === "string" && raw.trim() !== "" ? raw.trim() : undefined;
}

export function integer(range: { readonly min: number; readonly max: number }): ValueKind<number> {
  return {
    label: "integer",
    expected: `must be an integer from ${range.min} to ${range.max}`,
    quotable: always,
    parse: (raw) => {
      const value = numberOf(raw);
      return value !== undefined &&
        Number.isSafeInteger(value) &&
        value >= range.min &&
        value <= range.max
        ? value
        : undefined;
    },
  };
}

/**
 * Seconds, whole or fractional, kept as milliseconds. `min` is the smallest length besides 0, which
 * `zero` allows.
 */
export function seconds(range: {
  readonly min: number;
  readonly max: number;
  readonly zero: boolean;
}): ValueKind<number> {
  const span = `a number of seconds from ${range.min} to ${range.max}`;
  return {
    label: "number",
    expected: range.zero && range.min > 0 ? `must be 0 or ${span}` : `must be ${span}`,
    quotable: always,
    parse: (raw) => {
      const value = numberOf(raw);
      if (value === undefined) return undefined;
      if (value === 0) return range.zero ? 0 : undefined;
      return value >= range.min && value <= range.max ? Math.round(value * 1000) : undefined;
    },
  };
}

const truths: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["yes", true],
  ["on", true],
  ["1", true],
  ["false", false],
  ["no", false],
  ["off", false],
  ["0", false],
]);

export const boolean: ValueKind<boolean> = {
  label: "boolean",
  expected: "must be true or false (or yes, no, on, off, 1, 0)",
  quotable: always,
  parse: (raw) =>
    typeof raw === "boolean"
      ? raw
      : typeof raw === "string" || typeof raw === "number"
        ? truths.get(String(raw).trim().toLowerCase())
        : undefined,
};

export function choice<const T extends string>(values: readonly T[]): ValueKind<T> {
  return {
    label: values.join(", "),
    expected: `must be ${values.slice(0, -1).join(", ")} or ${values.at(-1)}`,
    quotable: always,
    parse: (raw) => values.find((value) => value === textOf(raw)?.toLowerCase()),
  };
}

/** A list of known names, as a list or as a comma-separated text. */
export function names<const T extends string>(known: readonly T[]): ValueKind<readonly T[]> {
  return {
    label: "list",
    expected: `must be a list that holds nothing but ${known.join(", ")}`,
    quotable: always,
    parse: (raw) => {
      const given = listOf(raw)?.map((item) => known.find((name) => name === textOf(item)));
      return given === undefined || given.includes(undefined)
        ? undefined
        : given.filter((name) => name !== undefined);
    },
  };
}

/** Model ids, as a list or as a comma-separated text. `*` stands for any. */
export const modelList: ValueKind<readonly string[]> = {
  label: "list",
  expected: 'must be a list of model ids, or ["*"] for any',
  quotable: always,
  parse: (raw) => {
    const ids: string[] = [];
    for (const item of listOf(raw) ?? [undefined]) {
      const id = parseSubject("model", item, "");
      if (!id.ok) return undefined;
      ids.push(id.value);
    }
    return ids;
  },
};

function listOf(raw: unknown): readonly unknown[] | undefined {
  if (Array.isArray(raw)) return raw;
  return typeof raw === "string"
    ? raw.split(",").filter((piece) => piece.trim() !== "")
    : undefined;
}

export const host: ValueKind<string> = {
  label: "text",
  expected: "must be a host name or an IP address, without a port or brackets",
  quotable: always,
  parse: (raw) => {
    const text = textOf(raw);
    return text !== undefined &&
      (/^[A-Za-z0-9_.-]+$/.test(text) || /^(?=.*:.*:)[0-9A-Fa-f:.]+(?:%[\w.-]+)?$/.test(text))
      ? text
      : undefined;
  },
};

/** Headers that already mean something else to the gateway. */
const takenHeaders: ReadonlySet<string> = new Set([
  "authorization",
  "x-api-key",
  "host",
  "connection",
  "content-length",
  "content-type",
  "transfer-encoding",
  "x-request-id",
]);

export const headerName: ValueKind<string> = {
  label: "text",
  expected: "must be the name of an HTTP header that has no other meaning",
  quotable: always,
  parse: (raw) => {
    const text = textOf(raw)?.toLowerCase();
    return text !== undefined && /^[a-z0-9!#$%&'*+.^_`|~-]+$/.test(text) && !takenHeaders.has(text)
      ? text
      : undefined;
  },
};

/** A path on this host. `null` is for the settings whose default depends on who runs Sluice. */
export const filePath: ValueKind<string | null> = {
  label: "path",
  expected:
    "must be a path, absolute or relative to the working directory (a leading ~ isn't expanded: write ${HOME})",
  quotable: always,
  // eslint-disable-next-line no-control-regex
  parse: (raw) =>
    typeof raw === "string" &&
    raw.trim() !== "" &&
    !raw.startsWith("~") &&
    !/[\u0000-\u001f\u007f]/.test(raw)
      ? raw
      : undefined,
};

/**
 * A token that travels in a header. Surrounding white space, as a secret read from a file has it,
 * is dropped; an empty one is none.
 */
function token(raw: unknown): string | null | undefined {
  if (typeof raw !== "string") return undefined;
  const text = raw.trim();
  if (text === "") return null;
  return /^[\x21-\x7e]+$/.test(text) ? text : undefined;
}

export const masterKey: ValueKind<string | null> = {
  label: "secret",
  // A key that reads `none` was meant as no key, and would be the first to be guessed.
  expected:
    "must be a text of visible ASCII characters without white space, in quotes if it looks like a number; leave it out (not none) for no key",
  quotable: never,
  parse: (raw) => {
    const value = token(raw);
    return value?.toLowerCase() === "none" ? undefined : value;
  },
};

export const apiKey: ValueKind<string | null> = {
  label: "secret",
  expected:
    "must be a text of visible ASCII characters without white space, in quotes if it looks like a number, or none",
  quotable: never,
  parse: (raw) => {
    const value = token(raw);
    return value?.toLowerCase() === "none" ? null : value;
  },
};

/** An address to which `/chat/completions` is appended. */
export const baseUrl: ValueKind<string | null> = {
  label: "URL",
  expected:
    "must be an http or https URL without credentials, query or fragment, such as https://api.example.com/v1",
  // What holds a password, a query or no punctuation at all may be a secret in the wrong place.
  quotable: (raw) => typeof raw === "string" && /[.:/]/.test(raw) && !/[@?#]/.test(raw),
  parse: (raw) => {
    const text = textOf(raw);
    if (text === undefined || !/^https?:\/\//i.test(text) || !URL.canParse(text)) return undefined;
    const url = new URL(text);
    if (url.username !== "" || url.password !== "" || text.includes("?") || text.includes("#"))
      return undefined;
    return `${url.origin}${url.pathname}`.replace(/\/+$/, "");
  },
};

/** It becomes part of a query. */
export const apiVersion: ValueKind<string | null> = {
  label: "text",
  expected: "must be an API version such as 2024-10-21 or 2025-04-01-preview",
  quotable: always,
  parse: (raw) =>
    typeof raw === "string" && /^[A-Za-z0-9._-]{1,64}$/.test(raw.trim()) ? raw.trim() : undefined,
};

export const text: ValueKind<string> = {
  label: "text",
  expected: "must be a text",
  quotable: always,
  parse: textOf,
};

/** One or more texts, as a list or as a text with commas. */
export const list: ValueKind<readonly string[]> = {
  label: "list",
  expected: "must be a text or a list of texts",
  quotable: always,
  parse: (raw) => {
    const given = listOf(raw)?.map(textOf);
    return given === undefined || given.length === 0 || given.includes(undefined)
      ? undefined
      : given.filter((item) => item !== undefined);
  },
};

/** An address that is fetched as it stands. */
export const webUrl: ValueKind<string> = {
  label: "URL",
  expected: "must be an http or https URL without credentials or fragment",
  quotable: (raw) => typeof raw === "string" && /[.:/]/.test(raw) && !/[@?#]/.test(raw),
  parse: (raw) => {
    const given = textOf(raw);
    if (given === undefined || !/^https?:\/\//i.test(given) || !URL.canParse(given))
      return undefined;
    const { username, password, href } = new URL(given);
    return username !== "" || password !== "" || given.includes("#") ? undefined : href;
  },
};

/** RFC 7518 wants a key at least as long as the hash: 32 bytes for the shortest. */
const keySecretCharsMin = 32;

/** A secret that signs. Taken as it is, in UTF-8, but for white space around it. */
export const keySecret: ValueKind<string> = {
  label: "secret",
  expected: `must be a text of at least ${keySecretCharsMin} characters`,
  quotable: never,
  parse: (raw) => {
    const given = textOf(raw);
    return given !== undefined && given.length >= keySecretCharsMin ? given : undefined;
  },
};
