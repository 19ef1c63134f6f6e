/** What the one form for a key sends: the limits of its path first, then the key. */
import t from "tap";
import {
  differingValue,
  keyBody,
  keyLimits,
  newKey,
} from "../../../proxy/dashboard/web/logic/key-draft.js";
import { exactly } from "../../support/patterns/exactly.js";

const draft = {
  name: " ann ",
  path: "keys/ann/",
  models: "gpt-5.4, claude-*,",
  perMinute: "1,000",
  monthly: "$20.50",
  labels: "",
  days: "30",
};

t.test("a key has what is filled in, and nothing else", async (t) => {
  t.same(keyBody(draft, "2026-11-01T12:00:00.000Z"), {
    name: "ann",
    user_path: "keys/ann/",
    models: ["gpt-5.4", "claude-*"],
    expires_at: "2026-12-01T12:00:00.000Z",
  });
  t.same(keyBody(newKey, null), {});
});

t.test("requests per minute and dollars per month limit its path", async (t) => {
  const limits = keyLimits(draft);
  t.match(
    limits,
    exactly({
      ok: true,
      limits: [
        {
          path: "/admin/rate-limits",
          body: {
            scope: "user_path",
            subject: "/keys/ann",
            limit_key: { period: "minute" },
            max_requests: 1000,
          },
        },
        {
          path: "/admin/budgets",
          body: { subject: "/keys/ann", budget_key: { period: "monthly" }, amount: 20.5 },
        },
      ],
    }),
  );
  t.same(keyLimits(newKey), { ok: true, limits: [] });
  t.same(keyLimits({ ...draft, path: " " }), { ok: false, field: "path" });
  t.same(keyLimits({ ...draft, monthly: "much" }), { ok: false, field: "monthly" });
});

t.test("another value that the path has already is told", async (t) => {
  const limits = keyLimits({ ...draft, monthly: "" });
  const [limit] = limits.ok ? limits.limits : [];
  const rule = { subject: "/keys/ann", period_seconds: 60, max_requests: 5 };
  t.equal(differingValue(limit!, [rule]), 5);
  t.equal(differingValue(limit!, [{ ...rule, max_requests: 1000 }]), null, "the same one");
  for (const other of [
    { subject: "/keys" },
    { period_seconds: 3600 },
    { models: ["gpt-5.4"] },
    { mode: "shadow" },
    { template: "/keys" },
    { when: {} },
  ])
    t.equal(differingValue(limit!, [{ ...rule, ...other }]), null, JSON.stringify(other));
});
