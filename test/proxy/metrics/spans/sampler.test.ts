import fc from "fast-check";
import t from "tap";
import { isSampled } from "../../../../proxy/metrics/spans/sampler.js";
import { traceSamplers } from "../../../../shared/metrics/telemetry-config.js";

const traceId = "0af7651916cd43dd8448eb211c80319c";
const recorded = { traceId, sampled: true };
const unrecorded = { traceId, sampled: false };

t.test("each sampler, by what the caller says", async (t) => {
  // Of a part of one half, by chances of 0.4 and 0.6; the id's random part is 0.93.
  const table = [
    ["always_on", [true, true, true, true]],
    ["always_off", [false, false, false, false]],
    ["traceidratio", [false, false, true, false]],
    ["parentbased_always_on", [true, false, true, true]],
    ["parentbased_always_off", [true, false, false, false]],
    ["parentbased_traceidratio", [true, false, true, false]],
  ] as const;
  for (const [sampler, expected] of table) {
    const config = { sampler, sample: 0.5 };
    const decided = [
      isSampled(config, recorded, () => 0),
      isSampled(config, unrecorded, () => 0),
      isSampled(config, null, () => 0.4),
      isSampled(config, null, () => 0.6),
    ];
    t.same(decided, expected, sampler);
  }
  t.same(
    table.map(([sampler]) => sampler),
    traceSamplers,
  );
});

t.test("a ratio takes all, none, or the same traces as any smaller one and more", async (t) => {
  const ids = fc.stringMatching(/^[0-9a-f]{32}$/);
  const takes = (id: string, sample: number): boolean =>
    isSampled({ sampler: "traceidratio", sample }, { traceId: id, sampled: false }, () => 0);
  fc.assert(
    fc.property(ids, fc.double({ min: 0, max: 1, noNaN: true }), (id, sample) => {
      if (takes(id, 0) || !takes(id, 1)) return false;
      return !takes(id, sample / 2) || takes(id, sample);
    }),
  );
  t.end();
});
