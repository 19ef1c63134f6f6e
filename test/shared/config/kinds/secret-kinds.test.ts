import t from "tap";
import { headerList, parseHeaderList } from "../../../../shared/config/kinds/secret-kinds.js";

t.test("a list of headers is name=value, with commas between, percent-encoded", async (t) => {
  const table = [
    ["x-api-key=abc", { "x-api-key": "abc" }],
    ["A=1, b = 2 ,", { a: "1", b: "2" }],
    ["authorization=Bearer%20a%3D%3D", { authorization: "Bearer a==" }],
    ["authorization=Basic a==", { authorization: "Basic a==" }],
    ["a", null],
    ["=a", null],
    ["a=", null],
    ["a=%zz", null],
    ["a=%0d%0ab: c", null],
    ["a b=c", null],
    ["host=a", null],
    ["content-type=a", null],
  ] as const;
  for (const [text, expected] of table) {
    t.same(parseHeaderList(text), expected, text);
    t.equal(headerList.parse(text), expected === null ? undefined : text, text);
  }
  t.equal(headerList.parse(" "), null);
  t.equal(headerList.parse({ a: "b" }), undefined);
  t.notOk(headerList.quotable("a=b"), "it is never quoted");
});
