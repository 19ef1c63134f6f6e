/**
 * The process of an SDK: takes a job per line, as JSON, and answers with a line. The modules beside
 * it say how their SDK does each step. Plain JavaScript, since what it imports is installed beside
 * it and not where the tests are compiled.
 */
import { createInterface } from "node:readline";

/** What a tool of the task answers with. */
export function readNote(number) {
  return `note ${number} of 3: ${["kum", "qu", "at"][number - 1]}\n`;
}

export const noteSchema = {
  type: "object",
  properties: { number: { type: "integer", minimum: 1, description: "which note" } },
  required: ["number"],
};

export const fruitSchema = {
  type: "object",
  properties: { fruit: { type: "string" }, grams: { type: "integer", minimum: 0 } },
  required: ["fruit", "grams"],
  additionalProperties: false,
};

/** As test/clients/providers/script.ts has it. */
export const picture =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==";

export const instructions = "You read notes for people who are in a hurry.";

/**
 * `steps`: by name, functions of `{url, key, model, prompt}` and of what the steps before them on
 * the same model left in `memory`. They return what is said in the end.
 */
export function serve(steps) {
  const memories = new Map();
  createInterface({ input: process.stdin }).on("line", (line) => {
    const job = JSON.parse(line);
    if (!memories.has(job.model)) memories.set(job.model, {});
    Promise.resolve()
      .then(() => steps[job.step === "cap" ? "stream" : job.step](job, memories.get(job.model)))
      .then(
        (said) => ({ succeeded: true, output: typeof said === "string" ? said : JSON.stringify(said) }),
        (error) => ({ succeeded: false, output: `${error?.stack ?? error}\n${JSON.stringify(error?.error ?? error?.data ?? "")}` }),
      )
      .then((outcome) => process.stdout.write(`\u0001${JSON.stringify(outcome)}\n`));
  });
}

/** For SDKs without a loop of their own: asks until no tool is called any more. */
export async function untilDone(ask) {
  for (let turn = 0; turn < 6; turn++) {
    const done = await ask();
    if (done !== undefined) return done;
  }
  throw new Error("the task doesn't end");
}
