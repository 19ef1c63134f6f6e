import t from "tap";
import { Children, CounterPool } from "../../../limiterd/counters/children.js";
import { Rule } from "../../../limiterd/counters/counter.js";
import {
  configuredText,
  ruleChange,
  ruleFromStored,
  rulesKey,
  rulesNoteChange,
  rulesNoteFromStored,
  storedRuleId,
} from "../../../limiterd/rules/stored-rule.js";
import { ruleId } from "../../../shared/domain/rule.js";
import { now, rule } from "../book-of.js";

const stored = (definition: ReturnType<typeof rule>) => ({
  definition,
  source: "config" as const,
  createdAtMs: now,
  updatedAtMs: now,
  sinceLsn: 7,
});

t.test("a rule comes back as it was written, under the same id", (t) => {
  for (const definition of [
    rule("user_path", "/", 0, { requests: 1 }),
    rule("user_path", "/Team/ä", 3_153_600_000, { tokens: 1 }),
    rule("provider", "OpenAI", 60, { requests: 1 }),
    rule("model", "Org/İmodel", 60, { requests: 1 }),
  ]) {
    const { key, value } = ruleChange({ id: ruleId(definition), ...stored(definition) });
    const read = ruleFromStored(value!)!;
    t.same(read, stored({ ...definition, hostOnly: false }));
    t.equal(storedRuleId(key, read), ruleId(definition));
  }
  t.end();
});

t.test("nothing is taken for a rule but what was written as one", (t) => {
  const id = "user_path\n/team\n60";
  const value = ruleChange({ id, ...stored(rule("user_path", "/team", 60, { requests: 1 })) })
    .value!;
  t.not(ruleFromStored(value), null);
  // By their places: scope, subject, period, caps, template, source, times, number.
  const wrong: readonly (readonly unknown[])[] = [
    ["path", "", null, 5],
    [null, 7],
    [-1, 0.5, "60", null, 3_153_600_001],
    [0, -1, 1.5, "1", {}],
    [0, -1, 1.5, "1", {}],
    [null, 1, "true"],
    ["file", null],
    [-1, null, "now"],
    [-1, null, "now"],
    [-1, 0.5, null, "7"],
  ];
  for (const [place, values] of wrong.entries())
    for (const each of values)
      t.equal(ruleFromStored(value.with(place, each)), null, `${JSON.stringify(each)} at ${place}`);
  t.equal(
    ruleFromStored(value.with(0, "provider").with(5, true)),
    null,
    "a template of a provider",
  );
  t.end();
});

t.test("a cap of 0 is for some models, and alone", (t) => {
  const id = "user_path\n/team\n60\no3";
  const ban = { ...rule("user_path", "/team", 60, { requests: 0 }), models: "o3" };
  const { value } = ruleChange({ id, ...stored(ban) });
  t.equal(ruleFromStored(value!)?.definition.maxRequests, 0);
  t.equal(ruleFromStored(value!.with(4, 5)), null, "with a cap of tokens");
  t.end();
});

t.test("a rule of each host is kept as one, and others as earlier releases wrote them", (t) => {
  const id = "user_path\n/team\n60";
  const definition = rule("user_path", "/team", 60, { requests: 1 });
  const value = ruleChange({ id, ...stored({ ...definition, hostOnly: true }) }).value!;
  t.equal(ruleFromStored(value)?.definition.hostOnly, true);
  for (const each of [null, 1, "true"]) t.equal(ruleFromStored(value.with(10, each)), null);
  const shared = ruleChange({ id, ...stored({ ...definition, hostOnly: false }) }).value!;
  t.equal(shared.length, 10);
  t.equal(ruleFromStored(shared)?.definition.hostOnly, false);
  t.not(
    configuredText([definition]),
    configuredText([{ ...definition, hostOnly: true }]),
    "another configuration",
  );
  t.end();
});

t.test("what an exhausted rule does is kept", (t) => {
  const plain = { ...rule("user_path", "/team", 60, { requests: 1 }), hostOnly: false };
  for (const onExhausted of ["warn", { use: "cheap" }] as const)
    for (const definition of [
      { ...plain, onExhausted },
      { ...plain, hostOnly: true, models: "o3", onExhausted },
    ]) {
      const value = ruleChange({ id: ruleId(definition), ...stored(definition) }).value!;
      t.same(ruleFromStored(value), stored(definition));
      for (const wrong of ["stop", "", 5, true, [], {}, { use: "" }, { use: "a", then: "b" }])
        t.equal(ruleFromStored(value.with(-1, wrong)), null, JSON.stringify(wrong));
    }
  t.not(configuredText([plain]), configuredText([{ ...plain, onExhausted: "warn" }]));
  t.end();
});

