import { readdirSync, readFileSync } from "node:fs";
import { Ajv, type ValidateFunction } from "ajv";
import t from "tap";
import { parse } from "yaml";
import { configSchema } from "../../../shared/config/config-schema.js";
import { parseShape } from "../../../shared/config/file/parse-shape.js";
import type { JsonSchema } from "../../../shared/config/kinds/value-kind.js";
import { alertSettings } from "../../../shared/config/settings/alert-settings.js";
import { jwtSettings } from "../../../shared/config/settings/jwt-settings.js";
import { mcpSettings } from "../../../shared/config/settings/mcp-settings.js";
import {
  modelTraitsSettings,
  perModelSettings,
} from "../../../shared/config/settings/model-traits-settings.js";
import { priceSettings, tierSettings } from "../../../shared/config/settings/price-settings.js";
import { providerSettings } from "../../../shared/config/settings/provider-settings.js";
import { rewriterSettings } from "../../../shared/config/settings/rewriter-settings.js";
import { settings } from "../../../shared/config/settings/settings.js";

const docs = new URL("../../../../docs/", import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, docs), "utf8");
const schema = configSchema();
const validate: ValidateFunction = new Ajv({ allErrors: true, allowUnionTypes: true }).compile(
  schema,
);

function problems(yaml: string): readonly string[] {
  return validate(parse(yaml)) ? [] : validate.errors!.map((error) => JSON.stringify(error));
}

t.test(
  "the example with everything in it, and an empty file, are as the schema says",
  async (t) => {
    t.same(problems(read("examples/sluice.yaml")), []);
    t.same(problems(""), []);
    t.same(problems("server:\nproviders: { openai: }\njwt:\n"), []);
  },
);

t.test("every sample of the pages is, but for the one that shows what is reported", async (t) => {
  const pages = readdirSync(docs).filter((name) => name.endsWith(".md"));
  const samples = pages.flatMap((page) => [...read(page).matchAll(/^```yaml\n([^]*?)^```/gm)]);
  t.ok(samples.length > 5, `${samples.length} samples`);
  for (const [, sample] of samples) {
    // Others are of Kubernetes, or of other programs.
    const keys = [...sample!.matchAll(/^(\w+):/gm)].map(([, key]) => key!);
    const isOfHelm = keys.includes("central");
    if (isOfHelm || !keys.some((key) => key in (schema["properties"] as object))) continue;
    const isWrong = sample!.includes("prot:");
    t.equal(problems(sample!).length > 0, isWrong, sample!.split("\n")[0]!);
  }
});

t.test("misspelt keys and wrong values are marked, variables aren't", async (t) => {
  for (const wrong of [
    "sever: {}",
    "server: { prot: 1 }",
    "server: { port: 70000 }",
    "server: { port: eighty }",
    "server: { passthrough: everybody }",
    "limiter: { failure_mode: ajar }",
    "providers: { x: { base_uri: 'http://h' } }",
    "providers: { x: { base_url: h } }",
    "providers: { x: { operations: [chat] } }",
    "providers: { x: { model_traits: [{ images: true }] } }",
    "virtual_models: { x: { targets: [] } }",
    "virtual_models: { x: { strategy: random, targets: [{ model: a/b }] } }",
    "virtual_models: { x: { targets: [{ model: a/b, wait: 1 }] } }",
    "prices: { a/b: { input: 1, changes: [{ input: 2 }] } }",
    "prices: { a/b: { input: -1, output: 1 } }",
    "jwt: [{ isuer: x }]",
    "rewriters: [{ name: shorten }]",
    "rate_limits: { user_paths: [{ path: /, limits: [{ period: concurrent, loops: { warn: 5 } }] }] }",
    "rate_limits: { user_paths: [{ path: /, limits: [{ period: concurrent, loops: { warn_after: 101 } }] }] }",
    "alerts: [{ at: [0.8] }]",
    "alerts: [{ url: https://x.example, at: [80] }]",
    "rate_limits: { user_paths: [{ path: / }] }",
    "rate_limits: { user_paths: [{ path: /, limits: [{ period: minute, max_request: 1 }] }] }",
    "rate_limits: { user_paths: [{ path: /, limits: [{ period: minute, max_requests: 0 }] }] }",
    "rate_limits: { models: [{ model: x, per_child: true, limits: [{ period: day, max_tokens: 1 }] }] }",
    "budgets: { labels: [{ label: x, limits: [{ period: daily }] }] }",
    "budgets: { user_paths: [{ path: /, limits: [{ period: daily, amount: 0 }] }] }",
    "entitlements: [everything]",
    "log_level: loud",
  ])
    t.ok(problems(wrong).length > 0, wrong);
  for (const right of [
    "rate_limits: { user_paths: [{ path: /, limits: [{ period: day, max_requests: 0, models: [o3] }] }] }",
    'server: { port: "${PORT}", allow_open: "${OPEN}", passthrough: "${WHO}" }',
    'server: { port: "8080", allow_open: yes, cors_origins: "https://a.example,https://b.example" }',
    'providers: { x: { base_url: "${URL}", api_keys: [a, { key: b, weight: 2 }], models: "a,b" } }',
    'rate_limits: { user_paths: [{ path: /, limits: [{ period_seconds: "${S}", max_requests: 1 }] }] }',
    'log_level: "${LEVEL}"',
  ])
    t.same(problems(right), [], right);
});

