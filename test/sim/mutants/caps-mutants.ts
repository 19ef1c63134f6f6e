/** Bugs in what running requests hold of hard caps, which the simulation of caps finds. */
import type { Mutant } from "./mutant.js";

const charge = "limiterd/rules/charge.js";
const output = "limiterd/handlers/hold-output.js";
const limits = "limiterd/rules/hard-limits.js";

const tokens = "limiterd/shares/share-tokens.js";

const ofOneHost = (
  [
    {
      name: "an allowance is held twice after a reconnect",
      file: "limiterd/handlers/accept-hello.js",
      find: "releaseOrphan(proxy, id);",
      put: "",
    },
    {
      name: "a settle doesn't give back what its request held",
      file: charge,
      find: "giveBack(held.hold); releaseSlots(held);",
      put: "releaseSlots(held);",
    },
    {
      name: "a lost connection gives back what its requests hold",
      file: charge,
      find: "peer.proxy?.orphans.set(lease, held.hold);",
      put: "giveBack(held.hold);",
    },
    {
      name: "a chunk is lost at a crash",
      file: output,
      find: "const { promptTokens, output, rates, keyId } = holding;",
      put: "const { promptTokens, rates, keyId } = holding; const output = 0;",
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
      find: "(Math.min(left, claimed) - heldByOthers) * weights.parts",
      put: "Math.min(left, claimed) * weights.parts",
    },
    {
      name: "the prompt isn't held",
      file: limits,
      find: "amountOf(weights, promptTokens, output)",
      put: "amountOf(weights, 0, output)",
    },
  ] as const
).map((mutant) => ({ ...mutant, simulation: "caps" as const, often: true }));

const ofHosts = (
  [
    {
      name: "a report leaves out what running requests hold",
      file: tokens,
      find: "addCount(current, held + this.#ahead)",
      put: "current",
    },
    {
      name: "a host uses what it hasn't claimed",
      file: "limiterd/shares/share.js",
      find: "engineMs === null ? 0 : this.tokens.leftOfClaim(own, engineMs)",
      put: "Number.MAX_SAFE_INTEGER",
    },
  ] as const
).map((mutant) => ({ ...mutant, simulation: "shared-caps" as const, often: true }));

export const capsMutants: readonly Mutant[] = [...ofOneHost, ...ofHosts];