t.test("the models that a rule is for are kept, in the one form that they have", (t) => {
  const definition = { ...rule("user_path", "/team", 60, { requests: 1 }), models: "gpt-4o o3" };
  const id = "user_path\n/team\n60\ngpt-4o o3";
  const value = ruleChange({ id, ...stored(definition) }).value!;
  const read = ruleFromStored(value)!;
  t.equal(read.definition.models, definition.models);
  t.equal(storedRuleId(id, read), id);
  t.equal(storedRuleId("user_path\n/team\n60", read), id);
  for (const wrong of [null, 1, "", "o3 gpt-4o", "!o3", "*"])
    t.equal(ruleFromStored(value.with(11, wrong)), null, String(wrong));
  t.equal(ruleFromStored(value.with(0, "provider")), null);
  const { models: _, ...all } = definition;
  t.not(configuredText([definition]), configuredText([all]), "another configuration");
  t.end();
});

t.test("a rule is known by what it limits, whatever it was written under", (t) => {
  const { id, ...fields } = { id: "user_path\n/team\n60", ...stored(rule("user_path", "/team")) };
  for (const key of [
    "user_path\n/other\n60",
    "user_path\n/team\n61",
    "user_path\n/team\n0",
    "user_path\n/tea\n060",
    "provider \n/team\n60",
    "user_path /team\n60",
    "user_path\n/team 60",
    `${id}0`,
    "",
    60,
  ])
    t.equal(storedRuleId(key, fields), id, JSON.stringify(key));
  t.end();
});

t.test("what a start must know of all rules comes back, and nothing else is taken for it", (t) => {
  const facts = { startLsn: 0, configured: "text", count: 1, sinceMs: now, sinceLsn: 0 };
  const note = { ...facts, hasHard: false, loopTimes: null };
  const { count: size, ...rest } = note;
  const { key, value } = rulesNoteChange({ size, ...rest }, rest);
  t.equal(key, rulesKey);
  t.strictSame(rulesNoteFromStored(value!), note);
  t.equal(
    rulesNoteChange({ ...rest, size: 0 }, rest).value,
    undefined,
    "without rules there is none",
  );
  const hard = rulesNoteChange({ size, ...rest, hasHard: true }, rest).value;
  t.strictSame(rulesNoteFromStored(hard!), { ...note, hasHard: true });
  const loopTimes = { min: 2, max: 20, turns: undefined };
  for (const hasHard of [true, false]) {
    const { value: both } = rulesNoteChange({ size, ...rest, hasHard, loopTimes }, rest);
    t.strictSame(rulesNoteFromStored(both!), { ...note, hasHard, loopTimes });
    t.equal(rulesNoteFromStored(both!.with(-1, 1)), null, "the highest is below the lowest");
  }
  const onTurns = { min: 0, max: 0, turns: { min: 50, max: 200 } };
  const { value: ofTurns } = rulesNoteChange({ size, ...rest, loopTimes: onTurns }, rest);
  t.strictSame(rulesNoteFromStored(ofTurns!), { ...note, loopTimes: onTurns });
  t.equal(rulesNoteFromStored(ofTurns!.with(-1, 49)), null);
  t.equal(rulesNoteFromStored(ofTurns!.slice(0, -1)), null);
  // By their places: the epoch's beginning, the configuration, how many, since when.
  const wrong: readonly (readonly unknown[])[] = [
    [-1, 0.5, "0", null],
    [null, 7],
    [0, -1, 1.5, "1", null],
    [-1, "now", null],
    [-1, 0.5, "0", null],
  ];
  for (const [place, values] of wrong.entries())
    for (const each of values)
      t.equal(
        rulesNoteFromStored(value!.with(place, each)),
        null,
        `${JSON.stringify(each)} at ${place}`,
      );
  t.end();
});

t.test("a rule has no counter and no children before they are asked for", (t) => {
  const pool = new CounterPool([1, 2], 10);
  let made = 0;
  const making = {
    resets: 0,
    nowMs: now,
    childrenOf(of: Rule) {
      made++;
      return new Children(of, pool);
    },
  };
  for (const perChild of [false, true]) {
    const one = new Rule(stored({ ...rule("user_path", "/team"), perChild }), making);
    t.equal(made, 0);
    t.equal(one.own === null, perChild);
    t.equal(one.own, one.own, "the same one each time");
    t.match(one.own ?? {}, perChild ? {} : { child: "", window: { currentRequests: 0 } });
    t.equal(one.children, one.children);
    t.equal(made, 1);
    made = 0;
  }
  t.end();
});
