/**
 * Every field of a limit at every door: the API, the file, a variable, the command line, the
 * dashboard's dialog, the OpenAPI description, the list and the exported file. One row a field; a
 * field without a row fails.
 */
import { readFileSync } from "node:fs";
import t from "tap";
import { budgetFlags } from "../bin/limits/budget-flags.js";
import { type FlagForm, type SetFlags, writesFromFlags } from "../bin/limits/limit-flags.js";
import { ruleFlags } from "../bin/limits/rule-flags.js";
import { budgetBody, budgetDraftOf } from "../proxy/dashboard/web/logic/budget-draft.js";
import { ruleBody, ruleDraftOf } from "../proxy/dashboard/web/logic/rule-draft.js";
import type { BudgetItem } from "../shared/api/budget-item.js";
import type { RuleItem } from "../shared/api/rule-item.js";
import { budgetForm } from "../shared/config/limits/budget-limits.js";
import { ruleForm } from "../shared/config/limits/rule-limits.js";
import { type BudgetDefinition, parseBudgetWrite } from "../shared/domain/budget.js";
import { parseRuleWrite, type RuleDefinition } from "../shared/domain/rule.js";
import { budgetOfItem, ruleOfItem } from "../shared/limit-files/limit-entry.js";
import { readLimitsFile } from "../shared/limit-files/read-limits-file.js";
import { writeLimitsFile } from "../shared/limit-files/write-limits-file.js";
import { ask, startDaemon } from "./limiterd/in-memory-daemon.js";
import { accepted } from "./shared/config/resolve-sample.js";

interface Row {
  readonly field: string;
  /** As bodies, files and variables have it. */
  readonly value: unknown;
  /** What else the limit needs; `max_requests` or `amount` by default. */
  readonly beside?: Readonly<Record<string, unknown>>;
  readonly period?: string;
  /** As commander gives them, those of `beside` included. */
  readonly flags: SetFlags;
}

const requests = { max_requests: 5 };
const loops = {
  ...{ warn_after: 4, refuse_after: 9, compare_results: false },
  ...{ warn_after_turns: 50, refuse_after_turns: 80 },
};
const days = ["mon", "tue", "wed", "thu", "fri"];

const rules: readonly Row[] = [
  { field: "max_requests", value: 7, flags: { rpm: "7" } },
  { field: "max_tokens", value: 7, flags: { tpm: "7" } },
  { field: "max_input_tokens", value: 7, flags: { itpm: "7" } },
  { field: "max_output_tokens", value: 7, flags: { otpm: "7" } },
  { field: "max_cost", value: 0.25, flags: { period: "minute", cost: "0.25" } },
  {
    ...{ field: "max_tool_calls", value: 7, beside: { models: ["tool:web_search"] } },
    flags: { period: "minute", toolCalls: "7", models: "tool:web_search" },
  },
  {
    ...{ field: "max_enqueued_tokens", value: 700, period: "concurrent" },
    flags: { enqueued: "700" },
  },
  {
    ...{ field: "models", value: ["claude-opus-*", "!claude-opus-4"], beside: requests },
    flags: { rpm: "5", models: "claude-opus-*,!claude-opus-4" },
  },
  {
    field: "when",
    value: { days, from: "22:00", to: "06:30", time_zone: "Europe/Berlin" },
    beside: requests,
    flags: { rpm: "5", when: "mon-fri 22:00-06:30 Europe/Berlin" },
  },
  { field: "mode", value: "shadow", beside: requests, flags: { rpm: "5", shadow: true } },
  { field: "host_only", value: true, beside: requests, flags: { rpm: "5", hostOnly: true } },
  {
    ...{ field: "token_weights", value: { cached: 0.1, output: 5 }, beside: { max_tokens: 5 } },
    flags: { tpm: "5", tokenWeights: "cached=0.1,output=5" },
  },
  {
    ...{ field: "on_exhausted", value: { use: "cheap" }, beside: requests },
    flags: { rpm: "5", onExhausted: "use=cheap" },
  },
  {
    ...{ field: "hold", value: "hard", beside: { max_tokens: 5 } },
    flags: { tpm: "5", hold: "hard" },
  },
  {
    field: "shares",
    value: { default_weight: 2, children: { a: { weight: 3, floor: 0.2, priority: -1 } } },
    beside: requests,
    flags: { rpm: "5", shares: "a: weight=3, floor=0.2, priority=-1; *: weight=2" },
  },
  {
    ...{ field: "loops", value: loops, period: "concurrent" },
    flags: {
      loops:
        "warn_after=4, refuse_after=9, compare_results=no, warn_after_turns=50, refuse_after_turns=80",
    },
  },
  { field: "per_child", value: true, beside: requests, flags: { rpm: "5", perChild: true } },
];

const dollars = { amount: 5 };
const budgets: readonly Row[] = [
  { field: "amount", value: 0.5, flags: { monthly: "0.5" } },
  { field: "amount", value: 0.5, period: "session", flags: { session: "0.5" } },
  {
    ...{ field: "models", value: ["claude-opus-*", "openai/*"], beside: dollars },
    flags: { monthly: "5", models: "claude-opus-*,openai/*" },
  },
  {
    field: "unpriced",
    value: "refuse",
    beside: dollars,
    flags: { monthly: "5", unpriced: "refuse" },
  },
  {
    ...{ field: "time_zone", value: "Asia/Kathmandu", beside: dollars },
    flags: { monthly: "5", timeZone: "Asia/Kathmandu" },
  },
  { field: "anchor_day", value: 31, beside: dollars, flags: { monthly: "5", anchorDay: "31" } },
  { field: "rolling", value: true, beside: dollars, flags: { monthly: "5", rolling: true } },
  { field: "rollover", value: 0.125, beside: dollars, flags: { monthly: "5", rollover: "0.125" } },
  {
    ...{ field: "on_exhausted", value: "warn", beside: dollars },
    flags: { monthly: "5", onExhausted: "warn" },
  },
  { field: "hold", value: "hard", beside: dollars, flags: { monthly: "5", hold: "hard" } },
  { field: "per_child", value: true, beside: dollars, flags: { monthly: "5", perChild: true } },
];

