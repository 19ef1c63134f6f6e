/** The kinds of values of `cluster.*`: the engine's addresses and credentials. */
import { type EngineAddress, parseEngineUrl } from "../../cluster/engine-url.js";
import { listOf } from "./list-kinds.js";
import { textOf } from "./text-kinds.js";
import { always, never, orVariable, type ValueKind } from "./value-kind.js";

const url = { type: "string", pattern: "^(?:[Vv][Aa][Ll][Kk][Ee][Yy]|[Rr][Ee][Dd][Ii][Ss])" };
const addresses = listOf(
  "must be valkey:// or valkeys:// addresses (redis:// and rediss:// mean the same) of an engine, without path or query, such as valkeys://engine.internal:6379; special characters of a user or password are written with %",
  (raw) => parseEngineUrl(textOf(raw) ?? ""),
  { itemsMin: 1, itemsMax: 32, item: orVariable(url) },
);

/** Addresses of an engine; a possible user or password in them, or a query, is a secret. */
export const engineUrls: ValueKind<readonly EngineAddress[] | null> = {
  ...addresses,
  label: "URLs",
  quotable: (raw) => !/[@?#]/.test(JSON.stringify(raw)),
};

export const clusterName: ValueKind<string> = {
  label: "text",
  range: "1 to 64 characters",
  expected: "must be 1 to 64 letters, digits, dots, dashes and underscores",
  quotable: always,
  parse: (raw) => {
    const name = textOf(raw);
    return name !== undefined && /^[A-Za-z0-9._-]{1,64}$/.test(name) ? name : undefined;
  },
  schema: orVariable({ type: "string", pattern: "^[A-Za-z0-9._-]{1,64}$" }),
};

/** A user of the engine, or the name of the master in its Sentinels. */
export const engineWord: ValueKind<string | null> = {
  label: "text",
  range: "1 to 256 characters",
  expected: "must be a text without white space",
  quotable: always,
  parse: (raw) => {
    const word = textOf(raw);
    return word !== undefined && /^[^\s\p{Cc}]{1,256}$/u.test(word) ? word : undefined;
  },
  schema: { type: "string" },
};

export const enginePassword: ValueKind<string | null> = {
  label: "secret",
  range: "at most 1024 characters",
  expected: "must be a text, in quotes if it looks like a number; leave it out for none",
  quotable: never,
  parse: (raw) => {
    if (typeof raw !== "string") return undefined;
    const password = raw.trim();
    if (password === "") return null;
    return /^\P{Cc}{1,1024}$/u.test(password) ? password : undefined;
  },
  schema: { type: "string" },
};
