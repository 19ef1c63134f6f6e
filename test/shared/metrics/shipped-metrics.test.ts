/** Holds the Grafana board and the alerts in docs/examples to the table of metrics. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { parse } from "yaml";
import type { Metric } from "../../../shared/metrics/metric.js";
import { metricsTable } from "../../../shared/metrics/metrics-table.js";
import { root } from "../../tidy/source-tree.js";

const read = (path: string): string => readFileSync(join(root, "docs/examples", path), "utf8");

interface Panel {
  readonly title: string;
  readonly gridPos: {
    readonly x: number;
    readonly y: number;
    readonly w: number;
    readonly h: number;
  };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

const board = JSON.parse(read("grafana/sluice.json")) as { readonly panels: readonly Panel[] };
const alerts = parse(read("prometheus/alerts.yaml")) as {
  readonly groups: readonly {
    readonly rules: readonly { readonly alert: string; readonly expr: string }[];
  }[];
};

/** What a metric's series are called, with the labels that each has. */
const seriesNames = new Map<string, ReadonlySet<string>>(
  metricsTable.flatMap(({ name, kind, labels }: Metric): [string, ReadonlySet<string>][] => {
    // Prometheus adds the others; `environment` is one that operators give their targets.
    const own = new Set([...labels, "instance", "job", "environment"]);
    if (kind === "counter" || kind === "gauge") return [[name, own]];
    const parts: [string, ReadonlySet<string>][] = [
      [`${name}_sum`, own],
      [`${name}_count`, own],
    ];
    return kind === "histogram"
      ? [...parts, [`${name}_bucket`, new Set([...own, "le"])]]
      : [...parts, [name, new Set([...own, "quantile"])]];
  }),
);

/** The series of an expression, each with the labels that it is narrowed by. */
function seriesOf(expr: string): readonly (readonly [name: string, labels: readonly string[]])[] {
  const found = expr.matchAll(
    /\b((?:sluice|gen_ai_client|http_server|process|nodejs)_\w+)(?:\{([^}]*)\})?/g,
  );
  return [...found].map(([, name, narrowed = ""]) => [
    name!,
    [...narrowed.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label]) => label!),
  ]);
}

function holds(t: Test, expr: string, name: string): void {
  const used = seriesOf(expr);
  t.ok(used.length > 0, `${name} is about something`);
  const known = new Set<string>();
  for (const [series, labels] of used) {
    const own = seriesNames.get(series);
    t.ok(own !== undefined, `${name}: ${series} is in the table`);
    for (const label of labels) t.ok(own?.has(label), `${name}: ${series} has the label ${label}`);
    for (const label of own ?? []) known.add(label);
  }
  for (const [, grouped] of expr.matchAll(/\bby \(([^)]*)\)/g))
    for (const label of grouped!.split(",").map((each) => each.trim()))
      t.ok(known.has(label), `${name}: a series has the label ${label}`);
}

t.test("every name and label of the alerts is in the table", async (t) => {
  const rules = alerts.groups.flatMap((group) => group.rules);
  t.ok(rules.length >= 11);
  for (const { alert, expr } of rules) holds(t, expr, alert);
});

t.test("every name and label of the board is in the table", async (t) => {
  const rows = board.panels.filter(({ targets }) => targets === undefined);
  t.same(
    rows.map(({ title }) => title),
    [
      "Traffic",
      "Refusals",
      "Limits",
      "Budgets",
      "Tenants",
      "Providers",
      "Limiter health",
      "Store",
      "Several hosts",
    ],
  );
  for (const { title, targets = [] } of board.panels)
    for (const { expr } of targets) {
      holds(t, expr, title);
      for (const [series, labels] of seriesOf(expr))
        for (const label of ["environment", "instance"])
          t.ok(labels.includes(label), `${title}: ${series} is narrowed by ${label}`);
    }
});

/** On no panel and in no alert: what others on the board say better, or what only a bug changes. */
const elsewhere: readonly string[] = [
  "nodejs_heap_size_used_bytes",
  "process_start_time_seconds",
  "sluice_adaptive_concurrency",
  "sluice_config_last_reload_success_timestamp_seconds",
  "sluice_limiter_alerts_total",
  "sluice_limiter_pending_responses",
  "sluice_limiter_pending_responses_left_out_total",
  "sluice_limiter_settles_repeated_total",
  "sluice_limiter_settles_total",
  "sluice_limiter_waited_total",
  "sluice_loops_total",
  "sluice_price_list_timestamp_seconds",
  "sluice_shadow_rule_would_refuse_total",
  "sluice_tool_calls_total",
  "sluice_unknown_tokens_total",
  "sluice_upstream_limit",
  "sluice_upstream_refusals_total",
  "sluice_upstream_remaining",
  "sluice_upstream_saturated",
];

t.test("every metric is on the board or in an alert, but for a few", async (t) => {
  const expressions = [
    ...board.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
    ...alerts.groups.flatMap(({ rules }) => rules.map(({ expr }) => expr)),
  ];
  const shown = new Set(expressions.flatMap(seriesOf).map(([name]) => name));
  const missing = metricsTable
    .map(({ name }) => name)
    .filter((name) => ![name, `${name}_bucket`, `${name}_count`].some((each) => shown.has(each)));
  t.same(missing.sort(), elsewhere);
});

t.test("no two panels of the board are in the same place", async (t) => {
  const taken = new Map<string, string>();
  for (const { title, gridPos } of board.panels)
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        const other = taken.get(`${x} ${y}`);
        if (other !== undefined) t.fail(`${title} covers ${other}`);
        taken.set(`${x} ${y}`, title);
      }
  t.same(
    board.panels.filter(({ gridPos: { x, w } }) => x + w > 24).map(({ title }) => title),
    [],
  );
});
