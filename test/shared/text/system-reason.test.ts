import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { noDirectoryReason, systemReason } from "../../../shared/text/system-reason.js";

t.test("the reason of a failed call lacks its code, its name and the path", async (t) => {
  const directory = t.testdir({ "a file": "" });
  for (const [call, reason] of [
    [() => readFileSync(join(directory, "none, 'x'")), "no such file or directory"],
    [() => readFileSync(directory), "it is a directory"],
    [() => readFileSync(join(directory, "a file", "below")), "not a directory"],
    [() => writeFileSync("/dev/full", "x"), "no space left on device"],
  ] as const)
    t.equal(reasonOf(call), reason);
});

t.test("a failed connection has a plain reason, other errors keep their messages", async (t) => {
  const refused = Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:1"), {
    code: "ECONNREFUSED",
  });
  t.equal(systemReason(refused), "nothing listens there");
  t.equal(systemReason(new Error("it is empty, x")), "it is empty, x");
  t.equal(systemReason("text"), "text");
});

t.test("a directory that can't be made has another reason than a file in its place", async (t) => {
  const directory = t.testdir({ "a file": "" });
  const make = (name: string) => () => mkdirSync(join(directory, name), { recursive: true });
  t.equal(reasonOf(make("a file"), noDirectoryReason), "not a directory");
  t.equal(reasonOf(make("a".repeat(300)), noDirectoryReason), "name too long");
  const otherwise = (error: unknown) => noDirectoryReason(error, () => "other words");
  t.equal(reasonOf(make("a file"), otherwise), "not a directory");
  t.equal(reasonOf(make("a".repeat(300)), otherwise), "other words");
});

function reasonOf(call: () => unknown, inWords: (error: unknown) => string = systemReason): string {
  try {
    call();
  } catch (error) {
    return inWords(error);
  }
  return "it was done";
}
