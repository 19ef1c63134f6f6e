/**
 * The shape of `sluice.yaml`: which keys stand where, and what kind of value each holds. Unknown
 * keys and wrong values are told with their paths, all of them. What values mean together (rules,
 * targets, presets) is for the pure files that take the result.
 */
import * as v from "valibot";
import { candidatesMax } from "../../bounds.js";
import { show } from "../../checked.js";
import type { BudgetScope } from "../../domain/budget.js";
import type { Scope } from "../../domain/rule.js";
import { budgetForm } from "../limits/budget-limits.js";
import { ruleForm } from "../limits/limit-fields.js";
import type { DeclaredLimits } from "../limits/limit-form.js";
import { isMapping, keyPath, type Mapping, readMapping } from "../read-mapping.js";
import { type JwtFields, jwtSettings } from "../settings/jwt-settings.js";
import {
  type PriceFields,
  priceSettings,
  type TierFields,
  tierSettings,
} from "../settings/price-settings.js";
import { type ProviderFields, providerSettings } from "../settings/provider-settings.js";
import { type RewriterFields, rewriterSettings } from "../settings/rewriter-settings.js";
import { boolean, integer, kindProblem, type ValueKind } from "../settings/setting-kind.js";
import { settings } from "../settings/settings.js";
import type {
  ConfigFile,
  DeclaredIssuer,
  DeclaredPrice,
  DeclaredProvider,
  DeclaredRewriter,
  DeclaredTarget,
  DeclaredVirtualModel,
  ReadFields,
} from "./config-file.js";

/** A sentence's end that quotes the value: `must be a list, not 5`. */
function expecting(expected: string): (issue: v.BaseIssue<unknown>) => string {
  return ({ input }) =>
    input === undefined || input === null ? "is required" : `${expected}, not ${show(input)}`;
}

/** One of our kinds as a schema. */
function ofKind<T>(kind: ValueKind<T>): v.GenericSchema<unknown, T> {
  return v.pipe(
    v.unknown(),
    v.rawTransform(({ dataset, addIssue, NEVER }) => {
      const value = kind.parse(dataset.value);
      if (value !== undefined) return value;
      addIssue({ message: kindProblem(kind, "", dataset.value).trimStart() });
      return NEVER;
    }),
  );
}

function listOf(
  expected: string,
  range: { readonly min: number; readonly max: number; readonly what: string },
): v.GenericSchema<unknown, readonly unknown[]> {
  const amount: v.ErrorMessage<v.BaseIssue<unknown>> = ({ received }) =>
    `must hold from ${range.min} to ${range.max} ${range.what}, not ${received}`;
  return v.pipe(
    v.unknown(),
    v.array(v.unknown(), expecting(expected)),
    v.minLength(range.min, amount),
    v.maxLength(range.max, amount),
  );
}

const virtualModelSchemas = {
  strategy: v.nullish(
    v.picklist(
      ["round_robin", "cost", "failover"],
      expecting("must be round_robin, cost or failover"),
    ),
    "round_robin",
  ),
  targets: listOf("must be a list of targets", { min: 1, max: candidatesMax, what: "targets" }),
};

const targetSchemas = {
  model: v.string(expecting("must be provider/model")),
  weight: v.nullish(ofKind(integer({ min: 1, max: 1000 })), 1),
};

interface SubjectList<S extends string> {
  readonly list: string;
  readonly scope: S;
  /** What an entry names its subject by, and what that must be. */
  readonly subjectKey: string;
  readonly expected: string;
}

const ruleLists: readonly SubjectList<Scope>[] = [
  {
    list: "user_paths",
    scope: "user_path",
    subjectKey: "path",
    expected: "must be a path such as /team/app",
  },
  {
    list: "providers",
    scope: "provider",
    subjectKey: "name",
    expected: "must be a provider's name",
  },
  { list: "models", scope: "model", subjectKey: "model", expected: "must be a model id" },
];

const budgetLists: readonly SubjectList<BudgetScope>[] = [
  {
    list: "user_paths",
    scope: "user_path",
    subjectKey: "path",
    expected: "must be a path such as /team/app",
  },
  {
    list: "labels",
    scope: "label",
    subjectKey: "label",
    expected: "must be a text, in quotes if it looks like a number",
  },
];

type Schemas = Readonly<Record<string, v.GenericSchema>>;
type Fields<S extends Schemas> = { readonly [K in keyof S]: v.InferOutput<S[K]> | undefined };

/**
 * Checks each field of a mapping by itself, so that a wrong one hides no other; wrong ones are
 * undefined. Null when it is no mapping.
 */
