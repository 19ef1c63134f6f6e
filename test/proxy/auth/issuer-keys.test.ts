import t from "tap";
import {
  createIssuerKeys,
  type IssuerKeyAges,
  type IssuerKeys,
} from "../../../proxy/auth/issuer-keys.js";

interface World {
  nowMonoMs: number;
  /** What loading brings, or why it fails. */
  text: string | Error;
  loads: number;
  readonly events: string[];
  /** Held back until it is called; null: loading takes no time. */
  hold: boolean;
  release: () => void;
}

interface Keys {
  readonly text: string;
}

function start(
  ages: Partial<IssuerKeyAges>,
  text: string | Error,
): { readonly world: World; readonly source: IssuerKeys<Keys> } {
  const world: World = { nowMonoMs: 0, text, loads: 0, events: [], hold: false, release: () => {} };
  const source = createIssuerKeys<Keys>(
    { freshMs: 600_000, waitForFresh: false, cooldownMs: 10_000, ...ages },
    {
      async load() {
        world.loads++;
        if (world.hold) await new Promise<void>((resolve) => (world.release = resolve));
        if (world.text instanceof Error) throw world.text;
        return world.text;
      },
      parse(given) {
        if (given === "broken") throw new Error("no key set");
        return { text: given };
      },
      monoMs: () => world.nowMonoMs,
      onLoaded: (first) => world.events.push(first ? "loaded" : "changed"),
      onFailed: (reason, keptOld) =>
        world.events.push(`failed ${reason}${keptOld ? ", kept" : ""}`),
    },
  );
  return { world, source };
}

/** Lets loads that take no time come to their end. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

t.test("keys are loaded at the start, once for all waiting requests", async (t) => {
  const { world, source } = start({}, "a");
  const answers = await Promise.all([source.current(), source.current(), source.current()]);
  t.same(
    answers.map((keys) => keys?.text),
    ["a", "a", "a"],
  );
  t.same([world.loads, world.events], [1, ["loaded"]]);
});

t.test("old keys are loaded again in the background, or waited for", async (t) => {
  for (const waitForFresh of [false, true]) {
    const { world, source } = start({ waitForFresh }, "a");
    await source.current();
    world.text = "b";
    world.nowMonoMs = 599_999;
    t.equal((await source.current())?.text, "a");
    t.equal(world.loads, 1);
    world.nowMonoMs = 600_000;
    t.equal((await source.current())?.text, waitForFresh ? "b" : "a");
    await settled();
    t.equal((await source.current())?.text, "b");
    t.same([world.loads, world.events], [2, ["loaded", "changed"]]);
  }
});

t.test(
  "an unknown key makes them load at once, then not again before the cooldown has passed",
  async (t) => {
    const { world, source } = start({}, "a");
    const old = (await source.current())!;
    world.text = "b";
    const newer = await source.newer(old);
    t.equal(newer?.text, "b");
    t.equal(
      (await source.newer(old))?.text,
      "b",
      "who comes with the old ones gets the new ones without a load",
    );
    t.equal(await source.newer(newer!), null);
    t.equal(world.loads, 2);
    world.nowMonoMs = 10_000;
    t.equal(await source.newer(newer!), null, "the same text is the same keys");
    t.equal(world.loads, 3);
  },
);

t.test("tokens with unknown keys at the same time share one load", async (t) => {
  const { world, source } = start({}, "a");
  const old = (await source.current())!;
  world.hold = true;
  world.text = "b";
  const answers = [source.newer(old), source.newer(old), source.newer(old)];
  world.release();
  t.same(
    (await Promise.all(answers)).map((keys) => keys?.text),
    ["b", "b", "b"],
  );
  t.equal(world.loads, 2);
});

t.test("keys that were loaded once stay in use when loading fails", async (t) => {
  const { world, source } = start({}, "a");
  await source.current();
  for (const [wrong, at] of [
    [new Error("gone"), 600_000],
    ["broken", 620_000],
  ] as const) {
    world.text = wrong;
    world.nowMonoMs = at;
    await source.current();
    await settled();
    t.equal((await source.current())?.text, "a");
  }
  t.same(world.events, ["loaded", "failed gone, kept", "failed no key set, kept"]);
  t.equal(world.loads, 3, "and a failure isn't tried again at once");
});

t.test(
  "without any keys there are none, and loading is tried again, but not by every request",
  async (t) => {
    const { world, source } = start({}, new Error("refused"));
    t.equal(await source.current(), null);
    t.equal(await source.current(), null);
    t.same([world.loads, world.events], [1, ["failed refused"]]);
    world.text = "a";
    world.nowMonoMs = 10_000;
    t.equal((await source.current())?.text, "a");
  },
);
