import t from "tap";
import { asKnownTo } from "../../../proxy/limiter/settle-for-version.js";
import type { Settle } from "../../../shared/wire/message-to-daemon.js";
import { passesOverFields } from "../../../shared/wire/wire-versions.js";
import { executed } from "../../limiterd/in-memory-daemon.js";
import { someSettle } from "./spool/some-settle.js";

const leased: Partial<Settle> = {
  lease: 3,
  admittedAtMs: 4,
  lsn: 5,
  targetAtMs: 6,
  targetLsn: 7,
  targetStartedAgoMs: 1500,
};
const record = executed({ requestedModel: "smart" });

t.test("a daemon that passes over what it doesn't know gets the settle as it is", async (t) => {
  for (const part of ["request", "progress", "untried", "cached", "withdrawn"] as const) {
    const settle = someSettle(1, { ...leased, part, record });
    for (const version of [passesOverFields, passesOverFields + 1])
      t.equal(asKnownTo(version, settle), settle, part);
  }
});

t.test("an earlier one gets what it knows, and what holds a lease on as a record", async (t) => {
  const known = { record: { ...record, requestedModel: "", details: null } };
  const alone = {
    part: "cached",
    lease: 0,
    admittedAtMs: 0,
    lsn: 0,
    target: null,
    targetAtMs: 0,
    targetLsn: 0,
    tokens: 0,
  } as const;
  for (const [part, changed] of [
    ["request", {}],
    ["cached", {}],
    ["withdrawn", {}],
    ["progress", alone],
    ["untried", alone],
  ] as const) {
    const settle = someSettle(1, { ...leased, part, record });
    t.same(
      asKnownTo(passesOverFields - 1, settle),
      { ...settle, targetStartedAgoMs: undefined, ...known, ...changed },
      part,
    );
  }
  const none = someSettle(1, { ...leased, record: null });
  t.equal(asKnownTo(passesOverFields - 1, none).record, null);
});
