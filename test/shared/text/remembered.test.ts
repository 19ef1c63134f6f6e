import t from "tap";
import { cacheByText, cacheLast } from "../../../shared/text/remembered.js";

/** What was made, in order. */
function making(): readonly [(text: string) => string, string[]] {
  const made: string[] = [];
  const make = (text: string): string => {
    made.push(text);
    return text.toUpperCase();
  };
  return [cacheByText(make), made];
}

t.test("a text is made once, and a false value is one too", async (t) => {
  const [upper, made] = making();
  t.same([upper("a"), upper("b"), upper("a"), upper("b")], ["A", "B", "A", "B"]);
  t.same(made, ["a", "b"]);
  let asked = 0;
  const isLong = cacheByText((text) => ++asked > 0 && text.length > 3);
  t.same([isLong("abc"), isLong("abc"), asked], [false, false, 1]);
});

t.test("of long texts nothing is kept", async (t) => {
  const [upper, made] = making();
  for (const length of [64, 64, 65, 65]) t.equal(upper("x".repeat(length)).length, length);
  t.same(
    made.map(({ length }) => length),
    [64, 65, 65],
  );
});

t.test("a text that looks like another one isn't taken for it", async (t) => {
  const codes = cacheByText((text) =>
    [...text].map((character) => character.codePointAt(0)).join(),
  );
  const texts = ["\ud800".padEnd(20, "x"), "\ufffd".padEnd(20, "x"), "\u00e9", "e\u0301", ""];
  for (let i = 0; i < 2; i++)
    for (const text of texts)
      t.equal(codes(text), [...text].map((character) => character.codePointAt(0)).join());
});

t.test("of many texts the last hundreds are kept, and each answer stays right", async (t) => {
  const [upper, made] = making();
  for (let i = 0; i < 500; i++) upper(`a${i}`);
  upper("a0");
  t.equal(made.length, 500, "all of them are known");
  upper("b");
  upper("b");
  t.equal(made.length, 501);
  t.equal(upper("a0"), "A0");
  t.equal(made.length, 502, "those from before are forgotten");
});

t.test("only the key that was asked for last is remembered, by identity", async (t) => {
  const made: string[] = [];
  const nameOf = cacheLast(({ name }: { readonly name: string }) => {
    made.push(name);
    return name.toUpperCase();
  });
  const [a, b] = [{ name: "a" }, { name: "b" }];
  t.same([nameOf(a), nameOf(a), nameOf(b), nameOf(a)], ["A", "A", "B", "A"]);
  t.same(made, ["a", "b", "a"]);
  t.equal(nameOf({ name: "a" }), "A");
  t.equal(made.length, 4, "another one that looks the same");
});
