/** Rules that apply within some hours of the week. */
import t from "tap";
import type { RuleDefinition } from "../../../shared/domain/rule.js";
import type { FromDaemon } from "../../../shared/wire/message-from-daemon.js";
import { exactly } from "../../support/patterns/exactly.js";
import { ask, pathRule, startDaemon, type TestPeer } from "../in-memory-daemon.js";

const target = { provider: "openai", model: "gpt-4o" };
const office = "mon,tue,wed,thu,fri 09:00-17:00 Europe/Berlin";
const night = "mon,tue,wed,thu,fri 17:00-09:00 Europe/Berlin";
/** A Friday, at 16:59:00 in Berlin. */
const nowMs = Date.parse("2026-11-27T15:59:00Z");
const minute = 60_000;
const hour = 60 * minute;

function during(when: string, requests: number, period = 3600): RuleDefinition {
  return { ...pathRule("/team", period, { requests }), when };
}

let sequence = 0;

function admit(peer: TestPeer): FromDaemon {
  const id = ++sequence;
  const request = { userPath: "/team", credential: "authenticated", targets: [target] } as const;
  peer.send({ kind: "admit", id, ...request, submission: false, read: 0 });
  return peer.received.at(-1)!;
}

t.test("it refuses until its hours are over, and counts nothing outside them", async (t) => {
  const daemon = startDaemon([during(office, 2)], { nowMs });
  const peer = daemon.proxy("p");
  t.match(admit(peer), { kind: "admitted", headers: { requests: { limit: 2, remaining: 1 } } });
  t.match(admit(peer), { kind: "admitted" });
  t.match(admit(peer), { kind: "refused", waitSeconds: 60, when: office });
  daemon.nowMs += minute - 1;
  t.match(admit(peer), { kind: "refused", waitSeconds: 1 });
  daemon.nowMs += 1;
  for (let i = 0; i < 5; i++) t.match(admit(peer), { kind: "admitted", headers: null });
  t.match(
    await ask(daemon, "rate-limits.list", null),
    exactly({ rate_limits: [{ in_flight: 7 }] }),
  );
  daemon.nowMs = Date.parse("2026-11-30T07:59:59Z");
  t.match(admit(peer), { kind: "admitted", headers: null }, "Monday, before nine");
  daemon.nowMs += 1000;
  t.match(admit(peer), { kind: "admitted", headers: { requests: { remaining: 1 } } });
});

t.test("rules for the day and for the night exist beside each other", async (t) => {
  const daemon = startDaemon([during(office, 1), during(night, 2)], { nowMs: nowMs - hour });
  const peer = daemon.proxy("p");
  t.match(admit(peer), { kind: "admitted" });
  t.match(admit(peer), { kind: "refused", cap: 1, when: office });
  daemon.nowMs = nowMs + 6 * hour;
  t.match(admit(peer), { kind: "admitted" });
  t.match(admit(peer), { kind: "admitted" });
  t.match(admit(peer), { kind: "refused", cap: 2, when: night });
  const item = { days: ["mon", "tue", "wed", "thu", "fri"], from: "17:00", to: "09:00" };
  t.match(
    await ask(daemon, "rate-limits.list", null),
    exactly({ rate_limits: [{ when: { from: "09:00" } }, { when: item }] }),
  );
  const key = { user_path: "/team", limit_key: { period: "hour" } };
  const when = { ...item, time_zone: "Europe/Berlin" };
  await ask(daemon, "rate-limits.put", { ...key, when, max_requests: 5 });
  t.match(admit(peer), { kind: "admitted" });
  await t.rejects(ask(daemon, "rate-limits.delete", key), { message: "no hour rule on" });
  await ask(daemon, "rate-limits.delete", { ...key, when });
  const { next, rate_limits: left } = await ask(daemon, "rate-limits.list", { limit: 1 });
  t.match(left, exactly([{ when: { from: "09:00" } }]));
  t.equal(next, null);
});

t.test("pages go on behind a rule with hours", async (t) => {
  const rules = [during(office, 1), during(night, 2), pathRule("/team", 86_400, { requests: 9 })];
  const daemon = startDaemon(rules, { nowMs });
  const seen: unknown[] = [];
  for (let after: unknown = null; ; ) {
    const page = await ask(daemon, "rate-limits.list", { limit: 1, after });
    seen.push(...(page["rate_limits"] as readonly { readonly max_requests: number }[]));
    after = page["next"];
    if (after === null) break;
  }
  t.match(seen, exactly([{ max_requests: 1 }, { max_requests: 2 }, { max_requests: 9 }]));
});

t.test("a rule with hours survives a restart with its counts", async (t) => {
  const daemon = startDaemon([], { nowMs });
  const peer = daemon.proxy("p");
  await ask(daemon, "rate-limits.put", {
    user_path: "/team",
    limit_key: { period: "hour" },
    max_requests: 1,
    when: { from: "16:00", to: "24:00", time_zone: "Europe/Berlin" },
  });
  t.match(admit(peer), { kind: "admitted" });
  await daemon.commit();
  await daemon.snapshot();
  const again = startDaemon([], { nowMs, store: daemon.store.crash() });
  t.match(admit(again.proxy("p")), {
    kind: "refused",
    when: "mon,tue,wed,thu,fri,sat,sun 16:00-24:00 Europe/Berlin",
  });
});

t.test("slots are counted at all times, and refused within the hours", async (t) => {
  const daemon = startDaemon([during(office, 1, 0)], { nowMs: nowMs + hour });
  const peer = daemon.proxy("p");
  t.match(admit(peer), { kind: "admitted" });
  t.match(admit(peer), { kind: "admitted" });
  daemon.nowMs = Date.parse("2026-11-30T08:00:00Z");
  t.match(admit(peer), { kind: "refused", dimension: "concurrent", when: office });
  const explained = await ask(daemon, "explain", { user_path: "/team", targets: [target] });
  t.match(explained, exactly({ rules: [{ breached: ["concurrent"], when: { from: "09:00" } }] }));
});
