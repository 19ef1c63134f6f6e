import fc from "fast-check";
import t from "tap";
import {
  keyOf,
  rollupFromText,
  rollupText,
  sumPlaceOf,
} from "../../../../limiterd/cluster/usage/usage-pieces.js";
import { addRollup, emptyRollup, rollupOf } from "../../../../limiterd/usage/rollup.js";
import {
  labelPrefix,
  modelSuffix,
  modelsPrefix,
  originKey,
  totalPrefix,
} from "../../../../limiterd/usage/rollup-keys.js";
import { noDetailCounts } from "../../../../shared/usage/usage-details.js";
import { recordOn } from "../../usage/usage-fixture.js";

const day = "2026-03-10";
const name = fc.stringMatching(/^[^\n/]{1,12}$/);
const path = fc.oneof(
  fc.constant("/"),
  fc.array(name, { minLength: 1, maxLength: 4 }).map((parts) => `/${parts.join("/")}`),
);

t.test("a sum's place is enough to find its key again", async () => {
  fc.assert(
    fc.property(path, name, name, name, (userPath, provider, model, keyId) => {
      const suffix = modelSuffix(provider, model);
      const keys = [
        totalPrefix(userPath) + day,
        modelsPrefix(userPath) + day + suffix,
        originKey(day, { userPath, keyId }, suffix),
        originKey(day, { userPath, keyId: "" }, modelSuffix("", model)),
      ];
      return keys.every((key) => {
        const place = sumPlaceOf(key);
        return place !== null && place.day === day && keyOf(place) === key;
      });
    }),
  );
});

t.test("sums by label, and damaged keys, are in no piece", async (t) => {
  for (const key of [labelPrefix("eu") + day, "", "t", "t\n/\nteam", "m\n/", "o\n/\n", "x\ny\nz"])
    t.equal(sumPlaceOf(key), null, JSON.stringify(key));
});

t.test("a sum is read as it was written, whatever it counts", async (t) => {
  const sum = emptyRollup();
  t.equal(rollupText(sum), "");
  addRollup(sum, rollupOf(recordOn("/a", { inputTokens: 3, outputTokens: 0, totalCost: 12 })));
  t.same(rollupFromText(rollupText(sum)), sum);
  sum.details = { ...noDetailCounts, webSearches: 4 } as never;
  const read = rollupFromText(rollupText({ ...sum, models: 9 }));
  t.equal(read?.details?.webSearches, 4);
  t.equal(read?.models, 0, "which counts for this host's store alone");
  for (const text of ["", "x", "1,-2", "1,1.5", "9".repeat(20), `${"1,".repeat(9)}1,1000000`])
    t.equal(rollupFromText(text), null, text);
});
