/** The kinds of values that are lists: written as a list, or as a text with commas. */
import {
  type ModelPatterns,
  modelPatternsMax,
  parseModelPatterns,
} from "../../access/allowed-models.js";
import { parseSubject } from "../../domain/rule.js";
import { normalizeUserPath } from "../../domain/user-path.js";
import { type Operation, operations } from "../../operation.js";
import { parseNetwork } from "../ip-network.js";
import { neverForwarded } from "../never-forwarded.js";
import { textOf } from "./text-kinds.js";
import { always, type JsonSchema, orVariable, type ValueKind } from "./value-kind.js";

interface ListShape {
  readonly itemsMin: 0 | 1;
  readonly itemsMax?: number;
  readonly item?: JsonSchema;
}

/** A list of items that `parseItem` accepts. `parseItem` returns undefined for a wrong item. */
export function listOf<T>(
  expected: string,
  parseItem: (raw: unknown) => T | undefined,
  { itemsMin, itemsMax = Infinity, item = { type: "string" } }: ListShape,
): ValueKind<readonly T[]> {
  const range = lengthRange(itemsMin, itemsMax);
  return {
    label: "list",
    ...(range === null ? {} : { range }),
    expected,
    quotable: always,
    parse: (raw) => {
      const rawItems = itemsOf(raw);
      if (rawItems === undefined || rawItems.length < itemsMin || rawItems.length > itemsMax)
        return undefined;
      const items: T[] = [];
      for (const rawItem of rawItems) {
        const item = parseItem(rawItem);
        if (item === undefined) return undefined;
        items.push(item);
      }
      return items;
    },
    schema: {
      anyOf: [{ type: "array", minItems: itemsMin, items: item }, { type: "string" }],
    },
  };
}

function lengthRange(min: number, max: number): string | null {
  if (max === Infinity) return min === 0 ? null : `at least ${min}`;
  return min === 0 ? `at most ${max}` : `${min} to ${max}`;
}

function itemsOf(raw: unknown): readonly unknown[] | undefined {
  if (Array.isArray(raw)) return raw;
  return typeof raw === "string"
    ? raw.split(",").filter((piece) => piece.trim() !== "")
    : undefined;
}

/** One or more texts. */
export const list = listOf("must be a text or a list of texts", textOf, { itemsMin: 1 });

/** Known names only. */
export function listOfNames<const T extends string>(
  allowed: readonly T[],
  size: { readonly itemsMin: 0 | 1 } = { itemsMin: 0 },
): ValueKind<readonly T[]> {
  return listOf(
    `must be a list that holds nothing but ${allowed.join(", ")}`,
    (raw) => allowed.find((name) => name === textOf(raw)),
    { ...size, item: orVariable({ enum: allowed }) },
  );
}

/** Names of hosts, as a `Host` header has them, without a port; in lower case. */
export const hostNames = listOf(
  "must be a list of host names without a scheme or a port, such as gateway.internal",
  (raw) => {
    const name = textOf(raw)?.toLowerCase();
    return name !== undefined && /^[a-z0-9_](?:[a-z0-9_.-]{0,252})$/.test(name) ? name : undefined;
  },
  { itemsMin: 0 },
);

/** Origins of web pages, as browsers send them. */
export const origins = listOf(
  "must be a list of origins such as https://app.example.com, without a path (* isn't accepted)",
  (raw) => {
    const text = textOf(raw)?.toLowerCase() ?? "";
    if (!/^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@*,]+\/?$/.test(text) || !URL.canParse(text))
      return undefined;
    const { origin } = new URL(text);
    // `URL.origin` is "null" for the schemes of browser extensions and apps.
    return origin === "null" ? text.replace(/\/$/, "") : origin;
  },
  { itemsMin: 0 },
);

/** Addresses of hosts, and networks of them. */
export const networks = listOf(
  "must be a list of IP addresses and networks, such as 10.0.0.0/8 or ::1",
  (raw) => parseNetwork(textOf(raw) ?? "") ?? undefined,
  { itemsMin: 0 },
);

/**
 * Names of headers that may be forwarded to providers; an asterisk at the end matches any ending.
 */