const entitled = { perChildEntitled: true };
const head =
  "entitlements: [quota_templates]\nvirtual_models: { cheap: { targets: [{ model: simulator/sim-fast }] } }\nproviders: { simulator: { type: simulator } }\n";
const kinds = [
  {
    ...{ name: "rule", rows: rules, section: "rate_limits", key: "limit_key" },
    ...{ variable: "SET_RATE_LIMIT_TEAM", schema: "RuleWrite", period: "minute" },
    form: ruleForm,
    parse: (body: unknown) => parseRuleWrite(body, entitled),
    ofItem: ruleOfItem,
    flags: ruleFlags as FlagForm<string>,
    ops: ["rate-limits.put", "rate-limits.list"],
    fromDialog: (item: object) => ruleBody(ruleDraftOf(item as RuleItem), null),
  },
  {
    ...{ name: "budget", rows: budgets, section: "budgets", key: "budget_key" },
    ...{ variable: "SET_BUDGET_TEAM", schema: "BudgetWrite", period: "monthly" },
    form: budgetForm,
    parse: (body: unknown) => parseBudgetWrite(body, entitled),
    ofItem: budgetOfItem,
    flags: budgetFlags as FlagForm<string>,
    ops: ["budgets.put", "budgets.list"],
    fromDialog: (item: object) => budgetBody(budgetDraftOf(item as BudgetItem), null),
  },
] as const;

for (const kind of kinds)
  for (const { field, value, beside = {}, period = kind.period, flags } of kind.rows)
    t.test(`${field} of a ${period} ${kind.name} is the same at every door`, async (t) => {
      const { section, key, ops } = kind;
      const { per_child: perChild, ...limit } = { ...beside, [field]: value } as Record<
        string,
        unknown
      >;
      const body = {
        ...{ user_path: "/team", [key]: { period }, ...limit },
        ...(perChild === undefined ? {} : { per_child: true }),
      };
      const right = kind.parse(body);
      if (!right.ok) throw new Error(right.failure.message);
      t.notSame(kind.parse({ ...body, [field]: undefined }), right, "the field matters");

      const daemon = startDaemon([]);
      await ask(daemon, ops[0], body);
      const [item] = (await ask(daemon, ops[1], {}))[section] as readonly Record<string, unknown>[];
      t.same(item![field], value, "the list");
      t.same(kind.ofItem(item!), right, "a list read again");
      const made = kind.fromDialog(item!);
      t.same(kind.parse(made.ok && made.body), right, "the dialog");

      const entry = { path: "/team", ...(perChild === undefined ? {} : { per_child: true }) };
      const file = { [section]: { user_paths: [{ ...entry, limits: [{ period, ...limit }] }] } };
      const inFile = accepted(`${head}${section}: ${JSON.stringify(file[section])}\n`).config;
      const variable = JSON.stringify([{ period, ...limit, per_child: perChild }]);
      const inVariable = accepted(head, { env: { [kind.variable]: variable } }).config;
      const declared = ({ rateLimits, budgets }: typeof inFile) =>
        kind.name === "rule" ? rateLimits.rules : budgets.budgets;
      t.same(declared(inFile), [right.value], "the file");
      t.same(declared(inVariable), [right.value], "the variable");

      const typed = writesFromFlags(kind.flags, "/team", flags);
      t.ok(typed.ok, JSON.stringify(typed));
      if (typed.ok)
        t.same(
          typed.value.map((write) => kind.parse(write.body)),
          [right],
          "the flags",
        );

      const isRule = kind.name === "rule";
      const ofKind = [right.value] as unknown[];
      const exported = writeLimitsFile({
        rules: isRule ? (ofKind as RuleDefinition[]) : null,
        budgets: isRule ? null : (ofKind as BudgetDefinition[]),
      });
      const read = readLimitsFile({ file: "limits.yaml", text: exported, env: {} });
      if (!read.ok) throw new Error(exported);
      t.same(isRule ? read.rules : read.budgets, ofKind, "the exported file");
    });

t.test("no field is without a row, nor without its place in the API's description", async (t) => {
  const { components } = JSON.parse(readFileSync("docs/openapi.json", "utf8")) as {
    readonly components: { readonly schemas: Record<string, { readonly properties: object }> };
  };
  const ofKeys = ["user_path", "scope", "subject", "replaces", "limit_key", "budget_key"];
  for (const { rows, form, schema } of kinds) {
    const fields = [...new Set(rows.map(({ field }) => field))].sort();
    const inFiles = Object.keys(form.fields).filter((name) => !name.startsWith("period"));
    t.same([...inFiles, "per_child"].sort(), fields, "files and variables");
    const described = Object.keys(components.schemas[schema]!.properties);
    t.same(described.filter((name) => !ofKeys.includes(name)).sort(), fields, "OpenAPI");
  }
});
