import t from "tap";
import { wireVersion } from "../../../shared/version.js";
import { describeVersions, speaks, wireVersions } from "../../../shared/wire/wire-versions.js";

t.test("a release speaks its own version and the one before", async (t) => {
  t.same(wireVersions, { oldest: Math.max(1, wireVersion - 1), newest: wireVersion });
  for (const [version, expected] of [
    [6, false],
    [7, true],
    [8, true],
    [9, true],
    [10, false],
  ] as const)
    t.equal(speaks({ oldest: 7, newest: 9 }, version), expected, `${version}`);
  t.equal(describeVersions({ oldest: 7, newest: 9 }), "wire versions 7 to 9");
  t.equal(describeVersions({ oldest: 9, newest: 9 }), "wire version 9");
});
