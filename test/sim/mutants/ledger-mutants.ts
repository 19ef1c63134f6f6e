/** Bugs in what a request is charged, which the providers' own ledgers find. */
import type { Mutant } from "./mutant.js";

const charge = "proxy/usage/charge.js";
const readUsage = "proxy/usage/read-usage.js";
const findUsage = "proxy/usage/find-usage.js";

export const ledgerMutants: readonly Mutant[] = (
  [
    {
      name: "the estimate of a cut stream is dropped",
      file: charge,
      find: "meter.usageOfPrompt(note) : meter.usageSeen(note)",
      put: "meter.usageOfPrompt(note) : { usage: null, estimated: false, note }",
    },
    {
      name: "an attempt is charged again with the next one",
      file: "proxy/handlers/admit-and-settle.js",
      find: "return { ...attempt, usage: null, estimated: false, atMost: null };",
      put: "return attempt;",
    },
    {
      name: "cached tokens are forgotten",
      file: readUsage,
      find: 'cached: readDetail("cached tokens",',
      put: 'cached: 0 * readDetail("cached tokens",',
    },
    {
      name: "rates are rounded down",
      file: "shared/domain/price.js",
      find: "Math.ceil((amount * factor) / 1000)",
      put: "Math.floor((amount * factor) / 1000)",
    },
    {
      name: "usage that is reported again is added",
      file: findUsage,
      find: "return merged ?? later;",
      put: 'merged ??= { ...later }; for (const name of ["output_tokens", "completion_tokens", "candidatesTokenCount"]) if (earlier[name] > 0 && later[name] > 0) merged[name] = earlier[name] + later[name]; return merged;',
    },
    {
      name: "long input costs as short input",
      file: "shared/domain/price.js",
      find: "if (inputTokens > tier.aboveInputTokens) tierRates = tier.rates;",
      put: ";",
    },
    {
      name: "an answer without usage costs nothing",
      file: "proxy/usage/count-usage.js",
      find: "const usage = estimate(input);",
      put: "const usage = null;",
    },
  ] as const
).map((mutant) => ({ ...mutant, simulation: "ledger", often: true }));
