/**
 * The key in what a file or a command says, and how long it is good for: a text alone; or JSON with
 * a token and its expiry, as cloud tools print it; a JWT says its expiry itself.
 */
import { isObject, parseJson } from "../../../shared/checked.js";

interface ReadToken {
  readonly key: string;
  /** Null: it doesn't say. */
  readonly expiresInMs: number | null;
}

const tokenFields = ["token", "access_token", "accessToken", "api_key"];
const expiryFields = [
  "expires_at",
  "expires_on",
  "expiration",
  "expiry",
  "expiresOn",
  "token_expiry",
];

/** Null: there is no key in it. */
export function readToken(text: string, nowMs: number): ReadToken | null {
  const trimmed = text.trim();
  const json = trimmed.startsWith("{") ? parseJson(trimmed) : undefined;
  if (!isObject(json))
    return isKey(trimmed) ? { key: trimmed, expiresInMs: ofJwt(trimmed, nowMs) } : null;
  const key = tokenFields.map((field) => json[field]).find((value) => typeof value === "string");
  if (typeof key !== "string" || !isKey(key)) return null;
  return { key, expiresInMs: ofFields(json, nowMs) ?? ofJwt(key, nowMs) };
}

function isKey(text: string): boolean {
  return /^[\x21-\x7e]{1,16384}$/.test(text);
}

function ofFields(json: Readonly<Record<string, unknown>>, nowMs: number): number | null {
  const seconds = json["expires_in"];
  if (typeof seconds === "number" && seconds >= 0) return seconds * 1000;
  for (const field of expiryFields) {
    const value = json[field];
    const at = typeof value === "number" ? value * 1000 : Date.parse(String(value ?? ""));
    if (!Number.isNaN(at)) return at - nowMs;
  }
  return null;
}

function ofJwt(key: string, nowMs: number): number | null {
  const [, payload, signature] = key.split(".");
  if (payload === undefined || signature === undefined) return null;
  const claims = parseJson(Buffer.from(payload, "base64url").toString());
  const exp = isObject(claims) ? claims["exp"] : null;
  return typeof exp === "number" ? exp * 1000 - nowMs : null;
}
