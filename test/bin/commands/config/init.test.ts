import { readFileSync } from "node:fs";
import t from "tap";
import { runCommandLine } from "../../../../bin/program.js";
import { accepted } from "../../../shared/config/resolve-sample.js";
import { exactly } from "../../../support/patterns/exactly.js";
import { run, sessionForTests } from "../../command-session.js";

t.test("what is to be run next reads the file that was written", async (t) => {
  for (const [name, next] of [
    ["gateway.yaml", "sluice --config DIR/gateway.yaml"],
    ["it's mine.yaml", "sluice --config 'DIR/it'\\''s mine.yaml'"],
  ] as const) {
    const directory = t.testdir();
    const { exitCode, out } = await run(["init", "--config", `${directory}/${name}`]);
    t.equal(exitCode, 0);
    t.same(out.replaceAll(directory, "DIR").split("\n").slice(1), [
      `next:    ${next} config check`,
      `         ${next} up`,
    ]);
  }
});

/** The file that is written after these answers, or the error. */
async function answering(directory: string, ...answers: string[]) {
  const file = `${directory}/asked.yaml`;
  const { session, err } = sessionForTests({ answer: "" });
  const asked: string[] = [];
  const ask = async (question: string): Promise<string> => {
    asked.push(question);
    return answers[asked.length - 1] ?? "";
  };
  const exitCode = await runCommandLine(["init", "--config", file], {
    ...session,
    terminal: { ...session.terminal, ask },
  });
  const text = exitCode === 0 ? readFileSync(file, "utf8") : "";
  return { exitCode, text, asked, err: err.join("\n") };
}

t.test("at a terminal it asks three questions, and writes a file that works", async (t) => {
  const usual = await answering(t.testdir(), "", "", "");
  t.equal(usual.asked.length, 3);
  const { rateLimits, budgets } = accepted(usual.text).config;
  t.ok(rateLimits.rules.every(({ subject, perChild }) => subject === "/customers" && perChild));
  t.equal(rateLimits.rules.length, 2);
  t.match(budgets.budgets, exactly([{ subject: "/customers", perChild: true, amountUsd: 10 }]));
  const chosen = await answering(t.testdir(), "openai, groq", "/my teams", "$2.50");
  const { config } = accepted(chosen.text, { env: { OPENAI_API_KEY: "k", GROQ_API_KEY: "g" } });
  t.same(
    config.providers.map(({ name }) => name),
    ["openai", "groq"],
  );
  t.match(config.budgets.budgets, exactly([{ subject: "/my teams", amountUsd: 2.5 }]));
  const without = await answering(t.testdir(), "", "none");
  t.equal(without.asked.length, 2);
  t.same(accepted(without.text).config.rateLimits.rules, []);
  // The example behind # works, too.
  const example = without.text.slice(without.text.indexOf("# entitlements"));
  const uncommented = example.replace(/^# (?=entitle|rate|budgets| )/gm, "");
  t.equal(accepted(uncommented).config.rateLimits.rules.length, 2);
});

t.test("a wrong answer is named, and its question is asked again", async (t) => {
  for (const [answers, problem] of [
    [["opnai", "", "", ""], /"opnai" is no provider .*; did you mean openai\?/],
    [["", "/a:b", "", ""], /the path must not hold a colon/],
    [["", "", "many", ""], /the amount must be a number of dollars above 0, not "many"/],
  ] as const) {
    const { exitCode, err, text, asked } = await answering(t.testdir(), ...answers);
    t.equal(exitCode, 0);
    t.match(err, problem);
    t.equal(asked.length, 4);
    t.equal(new Set(asked).size, 3);
    t.equal(accepted(text).config.budgets.budgets.length, 1);
  }
});

t.test("a file that is there is named before anything is asked", async (t) => {
  const file = `${t.testdir({ "sluice.yaml": "" })}/sluice.yaml`;
  const { session, err } = sessionForTests({ answer: "openai" });
  const exitCode = await runCommandLine(["init", "--config", file], session);
  t.equal(exitCode, 1);
  t.match(err.join("\n"), /^error: .*sluice\.yaml is there already: it stays as it is$/);
});
