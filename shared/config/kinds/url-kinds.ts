/** The kinds of values that are URLs with http or https. */
import { percentDecoded } from "../../text/percent-decoded.js";
import { isPrivateAddress, parseIpAddress } from "../ip-network.js";
import { textOf } from "./text-kinds.js";
import { type JsonSchema, never, type ValueKind } from "./value-kind.js";

const schema: JsonSchema = { type: "string", pattern: "^[Hh][Tt][Tt][Pp][Ss]?://|\\$\\{" };

/**
 * Whether a message may quote a value. One with a password or a query, or without any punctuation,
 * may be a misplaced secret.
 */
function mayBeQuoted(raw: unknown): boolean {
  return typeof raw === "string" && /[.:/]/.test(raw) && !/[@?#]/.test(raw);
}

/** A URL without credentials and without a fragment, not even an empty one (`#`). */
function parseUrl(raw: unknown): URL | undefined {
  const text = textOf(raw);
  if (text === undefined || !/^https?:\/\/(?!https?:)/i.test(text) || !URL.canParse(text))
    return undefined;
  const url = new URL(text);
  return url.username !== "" || url.password !== "" || text.includes("#") ? undefined : url;
}

/**
 * A base URL, to which paths such as `/chat/completions` are appended; without a trailing slash.
 */
export const baseUrl: ValueKind<string | null> = {
  label: "URL",
  expected:
    "must be an http or https URL without credentials, query or fragment, such as https://api.example.com/v1",
  quotable: mayBeQuoted,
  parse: (raw) => {
    const url = parseUrl(raw);
    if (url === undefined || String(raw).includes("?")) return undefined;
    return `${url.origin}${url.pathname}`.replace(/\/+$/, "");
  },
  schema,
};

/** The URL of a proxy, with user and password if it requires them; or `none`. */
export const outboundProxy: ValueKind<string | null> = {
  label: "URL",
  expected:
    "must be an http or https URL of a proxy without path, query or fragment, such as http://proxy.example.com:3128, or none",
  quotable: mayBeQuoted,
  parse: (raw) => {
    const text = textOf(raw);
    if (text?.toLowerCase() === "none") return "none";
    if (text === undefined || !/^https?:\/\//i.test(text) || !URL.canParse(text)) return undefined;
    const { href, pathname, search, hash, username, password } = new URL(text);
    if (pathname !== "/" || search !== "" || hash !== "") return undefined;
    return [username, password].map(percentDecoded).includes(null) ? undefined : href;
  },
  schema: { anyOf: [{ const: "none" }, schema] },
};

/** A URL that is fetched unchanged. */
export const webUrl: ValueKind<string> = {
  label: "URL",
  expected: "must be an http or https URL without credentials or fragment",
  quotable: mayBeQuoted,
  parse: (raw) => parseUrl(raw)?.href,
  schema,
};

/** Addresses at which clouds give out credentials. */
const linkLocal = /^(?:169\.254\.|\[fe[89ab]|metadata\.google\.internal$)/;

/** Whether requests to this host stay on the machine or in its network. */
function isInside(hostname: string): boolean {
  const address = parseIpAddress(hostname.replace(/^\[|\]$/g, ""));
  if (address !== null) return isPrivateAddress(address);
  return !hostname.includes(".") || /\.(?:internal|local|localhost|svc|lan)$/.test(hostname);
}

/**
 * The URL of a webhook. Alerts name customers and their spend, so http is allowed only for hosts
 * inside the network. The path or query may be a secret, as with Slack.
 */
export const webhookUrl: ValueKind<string> = {
  label: "URL",
  expected:
    "must be an https URL without credentials or fragment (http only for localhost, private addresses and names without a dot; never a link-local address)",
  quotable: never,
  parse: (raw) => {
    const url = parseUrl(raw);
    if (url === undefined || linkLocal.test(url.hostname)) return undefined;
    return url.protocol === "https:" || isInside(url.hostname) ? url.href : undefined;
  },
  schema,
};
