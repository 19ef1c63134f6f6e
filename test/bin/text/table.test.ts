import t from "tap";
import { renderFields, renderTable } from "../../../bin/text/table.js";

t.test("what is in a cell or a value stays in its line and its column", async (t) => {
  const columns = [
    { title: "WHO", align: "left", text: (name: string) => name },
    { title: "N", align: "right", text: () => "1" },
  ] as const;
  t.equal(
    renderTable(columns, ["ann", "a\nmaster key  9", "b\t\r\u2028\u202e"]),
    [
      "WHO                    N",
      "ann                    1",
      "a\\nmaster key  9       1",
      "b\\t\\u000d\\u2028\\u202e  1",
    ].join("\n"),
  );
  t.equal(renderFields([["who", "a\nb"]]), "  who  a\\nb");
});