type Node = { readonly [key: string]: Node } & JsonSchema;
const definition = (name: string): Node => (schema as Node)["definitions"]![name]!;

t.test("every setting is in it, with its meaning and its default", async (t) => {
  for (const { path, meaning, defaultText, defaultValue, env } of Object.values(settings)) {
    let node = schema as Node;
    for (const key of path.split(".")) node = node["properties"]![key]!;
    const description = String(node["description"]);
    t.ok(description.startsWith(meaning) && description.includes(`Default: ${defaultText}`), path);
    t.ok(env === null || description.includes(env), path);
    t.same(
      node["default"],
      typeof defaultValue === "number" ? Number(defaultText) : (defaultValue ?? undefined),
      path,
    );
  }
  const { model_traits: traits, per_model: perModel } = definition("provider")["properties"]!;
  const { tiers } = definition("price")["properties"]!;
  for (const [table, node] of [
    [providerSettings, definition("provider")],
    [modelTraitsSettings, traits!["items"]!],
    [perModelSettings, perModel!["items"]!],
    [priceSettings, definition("price")],
    [tierSettings, tiers!["items"]!],
    [mcpSettings, definition("mcp_server")],
    [jwtSettings, definition("issuer")],
    [rewriterSettings, definition("rewriter")],
    [alertSettings, definition("alert")],
  ] as const)
    for (const [key, { meaning }] of Object.entries(table))
      t.ok(String(node["properties"]![key]!["description"]).startsWith(meaning), key);
});

/** A value with every key that a schema has. */
function full(node: Node): unknown {
  const { $ref, anyOf, properties, additionalProperties, items, enum: words } = node;
  if ($ref !== undefined) return full(definition(String($ref).replace("#/definitions/", "")));
  if (node["default"] !== undefined) return node["default"];
  if (properties !== undefined || typeof additionalProperties === "object")
    return Object.fromEntries([
      ...Object.entries(properties ?? {}).map(([key, each]) => [key, full(each)]),
      ...(typeof additionalProperties === "object" ? [["x", full(additionalProperties)]] : []),
    ]);
  if (items !== undefined) return [full(items)];
  if (anyOf !== undefined) return full((anyOf as unknown as readonly Node[])[0]!);
  return (words as unknown as readonly unknown[] | undefined)?.[0] ?? node["minimum"] ?? "x";
}

t.test("every key that it has is known to the program", async (t) => {
  const found: string[] = [];
  const document = full(schema as Node);
  parseShape(document, found);
  t.same(
    found.filter((problem) => problem.includes("not a known key")),
    [],
  );
  const text = JSON.stringify(document);
  for (const key of ["above_input_tokens", "per_child", "amount"]) t.ok(text.includes(key), key);
});
