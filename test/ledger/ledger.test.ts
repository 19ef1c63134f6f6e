import t from "tap";
import { problemOf } from "./check-history.js";
import { createLedger } from "./play.js";

t.test(
  "what is charged agrees with the providers' own ledgers, but for what is unknown",
  async (t) => {
    const ledger = createLedger();
    const problems: string[] = [];
    for (let seed = 1; seed <= 2000; seed++) {
      const problem = problemOf(await ledger.play(seed));
      if (problem !== null) problems.push(`seed ${seed}: ${problem}`);
    }
    t.same(problems, []);
  },
);
