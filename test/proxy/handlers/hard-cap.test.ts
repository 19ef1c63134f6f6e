import t from "tap";
import { grantedTo, streamCap } from "../../../proxy/handlers/hard-cap.js";
import type { WantedOutput } from "../../../proxy/hard-caps/output-allowance.js";
import { requestBounds } from "../../../proxy/hard-caps/request-bounds.js";
import { TokenRatios } from "../../../proxy/hard-caps/token-ratios.js";
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
  const outputRatios = new TokenRatios("outputs");
  const promptRatios = new TokenRatios("prompts");
  const gateway = {
    limiter: { draw: (_admission: unknown, { total }: WantedOutput) => void draws.push(total) },
    outputRatios,
    promptRatios,
    monoMs: () => 77,
  };
  const context = { gateway, record: { admission } };
  return {
    context: context as unknown as RequestContext<
      "limiter" | "outputRatios" | "promptRatios" | "monoMs"
    >,
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
  const how = { operation: "chat_completions", promptBytes: () => 320 } as const;
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

t.test("a prompt counts as those of its size at its target did, unless it has files", async (t) => {
  const { context } = requestWith({ ...metering });
  const promptOf = (promptBytes: number, hasFiles = false) =>
    streamCap(context, target, {
      operation: "chat_completions",
      bounds: { ...bounds(true), hasFiles },
      promptBytes: () => promptBytes,
    })!;
  const first = promptOf(320);
  t.equal(first.promptBytes(), 320);
  for (let i = 0; i < 100; i++) promptOf(400).learnPrompt(50);
  const tokens = first.promptBytes() / 4;
  t.ok(tokens > 39 && tokens < 41, "also that of a stream that runs already");
  t.equal(promptOf(4000).promptBytes(), 4000, "a long prompt is less JSON");
  promptOf(4000, true).learnPrompt(10);
  t.equal(promptOf(4000).promptBytes(), 4000);
  t.equal(promptOf(400, true).promptBytes(), 400);
});