function readFields<S extends Schemas>(
  schemas: S,
  raw: unknown,
  at: string,
  problems: string[],
): Fields<S> | null {
  const entries = readMapping(raw, at, Object.keys(schemas), problems);
  if (entries === null) return null;
  const fields: Record<string, unknown> = {};
  for (const [key, schema] of Object.entries(schemas)) {
    const result = v.safeParse(schema, entries[key], { abortPipeEarly: true });
    fields[key] = result.success ? result.output : undefined;
    if (!result.success)
      problems.push(...result.issues.map((issue) => `${keyPath(at, key)} ${issue.message}`));
  }
  return fields as Fields<S>;
}

/** Takes a document apart. An empty one (null) is the default configuration. */
export function parseShape(document: unknown, problems: string[]): ConfigFile {
  const scalars = new Map<string, unknown>();
  const top = readSection(
    document ?? {},
    "",
    [
      "providers",
      "virtual_models",
      "server",
      "limiter",
      "usage",
      "cache",
      "rate_limits",
      "budgets",
      "prices",
      "jwt",
      "rewriters",
    ],
    scalars,
    problems,
  );
  for (const section of ["server", "limiter", "usage", "cache"])
    readSection(top[section] ?? {}, section, [], scalars, problems);
  const rateLimits = readSection(
    top["rate_limits"] ?? {},
    "rate_limits",
    ruleLists.map(({ list }) => list),
    scalars,
    problems,
  );
  const budgets = readSection(
    top["budgets"] ?? {},
    "budgets",
    budgetLists.map(({ list }) => list),
    scalars,
    problems,
  );
  return {
    settings: scalars,
    providers: readNamed(top["providers"], "providers", problems).map(([name, raw, at]) =>
      readProvider(name, raw, at, problems),
    ),
    virtualModels: readNamed(top["virtual_models"], "virtual_models", problems).map(
      ([name, raw, at]) => readVirtualModel(name, raw, at, problems),
    ),
    rules: ruleLists.flatMap((list) =>
      readSubjects(list, Object.keys(ruleForm.fields), rateLimits, "rate_limits", problems),
    ),
    budgets: budgetLists.flatMap((list) =>
      readSubjects(list, Object.keys(budgetForm.fields), budgets, "budgets", problems),
    ),
    prices: readNamed(top["prices"], "prices", problems).map(([name, raw, at]) =>
      readPrice(name, raw, at, problems),
    ),
    issuers: readItems(top["jwt"], "jwt", problems).map(([raw, at]) =>
      readIssuer(raw, at, problems),
    ),
    rewriters: readItems(top["rewriters"], "rewriters", problems).map(([raw, at]) =>
      readRewriter(raw, at, problems),
    ),
  };
}

/**
 * A section of scalar settings, which go into `scalars`, and the sections below it, which are
 * returned.
 */
function readSection(
  raw: unknown,
  at: string,
  below: readonly string[],
  scalars: Map<string, unknown>,
  problems: string[],
): Mapping {
  const paths = Object.values(settings)
    .map(({ path }) => path)
    .filter((path) => path.split(".").slice(0, -1).join(".") === at);
  const names = paths.map((path) => path.slice(at === "" ? 0 : at.length + 1));
  const entries = readMapping(raw, at, [...names, ...below], problems) ?? {};
  for (const name of names)
    if (Object.hasOwn(entries, name)) scalars.set(keyPath(at, name), entries[name]);
  return entries;
}

/** The entries of a mapping from names that are the operator's to choose. */
function readNamed(
  raw: unknown,
  at: string,
  problems: string[],
): readonly (readonly [name: string, raw: unknown, at: string])[] {
  if (raw === undefined || raw === null) return [];
  if (isMapping(raw))
    return Object.entries(raw).map(([name, value]) => [name, value, keyPath(at, name)]);
  problems.push(`${at} must be a mapping of names, not ${show(raw)}`);
  return [];
}

/** The items of a list, with their paths. */
function readItems(
  raw: unknown,
  at: string,
  problems: string[],
): readonly (readonly [raw: unknown, at: string])[] {
  if (raw === undefined || raw === null) return [];
  if (Array.isArray(raw)) return raw.map((item: unknown, index) => [item, `${at}[${index}]`]);
  problems.push(`${at} must be a list, not ${show(raw)}`);
  return [];
}

/** One row of a table of settings as a schema; a required one has no default to show. */
function ofSetting(
  { kind, shown }: { readonly kind: ValueKind<unknown>; readonly shown: string | null },
  required: boolean,
): v.GenericSchema {
  if (shown !== null || !required) return v.nullish(ofKind<unknown>(kind), null);
  return v.pipe(
    v.unknown(),
    v.check((raw) => raw !== undefined && raw !== null, "is required"),
    ofKind<unknown>(kind),
  );
}

