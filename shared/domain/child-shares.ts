/**
 * How the children of a rule's path share its cap (docs/limit-options.md, "Shares of a limit"): by
 * weight, with a guaranteed floor, and by priority. Pure. Not here: the decision
 * (`limiterd/counters/shared-cap.ts`).
 */
import { bad, type Checked, good, isAbsent, isObject, show } from "../checked.js";
import { numberAdvice } from "../text/written-number.js";
import { normalizeUserPath } from "./user-path.js";

export interface ChildShare {
  /** Default: `default_weight`. */
  readonly weight?: number;
  /** The part of the cap that is reserved for the child. Default: 0. */
  readonly floor?: number;
  /** Children of a higher priority come first. Default: 0. */
  readonly priority?: number;
}

/**
 * `shares` in bodies, files and lists. A rule without it serves its children first come, first
 * served.
 */
export interface ChildShares {
  /** The weight of children that `children` doesn't name. Default: 1. */
  readonly default_weight?: number;
  /**
   * The part that all children of lower priorities share while a child of a higher priority wants
   * more: a share of the cap without the floors. Default: `minShareDefault`.
   */
  readonly min_share?: number;
  /** By the segment of the path below the rule's subject. */
  readonly children?: Readonly<Record<string, ChildShare>>;
}

export interface Shareable {
  readonly childShares?: ChildShares | undefined;
}

/** The field of bodies and lists. */
export interface SharesField {
  readonly shares?: ChildShares;
}

export const minShareDefault = 0.05;
export const sharedChildrenMax = 1000;
const weightMax = 1000;
const weightMin = 0.001;
const priorityMax = 100;

interface NumberRange {
  readonly min: number;
  readonly max: number;
  readonly integer?: boolean;
}

/** The ranges of the numbers, also for the schema of the configuration. */
export const shareRanges = {
  default_weight: { min: weightMin, max: weightMax },
  min_share: { min: 0.01, max: 0.5 },
  weight: { min: weightMin, max: weightMax },
  floor: { min: 0, max: 1 },
  priority: { min: -priorityMax, max: priorityMax, integer: true },
} as const satisfies Readonly<Record<string, NumberRange>>;

/** Checks `shares`, which may be absent. An empty mapping: all children have the same weight. */
export function parseShares(raw: unknown, param: string): Checked<Shareable> {
  if (isAbsent(raw)) return good({});
  if (!isObject(raw))
    return bad(
      `${param} must be a mapping such as {children: {a: {weight: 3, floor: 0.2}}}, not ${show(raw)}`,
      param,
    );
  const fieldNames = ["default_weight", "min_share", "children"];
  const unknown = Object.keys(raw).find((name) => !fieldNames.includes(name));
  if (unknown !== undefined)
    return bad(
      `unknown field ${param}.${unknown}: expected ${fieldNames.join(", ")}`,
      `${param}.${unknown}`,
    );
  const numbers = numbersIn(raw, ["default_weight", "min_share"], param);
  if (!numbers.ok) return numbers;
  const children = parseChildren(raw["children"], `${param}.children`);
  if (!children.ok) return children;
  return good({
    childShares: {
      ...numbers.value,
      ...(children.value === undefined ? {} : { children: children.value }),
    },
  });
}

function parseChildren(
  raw: unknown,
  param: string,
): Checked<Readonly<Record<string, ChildShare>> | undefined> {
  if (isAbsent(raw)) return good(undefined);
  if (!isObject(raw))
    return bad(`${param} must be a mapping of children to their shares, not ${show(raw)}`, param);
  const entries = Object.entries(raw);
  if (entries.length > sharedChildrenMax)
    return bad(`${param} must have at most ${sharedChildrenMax} children`, param);
  const parsed: [string, ChildShare][] = [];
  let floors = 0;
  for (const [name, share] of entries) {
    const path = `${param}.${name}`;
    if (!isSegment(name))
      return bad(
        `${param} must name children by one segment of a path, such as app, not ${show(name)}`,
        param,
      );
    if (!isObject(share))
      return bad(
        `${path} must be a mapping of weight, floor and priority, not ${show(share)}`,
        path,
      );
    const fields = ["weight", "floor", "priority"] as const;
    const unknown = Object.keys(share).find(
      (field) => !fields.some((candidate) => candidate === field),
    );
    if (unknown !== undefined)
      return bad(
        `unknown field ${path}.${unknown}: expected ${fields.join(", ")}`,
        `${path}.${unknown}`,
      );
    const numbers = numbersIn(share, fields, path);
    if (!numbers.ok) return numbers;
    floors += numbers.value.floor ?? 0;
    parsed.push([name, numbers.value]);
  }
  if (floors > 1 + 1e-9)
    return bad(
      `${param} must have floors of at most 1 in all, not ${Number(floors.toFixed(9))}`,
      param,
    );
  if (parsed.length === 0) return good(undefined);
  return good(Object.fromEntries(parsed.sort(([a], [b]) => (a < b ? -1 : 1))));
}

