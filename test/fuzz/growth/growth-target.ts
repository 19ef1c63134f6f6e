/** A target whose every input is one growth: it needs nothing to be open. */
import type { Random } from "../../sim/random.js";
import type { FuzzTarget } from "../fuzz-target.js";

export function growthTarget(
  name: string,
  share: number,
  tryGrowth: (random: Random) => Promise<void>,
): FuzzTarget {
  return {
    name,
    share,
    open: () =>
      Promise.resolve({
        async run(random) {
          await tryGrowth(random);
          return 1;
        },
        close: () => Promise.resolve(),
      }),
  };
}
