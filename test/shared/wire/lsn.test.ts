import t from "tap";
import { isUnnumbered, uncountedLsn, unlimitedLsn } from "../../../shared/wire/lsn.js";

t.test("no verdict has numbered a request that had none, or needed none", async (t) => {
  t.same([uncountedLsn, unlimitedLsn], [1, 2], "releases agree on them");
  for (const [lsn, expected] of [
    [0, true],
    [uncountedLsn, false],
    [unlimitedLsn, true],
    [unlimitedLsn + 1, false],
    [Number.MAX_SAFE_INTEGER, false],
  ] as const)
    t.equal(isUnnumbered(lsn), expected, `${lsn}`);
});
