import t from "tap";
import { rememberingLast } from "../../../shared/text/remembering-last.js";

t.test("only the key that was asked for last is remembered, by identity", async (t) => {
  const made: string[] = [];
  const nameOf = rememberingLast(({ name }: { readonly name: string }) => {
    made.push(name);
    return name.toUpperCase();
  });
  const [a, b] = [{ name: "a" }, { name: "b" }];
  t.same([nameOf(a), nameOf(a), nameOf(b), nameOf(a)], ["A", "A", "B", "A"]);
  t.same(made, ["a", "b", "a"]);
  t.equal(nameOf({ name: "a" }), "A");
  t.equal(made.length, 4, "another one that looks the same");
});
