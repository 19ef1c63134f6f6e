/** Rules and budgets of user paths as a tree. */
import fc from "fast-check";
import t from "tap";
import { flatRows, treeRows } from "../../../proxy/dashboard/web/logic/subject-tree.js";

const rowsOf = (...subjects: readonly string[]): string[] =>
  treeRows(subjects.map((subject) => ({ subject }))).map(
    ({ depth, label, isContinued }) =>
      `${"  ".repeat(depth)}${label}${isContinued ? " again" : ""}`,
  );

t.test("each path is below its nearest ancestor, and has the rest of its name", async (t) => {
  t.same(rowsOf("/team/app/web", "/", "/team", "/other/x"), [
    "/",
    "  /other/x",
    "  /team",
    "    /app/web",
  ]);
});

t.test("a name that begins like another is not below it", async (t) => {
  t.same(rowsOf("/team", "/team-x", "/team/app"), ["/team", "  /app", "/team-x"]);
});

t.test("rows of one path follow each other, and say it once", async (t) => {
  t.same(rowsOf("/a", "/b", "/a"), ["/a", "/a again", "/b"]);
});

t.test("whatever the paths, each row is there once, below what its label completes", async () => {
  const segment = fc.constantFrom("a", "b", "a-b", "0");
  const path = fc.array(segment, { maxLength: 4 }).map((all) => `/${all.join("/")}`);
  fc.assert(
    fc.property(fc.array(path, { maxLength: 20 }), (paths) => {
      const rows = treeRows(paths.map((subject) => ({ subject })));
      const same = (a: readonly string[], b: readonly string[]): boolean =>
        JSON.stringify([...a].sort()) === JSON.stringify([...b].sort());
      return (
        same(
          rows.map(({ item }) => item.subject),
          paths,
        ) && rows.every(({ item, label }) => item.subject.endsWith(label))
      );
    }),
  );
});

t.test("rows in another order than the tree's have their whole paths", async (t) => {
  t.same(flatRows([{ subject: "/b/c" }, { subject: "/b" }]), [
    { item: { subject: "/b/c" }, depth: 0, label: "/b/c", isContinued: false },
    { item: { subject: "/b" }, depth: 0, label: "/b", isContinued: false },
  ]);
});