export const forwardedHeaders = listOf(
  "must be a list of header names, such as traceparent or x-team-*, and none that carries a credential or frames the request",
  (raw) => {
    const name = textOf(raw)?.toLowerCase();
    return name !== undefined &&
      /^[a-z0-9][a-z0-9_-]{0,126}\*?$/.test(name) &&
      !neverForwarded.test(name)
      ? name
      : undefined;
  },
  { itemsMin: 0 },
);

/** Model ids. `*` stands for any. */
export const modelList = listOf(
  'must be a list of model ids, or ["*"] for any',
  (raw) => {
    const id = parseSubject("model", raw, "");
    return id.ok ? id.value : undefined;
  },
  { itemsMin: 0 },
);

const modelNames = listOf(
  `must be a list of at most ${modelPatternsMax} names of models such as gpt-4o or openai/gpt-4o, of how names begin and *, and of those to leave out after !`,
  textOf,
  { itemsMin: 1, itemsMax: modelPatternsMax },
);

/** The models that a caller may use, in lower case. */
export const allowedModels: ValueKind<ModelPatterns> = {
  ...modelNames,
  parse: (raw) => {
    const names = modelNames.parse(raw);
    const patterns = names === undefined ? null : parseModelPatterns(names, "");
    return patterns?.ok === true ? patterns.value : undefined;
  },
};

/** The model that an operation runs for a request that names none. */
export interface DefaultModel {
  readonly operation: Operation;
  readonly model: string;
}

/** Operations and their models, such as `images=openai/gpt-image-2`. */
export const defaultModels: ValueKind<readonly DefaultModel[]> = listOf(
  "must be a list of operations with their models, such as images=openai/gpt-image-2",
  (raw) => {
    const [, name, model = ""] = /^([a-z_]+)=([^\s\p{Cc}]{1,256})$/u.exec(textOf(raw) ?? "") ?? [];
    const operation = operations.find((candidate) => candidate === name);
    return operation === undefined ? undefined : { operation, model };
  },
  { itemsMin: 0 },
);

/** Model ids in lower case, in which `*` stands for any characters. */
export const modelPatterns = listOf(
  "must be a list of model ids, in which * stands for any characters",
  (raw) => {
    const pattern = textOf(raw)?.toLowerCase();
    return pattern !== undefined && /^[^\s\p{Cc}]{1,256}$/u.test(pattern) ? pattern : undefined;
  },
  { itemsMin: 1 },
);

/** The waiting limits for requests of a path and of the paths below it. */
export interface WaitOfPath {
  readonly path: string;
  readonly maxMs: number;
  /** For clients that don't request a wait. */
  readonly defaultMs: number;
}

/** The longest wait, in seconds: as long as the deadline of a provider may be. */
export const waitSecondsMax = 3600;

/**
 * User paths with the longest wait in seconds, optionally with the wait of clients that don't
 * request one: `/team=60`, or `/team=60:20`.
 */
const waitsOfAnyPaths: ValueKind<readonly WaitOfPath[]> = listOf(
  "must be a list of different user paths with seconds, such as /team=60, or with the default too, such as /team=60:20",
  (raw) => {
    const [, pathText, max, byDefault = "0"] =
      /^(\/.*)=(\d{1,4})(?::(\d{1,4}))?$/.exec(textOf(raw) ?? "") ?? [];
    const path = pathText === undefined ? null : normalizeUserPath(pathText);
    const [maxSeconds, defaultSeconds] = [Number(max), Number(byDefault)];
    if (path?.ok !== true || maxSeconds > waitSecondsMax || defaultSeconds > maxSeconds)
      return undefined;
    return { path: path.path, maxMs: maxSeconds * 1000, defaultMs: defaultSeconds * 1000 };
  },
  { itemsMin: 0 },
);

export const waitsOfPaths: ValueKind<readonly WaitOfPath[]> = {
  ...waitsOfAnyPaths,
  parse: (raw) => {
    const waits = waitsOfAnyPaths.parse(raw);
    const paths = new Set(waits?.map(({ path }) => path));
    return paths.size === waits?.length ? waits : undefined;
  },
};
