/** Bugs in what running requests hold of hard caps, which the simulation of caps finds. */
import type { Mutant } from "./mutant.js";

const slots = "limiterd/rules/slots.js";
const output = "limiterd/handlers/hold-output.js";
const interrupted = "limiterd/handlers/interrupted-requests.js";
const limits = "limiterd/rules/hard-limits.js";

const tokens = "limiterd/shares/share-tokens.js";
const claims = "limiterd/cluster/spend/account-claims.js";

const ofOneHost = (
  [
    {
      name: "an allowance is held twice after a reconnect",
      file: "limiterd/handlers/accept-hello.js",
      find: "releaseInterrupted(proxy, id);",
      put: "",
    },
    {
      name: "a settle doesn't give back what its request held",
      file: slots,
      find: "giveBack(heldLease.hold); releaseSlots(heldLease);",
      put: "releaseSlots(heldLease);",
    },
    {
      name: "a lost connection gives back what its requests hold",
      file: slots,
      find: "proxy.interrupted.set(id, { lease, endedAtMs: null });",
      put: "giveBack(lease.hold);",
    },
    {
      name: "what was drawn is free again at a proxy's death",
      file: interrupted,
      find: "chargeEstimate(state, { proxy, id, request: ended }, estimate, nowMs);",
      put: "",
    },
    {
      name: "what was drawn is lost if daemon and proxy are killed together",
      file: interrupted,
      find: "if (changes.length > 0) void writer.write(changes);",
      put: "",
    },
    {
      name: "a settle doesn't replace what was charged for its dead proxy",
      file: interrupted,
      find: "proxy.interrupted.delete(id); const record",
      put: "return null; const record",
    },
    {
      name: "a chunk is lost at a crash",
      file: output,
      find: "const { promptTokens, output, rates, keyId, session } = holding;",
      put: "const { promptTokens, rates, keyId, session } = holding; const output = 0;",
    },
    {
      name: "a draw adds to what was held",
      file: output,
      find: "giveBack(hold); const turn",
      put: "const turn",
    },
    {
      name: "an admission ignores what running requests hold",
      file: limits,
      find: "(left - held.of(child)) * weights.parts",
      put: "left * weights.parts",
    },
    {
      name: "a running stream takes what floors keep for others",
      from: 20,
      file: limits,
      find: "Math.floor(roomOfShare(shared, within.cap, nowMs))",
      put: "Math.floor(within.left - within.held.of(within.child))",
    },
    {
      name: "a floor is free although its owner's streams hold a part of it",
      from: 20,
      file: "limiterd/rules/judge-share.js",
      find: "scale * (usedOf(counted, unit, thenMs) + stillUsed(name))",
      put: "scale * usedOf(counted, unit, thenMs)",
    },
    {
      name: "a new request takes what floors keep for others",
      from: 20,
      file: "limiterd/rules/judge.js",
      find: "request, need: needOfHardCap(counter, maxTokens, options) }",
      put: "request }",
    },
    {
      name: "a child whose stream draws doesn't want its floor",
      file: output,
      find: "if (cap?.source === source) sharedCap?.noteRefusal(share.name, nowMs); else sharedCap?.noteRequest(share.name, nowMs);",
      put: "",
      often: false,
    },
    {
      name: "a stream gets the tokens that its provider sends until the call is cancelled",
      file: limits,
      find: "Math.floor(room / weights.output) - inTransit(limit, demand)",
      put: "Math.floor(room / weights.output)",
    },
    {
      name: "a request alone on a cap is admitted however little is left",
      file: limits,
      find: "if (demand === undefined) return 1;",
      put: "if (demand === undefined || held === 0) return 1;",
    },
    {
      name: "a request alone on a cap needs room for the bound of its prompt",
      file: limits,
      find: "heldByOthers === 0 ? likelyPrompt : promptTokens",
      put: "promptTokens",
      often: false,
    },
    {
      name: "a prompt beside others counts as what it probably has",
      file: limits,
      find: "heldByOthers === 0 ? likelyPrompt : promptTokens",
      put: "likelyPrompt",
      often: false,
    },
    {
      name: "what prompts had isn't learned",
      file: output,
      find: "learnedPrompts.learn(target, hold.promptTokensMax, record.inputTokens);",
      put: "",
      often: false,
    },
    {
      name: "the prompt isn't held",
      file: limits,
      find: "weightedAmount(weights, promptTokens, output + inTransit",
      put: "weightedAmount(weights, 0, output + inTransit",
    },
  ] as const
).map((mutant) => ({ often: true, ...mutant, simulation: "caps" as const }));

const ofHosts = (
  [
    {
      name: "a report leaves out what running requests hold",
      file: tokens,
      find: "addCount(current, held + ahead)",
      put: "current",
    },
    {
      name: "a host uses what it hasn't claimed",
      file: "limiterd/shares/share.js",
      find: "engineMs === null ? 0 : this.tokens.leftOfClaim(own, engineMs)",
      put: "Number.MAX_SAFE_INTEGER",
    },
    {
      name: "a claim to a budget leaves out what running requests hold",
      file: claims,
      find: "const amount = held + this.#advance.amount;",
      put: "const amount = this.#advance.amount;",
    },
    {
      name: "a restarted host reports its spend before its proxies report what they hold",
      from: 110,
      file: "limiterd/cluster/spend/exchange-spend.js",
      find: "if (this.#ports.isRestoring()) return false;",
      put: "",
    },
    {
      name: "a host uses what it hasn't claimed of a budget",
      file: claims,
      find: "return Math.min(confirmed.upTo, this.#leastUpTo) - this.#used;",
      put: "return Number.MAX_SAFE_INTEGER;",
    },
    {
      name: "what other hosts claim of a budget isn't deducted",
      file: claims,
      find: "sum += amount;",
      put: "",
    },
  ] as const
).map((mutant) => ({ often: true, ...mutant, simulation: "shared-caps" as const }));

export const capsMutants: readonly Mutant[] = [...ofOneHost, ...ofHosts];
