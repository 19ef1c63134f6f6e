/** Bugs in what running requests hold of hard caps, which the simulation of caps finds. */
import type { Mutant } from "./mutant.js";

const charge = "limiterd/rules/charge.js";
const output = "limiterd/handlers/hold-output.js";
const limits = "limiterd/rules/hard-limits.js";

export const capsMutants: readonly Mutant[] = (
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
      find: "giveBack(hold); const demand",
      put: "const demand",
    },
    {
      name: "an admission ignores what running requests hold",
      file: limits,
      find: "(left - heldByOthers) * weights.parts",
      put: "left * weights.parts",
    },
    {
      name: "the prompt isn't held",
      file: limits,
      find: "amountOf(weights, promptTokens, output)",
      put: "amountOf(weights, 0, output)",
    },
  ] as const
).map((mutant) => ({ ...mutant, simulation: "caps" as const, often: true }));
