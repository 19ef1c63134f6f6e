import t from "tap";
import {
  type AdminOp,
  isAdministration,
  isChange,
  isRead,
  isRepeatable,
  openTargetCharsMax,
  openTargetsMax,
  parseOpenTargets,
} from "../../../shared/wire/admin-op.js";

t.test("what an operation does says who may ask it, and whether it is asked again", async (t) => {
  const table: readonly (readonly [AdminOp, ...boolean[]])[] = [
    // A read, a change, may be repeated, is for the socket of administration.
    ["rate-limits.list", true, false, true, true],
    ["usage.status", true, false, true, false],
    ["explain", true, false, true, false],
    ["rate-limits.put", false, true, false, true],
    ["keys.issue", false, true, false, true],
    ["objects.own", false, true, true, false],
    ["objects.owners", true, false, true, false],
    ["sessions.open", false, false, true, false],
    ["sessions.open-admin", false, false, true, true],
    ["targets.report", false, false, true, false],
    ["backup", true, false, true, true],
  ];
  for (const [op, ...expected] of table)
    t.same([isRead(op), isChange(op), isRepeatable(op), isAdministration(op)], expected, op);
});

t.test("a proxy tells of so many targets, in sentences of so many characters", async (t) => {
  const longest = "x".repeat(openTargetCharsMax);
  for (const targets of [[], ["a"], Array(openTargetsMax).fill(longest)])
    t.strictSame(parseOpenTargets({ targets }), { ok: true, value: targets });
  const tooMany = Array(openTargetsMax + 1).fill("a");
  for (const targets of [undefined, null, "a", ["a", 7], [`${longest}x`], tooMany])
    t.match(parseOpenTargets({ targets }), { ok: false, failure: { param: "targets" } });
  t.match(parseOpenTargets(null), { ok: false, failure: { param: "targets" } });
});
