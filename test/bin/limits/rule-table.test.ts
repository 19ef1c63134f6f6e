import t from "tap";
import { filterLimits, limitOf, limitsOn } from "../../../bin/limits/list-limits.js";
import { renderRules } from "../../../bin/limits/rule-table.js";
import { listed } from "../fake-daemon.js";

const minute = {
  scope: "user_path",
  subject: "/team",
  periodSeconds: 60,
  maxRequests: 100,
  maxTokens: 5000,
  perChild: false,
} as const;
const serverTime = "2025-06-01T12:00:18.000Z";

t.test(
  "the table shows used of cap, the gauge of concurrency rules and the time to the end of the window",
  async (t) => {
    const rules = [
      {
        ...listed({
          scope: "user_path",
          subject: "/apps",
          periodSeconds: 0,
          maxRequests: 8,
          maxTokens: null,
          perChild: false,
        }),
        in_flight: 3,
        requests_used: 3,
        max_enqueued_tokens: 500,
        enqueued_tokens_used: 20,
      },
      { ...listed(minute), requests_used: 12, tokens_used: 640 },
      { ...listed({ ...minute, maxTokens: null }), models: ["o3", "!o3-x"] },
      { ...listed({ ...minute, maxRequests: 0, maxTokens: null }), models: ["o3-pro"] },
      {
        ...listed({ ...minute, subject: "/users", maxTokens: null, perChild: true }),
        host_only: true,
        source: "config",
      },
    ];
    const expected = [
      "SCOPE      SUBJECT                         PERIOD      REQUESTS           TOKENS  IN FLIGHT  RESETS IN  SOURCE",
      "user_path  /apps                           concurrent         -  20/500 enqueued        3/8          -  manual",
      "user_path  /team                           minute        12/100         640/5000          -        42s  manual",
      "user_path  /team on o3, !o3-x              minute         0/100                -          -        42s  manual",
      "user_path  /team on o3-pro                 minute        banned                -          -        42s  manual",
      "user_path  /users (each child, each host)  minute         -/100                -          -          -  config",
    ];
    t.equal(renderRules({ items: rules, serverTime }), expected.join("\n"));
  },
);

t.test("a rule that can't be enforced is named below the table", async (t) => {
  const text = renderRules({
    items: [{ ...listed(minute), inert: "usage tracking is off" }],
    serverTime,
  });
  t.equal(text.split("\n").at(-1), "inert: user_path /team minute: usage tracking is off");
});

t.test("no rules are a sentence", async (t) => {
  t.equal(renderRules({ items: [], serverTime }), "no rules");
});

t.test(
  "a path leaves the rules that apply to a caller with it: its ancestors' and its own, a template's only below it",
  async (t) => {
    const on = (subject: string, perChild = false): Record<string, unknown> =>
      listed({ ...minute, subject, perChild });
    const list = {
      items: [
        on("/"),
        on("/team"),
        on("/team", true),
        on("/team/app"),
        on("/team-alpha"),
        listed({ ...minute, scope: "provider", subject: "openai" }),
      ],
      serverTime,
    };
    const kept = (caller: string | null, path: string | null = null): unknown =>
      filterLimits(list, { scope: null, path, caller }).items.map(
        (rule) => `${String(rule["subject"])}${rule["per_child"] === true ? "/*" : ""}`,
      );
    t.same(kept("/team"), ["/", "/team"]);
    t.same(kept("/team/app"), ["/", "/team", "/team/*", "/team/app"]);
    t.same(kept("/"), ["/"]);
    t.same(kept(null, "/team"), ["/team", "/team/*", "/team/app"], "and below it");
    t.same(kept(null, "/team/app"), ["/team/*", "/team/app"], "with its own child");
    t.same(kept(null, "/team/app/x"), []);
    const ofSessions = { ...on("/team", true), period_label: "session" };
    const sessions = { items: [ofSessions], serverTime };
    const listedOn = (path: string): number =>
      filterLimits(sessions, { scope: null, path, caller: null }).items.length;
    t.same([listedOn("/team"), listedOn("/team/app")], [1, 0], "sessions aren't children");
    t.same(kept(null, "/"), ["/", "/team", "/team/*", "/team/app", "/team-alpha"]);
  },
);

t.test("rules are found by subject without case for providers, with case for paths", async (t) => {
  const list = {
    items: [listed({ ...minute, scope: "provider", subject: "OpenAI" }), listed(minute)],
    serverTime,
  };
  t.equal(limitsOn(list, { scope: "provider", subject: "openai" }).items.length, 1);
  t.equal(limitsOn(list, { scope: "user_path", subject: "/Team" }).items.length, 0);
  const key = { scope: "user_path", subject: "/team", periodSeconds: 60 };
  t.equal(limitOf(list, key).items.length, 1);
  t.equal(limitOf(list, { ...key, periodSeconds: 3600 }).items.length, 0);
  t.equal(limitOf(list, { ...key, models: "gpt-4o" }).items.length, 0);
  const forModels = { ...list, items: [{ ...listed(minute), models: ["gpt-4o", "o3"] }] };
  t.equal(limitOf(forModels, { ...key, models: "gpt-4o o3" }).items.length, 1);
  t.equal(limitOf(forModels, key).items.length, 0);
});

t.test("one that was edited by hand is marked, with what the configuration has", async (t) => {
  const overrides = {
    per_child: false,
    max_requests: 50,
    max_tokens: 9,
    declared_at: "/etc/sluice.yaml: rate_limits.user_paths[0].limits[1]",
    declared_line: 12,
  };
  const text = renderRules({ items: [{ ...listed(minute), overrides }], serverTime });
  t.match(text, "  manual, not config sluice.yaml:12\n");
  t.ok(
    text.endsWith(
      "not config: user_path /team minute: the configuration has 50 requests and 9 tokens; sluice limits revert takes that",
    ),
    text,
  );
});

t.test("a raised rule is listed with its raised cap, and a line says until when and why", (t) => {
  const raise = { from: "", until: "2026-11-21T14:00:00.000Z", by: "ann", reason: "launch" };
  const rule = {
    ...{ scope: "user_path", subject: "/users", period_label: "minute", period_seconds: 60 },
    ...{ max_requests: 10, requests_used: 4, tokens_used: 0, per_child: true, source: "manual" },
    raises: [
      { subject: "/users/ann", max_requests: 20, ...raise },
      { subject: "/users", max_requests: 15, max_tokens: 7, ...raise },
    ],
  };
  const child = (subject: string) => ({ ...rule, subject, template: "/users" });
  const text = renderRules({
    items: [rule, child("/users/ann"), child("/users/ann/x"), child("/users/bob")],
    serverTime: "2026-11-21T12:00:00.000Z",
  });
  t.match(text, / -\/15 .*\n.* 4\/20 .*\n.* 4\/20 .*\n.* 4\/15 /);
  const rest = "until 2026-11-21T14:00:00.000Z, by ann: launch";
  t.match(text, `raised: user_path /users/ann minute: 20 requests ${rest}`);
  t.match(text, `raised: user_path /users minute: 15 requests and 7 tokens ${rest}`);
  t.end();
});