type NumberName = keyof typeof shareRanges;

/** The numbers with these names, each checked; absent ones are left out. */
function numbersIn<N extends NumberName>(
  fields: Readonly<Record<string, unknown>>,
  names: readonly N[],
  param: string,
): Checked<{ readonly [K in N]?: number }> {
  const numbers: { [K in N]?: number } = {};
  for (const name of names) {
    const value = fields[name];
    if (isAbsent(value)) continue;
    const { min, max, integer = false }: NumberRange = shareRanges[name];
    const isGood =
      typeof value === "number" &&
      value >= min &&
      value <= max &&
      (!integer || Number.isInteger(value));
    if (!isGood)
      return bad(
        `${param}.${name} must be ${integer ? "an integer" : "a number"} from ${min} to ${max}, not ${show(value)}${numberAdvice(value)}`,
        `${param}.${name}`,
      );
    numbers[name] = value;
  }
  return good(numbers);
}

function isSegment(name: string): boolean {
  if (name.includes("/")) return false;
  const path = normalizeUserPath(`/${name}`);
  return path.ok && path.path === `/${name}` && name !== "";
}

export function sharesField({ childShares }: Shareable): SharesField {
  return childShares === undefined ? {} : { shares: childShares };
}

export function isSameShares(a: Shareable, b: Shareable): boolean {
  return (
    a.childShares === b.childShares ||
    JSON.stringify(a.childShares) === JSON.stringify(b.childShares)
  );
}

/** Stands for `default_weight` and `min_share` in texts. */
const otherChildren = "*";
const equalText = "equal";

/**
 * Parses shares from a text: `a: weight=3, floor=0.2; b: priority=1; *: weight=1`, where `*` has
 * the weight of other children and `min_share`; or `equal`; or JSON. Returns any other value
 * unchanged, for `parseShares`.
 */
export function sharesOfText(raw: unknown): unknown {
  if (typeof raw !== "string") return raw;
  const text = raw.trim();
  if (text === equalText) return {};
  if (text.startsWith("{")) {
    try {
      return JSON.parse(text) as unknown;
    } catch {
      // `parseShares` reports the text.
      return raw;
    }
  }
  const shares: Record<string, number> = {};
  const children: [string, Record<string, number>][] = [];
  for (const entry of text.split(";")) {
    const colon = entry.indexOf(":");
    const name = entry.slice(0, Math.max(0, colon)).trim();
    if (name === "") return raw;
    const fields: Record<string, number> = {};
    for (const piece of entry.slice(colon + 1).split(",")) {
      const [, field, value] =
        /^\s*([a-z_]+)\s*=\s*(-?\d{1,9}(?:\.\d{1,9})?)\s*$/.exec(piece) ?? [];
      if (field === undefined || value === undefined) return raw;
      fields[field] = Number(value);
    }
    if (name !== otherChildren) children.push([name, fields]);
    else
      for (const [field, value] of Object.entries(fields))
        shares[field === "weight" ? "default_weight" : field] = value;
  }
  return {
    ...shares,
    ...(children.length === 0 ? {} : { children: Object.fromEntries(children) }),
  };
}

/** The text from which `sharesOfText` reads the same shares. */
export function textOfShares(shares: ChildShares): string {
  const { default_weight: weight, min_share: minShare, children = {} } = shares;
  const names = Object.keys(children);
  if (names.some((name) => name.includes(";") || name === otherChildren))
    return JSON.stringify(shares);
  const pairs = (fields: ChildShare & Pick<ChildShares, "min_share">): string =>
    Object.entries(fields)
      .flatMap(([field, value]) => (value === undefined ? [] : [`${field}=${value}`]))
      .join(", ");
  const entries = names.map(
    (name) => `${name}: ${pairs(children[name]!) || `weight=${weight ?? 1}`}`,
  );
  const rest = pairs({
    ...(weight === undefined ? {} : { weight }),
    ...(minShare === undefined ? {} : { min_share: minShare }),
  });
  if (rest !== "") entries.push(`${otherChildren}: ${rest}`);
  return entries.length === 0 ? equalText : entries.join("; ");
}

/** A child's weight, floor and priority. */
export function shareOfChild(
  { default_weight: defaultWeight = 1, children }: ChildShares,
  name: string,
): Required<ChildShare> {
  const declared = children !== undefined && Object.hasOwn(children, name) ? children[name]! : {};
  const { weight = defaultWeight, floor = 0, priority = 0 } = declared;
  return { weight, floor, priority };
}
