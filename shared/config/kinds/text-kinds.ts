/** The kinds of values that are texts: any text, and texts of a certain form. */
import { always, type ValueKind } from "./value-kind.js";

/** A text without the white space around it; undefined if nothing is left. */
export function textOf(raw: unknown): string | undefined {
  return typeof raw === "string" && raw.trim() !== "" ? raw.trim() : undefined;
}

export const text: ValueKind<string> = {
  label: "text",
  expected: "must be a text",
  quotable: always,
  parse: textOf,
  schema: { type: "string" },
};

export const host: ValueKind<string> = {
  label: "text",
  expected: "must be a host name or an IP address, without a port or brackets",
  quotable: always,
  parse: (raw) => {
    const name = textOf(raw);
    return name !== undefined &&
      (/^[A-Za-z0-9_.-]+$/.test(name) || /^(?=.*:.*:)[0-9A-Fa-f:.]+(?:%[\w.-]+)?$/.test(name))
      ? name
      : undefined;
  },
  schema: { type: "string" },
};

/** Headers of requests to Sluice that already have a meaning. */
const requestHeaders: ReadonlySet<string> = new Set([
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
    const name = textOf(raw)?.toLowerCase();
    return name !== undefined &&
      /^[a-z0-9!#$%&'*+.^_`|~-]+$/.test(name) &&
      !requestHeaders.has(name)
      ? name
      : undefined;
  },
  schema: { type: "string" },
};

/** A path on this host. The type allows null for settings whose default depends on the host. */
export const filePath: ValueKind<string | null> = {
  label: "path",
  isPath: true,
  expected:
    "must be a path of Linux, absolute or relative to the file that holds it (~ and $HOME aren't expanded: write ${HOME})",
  quotable: always,
  parse: (raw) =>
    typeof raw === "string" &&
    raw.trim() !== "" &&
    !/^~|^[A-Za-z]:[\\/]|\$[A-Za-z_]/.test(raw) &&
    !/[\u0000-\u001f\u007f]/.test(raw)
      ? raw
      : undefined,
  schema: { type: "string", pattern: "^[^~]" },
};

/** An API version; it becomes part of a URL's query. */
export const apiVersion: ValueKind<string | null> = {
  label: "text",
  range: "1 to 64 characters",
  expected: "must be an API version such as 2024-10-21 or 2025-04-01-preview",
  quotable: always,
  parse: (raw) =>
    typeof raw === "string" && /^[A-Za-z0-9._-]{1,64}$/.test(raw.trim()) ? raw.trim() : undefined,
  schema: { type: "string" },
};
