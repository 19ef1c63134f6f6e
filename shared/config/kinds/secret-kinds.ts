/** The kinds of values that are secrets: messages never quote them. */
import { isObject } from "../../checked.js";
import { percentDecoded } from "../../text/percent-decoded.js";
import type { HeaderFile, WeightedKey, WeightedKeyFile } from "../provider-type.js";
import { integer, numberSchema } from "./number-kinds.js";
import { filePath, textOf } from "./text-kinds.js";
import { never, orVariable, type ValueKind } from "./value-kind.js";

/**
 * A token that is sent in a header; null for an empty one. Drops white space around it, which a
 * secret read from a file may have.
 */
function token(raw: unknown): string | null | undefined {
  if (typeof raw !== "string") return undefined;
  const trimmed = raw.trim();
  if (trimmed === "") return null;
  return /^[\x21-\x7e]+$/.test(trimmed) && !isQuoted(trimmed) ? trimmed : undefined;
}

/**
 * Whether a token is in the quotes of a shell or of YAML, which files of variables for containers
 * keep.
 */
function isQuoted(text: string): boolean {
  return text.length > 1 && /^["']/.test(text) && text.endsWith(text.charAt(0));
}

function tokenAdvice(raw: unknown): string {
  if (typeof raw === "number") return ": put it in quotes";
  if (typeof raw !== "string") return "";
  const text = raw.trim();
  if (/^(?:proxy-)?authorization\s*:|^x-api-key\s*:/i.test(text))
    return ": leave out the header's name";
  if (/^(?:bearer|basic)\s/i.test(text)) return ": leave out the word before the key";
  if (isQuoted(text)) return ": leave out the quotes, which are part of the text here";
  if (/[\r\n]/.test(text)) return ": it has several lines";
  if (/[^\x20-\x7e]/.test(text)) return ": it has a character that isn't ASCII, perhaps invisible";
  return /\s/.test(text) ? ": it has a space in it" : "";
}

export const masterKey: ValueKind<string | null> = {
  label: "secret",
  // `none` is refused: people mean no key by it, but it would be the first key that an attacker
  // tries.
  expected:
    "must be a text of visible ASCII characters without white space, in quotes if it looks like a number; leave it out (not none) for no key",
  quotable: never,
  parse: (raw) => {
    const value = token(raw);
    return value?.toLowerCase() === "none" ? undefined : value;
  },
  advice: tokenAdvice,
  schema: { type: "string" },
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
  advice: tokenAdvice,
  schema: { type: "string" },
};

const keyName = /^[\w.-]{1,64}$/;
const keyWeight = integer({ min: 1, max: 1000 });

type SeveralKeys = readonly (WeightedKey | WeightedKeyFile)[];

/** Several keys, each a text or a mapping with a weight. */
export const apiKeys: ValueKind<SeveralKeys | null> = {
  label: "list",
  range: "1 to 100 keys, weights 1 to 1000",
  expected:
    "must be a list of 1 to 100 keys, each a text or a mapping of key, or key_file, weight (1 to 1000) and name (letters, digits, _, . and -, up to 64)",
  quotable: never,
  parse: (raw) => {
    if (!Array.isArray(raw) || raw.length === 0 || raw.length > 100) return undefined;
    const keys = raw.map(weightedKey);
    const isWrong = keys.some((key) => key === undefined);
    return isWrong ? undefined : (keys as SeveralKeys);
  },
  schema: {
    type: "array",
    minItems: 1,
    maxItems: 100,
    items: {
      anyOf: [
        { type: "string" },
        {
          type: "object",
          oneOf: [{ required: ["key"] }, { required: ["key_file"] }],
          properties: {
            key: { type: "string", description: "The key itself." },
            key_file: { ...filePath.schema, description: "A file that holds the key." },
            weight: {
              ...numberSchema("integer", { min: 1, max: 1000 }),
              default: 1,
              description: "Its share of the requests.",
            },
            name: {
              type: "string",
              pattern: keyName.source,
              description: "Its name in usage records; without one, its position from 1.",
            },
          },
          additionalProperties: false,
        },
      ],
    },
  },
};

function weightedKey(raw: unknown): WeightedKey | WeightedKeyFile | undefined {
  const { weight: rawWeight = 1, name, ...where } = isObject(raw) ? raw : { key: raw };
  const weight = keyWeight.parse(rawWeight);
  if (weight === undefined || Object.keys(where).length !== 1) return undefined;
  if (name !== undefined && !(typeof name === "string" && keyName.test(name))) return undefined;
  const rest = { weight, ...(name === undefined ? {} : { name }) };
  const key = token(where["key"]);
  if (typeof key === "string") return { key, ...rest };
  const keyFile = filePath.parse(where["key_file"]);
  return typeof keyFile === "string" ? { keyFile, ...rest } : undefined;
}

/** Headers of requests to providers that Sluice sets, or that belong to the connection. */
const reservedHeaders =
  /^(?:host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|content-length|content-type|expect|accept-encoding)$/i;

const headerName = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;

const webhookSecretBytes = { min: 24, max: 64 };

/**
 * A secret of the Standard Webhooks scheme. Node's decoder skips characters that aren't base64, so
 * the bytes are encoded again and compared.
 */
export const webhookSecret: ValueKind<string> = {
  label: "secret",
  range: `${webhookSecretBytes.min} to ${webhookSecretBytes.max} bytes`,
  expected: `must be whsec_ and ${webhookSecretBytes.min} to ${webhookSecretBytes.max} bytes in base64, which \`echo whsec_$(openssl rand -base64 32)\` prints`,
  quotable: never,
  parse: (raw) => {
    const [, base64 = ""] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(token(raw) ?? "") ?? [];
    const bytes = Buffer.from(base64, "base64");
    return bytes.length >= webhookSecretBytes.min &&
      bytes.length <= webhookSecretBytes.max &&
      bytes.toString("base64").replace(/=+$/, "") === base64.replace(/=+$/, "")
      ? `whsec_${base64}`
      : undefined;
  },
  schema: { type: "string" },
};

/** The value of a header. */
export const headerValue: ValueKind<string> = {
  label: "secret",
  expected: "must be a line of at most 8192 visible ASCII characters and spaces",
  quotable: never,
  parse: (raw) => {
    const value = typeof raw === "number" || typeof raw === "boolean" ? String(raw) : raw;
    return typeof value === "string" && /^[\x20-\x7e]{1,8192}$/.test(value) ? value : undefined;
  },
  schema: { type: "string" },
};

export interface ExtraHeaders {
  /** Flat names and values. */
  readonly values: readonly string[];
  readonly files: readonly HeaderFile[];
}

/** Headers that the operator adds to every request to a provider; their values may be secrets. */
export const extraHeaders: ValueKind<ExtraHeaders> = {
  label: "mapping",
  range: "values of at most 8192 characters",
  expected:
    "must be a mapping of header names to texts, or to a mapping with the file that holds the text, without those that belong to the connection or the body",
  quotable: never,
  parse: (raw) => {
    if (!isObject(raw)) return undefined;
    const values: string[] = [];
    const files: HeaderFile[] = [];
    for (const [name, headerField] of Object.entries(raw)) {
      if (!headerName.test(name) || reservedHeaders.test(name)) return undefined;
      const path = fileOnly(headerField);
      const value = headerValue.parse(headerField);
      if (path !== null) files.push({ name, path });
      else if (value !== undefined) values.push(name, value);
      else return undefined;
    }
    return { values, files };
  },
  schema: {
    type: "object",
    additionalProperties: {
      anyOf: [
        { type: ["string", "number", "boolean"] },
        {
          type: "object",
          required: ["file"],
          properties: { file: { ...filePath.schema, description: "A file that holds the value." } },
          additionalProperties: false,
        },
      ],
    },
  },
};

/**
 * Headers in one text, in the form of `OTEL_EXPORTER_OTLP_HEADERS`: `name=value`, separated by
 * commas, with percent-encoded values. Null for any other text.
 */
export function parseHeaderList(text: string): Readonly<Record<string, string>> | null {
  const headers: Record<string, string> = {};
  for (const pair of text.split(",")) {
    if (pair.trim() === "") continue;
    const [, name = "", written = ""] =
      /^\s*([A-Za-z0-9!#$%&'*+.^_`|~-]+)\s*=(.*)$/.exec(pair) ?? [];
    const value = percentDecoded(written.trim());
    if (name === "" || reservedHeaders.test(name) || value === null) return null;
    if (!/^[\x20-\x7e]{1,8192}$/.test(value)) return null;
    headers[name.toLowerCase()] = value;
  }
  return headers;
}

export const headerList: ValueKind<string | null> = {
  label: "secret",
  expected:
    "must be name=value, several with commas between, values percent-encoded, such as x-api-key=abc",
  quotable: never,
  parse: (raw) => {
    if (typeof raw !== "string") return undefined;
    const text = raw.trim();
    if (text === "") return null;
    return parseHeaderList(text) === null ? undefined : text;
  },
  schema: { type: "string" },
};

/** The path in `{ file: path }`; null for anything else. */
function fileOnly(entry: unknown): string | null {
  if (!isObject(entry) || Object.keys(entry).length !== 1) return null;
  return filePath.parse(entry["file"]) ?? null;
}

/** RFC 7518 requires a key at least as long as the hash: 32 bytes for the shortest. */
const signingSecretCharsMin = 32;

/**
 * The secret with which an issuer of JWTs signs them: its UTF-8 bytes, without the white space
 * around it.
 */
export const signingSecret: ValueKind<string> = {
  label: "secret",
  range: `at least ${signingSecretCharsMin} characters`,
  expected: `must be a text of at least ${signingSecretCharsMin} characters`,
  quotable: never,
  parse: (raw) => {
    const secret = textOf(raw);
    return secret !== undefined && secret.length >= signingSecretCharsMin ? secret : undefined;
  },
  schema: orVariable({ type: "string", minLength: signingSecretCharsMin }),
};
