import t from "tap";
import { grantedTo, streamCap } from "../../../proxy/handlers/hard-cap.js";
import type { WantedOutput } from "../../../proxy/hard-caps/output-allowance.js";
import { OutputRatios } from "../../../proxy/hard-caps/output-ratios.js";
import { requestBounds } from "../../../proxy/hard-caps/request-bounds.js";
import type { RequestContext } from "../../../proxy/request-context.js";
import { outputChunkTokens } from "../../../shared/bounds.js";

const target = { provider: "a", model: "m" };

function bounds(isStream: boolean) {
  const body = Buffer.from('{"n":2}');
  return requestBounds({ operation: "chat_completions", body, bytes: 0, isStream });
}

/** A request of which 30 of 100 tokens are left, and what it asks the daemon for. */
function requestWith(metering: object | undefined) {
  const draws: number[] = [];
  const admission = { lease: 7, metering };
  const outputRatios = new OutputRatios();
  const gateway = {
    limiter: { draw: (_admission: unknown, { total }: WantedOutput) => void draws.push(total) },
    outputRatios,
    monoMs: () => 77,
  };
  const context = { gateway, record: { admission } };
  return {
    context: context as unknown as RequestContext<"limiter" | "outputRatios" | "monoMs">,
    draws,
    outputRatios,
  };
}

const metering = { granted: 100, spent: 70, cap: null, promptTokens: 5, isPromptKnown: false };

t.test("an answer that isn't a stream gets what earlier attempts have left", async (t) => {
  const { context } = requestWith({ ...metering });
  t.same(grantedTo(context.record, bounds(false)), { tokens: 30, choices: 2, loweredBy: null });
  t.equal(grantedTo(context.record, bounds(true)), null, "a stream is cut");
  const uncounted = requestWith(undefined).context;
  t.equal(grantedTo(uncounted.record, bounds(false)), null, "none counts the request");
});

t.test("a stream draws for its lease, and teaches the bytes of a token", async (t) => {
  const { context, draws, outputRatios } = requestWith({ ...metering });
  const how = { operation: "chat_completions" } as const;
  t.equal(streamCap(context, target, { ...how, bounds: bounds(false) }), null);
  const uncounted = requestWith(undefined).context;
  t.equal(streamCap(uncounted, target, { ...how, bounds: bounds(true) }), null);
  const cap = streamCap(context, target, { ...how, bounds: bounds(true) })!;
  t.equal(cap.bytesPerToken, 4);
  t.ok(cap.allowance.use(29, () => {}));
  t.same(draws, [100 + outputChunkTokens]);
  cap.learn(100, 100);
  t.ok(outputRatios.of("a/m") < 4);
});
