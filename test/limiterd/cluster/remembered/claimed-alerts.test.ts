/** Of several hosts that notice a crossing, one sends it. */
import t from "tap";
import { claimAlert } from "../../../../limiterd/cluster/remembered/claimed-alerts.js";

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
  t.equal(await claim("one"), true);
  t.equal(await claim("two"), false);
  t.equal(await claim("one"), true);
  t.equal(await claim("two", "y"), true);
});

t.test("a claim that was cut between its two commands is the next host's", async (t) => {
  const commands = engine();
  await commands.hset("sluice:c:alert:{x d}", { claimed: "1" });
  t.equal(await claimAlert(commands, "c", { destination: "d", id: "x", host: "two" }), true);
});
