import { execFileSync } from "node:child_process";
import t from "tap";
import { shellWord } from "../../../bin/text/shell-word.js";

t.test(
  "a shell takes any text for one word, which has no quotes where it needs none",
  async (t) => {
    for (const text of ["/etc/sluice/a-b.yaml", "team@x:1,2", "a%20b=c+d"])
      t.equal(shellWord(text), text);
    for (const text of [
      "",
      "a b",
      "it's",
      "''",
      "$HOME",
      "`id`",
      "a\nb",
      "*",
      "~",
      "a;b",
      '{"a":1}',
      "ä",
    ]) {
      t.match(shellWord(text), /^'/, text);
      t.equal(
        execFileSync("/bin/sh", ["-c", `printf %s ${shellWord(text)}`], { encoding: "utf8" }),
        text,
      );
    }
  },
);
