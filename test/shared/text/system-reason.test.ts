import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { systemReason } from "../../../shared/text/system-reason.js";

t.test("a failed call is told without its code, its name and the path", async (t) => {
  const directory = t.testdir({ "a file": "" });
  for (const [call, reason] of [
    [() => readFileSync(join(directory, "none, 'x'")), "no such file or directory"],
    [() => readFileSync(directory), "it is a directory"],
    [() => readFileSync(join(directory, "a file", "below")), "not a directory"],
    [() => writeFileSync("/dev/full", "x"), "no space left on device"],
  ] as const)
    t.equal(reasonOf(call), reason);
});

t.test("a connection that fails is told in words, and other errors in their own", async (t) => {
  const refused = Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:1"), {
    code: "ECONNREFUSED",
  });
  t.equal(systemReason(refused), "nothing listens there");
  t.equal(systemReason(new Error("it is empty, x")), "it is empty, x");
  t.equal(systemReason("text"), "text");
});

function reasonOf(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    return systemReason(error);
  }
  return "it was done";
}
