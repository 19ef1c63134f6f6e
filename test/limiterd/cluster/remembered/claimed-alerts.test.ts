/** Of several hosts that notice a crossing, one sends it. */
import t from "tap";
import { claimAlert, takeOver } from "../../../../limiterd/cluster/remembered/claimed-alerts.js";

function engine() {
  const hashes = new Map<string, Map<string, string>>();
  const of = (key: string): Map<string, string> => {
    const known = hashes.get(key) ?? new Map<string, string>();
    hashes.set(key, known);
    return known;
  };
  return {
    hget: async (key: string, field: string) => of(key).get(field) ?? null,
    async hset(key: string, fields: Readonly<Record<string, string>>) {
      const before = of(key).size;
      for (const [name, value] of Object.entries(fields)) of(key).set(name, value);
      return of(key).size - before;
    },
    pexpire: async () => true,
  };
}

t.test("the first host sends it, again after a restart too; the others don't", async (t) => {
  const commands = engine();
  const claim = (host: string, id = "x") =>
    claimAlert(commands, "c", { destination: "d", id, host });
  t.equal(await claim("one"), "one");
  t.equal(await claim("two"), "one");
  t.equal(await claim("one"), "one");
  t.equal(await claim("two", "y"), "two");
});

t.test("a claim that was cut between its two commands can be taken over", async (t) => {
  const commands = engine();
  await commands.hset("sluice:c:alert:{x d}", { claimed: "1" });
  const claim = { destination: "d", id: "x", host: "two" };
  t.equal(await claimAlert(commands, "c", claim), null, "the first host may be about to write it");
  await takeOver(commands, "c", claim);
  t.equal(await claimAlert(commands, "c", { ...claim, host: "three" }), "two");
});