function schemasOf(
  table: Readonly<
    Record<string, { readonly kind: ValueKind<unknown>; readonly shown: string | null }>
  >,
  required: boolean,
): Schemas {
  return Object.fromEntries(
    Object.entries(table).map(([key, row]) => [key, ofSetting(row, required)]),
  );
}

/** The fields of a table's rows. The table gave both the schemas and the type. */
function readTable<T>(
  schemas: Schemas,
  raw: unknown,
  at: string,
  problems: string[],
): ReadFields<T> | null {
  return readFields(schemas, raw, at, problems) as ReadFields<T> | null;
}

const priceSchemas = schemasOf(priceSettings, true);
const tierSchemas = schemasOf(tierSettings, true);
const tierList = v.nullish(
  listOf("must be a list of tiers", { min: 0, max: 100, what: "tiers" }),
  [],
);

function readPrice(name: string, raw: unknown, at: string, problems: string[]): DeclaredPrice {
  const fields = readTable<PriceFields & { readonly tiers: readonly unknown[] }>(
    { ...priceSchemas, tiers: tierList },
    raw,
    at,
    problems,
  );
  const tiers = readItems(fields?.tiers, `${at}.tiers`, problems).map(([item, tierAt]) => ({
    at: tierAt,
    fields: readTable<TierFields>(tierSchemas, item, tierAt, problems),
  }));
  return { at, name, fields, tiers };
}

// What an issuer must have depends on its type: `jwt-issuers.ts` says what is missing.
const issuerSchemas = schemasOf(jwtSettings, false);

function readIssuer(raw: unknown, at: string, problems: string[]): DeclaredIssuer {
  return { at, fields: readTable<JwtFields>(issuerSchemas, raw, at, problems) };
}

const rewriterSchemas = schemasOf(rewriterSettings, true);

function readRewriter(raw: unknown, at: string, problems: string[]): DeclaredRewriter {
  return { fields: readTable<RewriterFields>(rewriterSchemas, raw, at, problems) };
}

const providerSchemas = Object.fromEntries(
  Object.entries(providerSettings).map(([key, { kind, fallback }]) => [
    key,
    v.nullish(ofKind<unknown>(kind), fallback),
  ]),
);

function readProvider(
  name: string,
  raw: unknown,
  at: string,
  problems: string[],
): DeclaredProvider {
  return { at, name, fields: readTable<ProviderFields>(providerSchemas, raw ?? {}, at, problems) };
}

function readVirtualModel(
  source: string,
  raw: unknown,
  at: string,
  problems: string[],
): DeclaredVirtualModel {
  const fields = readFields(virtualModelSchemas, raw, at, problems);
  const targets: DeclaredTarget[] = [];
  for (const [index, item] of (fields?.targets ?? []).entries()) {
    const targetAt = `${at}.targets[${index}]`;
    const target = readFields(targetSchemas, item, targetAt, problems);
    if (target?.model !== undefined)
      targets.push({ at: targetAt, model: target.model.trim(), weight: target.weight ?? 1 });
  }
  return { at, source, strategy: fields?.strategy ?? null, targets };
}

/** The entries of one list of subjects, `limitKeys` being the fields of each limit. */
function readSubjects<S extends string>(
  { list, scope, subjectKey, expected }: SubjectList<S>,
  limitKeys: readonly string[],
  section: Mapping,
  sectionAt: string,
  problems: string[],
): readonly DeclaredLimits<S>[] {
  const limits = listOf("must be a list of limits", { min: 1, max: 1000, what: "limits" });
  const perChild: Schemas =
    scope === "user_path" ? { per_child: v.nullish(ofKind(boolean), false) } : {};
  const schemas: Schemas = { [subjectKey]: v.string(expecting(expected)), ...perChild, limits };
  return readItems(section[list], `${sectionAt}.${list}`, problems).map(([item, at]) => {
    const fields: Readonly<Record<string, unknown>> = readFields(schemas, item, at, problems) ?? {};
    const subject = fields[subjectKey];
    return {
      at,
      scope,
      subject: typeof subject === "string" ? subject : null,
      subjectKey,
      perChild: fields["per_child"] === true,
      limits: readItems(fields["limits"], `${at}.limits`, problems).flatMap(([raw, limitAt]) => {
        const limit = readMapping(raw, limitAt, limitKeys, problems);
        return limit === null ? [] : [{ at: limitAt, fields: limit }];
      }),
    };
  });
}
