import t from "tap";
import { isTrue, tableRows } from "../../../bin/import/table-rows.js";

t.test("a table is read from JSON, CSV and the lines of mysql --batch", async (t) => {
  const rows = [
    { id: "1", text: 'a,"b"\nc\td\\e', none: "" },
    { id: "2", text: "", none: "" },
  ];
  for (const text of [
    JSON.stringify(rows),
    'id,text,none\n1,"a,""b""\nc\td\\e",\r\n2,,\n',
    'id\ttext\tnone\n1\ta,"b"\\nc\\td\\\\e\tNULL\n2\t\tNULL\n',
  ])
    t.same(tableRows(text, "id"), rows);
  t.same(tableRows('{"keys":[{"id":1}]}', "id"), [{ id: 1 }]);
  for (const text of ["", '[{"other":1}]', "[", '{"id":1}', "other,columns\n1,2\n", "a\tb\n"])
    t.equal(tableRows(text, "id"), null, text);
});

t.test("a boolean has the form of its database", async (t) => {
  for (const value of [true, 1, "t", "true", "1"]) t.equal(isTrue(value), true);
  for (const value of [false, 0, "f", "false", "0", "", null, undefined])
    t.equal(isTrue(value), false);
});
